"""Where the time of a DPALS item step goes, part by part, and the memory of a large one.

    python benchmarks/dpals.py [--items 5000] [--users 20000] [--entries 2000000] [--rank 128]

CPU seconds of this process beside wall seconds, the median of `--repeats`. The memory line fits one step and
says how far that raised the process at its highest: add `--items 20000` for the largest case (below 3 GiB).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from statistics import median

import numpy as np
from common import machine, peak_megabytes, simulated

from hushfold.algorithms.dpals import fit, item_statistics, user_design, user_step
from hushfold.algorithms.dpals_bill import bill_of_budget
from hushfold.algorithms.dpals_configs import DpalsConfig, Shares
from hushfold.algorithms.dpals_items import random_start, solve_items
from hushfold.algorithms.dpals_setup import Declared, Setup, own_rows
from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.privacy.budget import Budget
from hushfold.privacy.door import Door
from hushfold.privacy.ledger import Ledger
from hushfold.privacy.mechanisms import Gaussian, to_real
from hushfold.privacy.noise import Key, cut
from hushfold.rng import PublicRandom
from hushfold.statistics.base import TILE
from hushfold.threads import one_blas_thread
from hushfold.types import Rows, unseal


def clocked(work: Callable[[], object], repeats: int) -> dict[str, float]:
    """Median CPU and wall seconds."""
    seconds: list[tuple[float, float]] = []
    for _ in range(repeats):
        cpu, wall = time.process_time(), time.perf_counter()
        work()
        seconds.append((time.process_time() - cpu, time.perf_counter() - wall))
    return {"cpu": median(c for c, _ in seconds), "wall": median(w for _, w in seconds)}


def parts(rows: Rows, config: DpalsConfig, repeats: int) -> dict[str, dict[str, float]]:
    """Users' factors; sums of all tiles; noise, projection and solve of one tile, times the tiles."""
    ones = np.ones(rows.catalogue)
    setup = Setup(
        Declared(rows.catalogue, (0.5, 5.0)), np.arange(rows.catalogue), ones, ones, 2.75, None, config,
        PublicRandom(0),
    )  # fmt: skip
    coins = np.random.default_rng(0).standard_normal((rows.catalogue, config.rank))
    design = user_design(random_start(rows.catalogue, config, coins), config)
    own = own_rows(rows, setup)
    sums = LocalEngine().sum(Users(rows), item_statistics, design, setup, 0)
    gathered: list[tuple[object, ...]] = []
    report = {
        "users": clocked(lambda: user_step(own, design, config), repeats),
        "users and gathering": clocked(lambda: gathered.append(unseal(sums)()), 1),
    }
    grams, sides = gathered[0]
    mechanism = Gaussian(0, sums.specs[0], 10**7, cut(1.0))
    tile, tiles = grams.tile(0), range(sums.specs[0].tiles)
    with one_blas_thread():
        report["Gram sums"] = clocked(lambda: [grams.tile(number) for number in tiles], repeats)
    with one_blas_thread():
        each = {
            "noise": clocked(lambda: mechanism.add_noise(tile.copy(), Key().open(), 0), repeats),
            "projection and solve": clocked(
                lambda: solve_items(
                    to_real(tile, sums.specs[0]), to_real(sides.tile(0), sums.specs[1]), np.ones(len(tile)),
                    "gram", None,
                ),
                repeats,
            ),
        }  # fmt: skip
    times = rows.catalogue / TILE
    return report | {name: {k: s * times for k, s in clock.items()} for name, clock in each.items()}


def one_step(rows: Rows, config: DpalsConfig) -> object:
    budget = Budget.gaussian(1.0, 1e-5)
    door = Door(Ledger.throw_away().run(method="benchmark", config={}), budget)
    declared = Declared(rows.catalogue, (0.5, 5.0), len(rows))
    return fit(Users(rows), declared, config, LocalEngine(), door, bill_of_budget(config, budget))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    defaults = {"items": 5000, "users": 20_000, "entries": 2_000_000, "rank": 128, "repeats": 3}
    for name, value in defaults.items():
        options.add_argument(f"--{name}", type=int, default=value)
    options.add_argument("--memory-only", action="store_true")
    chosen = options.parse_args()
    rows = simulated(chosen.users, chosen.items, chosen.entries, likes=False)
    config = DpalsConfig(rank=chosen.rank, steps=1, sample="uniform", shares=Shares(counts=0))
    report: dict[str, object] = {"machine": machine(), **vars(chosen)}
    if not chosen.memory_only:
        report["seconds"] = parts(rows, config, chosen.repeats)
    began = time.perf_counter()
    report["peak megabytes of a step"] = peak_megabytes(lambda: one_step(rows, config))
    report["wall seconds of a step"] = time.perf_counter() - began
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
