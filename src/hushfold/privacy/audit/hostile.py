"""Data sets made to break a bound: every kind of row that has broken one before, and neighbours of such sets.

Rows come as a careless reader might hand them over: unsorted, repeated, out of range, not finite, huge.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hushfold.rng import Coins
from hushfold.types import Rows

Neighbours = tuple[Rows, list[Rows]]
"""A data set, and neighbours of it."""

UserRow = tuple[NDArray[np.int32], NDArray[np.float32]]

_LARGEST = float(np.finfo(np.float32).max)
_ODD_VALUES = (np.nan, np.inf, -np.inf, _LARGEST, -_LARGEST, 1e-45, 0.0, -0.0, 1e9, -1e9)


def _plain(coins: Coins, catalogue: int) -> UserRow:
    items = np.flatnonzero(coins.random(catalogue) < 8 / catalogue)
    return items.astype(np.int32), coins.integers(-5, 6, len(items)).astype(np.float32)


def _empty(coins: Coins, catalogue: int) -> UserRow:
    return np.zeros(0, np.int32), np.zeros(0, np.float32)


def _one_item(coins: Coins, catalogue: int) -> UserRow:
    value = coins.choice([1.0, -1.0, 1e9, -1e9, 0.0])
    return coins.integers(0, catalogue, 1, np.int32), np.array([value], np.float32)


def _heavy(coins: Coins, catalogue: int) -> UserRow:
    """Every item of every tile, far above any bound."""
    value = coins.choice([1.0, 5.0, 1e6, -1e6])
    return np.arange(catalogue, dtype=np.int32), np.full(catalogue, value, np.float32)


def _equal_blocks(coins: Coins, catalogue: int) -> UserRow:
    """A few large values in the first, middle and last tile: a clip per tile would let each count in full."""
    items = np.unique(np.linspace(0, catalogue - 1, int(coins.integers(2, 9))).astype(np.int32))
    return items, np.full(len(items), 1e4, np.float32)


def _repeated(coins: Coins, catalogue: int) -> UserRow:
    count = int(coins.integers(2, 60))
    return np.full(count, coins.integers(0, catalogue), np.int32), np.full(count, 5.0, np.float32)


def _out_of_range(coins: Coins, catalogue: int) -> UserRow:
    items = coins.integers(-2 * catalogue, 3 * catalogue, 20, np.int32)
    return items, coins.normal(0, 10, 20).astype(np.float32)


def _wraps_around(coins: Coins, catalogue: int) -> UserRow:
    """Negative indices that stand for the last items once more."""
    items = np.array([catalogue - 1, -1, catalogue - 1, -1 - catalogue, 2**31 - 1, -(2**31)], np.int32)
    return items, np.full(6, 4.0, np.float32)


def _odd_values(coins: Coins, catalogue: int) -> UserRow:
    items = np.sort(coins.choice(catalogue, min(12, catalogue), replace=False)).astype(np.int32)
    return items, coins.choice(_ODD_VALUES, len(items)).astype(np.float32)


def _unsorted(coins: Coins, catalogue: int) -> UserRow:
    items = coins.integers(0, catalogue, 30, np.int32)
    return items, (coins.normal(size=30) * 10.0 ** coins.integers(-8, 9, 30)).astype(np.float32)


_KINDS: tuple[Callable[[Coins, int], UserRow], ...] = (
    _plain,
    _empty,
    _one_item,
    _heavy,
    _equal_blocks,
    _repeated,
    _out_of_range,
    _wraps_around,
    _odd_values,
    _unsorted,
)


def hostile_rows(coins: Coins, users: int, catalogue: int) -> Rows:
    """`users` rows of random hostile kinds; most items stay empty."""
    kinds = coins.integers(0, len(_KINDS), users)
    own: list[UserRow] = [_KINDS[kind](coins, catalogue) for kind in kinds.tolist()]
    return pack(own, coins.integers(0, 2**63, users).astype(np.uint64), catalogue)


def pack(rows: list[UserRow], keys: NDArray[np.uint64], catalogue: int) -> Rows:
    """Rows of several users as one block."""
    if not rows:
        return Rows.empty(catalogue)
    items = np.concatenate([items for items, _ in rows]).astype(np.int32)
    values = np.concatenate([values for _, values in rows]).astype(np.float32)
    indptr = np.cumsum([0, *(len(items) for items, _ in rows)]).astype(np.int64)
    return Rows(indptr, items, values, keys, catalogue)


def take(rows: Rows, users: NDArray[np.int64]) -> Rows:
    """The named users, in the order named."""
    own = list(rows.each())
    return pack([own[user] for user in users], rows.keys[users], rows.catalogue)


def without(rows: Rows, user: int) -> Rows:
    """Everybody but one."""
    return take(rows, np.delete(np.arange(len(rows)), user))


def with_row(rows: Rows, user: int, row: UserRow) -> Rows:
    """The same people, one of them with another row."""
    own = list(rows.each())
    own[user] = row
    return pack(own, rows.keys, rows.catalogue)


def users_removed(coins: Coins, catalogue: int, users: int = 10) -> Neighbours:
    """A hostile data set, and the same without each of its users."""
    rows = hostile_rows(coins, users, catalogue)
    return rows, [without(rows, user) for user in range(users)]


def users_replaced(coins: Coins, catalogue: int, users: int = 10) -> Neighbours:
    """A hostile data set, and the same with each user's row turned round, or exchanged for another one."""
    rows = hostile_rows(coins, users, catalogue)
    others: list[Rows] = []
    for user, (items, values) in enumerate(rows.each()):
        fresh = _KINDS[coins.integers(len(_KINDS))](coins, catalogue)
        others.append(with_row(rows, user, (items, -values) if coins.random() < 0.5 else fresh))
    return rows, others
