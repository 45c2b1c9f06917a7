"""ALS sweeps against `implicit`, and the fold-in of everybody against a batched numpy solve.

    python benchmarks/als.py [--users 70000 --items 10677 --entries 8160000 --repeats 3 --ranks 64 128]

Simulated likes in the shape of ML-10M. One thread each, process CPU seconds, best of the repeats taken in
turn, compile time left out; judge the ratios, which are taken within one run. Where the linear algebra
library takes the processor for a lesser one, set OPENBLAS_CORETYPE before the run: `implicit` and numpy then
gain, the fold-in does not use it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import implicit
import numpy as np
import scipy.sparse as sp
from common import cpu, machine, product_rates, simulated
from numba import njit

from hushfold.algorithms import als
from hushfold.algorithms.als import AlsConfig
from hushfold.linalg.small_solve import padded_order, padded_width
from hushfold.local.design import Design
from hushfold.local.fold_in import fold_in, fold_in_reference
from hushfold.local.fold_in_kernels import GATHERED, normal_equations
from hushfold.local.leave_one_out import leave_one_out
from hushfold.rng import PublicRandom
from hushfold.threads import one_blas_thread
from hushfold.types import Rows

Works = dict[str, Callable[[], Any]]


def best_of(works: Works, repeats: int) -> dict[str, float]:
    """Seconds of each work, the best of the repeats; all are warmed up and then take turns."""
    for work in works.values():
        work()
    runs = [{name: cpu(work) for name, work in works.items()} for _ in range(repeats)]
    return {name: min(run[name] for run in runs) for name in works}


def sweeps(rows: Rows, rank: int, repeats: int, peak: float) -> None:
    """Both halves of a step, after two steps that leave factors as they look in a fit."""
    config = AlsConfig(
        rank, ridge=0.01, user_power=0.0, item_power=0.0, unobserved_weight=1.0, confidence=1.0
    )
    problem = als.prepare(rows, config)
    state = als.start(problem, PublicRandom(0))
    for _ in range(2):
        state = als.step(state, problem, threads=1)
    by_user = sp.csr_matrix(
        (2 * rows.values, rows.items, rows.indptr.astype(np.int32)), (len(rows), rows.catalogue)
    )
    sides = (by_user, state.users, state.items), (by_user.T.tocsr(), state.items, state.users)

    def rival(use_cg: bool) -> None:
        model = implicit.cpu.als.AlternatingLeastSquares(rank, use_cg=use_cg, num_threads=1)
        for entries, own, others in sides:
            model.solver(entries, own.copy(), others, 0.01, num_threads=1)

    seconds = best_of(
        {
            "users": lambda: als.solve_side(problem.users, state.items, config, 1),
            "items": lambda: als.solve_side(problem.items, state.users, config, 1),
            "cg": lambda: rival(True),
            "cholesky": lambda: rival(False),
        },
        repeats,
    )
    ours = seconds["users"] + seconds["items"]
    print(
        f"exact sweep, rank {rank}: {ours:.2f} s (users {seconds['users']:.2f}, items {seconds['items']:.2f})"
    )
    for name in ("cholesky", "cg"):
        print(f"  implicit {name:8} {seconds[name]:6.2f} s   {seconds[name] / ours:5.2f}x ours")
    design = Design(state.items)
    formed = best_of({"form": lambda: _form(rows, design, rank)}, repeats)["form"]
    work = len(rows.items) * rank * (rank + 1) / 1e9
    rate = work / formed
    print(f"  forming all users' equations {formed:.2f} s, {rate:.0f} Gflop/s, {rate / peak:.0%} of gemm")


def fold_ins(rows: Rows, rank: int, repeats: int) -> None:
    """Everybody's fold-in, in blocks of the size that engines use."""
    factors = np.random.default_rng(rank).normal(size=(rows.catalogue, rank)).astype(np.float32) / np.sqrt(
        rank
    )
    design = Design(factors)
    blocks = [rows.slice(start, min(start + 4096, len(rows))) for start in range(0, len(rows), 4096)]
    seconds = best_of(
        {
            "ours": lambda: [fold_in(block, design) for block in blocks],
            "numpy": lambda: batched(rows, factors),
            "loo": lambda: [leave_one_out(block, design, 1.0) for block in blocks],
        },
        repeats,
    )
    some = rows.slice(0, 200)
    error = np.abs(fold_in(some, design) - fold_in_reference(some, design)).max()
    print(
        f"fold-in of all, k = {rank}: {seconds['ours']:.2f} s, batched numpy {seconds['numpy']:.2f} s, "
        f"{seconds['numpy'] / seconds['ours']:.1f}x, error {error:.0e}; leave-one-out {seconds['loo']:.2f} s"
    )


