"""Adding up the moment of sparse rows, one panel of 256 items at a time.

For item a of the panel, every user who has a adds `w_a * w_b` for each own item b from a on: the rest of the
user's row. So the loop goes over items, then over their users (a *visit*), then over the rest of that user's
row; the sums of one item stay in the nearest cache, and the rows of the next visits are fetched ahead. Only
integers are added: no order of users, blocks or tiles can change a result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.statistics.base import TILE
from hushfold.statistics.lanes import prefetch

_AHEAD = 10  # visits between fetching a row and adding it
_LINE = 32  # entries of 2 bytes in a cache line


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class QuantisedRows:
    """A block of users' integers over the head, `values[e]` at `places[e]`; `|w|^2 <= 2^30` for each user."""

    indptr: NDArray[np.int64]
    places: NDArray[np.uint16]
    values: NDArray[np.int16]
    level: bool
    """Whether every user's values are all equal (likes of equal weight): adding those up is faster."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class JoinedRows:
    """Everybody's rows in one piece, and where each row enters each panel."""

    indptr: NDArray[np.int64]
    places: NDArray[np.uint16]
    values: NDArray[np.int16]  # one an entry, or one a user if `level`
    level: bool
    cuts: NDArray[np.uint16]  # (panels + 1) x users: entries of the row before each panel's first item
    counts: NDArray[np.int64]  # users of each item

    def tile(self, tile: int, size: tuple[int, ...]) -> NDArray[np.int64]:
        """The exact sum of one panel of the upper triangle, 0 below the diagonal."""
        first = tile * TILE
        bounds = np.zeros(size[0] + 1, np.int64)  # of the items' visits
        np.cumsum(self.counts[first : first + size[0]], out=bounds[1:])
        start = np.empty(bounds[-1], np.int64)
        length = np.empty(bounds[-1], np.uint16)
        own = np.empty(bounds[-1], np.int16)
        _list_visits(
            self.indptr, self.cuts[tile], self.cuts[tile + 1], self.places, self.values, self.level,
            first, bounds[:-1].copy(), start, length, own,
        )  # fmt: skip
        panel = np.empty(size, np.int64)
        if self.level:
            _add_level(self.places, bounds, start, length, own, first, panel)
        else:
            _add(self.places, self.values, bounds, start, length, own, first, panel)
        return panel


def join(parts: list[QuantisedRows], size: int) -> JoinedRows:
    """Join the parts over a head of `size` items. Empties the list, part by part, as it copies."""
    users = sum(len(part.indptr) - 1 for part in parts)
    entries = sum(len(part.places) for part in parts)
    level = all(part.level for part in parts)
    indptr = np.zeros(users + 1, np.int64)
    places = np.empty(entries, np.uint16)
    values = np.empty(users if level else entries, np.int16)
    user = entry = 0
    while parts:
        part = parts.pop()
        next_user, next_entry = user + len(part.indptr) - 1, entry + len(part.places)
        indptr[user + 1 : next_user + 1] = entry + part.indptr[1:]
        places[entry:next_entry] = part.places
        if level:
            _first_values(part.indptr, part.values, values[user:next_user])
        else:
            values[entry:next_entry] = part.values
        user, entry = next_user, next_entry
    cuts = np.empty((-(-size // TILE) + 1, users), np.uint16)
    counts = np.zeros(size, np.int64)
    _cut(indptr, places, cuts, counts)
    return JoinedRows(indptr, places, values, level, cuts, counts)


@njit(nogil=True, cache=True)
def _first_values(  # pragma: no cover
    indptr: NDArray[np.int64], values: NDArray[np.int16], out: NDArray[np.int16]
) -> None:
    for user in range(len(out)):
        out[user] = values[indptr[user]] if indptr[user] < indptr[user + 1] else 0


@njit(nogil=True, cache=True)
def _cut(  # pragma: no cover
    indptr: NDArray[np.int64],
    places: NDArray[np.uint16],
    cuts: NDArray[np.uint16],
    counts: NDArray[np.int64],
) -> None:
    panels = len(cuts) - 1
    for user in range(len(indptr) - 1):
        entry = indptr[user]
        for panel in range(panels + 1):
            while entry < indptr[user + 1] and (panel == panels or places[entry] < panel * TILE):
                counts[places[entry]] += 1
                entry += 1
            cuts[panel, user] = entry - indptr[user]


@njit(nogil=True, cache=True)
def _list_visits(  # pragma: no cover
    indptr: NDArray[np.int64],
    enter: NDArray[np.uint16],
    leave: NDArray[np.uint16],
    places: NDArray[np.uint16],
    values: NDArray[np.int16],
    level: bool,
    first: int,
    free: NDArray[np.int64],
    start: NDArray[np.int64],
    length: NDArray[np.uint16],
    own: NDArray[np.int16],
) -> None:
    """For each item of the panel, one after the other: where its users' rows go on from it, how far, and with
    which own value. `free` holds the first place of each item's list.
    """
    users = len(indptr) - 1
    for user in range(users):
        if user + _AHEAD < users:
            prefetch(places, indptr[user + _AHEAD] + enter[user + _AHEAD])
        for entry in range(indptr[user] + enter[user], indptr[user] + leave[user]):
            item = places[entry] - first
            visit = free[item]
            free[item] = visit + 1
            start[visit] = entry
            length[visit] = indptr[user + 1] - entry
            own[visit] = values[user] if level else values[entry]


@njit(nogil=True, cache=True)
def _add(  # pragma: no cover
    places: NDArray[np.uint16],
    values: NDArray[np.int16],
    bounds: NDArray[np.int64],
    start: NDArray[np.int64],
    length: NDArray[np.uint16],
    own: NDArray[np.int16],
    first: int,
    panel: NDArray[np.int64],
) -> None:
    rows, columns = panel.shape
    sums = np.empty(first + columns, np.int64)
    for row in range(rows):
        sums[first:] = 0
        for visit in range(bounds[row], bounds[row + 1]):
            if visit + _AHEAD < len(start):
                for line in range(3):
                    prefetch(places, start[visit + _AHEAD] + line * _LINE)
                    prefetch(values, start[visit + _AHEAD] + line * _LINE)
            value = np.int64(own[visit])
            begin = np.uint64(start[visit])  # unsigned: no check for places counted from the end
            for entry in range(begin, begin + np.uint64(length[visit])):
                sums[places[entry]] += value * values[entry]
        panel[row] = sums[first:]


@njit(nogil=True, cache=True)
def _add_level(  # pragma: no cover
    places: NDArray[np.uint16],
    bounds: NDArray[np.int64],
    start: NDArray[np.int64],
    length: NDArray[np.uint16],
    own: NDArray[np.int16],
    first: int,
    panel: NDArray[np.int64],
) -> None:
    """As `_add`, when all of a user's values are the same."""
    rows, columns = panel.shape
    sums = np.empty(first + columns, np.int64)
    for row in range(rows):
        sums[first:] = 0
        for visit in range(bounds[row], bounds[row + 1]):
            if visit + _AHEAD < len(start):
                for line in range(3):
                    prefetch(places, start[visit + _AHEAD] + line * _LINE)
            square = np.int64(own[visit]) * np.int64(own[visit])
            begin = np.uint64(start[visit])  # unsigned: no check for places counted from the end
            for entry in range(begin, begin + np.uint64(length[visit])):
                sums[places[entry]] += square
        panel[row] = sums[first:]
