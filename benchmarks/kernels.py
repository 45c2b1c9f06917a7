"""How fast are the three heavy shapes? Each against its rival in the same run, on one thread and on two.

    python benchmarks/kernels.py [--users 70000 --items 10677 --entries 8160000 --head 10000 --rank 64]

`moment` of sparse rows over a head of items, of ratings and of likes, against scipy's sparse product
`W.T @ W` in float32 and against BLAS `syrk` on the dense matrix (extrapolated by flops from a measured rate:
at full size it takes minutes and 5.6 GB). `cross` against scipy's `W.T @ U` in float64. `gram` as a share of
this machine's float64 matrix product, counting r (r + 1) flops an entry. Ours is everything from the users'
rows to the exact sums: clip, quantise, check, add. Medians of CPU seconds, taken by turns; compile times
apart; memory in a fresh process.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
import scipy.sparse
from common import cpu, in_a_process, machine, peak_megabytes, product_rates, simulated, wall

from hushfold.linalg.panels import SymmetricPanels
from hushfold.statistics.base import Accumulator, Contribution
from hushfold.statistics.cross import cross
from hushfold.statistics.gram import gram
from hushfold.statistics.moment_rows import moment_rows
from hushfold.threads import one_blas_thread, ordered_map
from hushfold.types import Rows

BLOCK = 4096  # users
Contribute = Callable[[Rows, np.ndarray], Contribution]


def accumulate(contribute: Contribute, rows: Rows, u: np.ndarray, threads: int = 1) -> Accumulator:
    """As an engine does it: each thread its own sum over blocks of users, merged."""
    starts = range(0, len(rows), BLOCK)

    def work(thread: int) -> Accumulator:
        total = contribute(Rows.empty(rows.catalogue), u[:0]).accumulator()
        for start in starts[thread::threads]:
            total.add(contribute(rows.slice(start, min(start + BLOCK, len(rows))), u[start : start + BLOCK]))
        return total

    first, *others = ordered_map(work, range(threads), threads)
    for other in others:
        first.merge(other)
    return first


def all_tiles(total: Accumulator, threads: int = 1) -> None:
    """Sum every tile and let go of it, as the door does."""
    for _ in ordered_map(total.tile, range(total.spec.tiles), threads):
        pass


def whole(contribute: Contribute, rows: Rows, u: np.ndarray, threads: int = 1) -> None:
    all_tiles(accumulate(contribute, rows, u, threads), threads)


def released(contribute: Contribute, rows: Rows, u: np.ndarray) -> SymmetricPanels:
    """The moment as the float32 panels that are published (without their noise)."""
    total = accumulate(contribute, rows, u)

    def panel(tile: int) -> np.ndarray:
        real = (total.tile(tile) * total.spec.step).astype(np.float32)
        block = real[:, : len(real)]
        block += np.triu(block, 1).T
        return real

    return SymmetricPanels.from_tiles(map(panel, range(total.spec.tiles)))


class Case:
    """The simulated set, and the shapes on it."""

    def __init__(self, asked: argparse.Namespace, likes: bool) -> None:
        self.rows = simulated(asked.users, asked.items, asked.entries, likes)
        counts = np.bincount(self.rows.items, minlength=asked.items)
        self.head = np.sort(np.argsort(-counts, kind="stable")[: asked.head])
        self.u = np.random.default_rng(0).standard_normal((asked.users, asked.rank)).astype(np.float32)
        self.shapes: dict[str, Contribute] = {
            "moment": lambda rows, _: moment_rows(rows, self.head, 1.0),
            "cross": lambda rows, u: cross(rows, u, 10.0, 8.0),
            "gram": lambda rows, u: gram(rows, u, 50.0, 8.0),
        }

    def sparse(self, kind: type) -> scipy.sparse.csr_matrix:
        size = (len(self.rows), self.rows.catalogue)
        return scipy.sparse.csr_matrix(
            (self.rows.values.astype(kind), self.rows.items, self.rows.indptr.astype(np.int32)), size
        )

    def warm(self) -> dict[str, float]:
        """Wall seconds to the first result of a small set: compiles, or reads what was compiled before."""
        few = self.rows.slice(0, 50)
        return {name: wall(partial(whole, shape, few, self.u[:50])) for name, shape in self.shapes.items()}


def by_turns(rivals: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    seconds = {name: list[float]() for name in rivals}
    for _ in range(repeats):
        for name, work in rivals.items():
            seconds[name].append(cpu(work))
    return {name: median(taken) for name, taken in seconds.items()}


def two_threads(work: Callable[[int], object], repeats: int) -> dict[str, float]:
    """How much faster on two threads: by the wall, and as CPU time would have it on two idle cores."""
    walls = {threads: list[float]() for threads in (1, 2)}
    cpus = {threads: list[float]() for threads in (1, 2)}
    for _ in range(repeats):
        for threads in (1, 2):
            start = time.process_time()
            walls[threads].append(wall(partial(work, threads)))
            cpus[threads].append(time.process_time() - start)
    return {
        "two_threads_by_wall": max(one / two for one, two in zip(walls[1], walls[2], strict=True)),
        "two_threads_by_cpu": 2 * median(cpus[1]) / median(cpus[2]),
    }


def moment_figures(case: Case, syrk_rate: float, best_syrk_rate: float, repeats: int) -> dict[str, float]:
    shape, rows, u = case.shapes["moment"], case.rows, case.u
    dense = case.sparse(np.float32)[:, case.head].tocsr()
    lengths = np.diff(dense.indptr).astype(np.float64)
    seconds = by_turns(
        {"ours": lambda: whole(shape, rows, u), "scipy": lambda: dense.T @ dense}, max(1, repeats // 2)
    )
    syrk = len(rows) * len(case.head) * (len(case.head) + 1) / 1e9
    return {
        "pairs_1e9": (lengths * (lengths + 1)).sum() / 2e9,
        "seconds": seconds["ours"],
        "scipy_over_ours": seconds["scipy"] / seconds["ours"],
        "syrk_over_ours": syrk / syrk_rate / seconds["ours"],
        "best_syrk_over_ours": syrk / best_syrk_rate / seconds["ours"],
        **two_threads(lambda threads: whole(shape, rows, u, threads), repeats // 2),
    }


def cross_figures(case: Case, repeats: int) -> dict[str, float]:
    shape, rows, u = case.shapes["cross"], case.rows, case.u
    transposed, wide = case.sparse(np.float64).T, u.astype(np.float64)
    seconds = by_turns({"ours": lambda: whole(shape, rows, u), "scipy": lambda: transposed @ wide}, repeats)
    return {
        "seconds": seconds["ours"],
        "scipy_over_ours": seconds["scipy"] / seconds["ours"],
        **two_threads(lambda threads: whole(shape, rows, u, threads), repeats),
    }


def gram_figures(case: Case, best_product_rate: float, repeats: int) -> dict[str, float]:
    shape, rows, u = case.shapes["gram"], case.rows, case.u
    total = accumulate(shape, rows, u)
    total.tile(0)
    size = 1500
    square = np.random.default_rng(0).standard_normal((size, size))
    with one_blas_thread():
        seconds = by_turns(
            {
                "ours": lambda: whole(shape, rows, u),
                "tiles": lambda: all_tiles(total),
                "product": lambda: square @ square,
            },
            repeats,
        )
    flops = len(rows.items) * u.shape[1] * (u.shape[1] + 1)
    rate = 2 * size**3 / seconds["product"]
    return {
        "seconds": seconds["ours"],
        "gflops": flops / seconds["ours"] / 1e9,
        "share_of_gemm": flops / seconds["ours"] / rate,
        "share_of_gemm_tiles_only": flops / seconds["tiles"] / rate,
        "share_of_best_gemm": flops / seconds["ours"] / 1e9 / best_product_rate,
        **two_threads(lambda threads: all_tiles(total, threads), repeats),
    }


def memory(name: str, likes: bool, asked: argparse.Namespace) -> dict[str, float]:
    """Peak megabytes beyond the input, in this process: of the sums, and for the moment with its result."""
    case = Case(asked, likes)
    case.warm()
    shape = case.shapes[name]
    figures = {"peak_mb": peak_megabytes(lambda: whole(shape, case.rows, case.u))}
    if name == "moment":
        packed = 2 * asked.head**2 / 2**20
        with_result = peak_megabytes(lambda: released(shape, case.rows, case.u))
        figures |= {
            "peak_mb_with_released": with_result,
            "over_packed_float32": with_result / packed,
            "over_square_float32": with_result / 2 / packed,
        }
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, default in {
        "users": 70_000,
        "items": 10_677,
        "entries": 8_160_000,
        "head": 10_000,
        "rank": 64,
    }.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=["rates", "memory", "compile"], help=argparse.SUPPRESS)
    parser.add_argument("--shape", default="moment", help=argparse.SUPPRESS)
    parser.add_argument("--likes", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.only == "rates":
        print(json.dumps({"blas": machine()["blas"], "one_thread_gflops": product_rates()}))
        return
    if asked.only == "memory":
        print(json.dumps(memory(asked.shape, asked.likes, asked)))
        return

    if asked.only == "compile":
        print(json.dumps(Case(asked, likes=False).warm()))
        return

    with tempfile.TemporaryDirectory() as empty:
        small = ["--users=500", "--items=1000", "--entries=20000", "--head=500"]
        compiling = in_a_process(__file__, "--only=compile", *small, NUMBA_CACHE_DIR=empty)
    show("wall seconds to a first result on a fresh machine, compiling", compiling)
    rates = product_rates()
    show("machine", {**machine(), "one_thread_gflops": rates})
    best = rates
    for core in (None, "HASWELL", "SKYLAKEX"):
        told = in_a_process(__file__, "--only=rates", OPENBLAS_CORETYPE=core)
        show(f"the same with OPENBLAS_CORETYPE={core or 'unset'}", told)
        best = {name: max(best[name], rate) for name, rate in told["one_thread_gflops"].items()}
    sizes = [f"--{name}={getattr(asked, name)}" for name in ("users", "items", "entries", "head", "rank")]
    for likes in (False, True):
        case = Case(asked, likes)
        kind = "likes" if likes else "ratings"
        show(f"{kind}: wall seconds to a first result, compiled before", case.warm())
        flags = [*sizes, *(["--likes"] if likes else [])]
        for name, figures in {
            "moment": lambda case=case: moment_figures(case, rates["syrk"], best["syrk"], asked.repeats),
            "cross": lambda case=case: cross_figures(case, asked.repeats),
            "gram": lambda case=case: gram_figures(case, best["float64"], asked.repeats),
        }.items():
            told = in_a_process(__file__, "--only=memory", f"--shape={name}", *flags)
            show(f"{kind}: {name}", figures() | told)


def show(title: str, figures: dict[str, object]) -> None:
    def rounded(value: object) -> object:
        if isinstance(value, dict):
            return {name: rounded(each) for name, each in value.items()}
        return round(value, 3) if isinstance(value, float) else value

    print(f"{title}\n{json.dumps(rounded(figures), indent=2)}", flush=True)


if __name__ == "__main__":
    main()
