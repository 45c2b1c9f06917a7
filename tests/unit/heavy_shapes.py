"""The three heavy shapes on one small data set: what their tests share, and what a fresh process prints.

`python heavy_shapes.py` prints a digest of all sums, so that processes, and processors, can be compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

import numpy as np

from hushfold.statistics.base import Accumulator, Contribution, tiles_of
from hushfold.statistics.cross import cross
from hushfold.statistics.gram import gram
from hushfold.statistics.moment_rows import moment_rows
from hushfold.threads import ordered_map
from hushfold.types import Rows

CATALOGUE, RANK = 700, 13  # three tiles of items; a rank that fills no register


def random_rows(users: int, catalogue: int, share: float, seed: int = 0) -> Rows:
    """Rows with a few popular items, values of both signs, users without any, and one with everything."""
    coins = np.random.default_rng(seed)
    popularity = share * 2 * np.arange(1, catalogue + 1) / catalogue
    chosen = coins.random((users, catalogue)) < popularity
    chosen[::5] = False
    chosen[users // 2] = True
    indptr = np.r_[0, np.cumsum(chosen.sum(axis=1))].astype(np.int64)
    items = np.nonzero(chosen)[1].astype(np.int32)
    values = coins.normal(size=len(items)).astype(np.float32)
    return Rows(indptr, items, values, coins.integers(0, 2**63, users).astype(np.uint64), catalogue)


def dense_rows(users: int, rank: int, seed: int = 1) -> np.ndarray:
    """Rows of very different length."""
    coins = np.random.default_rng(seed)
    return (coins.normal(size=(users, rank)) * 10.0 ** coins.integers(-2, 3, (users, 1))).astype(np.float32)


def with_values(rows: Rows, values: np.ndarray) -> Rows:
    """The same items, other values."""
    return Rows(rows.indptr, rows.items, values.astype(np.float32), rows.keys, rows.catalogue)


def pick(rows: Rows, users: Iterable[int]) -> Rows:
    """The rows of some users, in the order given."""
    parts = [(*next(rows.slice(user, user + 1).each()), rows.keys[user]) for user in users]
    items, values, keys = zip(*parts, strict=True)
    indptr = np.cumsum([0, *map(len, items)]).astype(np.int64)
    return Rows(indptr, np.concatenate(items), np.concatenate(values), np.array(keys), rows.catalogue)


def tiles(total: Accumulator, threads: int = 1) -> list[np.ndarray]:
    """All tiles of a sum, read from so many threads, the last tile first."""
    numbers = list(tiles_of(total.spec))[::-1]
    return list(ordered_map(total.tile, numbers, threads))[::-1]


def add_up(
    contribute: Callable[[Rows, np.ndarray], Contribution],
    rows: Rows,
    u: np.ndarray,
    users_per_block: int = 4096,
    threads: int = 1,
) -> list[np.ndarray]:
    """The tiles of a statistic: blocks of users on threads with a sum each, merged."""
    starts = range(0, len(rows), users_per_block)

    def work(thread: int) -> Accumulator:
        total = contribute(Rows.empty(rows.catalogue), u[:0]).accumulator()
        for start in starts[thread::threads]:
            stop = min(start + users_per_block, len(rows))
            total.add(contribute(rows.slice(start, stop), u[start:stop]))
        return total

    first, *others = ordered_map(work, range(threads), threads)
    for other in others:
        first.merge(other)
    return tiles(first, threads)


def shapes(catalogue: int = CATALOGUE) -> dict[str, Callable[[Rows, np.ndarray], Contribution]]:
    """Every heavy shape, and both loops of the moment."""
    head = np.arange(0, catalogue, 2)
    return {
        "cross": lambda rows, u: cross(rows, u, 3.0, 2.0),
        "gram": lambda rows, u: gram(rows, u, 3.0, 2.0),
        "moment": lambda rows, u: moment_rows(rows, head, 2.0),
        "moment of likes": lambda rows, u: moment_rows(
            with_values(rows, np.ones(len(rows.items))), np.arange(catalogue), 1.5
        ),
    }


def digest(sums: list[np.ndarray]) -> str:
    """One line for all integers of a statistic."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(tile).tobytes() for tile in sums)).hexdigest()


def everything() -> dict[str, str]:
    """The digests of the standard data set."""
    rows, u = random_rows(200, CATALOGUE, 0.05), dense_rows(200, RANK)
    return {name: digest(add_up(contribute, rows, u)) for name, contribute in shapes().items()}


if __name__ == "__main__":
    from hushfold.statistics.lanes import LANES

    print(LANES, *everything().values())
