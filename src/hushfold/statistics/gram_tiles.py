"""Adding up `gram` item by item: gather an item's integer rows, multiply them with themselves, exactly.

The product runs in float64, where every sum is a whole number below 2^53, on blocks of the upper triangle
that fit the registers; the gathered rows fit the nearest cache. It does without BLAS, which would have to be
held to one thread for the whole process, and which takes some processors for older ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.statistics.base import TILE
from hushfold.statistics.gram_rows import FoldedRows
from hushfold.statistics.lanes import LANES, fold_lanes, multiply_one, multiply_three, multiply_two, prefetch

EXACT_ROWS = 2**22  # of |v|^2 <= 2^30 each: below 2^52 every partial sum in float64 is a whole number
_GATHERED = 2**12  # numbers gathered at a time: 32 kB
_AHEAD = 16  # entries between fetching a row and using it
_LINE = 16  # float32 in a cache line


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ItemMajor:
    """Everybody's entries by item: the entry's user and root."""

    rank: int
    bounds: NDArray[np.int64]  # of each item's entries
    users: NDArray[np.int32]
    roots: NDArray[np.float32]
    rows: NDArray[np.float32]  # users x r, padded with zeros to whole LANES

    def tile(self, tile: int, size: tuple[int, ...]) -> NDArray[np.int64]:
        """The exact sums of one tile of items."""
        bounds = self.bounds[tile * TILE : tile * TILE + size[0] + 1]
        sums = np.zeros(size, np.int64)
        _add_items(bounds, self.users, self.roots, self.rows, self.rank, EXACT_ROWS, sums)
        return sums

    def tile_reference(self, tile: int, size: tuple[int, ...]) -> NDArray[np.int64]:
        """`tile`, as one would explain it."""
        sums = np.zeros(size, np.int64)
        for item, total in enumerate(sums, tile * TILE):
            own = slice(self.bounds[item], self.bounds[item + 1])
            rows = self.roots[own, None] * self.rows[self.users[own], : self.rank]
            v = np.trunc(rows).astype(np.int64)
            total += (v.T @ v)[np.triu_indices(self.rank)]
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
    rows = np.zeros((sum(len(part.rows) for part in parts), -(-rank // LANES) * LANES), np.float32)
    free = bounds[:-1].copy()
    user = 0
    while parts:
        part = parts.pop()
        rows[user : user + len(part.rows), :rank] = part.rows
        _place(part.indptr, part.items, part.roots, user, free, users, roots)
        user += len(part.rows)
    return ItemMajor(rank, bounds, users, roots, rows)


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
def _add_items(  # pragma: no cover
    bounds: NDArray[np.int64],
    users: NDArray[np.int32],
    roots: NDArray[np.float32],
    rows: NDArray[np.float32],
    rank: int,
    exact_rows: int,
    sums: NDArray[np.int64],
) -> None:
    width = rows.shape[1]
    numbers = rows.reshape(-1)
    chunk = min(max(_GATHERED // width, LANES), exact_rows)
    gathered = np.empty(chunk * width)
    partial = np.zeros(width * width)
    for item in range(len(sums)):
        added = 0
        for start in range(bounds[item], bounds[item + 1], chunk):
            stop = min(start + chunk, bounds[item + 1])
            if added + chunk > exact_rows:
                _flush(partial, width, rank, sums[item])
                added = 0
            _gather(users, roots, numbers, width, start, stop, chunk, gathered)
            _multiply(gathered, width, chunk, stop - start, partial)
            added += stop - start
        _flush(partial, width, rank, sums[item])


@njit(nogil=True, cache=True)
def _gather(  # pragma: no cover
    users: NDArray[np.int32],
    roots: NDArray[np.float32],
    numbers: NDArray[np.float32],
    width: int,
    start: int,
    stop: int,
    chunk: int,
    gathered: NDArray[np.float64],
) -> None:
    """Integer rows, LANES columns after LANES columns: (width / LANES) x chunk x LANES."""
    for entry in range(start, stop):
        if entry + _AHEAD < len(users):
            for number in range(0, width, _LINE):
                prefetch(numbers, users[entry + _AHEAD] * width + number)
        row = users[entry] * width
        for column in range(0, width, LANES):
            at = column * chunk + (entry - start) * LANES
            fold_lanes(numbers, row + column, roots[entry], gathered, at)


@njit(nogil=True, cache=True)
def _multiply(  # pragma: no cover
    gathered: NDArray[np.float64], width: int, chunk: int, count: int, partial: NDArray[np.float64]
) -> None:
    """Add the products of the gathered rows with themselves: all blocks that the upper triangle touches."""
    apart = chunk * LANES
    blocks = width // LANES
    for a in range(blocks):
        b = a
        while b < blocks:
            at = (a * width + b) * LANES
            if blocks - b == 1:
                multiply_one(gathered, a * apart, b * apart, apart, count, partial, at, width)
                b += 1
            elif blocks - b == 2 or blocks - b == 4:
                multiply_two(gathered, a * apart, b * apart, apart, count, partial, at, width)
                b += 2
            else:
                multiply_three(gathered, a * apart, b * apart, apart, count, partial, at, width)
                b += 3


@njit(nogil=True, cache=True)
def _flush(  # pragma: no cover
    partial: NDArray[np.float64], width: int, rank: int, total: NDArray[np.int64]
) -> None:
    """Move the whole numbers of the upper triangle into int64."""
    coordinate = 0
    for a in range(rank):
        for b in range(a, rank):
            total[coordinate] += np.int64(partial[a * width + b])
            coordinate += 1
    partial[:] = 0
