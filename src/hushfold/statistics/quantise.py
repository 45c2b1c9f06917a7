"""Clip, quantise, check: what happens last to a user's row before the sum, once and on the whole row.

    x = row * min(1, bound / |row|)          in float64; a row with anything not finite is 0
    q = trunc(x * lattice / bound)           toward zero, so that no norm grows
    sum q^2 <= lattice^2                     in int64 (1-norm: sum |q| <= lattice)

If rounding spoils the check, the row is multiplied by 1 - 2^-20 and truncated again; should that fail too,
it is 0. So **the integers never exceed the bound, whatever the row held**: the guarantee rests on the
check, not on the floats before it. A row's integers depend on that row alone, summed in the order of its
entries, wherever in a block it stands: see `proofs/quantisation.md`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.errors import ArgumentError

Norm = Literal["l1", "l2"]

ONE_FACTOR = 2**30  # the bound of a statistic's only factor, in lattice steps
TWO_FACTORS = 2**15  # of each of two factors: their product again has 2^30
COARSEST = 2**8  # below this a row would lose more to rounding than to any noise

_SHRINK = 1.0 - 2.0**-20


def quantise_rows(
    indptr: NDArray[np.int64],
    values: NDArray[np.floating],
    bound: float,
    lattice: int = ONE_FACTOR,
    norm: Norm = "l2",
) -> NDArray[np.int32]:
    """Integers of the ragged rows `values[indptr[i]:indptr[i + 1]]`, each of norm at most `lattice`.

    `indptr` is consistent, as the row guard leaves it. Rows whose norm is above `bound` are scaled onto it.
    """
    bound, lattice = checked_bound("bound", bound), _checked_lattice(lattice)
    out = np.empty(len(values), np.int32)
    _quantise(indptr, np.ascontiguousarray(values), np.empty(0, np.int64), bound, lattice, norm == "l1", out)
    return out


def quantise_dense(
    values: NDArray[np.floating],
    bound: float,
    lattice: int = ONE_FACTOR,
    norm: Norm = "l2",
    weights: NDArray[np.int64] | None = None,
) -> NDArray[np.int32]:
    """Integers of the rows of an n x r array, each of norm at most `lattice`.

    `weights` (r,) says how often each coordinate counts in the norm, 1 or 2: twice for the off-diagonal
    cells of a symmetric matrix of which only the upper triangle is stored.
    """
    bound, lattice = checked_bound("bound", bound), _checked_lattice(lattice)
    users, width = values.shape
    if weights is not None and weights.shape != (width,):
        raise ArgumentError("weights", "does not have one entry per coordinate", "Pass a weight per column")
    counts = np.empty(0, np.int64) if weights is None else weights.astype(np.int64)
    indptr = np.arange(users + 1, dtype=np.int64) * width
    out = np.empty(users * width, np.int32)
    _quantise(indptr, np.ascontiguousarray(values).reshape(-1), counts, bound, lattice, norm == "l1", out)
    return out.reshape(users, width)


def quantise_reference(
    row: Iterable[float],
    bound: float,
    lattice: int = ONE_FACTOR,
    norm: Norm = "l2",
    weights: NDArray[np.int64] | None = None,
) -> list[int]:
    """What both forms do to one row, in plain Python; they agree with it exactly."""
    own = [float(value) for value in row]
    counts = [1] * len(own) if weights is None else [int(count) for count in weights]
    if not all(math.isfinite(value) for value in own):
        return [0] * len(own)
    unit = max(
        [bound, *map(abs, own)]
    )  # dividing by the peak first keeps huge rows finite, and keeps their direction
    length = 0.0
    for value, count in zip(own, counts, strict=True):
        share = value / unit
        length += count * (abs(share) if norm == "l1" else share * share)
    length = length if norm == "l1" else math.sqrt(length)
    scale = lattice / max(1.0, length)
    for factor in (scale, scale * _SHRINK):
        whole = [math.trunc(value / unit * factor) for value in own]
        if norm == "l1":
            fits = sum(count * abs(q) for q, count in zip(whole, counts, strict=True)) <= lattice
        else:
            fits = sum(count * q * q for q, count in zip(whole, counts, strict=True)) <= lattice**2
        if fits:
            return whole
    return [0] * len(own)


def checked_bound(argument: str, bound: float) -> float:
    """The bound, if it can be one: finite and positive."""
    if not (math.isfinite(bound) and bound > 0):
        raise ArgumentError(
            argument, f"{bound} is not a finite positive number", "State what a user may weigh"
        )
    return float(bound)


def _checked_lattice(lattice: int) -> int:
    if not COARSEST <= lattice <= ONE_FACTOR:
        raise ArgumentError("lattice", f"{lattice} is outside 2^8 .. 2^30", "Pass ONE_FACTOR or TWO_FACTORS")
    return lattice


@njit(nogil=True, cache=True)
def _quantise(  # pragma: no cover
    indptr: NDArray[np.int64],
    values: NDArray[np.floating],
    weights: NDArray[np.int64],
    bound: float,
    lattice: int,
    l1: bool,
    out: NDArray[np.int32],
) -> None:
    """`weights` has one entry per coordinate of a row, or none at all: then all count once."""
    weighted = len(weights) > 0
    for user in range(len(indptr) - 1):
        start, stop = indptr[user], indptr[user + 1]
        unit = bound
        finite = True
        for entry in range(start, stop):
            size = abs(np.float64(values[entry]))
            finite &= size < np.inf
            unit = max(unit, size)
        length = 0.0
        if finite:
            for entry in range(start, stop):
                share = np.float64(values[entry]) / unit
                part = abs(share) if l1 else share * share
                length += weights[entry - start] * part if weighted else part
        scale = lattice / max(1.0, length if l1 else math.sqrt(length))
        fits = False
        for _ in range(2):
            if not finite or fits:
                break
            norm = np.int64(0)
            for entry in range(start, stop):
                whole = np.int64(np.float64(values[entry]) / unit * scale)
                out[entry] = whole
                part_whole = abs(whole) if l1 else whole * whole
                norm += weights[entry - start] * part_whole if weighted else part_whole
            fits = norm <= (lattice if l1 else lattice * lattice)
            scale *= _SHRINK
        if not fits:
            out[start:stop] = 0
