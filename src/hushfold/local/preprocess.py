"""What every user does to their own values first: mean, centre, clip. Clipping comes last (register 13)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from hushfold.errors import ArgumentError
from hushfold.local.sample import checked_counts, public_lookup, restrict
from hushfold.types import Rows


def frequent_items(counts: ArrayLike, fraction: float) -> NDArray[np.bool_]:
    """Which items are the `ceil(fraction m)` of largest released count, ties by item index. Public maths.

    A count that is no number is the lowest. Train on these; the rest have too little signal for their noise.
    """
    if not 0 < fraction <= 1:
        raise ArgumentError("frequent_fraction", f"{fraction} is outside 0 .. 1", "Pass 1 to keep all items")
    released = np.nan_to_num(np.asarray(counts, np.float64), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    frequent = np.zeros(released.shape, bool)
    frequent[np.argsort(-released, kind="stable")[: math.ceil(fraction * len(released))]] = True
    return frequent


def only_items(rows: Rows, wanted: NDArray[np.bool_]) -> Rows:
    """The users' entries on items that a public mask wants."""
    checked_counts(wanted, rows.catalogue)
    return restrict(rows, public_lookup(wanted, rows.items))


def user_means(rows: Rows, otherwise: float) -> NDArray[np.float64]:
    """Every user's own mean; `otherwise`, a public value, without entries or where it is not finite."""
    means = np.empty(len(rows))
    _means(rows.indptr, rows.values, otherwise, means)
    return means


def user_means_reference(rows: Rows, otherwise: float) -> NDArray[np.float64]:
    """The readable twin of `user_means`, equal bit by bit."""
    means = [sum(map(float, own)) / len(own) if len(own) else math.nan for _, own in rows.each()]
    return np.array([mean if math.isfinite(mean) else otherwise for mean in means], np.float64)


def centre_and_clip(rows: Rows, centre: float | NDArray[np.float64], bound: float) -> Rows:
    """Values minus `centre`, then clipped to +-`bound`; what is no number becomes 0.

    The centre is public, released, or one number per user, computed from own rows (`user_means`).
    """
    if not (math.isfinite(bound) and bound > 0):
        raise ArgumentError("value_bound", f"{bound} is not a finite positive number", "State it publicly")
    own = np.repeat(np.broadcast_to(np.asarray(centre, np.float64), len(rows)), np.diff(rows.indptr))
    largest = np.float32(min(bound, np.finfo(np.float32).max))
    if float(largest) > bound:
        largest = np.nextafter(largest, np.float32(0))
    with np.errstate(invalid="ignore"):
        centred = np.nan_to_num(rows.values - own, nan=0.0, posinf=np.inf, neginf=-np.inf)
    return replace(rows, values=np.clip(centred, -largest, largest).astype(np.float32))


@njit(nogil=True, cache=True)
def _means(  # pragma: no cover
    indptr: NDArray[np.int64], values: NDArray[np.float32], otherwise: float, means: NDArray[np.float64]
) -> None:
    for user in range(len(indptr) - 1):
        start, stop = indptr[user], indptr[user + 1]
        total = 0.0
        for entry in range(start, stop):
            total += np.float64(values[entry])
        mean = total / (stop - start) if stop > start else np.nan
        means[user] = mean if abs(mean) < np.inf else otherwise
