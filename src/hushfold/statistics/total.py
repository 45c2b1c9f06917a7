"""`total`: sum_i w_i over the items of the catalogue, if asked for with a few scalars per user in the row.

**Lemma.** A user's whole row (items, then scalars) is quantised to integers with sum q^2 <= 2^60 and names
every coordinate at most once, so adding or removing the user moves the integer sum by |q| <= 2^30: the real
sum by at most `bound`. Replacing a user moves it by at most 2 bounds; by sqrt 2 where no coordinate may be
negative, since then x . y >= 0 in |x - y|^2 = |x|^2 + |y|^2 - 2 x . y; by sqrt(2 + 2 c) where only scalars
may be, and those carry at most a share c of the squared norm. Proof page: `proofs/total.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.errors import ArgumentError
from hushfold.statistics.base import SmallAccumulator, Spec
from hushfold.statistics.quantise import (
    ONE_FACTOR,
    checked_bound,
    quantise_dense,
    quantise_reference,
    quantise_rows,
)
from hushfold.statistics.rows import guard, guard_reference
from hushfold.types import Rows

Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class TotalContribution:
    """The quantised entries of a block of users; indices from the catalogue's size on are the scalars."""

    spec: Spec
    items: NDArray[np.int32]
    integers: NDArray[np.int32]

    def accumulator(self) -> SmallAccumulator:
        """An empty sum."""
        return SmallAccumulator(self.spec)

    def add_to(self, total: NDArray[np.int64]) -> None:
        """Scatter every entry onto its coordinate."""
        _scatter(self.items, self.integers, total)


def total(
    rows: Rows,
    bound: float,
    extra: Floats | None = None,
    *,
    nonnegative: bool = False,
    signed: Floats | None = None,
    signed_share: float = 0.0,
) -> TotalContribution:
    """Sum of the users' rows (m,), each row clipped to norm `bound` together with its scalars.

    `extra` (users x s) are scalars that share the row, its norm and its noise: the result has m + s
    coordinates. `nonnegative` promises, and enforces by clipping at 0, that no coordinate is negative,
    which makes replacing a user cheaper; `signed` (users x t) are then the scalars exempt from it, appended
    last, and clipped by themselves to the norm sqrt(signed_share) * bound. A user without a finite scalar
    counts as absent.
    """
    bound = checked_bound("bound", bound)
    rows = guard(rows)
    extra = _scalars("extra", extra, len(rows))
    signed = _clip_signed(_scalars("signed", signed, len(rows)), nonnegative, signed_share, bound)
    values, scalars, width = rows.values, np.hstack([extra, signed]), extra.shape[1] + signed.shape[1]
    if nonnegative:
        values, scalars = np.maximum(values, 0), np.hstack([np.maximum(extra, 0), signed])
    indptr, items = rows.indptr, rows.items
    if width:
        indptr, items, values = _append(indptr, items, values.astype(np.float64), scalars, rows.catalogue)
    integers = quantise_rows(indptr, values, bound, ONE_FACTOR)
    if signed.shape[1]:
        _check_signed(indptr, integers, signed.shape[1], signed_share)
    size = rows.catalogue + width
    replace = math.sqrt(2 + 2 * signed_share) if nonnegative else 2.0
    return TotalContribution(Spec("total", (size,), bound, size, replace), items, integers)


def total_reference(rows: Rows, bound: float, extra: Floats | None = None) -> NDArray[np.int64]:
    """The integers of `total` of signed coordinates, user after user in plain Python."""
    extra = _scalars("extra", extra, len(rows))
    result = np.zeros(rows.catalogue + extra.shape[1], np.int64)
    for (items, values), scalars in zip(guard_reference(rows).each(), extra, strict=True):
        coordinates = [*items, *range(rows.catalogue, len(result))]
        for coordinate, q in zip(coordinates, quantise_reference([*values, *scalars], bound), strict=True):
            result[coordinate] += q
    return result


def _scalars(argument: str, scalars: Floats | None, users: int) -> NDArray[np.float64]:
    if scalars is None:
        return np.empty((users, 0))
    if scalars.ndim != 2 or len(scalars) != users:
        raise ArgumentError(argument, "is not a row of scalars per user", "Pass an array users x scalars")
    return scalars.astype(np.float64)


def _clip_signed(
    signed: NDArray[np.float64], nonnegative: bool, share: float, bound: float
) -> NDArray[np.float64]:
    if not signed.shape[1]:
        if share:
            raise ArgumentError("signed_share", "is given without signed scalars", "Leave it at 0")
        return signed
    if not (nonnegative and 0 < share <= 1):
        raise ArgumentError(
            "signed",
            "are exempt from nothing",
            "Pass nonnegative=True and a signed_share in (0, 1], or pass them as extra",
        )
    own_bound = math.sqrt(share) * bound
    return quantise_dense(signed, own_bound, ONE_FACTOR).astype(np.float64) * (own_bound / ONE_FACTOR)


def _check_signed(indptr: NDArray[np.int64], integers: NDArray[np.int32], width: int, share: float) -> None:
    """Hold the signed scalars to their share in integers as well: only then is the replace-one factor
    exact.
    """
    places = indptr[1:, None] - width + np.arange(width)
    own = integers[places].astype(np.int64)
    too_long = (own * own).sum(axis=1) > math.floor(share * ONE_FACTOR**2)
    integers[places[too_long]] = 0


@njit(nogil=True, cache=True)
def _append(  # pragma: no cover
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    values: NDArray[np.float64],
    scalars: NDArray[np.float64],
    catalogue: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Rows with the scalars behind their items."""
    users, width = scalars.shape
    new_indptr = np.zeros(users + 1, np.int64)
    new_items = np.empty(len(items) + users * width, np.int32)
    new_values = np.empty(len(new_items), np.float64)
    place = 0
    for user in range(users):
        for entry in range(indptr[user], indptr[user + 1]):
            new_items[place], new_values[place] = items[entry], values[entry]
            place += 1
        for scalar in range(width):
            new_items[place], new_values[place] = catalogue + scalar, scalars[user, scalar]
            place += 1
        new_indptr[user + 1] = place
    return new_indptr, new_items, new_values


@njit(nogil=True, cache=True)
def _scatter(  # pragma: no cover
    items: NDArray[np.int32], integers: NDArray[np.int32], total: NDArray[np.int64]
) -> None:
    for entry in range(len(items)):
        total[items[entry]] += integers[entry]
