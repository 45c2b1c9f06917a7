"""Adding up `gram` item by item: gather an item's integer rows, multiply them with themselves, exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.statistics.base import TILE
from hushfold.statistics.gram_rows import FoldedRows

EXACT_ROWS = (
    2**22
)  # of |v|^2 <= 2^30 each: below 2^52 every partial sum of a float64 product is a whole number


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ItemMajor:
    """Everybody's entries by item: the entry's user and root."""

    bounds: NDArray[np.int64]  # of each item's entries
    users: NDArray[np.int32]
    roots: NDArray[np.float32]
    rows: NDArray[np.float32]  # users x r

    def tile(self, tile: int, size: tuple[int, ...]) -> NDArray[np.int64]:
        """The exact sums of one tile of items."""
        upper = np.triu_indices(self.rows.shape[1])
        sums = np.zeros(size, np.int64)
        for item, total in enumerate(sums, tile * TILE):
            for start in range(self.bounds[item], self.bounds[item + 1], EXACT_ROWS):
                stop = min(start + EXACT_ROWS, self.bounds[item + 1])
                gathered = _gather(self.users[start:stop], self.roots[start:stop], self.rows)
                total += (gathered.T @ gathered)[upper].astype(np.int64)
        return sums


def join(parts: list[FoldedRows], items: int, rank: int) -> ItemMajor:
    """Index the parts by item. Empties the list, part by part, as it copies."""
    counts = np.zeros(items, np.int64)
    for part in parts:
        _count(part.items, counts)
    bounds = np.zeros(items + 1, np.int64)
    np.cumsum(counts, out=bounds[1:])
    users = np.empty(bounds[-1], np.int32)
    roots = np.empty(bounds[-1], np.float32)
    rows = np.empty((sum(len(part.rows) for part in parts), rank), np.float32)
    free = bounds[:-1].copy()
    user = 0
    while parts:
        part = parts.pop()
        rows[user : user + len(part.rows)] = part.rows
        _place(part.indptr, part.items, part.roots, user, free, users, roots)
        user += len(part.rows)
    return ItemMajor(bounds, users, roots, rows)


@njit(nogil=True, cache=True)
def _count(items: NDArray[np.int32], counts: NDArray[np.int64]) -> None:  # pragma: no cover
    for item in items:
        counts[item] += 1


@njit(nogil=True, cache=True)
def _place(  # pragma: no cover
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    part_roots: NDArray[np.float32],
    first_user: int,
    free: NDArray[np.int64],
    users: NDArray[np.int32],
    roots: NDArray[np.float32],
) -> None:
    for user in range(len(indptr) - 1):
        for entry in range(indptr[user], indptr[user + 1]):
            place = free[items[entry]]
            free[items[entry]] = place + 1
            users[place] = first_user + user
            roots[place] = part_roots[entry]


@njit(nogil=True, cache=True)
def _gather(  # pragma: no cover
    users: NDArray[np.int32], roots: NDArray[np.float32], rows: NDArray[np.float32]
) -> NDArray[np.float64]:
    rank = rows.shape[1]
    out = np.empty((len(users), rank))
    for entry in range(len(users)):
        row = rows[users[entry]]
        for a in range(rank):
            out[entry, a] = np.int32(roots[entry] * row[a])
    return out