def batched(rows: Rows, factors: Any, together: int = 512) -> Any:
    """What numpy does well: users of similar length together, padded to the longest of them."""
    lengths = np.diff(rows.indptr)
    order = np.argsort(lengths, kind="stable")
    padded = np.vstack([factors, np.zeros((1, factors.shape[1]), np.float32)])
    users = np.empty((len(rows), factors.shape[1]), np.float32)
    for start in range(0, len(order), together):
        some = order[start : start + together]
        columns = np.arange(lengths[some].max(initial=1))
        there = columns < lengths[some][:, None]
        entries = np.where(there, rows.indptr[some][:, None] + columns, 0)
        x = padded[np.where(there, rows.items[entries], rows.catalogue)]
        y = np.where(there, rows.values[entries], 0)
        normal = x.transpose(0, 2, 1) @ x + np.eye(factors.shape[1], dtype=np.float32)
        users[some] = np.linalg.solve(normal, x.transpose(0, 2, 1) @ y[:, :, None])[:, :, 0]
    return users


def heavy_user(rank: int, repeats: int, entries: int = 100_000) -> None:
    """One user with 1e5 entries against the same entries spread over a thousand users."""
    items = np.arange(entries, dtype=np.int32)
    one = Rows(np.array([0, entries]), items, np.ones(entries, np.float32), np.zeros(1, np.uint64), entries)
    spread = replace(one, indptr=np.arange(0, entries + 1, 100), keys=np.arange(1000, dtype=np.uint64))
    design = Design(np.random.default_rng(0).normal(size=(entries, rank)).astype(np.float32))
    seconds = best_of(
        {
            name: lambda rows=rows: [fold_in(rows, design) for _ in range(5)]
            for name, rows in (("one", one), ("spread", spread))
        },
        repeats,
    )
    ratio = seconds["one"] / seconds["spread"]
    print(f"one user with 1e5 entries, rank {rank}: {ratio:.2f}x the same entries spread over a thousand")


@njit(nogil=True)
def _form_all(indptr, items, values, table, roots, prior, order, gathered, right, system) -> None:  # type: ignore[no-untyped-def]
    every, flat, chunk = np.empty(0, table.dtype), table.reshape(-1), len(gathered) // table.shape[1]
    lanes = system.size // order - table.shape[1]
    for user in range(len(indptr) - 1):
        normal_equations(
            indptr[user], indptr[user + 1], items, values, every, table, flat, roots, prior, order, lanes,
            chunk, gathered, right, system,
        )  # fmt: skip


def _form(rows: Rows, design: Design, rank: int) -> None:
    width, order = design.table.shape[1], padded_order(rank)
    system = np.empty(order * (width + padded_width(1, 4)), np.float32)
    gathered, right = np.empty(GATHERED // width * width, np.float32), np.empty(width, np.float32)
    _form_all(
        rows.indptr,
        rows.items,
        rows.values,
        design.table,
        design.roots,
        design.fixed,
        order,
        gathered,
        right,
        system,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("users", 70_000), ("items", 10_677), ("entries", 8_160_000), ("repeats", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--ranks", type=int, nargs="*", default=[64, 128])
    parser.add_argument("--folds", type=int, nargs="*", default=[20, 32, 48, 64])
    given = parser.parse_args()
    rates = product_rates()
    print(machine(), {name: f"{rate:.0f} Gflop/s" for name, rate in rates.items()}, flush=True)
    rows = simulated(given.users, given.items, given.entries, likes=True)
    with one_blas_thread():
        for rank in given.folds:
            fold_ins(rows, rank, given.repeats)
        for rank in given.ranks:
            heavy_user(rank, given.repeats)
            sweeps(rows, rank, given.repeats, rates["float32"])


if __name__ == "__main__":
    main()
