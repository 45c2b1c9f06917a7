"""How sure a prediction is: the standard deviation of a user's values under the model of the fold-in."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from hushfold.errors import ArgumentError
from hushfold.linalg.small_solve import factorise, forward_substitute, padded_order, padded_width
from hushfold.local.design import Design
from hushfold.local.fold_in import per_user
from hushfold.local.fold_in_kernels import GATHERED, item_columns, normal_equations
from hushfold.types import Rows

Real = NDArray[np.floating[Any]]

TOGETHER = 128  # items asked for that are solved for together


def predictive_std(rows: Rows, design: Design, wanted: Rows, ridge: ArrayLike = 1.0) -> Real:
    """Standard deviation of the value of every entry of `wanted`, whose users are those of `rows`.

    It is the root of `noise_j + x_j . Lambda^-1 x_j` with x_j the item's row and Lambda the precision of
    what is left unknown of the user: how sure the fold-in is under its own model, the item's noise included.
    Infinite where the user's equations or the item have no finite answer.
    """
    if len(wanted) != len(rows):
        raise ArgumentError("wanted", "has other users than the history", "Pass one row per user of `rows`")
    out = np.full(len(wanted.items), np.inf, design.dtype)
    _predictive(
        rows.indptr,
        rows.items,
        rows.values,
        wanted.indptr,
        wanted.items,
        design.table,
        design.roots,
        design.fixed,
        design.ridged,
        per_user("ridge", ridge, len(rows), design.dtype),
        design.unknowns,
        out,
    )
    return out


def predictive_std_reference(
    own_x: Real, own_noise: Real, prior: Real, x: Real, noise: Real
) -> NDArray[np.float64]:
    """The same for one user: rows `own_x` were seen with `own_noise`, rows `x` are asked for."""
    precision = (own_x.T / own_noise) @ own_x + prior
    return np.sqrt(noise + (x * np.linalg.solve(precision, x.T).T).sum(axis=1))


@njit(nogil=True, cache=True)
def _predictive(  # pragma: no cover
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    values: Real,
    wanted_indptr: NDArray[np.int64],
    wanted: NDArray[np.int32],
    table: Real,
    roots: Real,
    fixed: Real,
    ridged: Real,
    ridges: Real,
    unknowns: int,
    out: Real,
) -> None:
    width = table.shape[1]
    order = padded_order(unknowns)
    first = width + padded_width(1, table.itemsize)
    stride = first + padded_width(TOGETHER, table.itemsize)
    chunk = max(GATHERED // width, 1)
    gathered = np.empty(chunk * width, table.dtype)
    system, inverse = np.empty(order * stride, table.dtype), np.empty(order, table.dtype)
    right, prior = np.empty(width, table.dtype), np.empty(width, table.dtype)
    every, ones, flat = np.empty(0, table.dtype), np.ones(len(table), table.dtype), table.reshape(-1)
    squares = np.empty(TOGETHER, table.dtype)
    for user in range(len(indptr) - 1):
        start, stop = indptr[user], indptr[user + 1]
        if not 0 <= start <= stop <= min(len(items), len(values)):
            continue
        for c in range(width):
            prior[c] = fixed[c] + ridged[c] * ridges[user]
        normal_equations(
            start, stop, items, values, every, table, flat, roots, prior, order, stride - width, chunk,
            gathered, right, system,
        )  # fmt: skip
        if not factorise(system, stride, order, first, inverse):
            continue
        for begin in range(wanted_indptr[user], wanted_indptr[user + 1], TOGETHER):
            end = min(begin + TOGETHER, wanted_indptr[user + 1])
            last = first + padded_width(end - begin, table.itemsize)
            item_columns(begin, end, wanted, table, ones, order, stride, first, last, system)
            forward_substitute(system, stride, order, first, last, inverse)
            squares[:] = 0
            for c in range(order):
                for j in range(end - begin):
                    squares[j] += system[c * stride + first + j] ** 2
            for j in range(end - begin):
                item = wanted[begin + j]
                if 0 <= item < len(table) and squares[j] < np.inf:
                    out[begin + j] = math.sqrt(squares[j] + 1 / (roots[item] * roots[item]))
