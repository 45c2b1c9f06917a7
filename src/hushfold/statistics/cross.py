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
from hushfold.statistics.lanes import prefetch
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

_AHEAD = 4  # entries between fetching an item's sums and adding to them
_LINE = 8  # int64 in a cache line


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
        _add(self.indptr, self.items, self.weights, self.rows, total)


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
    total: NDArray[np.int64],
) -> None:
    rank = rows.shape[1]
    sums = total.reshape(-1)
    for user in range(len(rows)):
        row = rows[user]
        for entry in range(indptr[user], indptr[user + 1]):
            if entry + _AHEAD < len(items):
                for number in range(0, rank, _LINE):
                    prefetch(sums, items[entry + _AHEAD] * rank + number)
            weight = np.int64(weights[entry])
            at = np.uint64(items[entry]) * np.uint64(rank)  # unsigned: never counted from the end
            for a in range(np.uint64(rank)):
                sums[at + a] += weight * np.int64(row[a])
