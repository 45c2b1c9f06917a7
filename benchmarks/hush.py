"""How long does a whole private fit of likes take? Against `implicit`'s default ALS fit in the same run.

    python benchmarks/hush.py [--users 70000 --items 10677 --entries 8160000 --heads 0,10000 --repeats 2]

Ours is everything from the users' rows to a model that answers: both releases through the door (lattice
noise, a throw-away ledger), factors, pairs, diag P. The rival is `AlternatingLeastSquares(factors=100,
iterations=15)` with its own defaults otherwise. By turns, the best of the repeats; CPU seconds of the process
beside the wall. Compile time is apart; peak memory is taken in a fresh process. `--heads` are sizes of the
head at epsilon 20, 0 for what the released counts make of it.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings

import numpy as np
from common import in_a_process, machine, peak_megabytes, simulated
from scipy.sparse import csr_matrix

from hushfold.algorithms.hush import implicit as hush
from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.privacy.budget import Budget, multiplier
from hushfold.privacy.door import Door
from hushfold.privacy.ledger import Ledger
from hushfold.types import Rows, post

WANTED = 3.0
MOST_MEGABYTES = 3 * 1024
EPSILON, DELTA = 20.0, 1e-5


class Laps:
    """Wall and CPU seconds of named parts."""

    def __init__(self) -> None:
        self.parts: dict[str, tuple[float, float]] = {}
        self._last = time.perf_counter(), time.process_time()

    def done(self, name: str) -> None:
        now = time.perf_counter(), time.process_time()
        self.parts[name] = now[0] - self._last[0], now[1] - self._last[1]
        self._last = now


def ours(rows: Rows, size: int) -> tuple[hush.LikesModel, Laps]:
    """`hush.fit`, its steps apart, perhaps over a head of a given size."""
    budget = Budget.gaussian(EPSILON, DELTA)
    door = Door(Ledger.throw_away().run(method="hush", config={}), budget)
    users, engine, laps = Users(rows), LocalEngine(), Laps()
    likes_share, pairs_share = budget.split(hush.SHARES)
    noise = multiplier(pairs_share.units)
    (likes,) = door.gaussian("likes", engine.sum(users, hush.count_likes), likes_share.units)
    head = post(most_liked, likes, size) if size else post(hush.choose_head, likes, noise)
    laps.done("likes")
    (moment,) = door.gaussian("pairs", engine.sum(users, hush.count_pairs, head.value), pairs_share.units)
    laps.done("moment and noise")
    model = post(hush.learn, likes, head, moment, noise, multiplier(likes_share.units)).value
    laps.done("public fit")
    return model, laps


def most_liked(likes: np.ndarray, size: int) -> np.ndarray:
    return np.sort(np.argsort(-likes, kind="stable")[:size])


def rival(matrix: csr_matrix) -> Laps:
    """The other library's fit, at its defaults."""
    from implicit.als import AlternatingLeastSquares  # pyright: ignore[reportMissingImports]

    laps = Laps()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        AlternatingLeastSquares(factors=100, iterations=15).fit(matrix, show_progress=False)
    laps.done("implicit")
    return laps


def total(laps: Laps) -> tuple[float, float]:
    walls, cpus = zip(*laps.parts.values(), strict=True)
    return sum(walls), sum(cpus)


def best(runs: list[Laps]) -> tuple[float, float]:
    return min(total(run)[0] for run in runs), min(total(run)[1] for run in runs)


def rows_of(asked: argparse.Namespace) -> Rows:
    return simulated(asked.users, asked.items, asked.entries, True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, default in {"users": 70_000, "items": 10_677, "entries": 8_160_000, "repeats": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--heads", default="0,10000")
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    rows = rows_of(asked)
    few = rows.slice(0, 500)
    ours(few, 100)  # compiles
    if asked.memory is not None:
        print(json.dumps(peak_megabytes(lambda: ours(rows, asked.memory))))
        return
    show("machine", machine())
    ones = np.ones(len(rows.items), np.float32)
    matrix = csr_matrix((ones, rows.items, rows.indptr), (len(rows), rows.catalogue))
    rival(matrix[:500])
    heads = [int(size) for size in asked.heads.split(",")]
    runs: dict[int, list[Laps]] = {size: [] for size in heads}
    rivals: list[Laps] = []
    for _ in range(asked.repeats):
        for size in heads:
            model, laps = ours(rows, size)
            runs[size].append(laps)
            sizes = {"head": len(model.head), "factors": model.B.shape[1], "pairs": model.pairs.nnz // 2}
            parts = {name: seconds(part) for name, part in laps.parts.items()}
            show(f"ours, head {size or 'as released'}", sizes | parts)
        rivals.append(rival(matrix))
        show("implicit", seconds(total(rivals[-1])))
    wall, cpu = best(rivals)
    for size, laps in runs.items():
        our_wall, our_cpu = best(laps)
        figures = {"wall": round(wall / our_wall, 2), "cpu": round(cpu / our_cpu, 2)}
        verdict = "ok" if figures["cpu"] >= WANTED else "MISSED"
        show(f"implicit / ours, head {size or 'as released'}: at least {WANTED:g} wanted, {verdict}", figures)
        given = [f"--{name}={getattr(asked, name)}" for name in ("users", "items", "entries")]
        peak = float(in_a_process(__file__, f"--memory={size}", *given))
        verdict = "ok" if peak < MOST_MEGABYTES else "MISSED"
        show(f"peak megabytes beyond the rows: below {MOST_MEGABYTES} wanted, {verdict}", round(peak))


def seconds(taken: tuple[float, float]) -> dict[str, float]:
    return {"wall": round(taken[0], 2), "cpu": round(taken[1], 2)}


def show(name: str, figures: object) -> None:
    print(f"{name}: {json.dumps(figures)}", flush=True)


if __name__ == "__main__":
    main()
