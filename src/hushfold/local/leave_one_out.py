"""The leave-one-out round of Hush, beside the user: what each rating meets, estimated from the user's others.

A rating that had shaped the estimate it is multiplied with would be counted twice. So for each of a user's
ratings j the posterior mean m^(-j) of (intercept, u) is that of all the user's ratings but j. One
factorisation serves them all: with Lambda the posterior precision, m the posterior mean and a_j = Lambda^-1
x_j,

    m^(-j) = m + a_j (x_j . m - e_j) / (noise_j - x_j . a_j).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from hushfold.errors import ArgumentError
from hushfold.linalg.small_solve import (
    back_substitute,
    factorise,
    forward_substitute,
    padded_order,
    padded_width,
)
from hushfold.local.design import Design
from hushfold.local.fold_in import fold_in_reference, per_user
from hushfold.local.fold_in_kernels import GATHERED, item_columns, normal_equations
from hushfold.types import Rows

Real = NDArray[np.floating[Any]]

TOGETHER = 128  # ratings of a user whose estimates are solved for together


class Met(NamedTuple):
    """What each entry of a block met, in the order of the entries: it belongs to the entry's user."""

    z: Real
    """Entries x rank: factors estimated without the entry, no longer than `longest`."""
    r: Real
    """The entry's value less the intercept estimated without it."""


def leave_one_out(rows: Rows, design: Design, longest: float, ridge: ArrayLike = 1.0) -> Met:
    """`z` and `r` of every entry; `rows.values` are the residuals e, `longest` bounds the norm of each `z`.

    A user with one entry knows nothing without it: z = 0, r = e. Entries outside the catalogue, entries whose
    own weight is all the user has, and all entries of a user without a finite answer have z = 0 and r = 0.
    """
    if not 0 < longest < np.inf:
        raise ArgumentError("longest", f"{longest} is not a finite positive number", "State a public bound")
    if design.background is not None:
        raise ArgumentError("design", "has a background", "Leave-one-out is for observed values only")
    z = np.zeros((len(rows.items), design.unknowns - design.start), design.dtype)
    r = np.zeros(len(rows.items), design.dtype)
    _leave_one_out(
        rows.indptr,
        rows.items,
        rows.values,
        design.table,
        design.roots,
        design.fixed,
        design.ridged,
        per_user("ridge", ridge, len(rows), design.dtype),
        design.unknowns,
        design.start,
        longest,
        z,
        r,
    )
    return Met(z, r)


