"""How long does a whole private fit of likes take? Against `implicit`'s default ALS fit in the same run.

    python benchmarks/hush.py [--users 70000 --items 10677 --entries 8160000 --epsilon 5,100 --repeats 2]

Ours is everything from the users' rows to a model that answers: both releases through the door (lattice
noise, a throw-away ledger), factors, pairs, diag P. The rival is `AlternatingLeastSquares(factors=100,
iterations=15)` with its own defaults otherwise. By turns, the best of the repeats; CPU seconds of the process
beside the wall. Compile time is apart; peak memory is taken in a fresh process. A larger epsilon widens the
head.
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
DELTA = 1e-5


class Laps:
    """Wall and CPU seconds of named parts."""

    def __init__(self) -> None:
        self.parts: dict[str, tuple[float, float]] = {}
        self._last = time.perf_counter(), time.process_time()

    def done(self, name: str) -> None:
        now = time.perf_counter(), time.process_time()
        self.parts[name] = now[0] - self._last[0], now[1] - self._last[1]
        self._last = now


def ours(rows: Rows, epsilon: float) -> tuple[hush.LikesModel, Laps]:
    """`hush.fit`, its steps apart."""
    budget = Budget.gaussian(epsilon, DELTA)
    door = Door(Ledger.throw_away().run(method="hush", config={}), budget)
    users, engine, laps = Users(rows), LocalEngine(), Laps()
    likes_share, pairs_share = budget.split(hush.SHARES)
    noise = multiplier(pairs_share.units)
    (likes,) = door.gaussian("likes", engine.sum(users, hush.count_likes), likes_share.units)
    head = post(hush.choose_head, likes, noise)
    laps.done("likes")
    (moment,) = door.gaussian("pairs", engine.sum(users, hush.count_pairs, head.value), pairs_share.units)
    laps.done("moment and noise")
    model = post(hush.learn, likes, head, moment, noise, multiplier(likes_share.units)).value
    laps.done("public fit")
    return model, laps


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
    parser.add_argument("--epsilon", default="5,100")
    parser.add_argument("--memory", type=float, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    rows = rows_of(asked)
    few = rows.slice(0, 500)
    ours(few, 50.0)  # compiles
    if asked.memory:
        print(json.dumps(peak_megabytes(lambda: ours(rows, asked.memory))))
        return
    show("machine", machine())
    ones = np.ones(len(rows.items), np.float32)
    matrix = csr_matrix((ones, rows.items, rows.indptr), (len(rows), rows.catalogue))
    rival(matrix[:500])
    epsilons = [float(epsilon) for epsilon in asked.epsilon.split(",")]
    runs: dict[float, list[Laps]] = {epsilon: [] for epsilon in epsilons}
    rivals: list[Laps] = []
    for _ in range(asked.repeats):
        for epsilon in epsilons:
            model, laps = ours(rows, epsilon)
            runs[epsilon].append(laps)
            sizes = {"head": len(model.head), "factors": model.B.shape[1], "pairs": model.pairs.nnz // 2}
            show(
                f"ours, epsilon {epsilon:g}",
                sizes | {name: seconds(part) for name, part in laps.parts.items()},
            )
        rivals.append(rival(matrix))
        show("implicit", seconds(total(rivals[-1])))
    wall, cpu = best(rivals)
    for epsilon, laps in runs.items():
        our_wall, our_cpu = best(laps)
        figures = {"wall": wall / our_wall, "cpu": cpu / our_cpu}
        verdict = "ok" if figures["cpu"] >= WANTED else "MISSED"
        show(f"implicit / ours, epsilon {epsilon:g}: at least {WANTED:g} wanted, {verdict}", figures)
        sizes = [f"--{name}={getattr(asked, name)}" for name in ("users", "items", "entries")]
        peak = float(in_a_process(__file__, f"--memory={epsilon}", *sizes))
        verdict = "ok" if peak < MOST_MEGABYTES else "MISSED"
        show(f"peak megabytes beyond the rows: below {MOST_MEGABYTES} wanted, {verdict}", round(peak))


def seconds(taken: tuple[float, float]) -> dict[str, float]:
    return {"wall": round(taken[0], 2), "cpu": round(taken[1], 2)}


def show(name: str, figures: object) -> None:
    print(f"{name}: {json.dumps(figures)}", flush=True)


if __name__ == "__main__":
    main()
