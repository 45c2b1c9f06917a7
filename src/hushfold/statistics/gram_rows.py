"""What one user adds to `gram`: the root of the normalised weight folded into the dense row, and the check.

Kept are a float32 root for each entry and a float32 row for each user; their truncated product is the integer
row of the entry, the same wherever and whenever it is computed, for a product of two floats has one rounding
and no order. What is kept has passed the integer check **on these very products**, over the user's whole row
and catalogue: the guarantee rests on that check, not on the floats before it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.statistics.quantise import TWO_FACTORS
from hushfold.types import Rows

Real = NDArray[np.floating[Any]]

_SHRINK = np.float32(1.0 - 2.0**-20)
_LONGEST = 2**60  # sum_j |v_ij|^4 of one user


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class FoldedRows:
    """A block of users: entry e of user i is the integer row `trunc(roots[e] * rows[i])` at its item."""

    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    roots: NDArray[np.float32]
    rows: NDArray[np.float32]  # users x r


def fold(rows: Rows, u: Real, weight_bound: float, row_clip: float) -> FoldedRows:
    """Clip weights and dense rows, fold them, check every user. `rows` are guarded."""
    dense = _scale(np.ascontiguousarray(u), row_clip, TWO_FACTORS)
    roots = _roots(rows.indptr, rows.values, weight_bound)
    _check(rows.indptr, roots, dense)
    kept = roots > 0
    if kept.all():
        return FoldedRows(rows.indptr, rows.items, roots, dense)
    before = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(kept, out=before[1:])
    return FoldedRows(before[rows.indptr], rows.items[kept], roots[kept], dense)


def fold_reference(
    weights: NDArray[np.floating[Any]], row: Real, weight_bound: float, row_clip: float
) -> NDArray[np.int64]:
    """One user's integer rows, one a weight, in plain numpy."""
    rooted = np.sqrt(_direction(np.maximum(weights, 0), weight_bound)).astype(np.float32)
    dense = (_direction(row, row_clip) * TWO_FACTORS).astype(np.float32)
    for roots in (rooted, rooted * _SHRINK):
        v = np.trunc(np.outer(roots, dense)).astype(np.int64)
        if sum(int(square) ** 2 for square in (v * v).sum(axis=1)) <= _LONGEST:
            return v
    return np.zeros((len(weights), len(row)), np.int64)


def _direction(values: Real, bound: float) -> NDArray[np.float64]:
    """The row in units of `bound`, not longer than 1; 0 if anything in it is not finite."""
    row = values.astype(np.float64)
    if not np.isfinite(row).all():
        return np.zeros_like(row)
    unit = max([bound, *np.abs(row)])
    length = 0.0
    for share in row / unit:
        length += share * share
    return row / unit / max(1.0, math.sqrt(length))


@njit(nogil=True, cache=True)
def _peak_and_length(row: NDArray[np.floating[Any]], bound: float) -> tuple[float, float]:  # pragma: no cover
    """What to divide a row by so that it is in units of `bound` and not longer than 1, in two factors."""
    unit = bound
    for value in row:
        size = abs(np.float64(value))
        if not size < np.inf:
            return np.inf, 1.0
        unit = max(unit, size)
    length = 0.0
    for value in row:
        share = np.float64(value) / unit
        length += share * share
    return unit, max(1.0, math.sqrt(length))


@njit(nogil=True, cache=True)
def _scale(  # pragma: no cover
    u: NDArray[np.floating[Any]], bound: float, lattice: int
) -> NDArray[np.float32]:
    users, rank = u.shape
    out = np.zeros((users, rank), np.float32)
    for user in range(users):
        unit, length = _peak_and_length(u[user], bound)
        if unit < np.inf:
            for a in range(rank):
                out[user, a] = np.float64(u[user, a]) / unit / length * lattice
    return out


@njit(nogil=True, cache=True)
def _roots(  # pragma: no cover
    indptr: NDArray[np.int64], weights: NDArray[np.floating[Any]], bound: float
) -> NDArray[np.float32]:
    positive = np.maximum(weights, 0)
    out = np.empty(len(weights), np.float32)
    for user in range(len(indptr) - 1):
        start, stop = indptr[user], indptr[user + 1]
        unit, length = _peak_and_length(positive[start:stop], bound)
        for entry in range(start, stop):
            out[entry] = math.sqrt(np.float64(positive[entry]) / unit / length)
    return out


@njit(nogil=True, cache=True)
def _check(  # pragma: no cover
    indptr: NDArray[np.int64], roots: NDArray[np.float32], rows: NDArray[np.float32]
) -> None:
    """Hold every user to sum_j |v_ij|^4 <= 2^60 in integers: shrink once, then give up."""
    for user in range(len(indptr) - 1):
        own = roots[indptr[user] : indptr[user + 1]]
        if _too_long(own, rows[user]):
            own *= _SHRINK
            if _too_long(own, rows[user]):
                own[:] = 0


@njit(nogil=True, cache=True)
def _too_long(roots: NDArray[np.float32], row: NDArray[np.float32]) -> bool:  # pragma: no cover
    total = np.int64(0)
    square = np.int64(0)
    last = np.float32(-1)
    for entry in range(len(roots)):
        root = roots[entry]
        if root != last:  # equal weights are common, and have the same integers
            square = np.int64(0)
            for a in range(len(row)):
                whole = np.int64(np.int32(root * row[a]))
                square += whole * whole
            last = root
        total += square * square
    return bool(total > _LONGEST)
