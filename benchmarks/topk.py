"""Exact top-k against `implicit`'s recommend, same machine, same run, same number of threads.

    python benchmarks/topk.py [--users 10000 --items 20000 --rank 64 --k 20 --threads 1 --repeats 5]

Two models: one fitted by implicit to simulated feedback (what is really recommended from), and factors drawn
at random (the worst case: no item can be left out early). Best of the repeats, taken in turn; process seconds
beside wall. The ratio is that of the process seconds. Both keep a user's own items out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import implicit
import numpy as np
import scipy.sparse as sp

from hushfold.data.simulate import simulate_ratings
from hushfold.linalg.topk import topk
from hushfold.threads import one_blas_thread


def clock(work: Callable[..., Any], *arguments: Any, **settings: Any) -> tuple[float, float, Any]:
    wall, process = time.perf_counter(), time.process_time()
    answer = work(*arguments, **settings)
    return time.perf_counter() - wall, time.process_time() - process, answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (
        ("users", 10_000),
        ("items", 20_000),
        ("rank", 64),
        ("k", 20),
        ("threads", 1),
        ("repeats", 5),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    data = simulate_ratings(given.users, given.items, 100 * given.users, implicit=True)
    shape = (given.users, given.items)
    seen = sp.csr_matrix((data.rating, (data.user, data.item)), shape)
    own = seen.indptr.astype(np.int64), seen.indices.astype(np.int32)
    with one_blas_thread():
        model = implicit.als.AlternatingLeastSquares(
            factors=given.rank, iterations=6, num_threads=given.threads, random_state=0
        )
        model.fit(seen, show_progress=False)
        everybody = np.arange(given.users)
        for name in ("fitted", "random"):
            if name == "random":
                rng = np.random.default_rng(0)
                model.user_factors = rng.standard_normal((given.users, given.rank), dtype=np.float32)
                model.item_factors = rng.standard_normal((given.items, given.rank), dtype=np.float32)
            left, right = model.user_factors, model.item_factors
            theirs: list[tuple[float, float, Any]] = []
            ours: list[tuple[float, float, Any]] = []
            for _ in range(given.repeats + 1):  # the first compiles
                theirs.append(clock(model.recommend, everybody, seen, N=given.k))
                ours.append(clock(topk, left, right, given.k, own, given.threads))
            best = [[min(run[i] for run in runs[1:]) for i in (0, 1)] for runs in (theirs, ours)]
            agree = (theirs[-1][2][0] == ours[-1][2].items).mean()
            print(
                f"{name}: implicit {best[0][0]:.3f} s wall, {best[0][1]:.3f} s process; "
                f"hushfold {best[1][0]:.3f}, {best[1][1]:.3f}; "
                f"ratio {best[0][1] / best[1][1]:.2f} (wall {best[0][0] / best[1][0]:.2f}); "
                f"same item in the same place {100 * agree:.3f} %"
            )


if __name__ == "__main__":
    main()
