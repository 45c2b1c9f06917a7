"""`cross` of sparse rows and dense rows: sum_i w_i (x) u_i, m x r.

**Lemma.** A user's weights over the whole catalogue and the user's dense row are quantised to integers with
|w|^2 <= 2^30 and |u|^2 <= 2^30, so adding or removing the user moves the integer sum by w (x) u, whose norm
is |w| |u| <= 2^30: the real sum by at most `weight_bound * row_bound`. Replacing a user moves it by at most
twice that, and by twice if one contribution is the negative of the other. Proof: `proofs/cross.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.errors import ArgumentError
from hushfold.statistics.base import SmallAccumulator, Spec
from hushfold.statistics.lanes import LANES, weigh_eight, weigh_four, weigh_one, weigh_two
from hushfold.statistics.quantise import (
    TWO_FACTORS,
    checked_bound,
    quantise_dense,
    quantise_reference,
    quantise_rows,
)
from hushfold.statistics.rows import guard, guard_reference
from hushfold.types import Rows

Real = NDArray[np.floating[Any]]

_NUMBERS = 2**17  # of dense rows in a pass: half a megabyte


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CrossContribution:
    """The quantised weights and dense rows of a block of users."""

    spec: Spec
    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    weights: NDArray[np.int32]
    rows: NDArray[np.int32]  # users x r

    def accumulator(self) -> SmallAccumulator:
        """An empty sum."""
        return SmallAccumulator(self.spec)

    def add_to(self, total: NDArray[np.int64]) -> None:
        """Add every weight times its user's dense row to the row of its item."""
        rank = self.rows.shape[1]
        rows = self.rows
        if rank % LANES:  # fill the last register
            rows = np.pad(rows, ((0, 0), (0, -rank % LANES)))
        users_per_pass = max(1, _NUMBERS // max(1, rows.shape[1]))
        _add(self.indptr, self.items, self.weights, rows, rank, users_per_pass, total)


def cross(rows: Rows, u: Real, weight_bound: float, row_bound: float) -> CrossContribution:
    """Sum over users of w_i (x) u_i: for each item, the sum of its users' dense rows, weighted.

    `rows.values` are the weights w, each user's row of them clipped to norm `weight_bound`; `u` (users x r)
    holds the dense rows, clipped to norm `row_bound`. One user moves the result (m x r) by at most the
    product of both.
    """
    checked_rows("u", u, len(rows))
    bound = checked_bound("weight_bound", weight_bound) * checked_bound("row_bound", row_bound)
    size = (rows.catalogue, u.shape[1])
    spec = Spec("cross", size, checked_bound("weight_bound", bound), size[0] * size[1], 2.0)
    rows = guard(rows)
    weights = quantise_rows(rows.indptr, rows.values, weight_bound, TWO_FACTORS)
    return CrossContribution(
        spec, rows.indptr, rows.items, weights, quantise_dense(u, row_bound, TWO_FACTORS)
    )


def cross_reference(rows: Rows, u: Real, weight_bound: float, row_bound: float) -> NDArray[np.int64]:
    """The integers of `cross`, user after user in plain Python."""
    total = np.zeros((rows.catalogue, u.shape[1]), np.int64)
    for (items, values), dense in zip(guard_reference(rows).each(), u, strict=True):
        row = np.array(quantise_reference(dense, row_bound, TWO_FACTORS), np.int64)
        for item, weight in zip(items, quantise_reference(values, weight_bound, TWO_FACTORS), strict=True):
            total[item] += weight * row
    return total


def checked_rows(argument: str, u: Real, users: int) -> None:
    """Refuse dense rows that are not one row of real numbers per user."""
    if u.ndim != 2 or len(u) != users:
        raise ArgumentError(argument, "is not a row per user", "Pass an array users x r")


@njit(nogil=True, cache=True)
def _add(  # pragma: no cover
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    weights: NDArray[np.int32],
    rows: NDArray[np.int32],
    rank: int,
    users_per_pass: int,
    total: NDArray[np.int64],
) -> None:
    """Pass by pass over users whose rows fit the nearest caches: order their entries by item, then sum up
    each item in registers.
    """
    users, width = rows.shape
    most = np.int64(0)
    for first in range(0, users, users_per_pass):
        most = max(most, indptr[min(first + users_per_pass, users)] - indptr[first])
    owners, by_item = np.empty(most, np.uint16), np.empty(most, np.int32)
    sums = np.empty(width, np.int64)
    for first in range(0, users, users_per_pass):
        last = min(first + users_per_pass, users)
        bounds = _by_item(indptr[first : last + 1], items, weights, len(total), owners, by_item)
        numbers = rows[first:last].reshape(-1)
        for item in range(len(total)):
            if bounds[item] < bounds[item + 1]:
                sums[:] = 0
                _weigh(numbers, width, owners, by_item, bounds[item], bounds[item + 1], sums)
                for a in range(rank):
                    total[item, a] += sums[a]


@njit(nogil=True, cache=True)
def _by_item(  # pragma: no cover
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    weights: NDArray[np.int32],
    catalogue: int,
    owners: NDArray[np.uint16],
    by_item: NDArray[np.int32],
) -> NDArray[np.int64]:
    """Counting sort of these users' entries: who has each item, and with which weight. Returns where each
    item's entries begin.
    """
    begin = np.zeros(catalogue + 2, np.int64)
    for entry in range(indptr[0], indptr[-1]):
        begin[np.uint32(items[entry] + 2)] += 1  # unsigned: no check for places counted from the end
    for item in range(catalogue):
        begin[item + 2] += begin[item + 1]
    for user in range(len(indptr) - 1):
        for entry in range(indptr[user], indptr[user + 1]):
            item = np.uint32(items[entry] + 1)
            place = np.uint64(begin[item])
            begin[item] += 1
            owners[place] = user
            by_item[place] = weights[entry]
    return begin[:-1]


@njit(nogil=True, cache=True)
def _weigh(  # pragma: no cover
    numbers: NDArray[np.int32],
    width: int,
    owners: NDArray[np.uint16],
    weights: NDArray[np.int32],
    start: int,
    stop: int,
    sums: NDArray[np.int64],
) -> None:
    """Add up the weighted rows of one item, as many columns at a time as there are registers for."""
    column = 0
    while column < width:
        left = (width - column) // LANES
        if left >= 8:
            weigh_eight(numbers, width, column, owners, weights, start, stop, sums)
            column += 8 * LANES
        elif left >= 4:
            weigh_four(numbers, width, column, owners, weights, start, stop, sums)
            column += 4 * LANES
        elif left >= 2:
            weigh_two(numbers, width, column, owners, weights, start, stop, sums)
            column += 2 * LANES
        else:
            weigh_one(numbers, width, column, owners, weights, start, stop, sums)
            column += LANES