def leave_one_out_reference(
    rows: Rows, design: Design, longest: float, ridge: ArrayLike = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same by what it means: for every entry, fold in the user's other entries. Sound rows only."""
    z = np.zeros((len(rows.items), design.unknowns - design.start))
    r = np.zeros(len(rows.items))
    ridges = np.broadcast_to(np.asarray(ridge, np.float64), len(rows))
    for user in range(len(rows)):
        first = int(rows.indptr[user])
        own = rows.slice(user, user + 1)
        for place in range(len(own.items)):
            others = np.arange(len(own.items)) != place
            rest = Rows(
                np.array([0, others.sum()]), own.items[others], own.values[others], own.keys, own.catalogue
            )
            mean = fold_in_reference(rest, design, ridges[user])[0]
            factors = mean[design.start :]
            z[first + place] = factors * min(1.0, longest / max(float(np.linalg.norm(factors)), 1e-300))
            r[first + place] = own.values[place] - mean[: design.start].sum()
    return z, r


@njit(nogil=True, cache=True)
def _leave_one_out(  # pragma: no cover
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    values: Real,
    table: Real,
    roots: Real,
    fixed: Real,
    ridged: Real,
    ridges: Real,
    unknowns: int,
    start_of_factors: int,
    longest: float,
    z: Real,
    r: Real,
) -> None:
    width = table.shape[1]
    order = padded_order(unknowns)
    extra = padded_width(1, table.itemsize) + padded_width(TOGETHER, table.itemsize)
    stride = width + extra
    first = width + padded_width(1, table.itemsize)  # columns of the estimates
    chunk = max(GATHERED // width, 1)
    gathered = np.empty(chunk * width, table.dtype)
    system, inverse = np.empty(order * stride, table.dtype), np.empty(order, table.dtype)
    right, prior = np.empty(width, table.dtype), np.empty(width, table.dtype)
    every = np.empty(0, table.dtype)
    flat = table.reshape(-1)
    for user in range(len(indptr) - 1):
        start, stop = indptr[user], indptr[user + 1]
        if not 0 <= start < stop <= min(len(items), len(values)):
            continue
        for c in range(width):
            prior[c] = fixed[c] + ridged[c] * ridges[user]
        normal_equations(
            start, stop, items, values, every, table, flat, roots, prior, order, extra, chunk, gathered,
            right, system,
        )  # fmt: skip
        if not factorise(system, stride, order, first, inverse):
            continue
        for begin in range(start, stop, TOGETHER):
            end = min(begin + TOGETHER, stop)
            last = first + padded_width(end - begin, table.itemsize)
            item_columns(begin, end, items, table, roots, order, stride, first, last, system)
            forward_substitute(system, stride, order, first, last, inverse)
            _leave_out(begin, end, items, values, roots, order, stride, width, first, system)
            back_substitute(system, stride, order, first, last, inverse)
            _keep(begin, end, values, unknowns, start_of_factors, stride, first, longest, system, z, r)


@njit(nogil=True, cache=True)
def _leave_out(
    begin: int,
    end: int,
    items: NDArray[np.int32],
    values: Real,
    roots: Real,
    order: int,
    stride: int,
    mean: int,
    first: int,
    system: Real,
) -> None:  # pragma: no cover
    """Columns R^-T x_j become R^-T of the right-hand side that the user has without j."""
    count = end - begin
    leverage, fitted = np.zeros(count, system.dtype), np.zeros(count, system.dtype)
    for c in range(order):
        row = system[c * stride + first : c * stride + first + count]
        _measure(row, system[c * stride + mean], leverage, fitted)
    for j in range(count):
        item = items[begin + j]
        if 0 <= item < len(roots) and leverage[j] < 1:
            fitted[j] = (fitted[j] - roots[item] * values[begin + j]) / (1 - leverage[j])
        else:
            fitted[j] = np.nan  # nothing is known without this entry
    for c in range(order):
        row = system[c * stride + first : c * stride + first + count]
        _combine(row, system[c * stride + mean], fitted)


@njit(nogil=True, cache=True, fastmath={"contract"})
def _measure(row: Real, mean: float, leverage: Real, fitted: Real) -> None:  # pragma: no cover
    for j in range(len(row)):
        leverage[j] += row[j] * row[j]
        fitted[j] += row[j] * mean


@njit(nogil=True, cache=True, fastmath={"contract"})
def _combine(row: Real, mean: float, factors: Real) -> None:  # pragma: no cover
    for j in range(len(row)):
        row[j] = mean + row[j] * factors[j]


@njit(nogil=True, cache=True)
def _keep(
    begin: int,
    end: int,
    values: Real,
    unknowns: int,
    start_of_factors: int,
    stride: int,
    first: int,
    longest: float,
    system: Real,
    z: Real,
    r: Real,
) -> None:  # pragma: no cover
    """Take off the intercept, clip the factors; an entry without a finite answer stays zero."""
    count = end - begin
    squares = np.zeros(count, np.float64)
    for c in range(start_of_factors, unknowns):
        row = system[c * stride + first : c * stride + first + count]
        for j in range(count):
            squares[j] += np.float64(row[j]) * np.float64(row[j])
    for j in range(count):
        left = values[begin + j]
        if start_of_factors == 1:
            left -= system[first + j]
        if squares[j] < np.inf and abs(left) < np.inf:
            r[begin + j] = left
            share = min(1.0, longest / np.sqrt(max(squares[j], 1e-300)))
            for c in range(start_of_factors, unknowns):
                z[begin + j, c - start_of_factors] = system[c * stride + first + j] * share
