"""Symmetric positive definite systems of a few dozen to a few hundred unknowns, one at a time, in place.

A system lies in one flat buffer, row after row of `width` numbers: the upper triangle of the matrix in the
first `order` columns, right-hand sides behind it. `order` is padded to whole tiles (`padded_order`), the
columns of either part to whole registers (`padded_width`); a padded unknown has a 1 on the diagonal and
zeros elsewhere. What lies below the diagonal is scratch. Everything is a function of the system alone, bit
by bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.linalg.microkernel import REGISTER, ROWS, add_1, add_2, add_3, take_1, take_2, take_3
from hushfold.linalg.triangles import down_1, down_2, down_3, factor_high, factor_low, up_1, up_2, up_3

Real = NDArray[np.floating[Any]]


@njit(nogil=True, cache=True)
def padded_order(order: int) -> int:  # pragma: no cover
    """`order` in whole tiles."""
    return -(-order // ROWS) * ROWS


@njit(nogil=True, cache=True)
def padded_width(columns: int, itemsize: int) -> int:  # pragma: no cover
    """`columns` in whole registers."""
    lanes = REGISTER // itemsize
    return -(-columns // lanes) * lanes


@njit(nogil=True, cache=True)
def add_gram(
    sums: Real, width: int, order: int, rows: Real, stride: int, columns: int, count: int
) -> None:  # pragma: no cover
    """`sums += rows^T rows` on the upper triangle; `rows` is count x columns, its rows `stride` apart."""
    lanes = REGISTER // sums.itemsize
    for top in range(0, order, ROWS):
        column = top // lanes * lanes
        while column < columns:
            at, left = top * width + column, (columns - column) // lanes
            if left == 1:
                add_1(sums, at, width, rows, top, stride, 1, rows, column, stride, count)
                column += lanes
            elif left == 2 or left == 4:
                add_2(sums, at, width, rows, top, stride, 1, rows, column, stride, count)
                column += 2 * lanes
            else:
                add_3(sums, at, width, rows, top, stride, 1, rows, column, stride, count)
                column += 3 * lanes


@njit(nogil=True, cache=True)
def factorise(system: Real, width: int, order: int, end: int, inverse: Real) -> bool:  # pragma: no cover
    """A = R^T R in place of A, and R^-T times the columns before `end` in their place.

    `inverse` receives 1 / diag(R). False, and half-finished contents, if A is not positive definite.
    """
    lanes = REGISTER // system.itemsize
    for top in range(0, order, ROWS):
        first = top // lanes * lanes
        _take_rows(system, width, top, first, end, top, width, 1, 0, top)
        if first == top:
            factor_low(system, top * width + first, width, inverse, top)
        else:
            factor_high(system, top * width + first, width, inverse, top)
        for k in range(top, top + ROWS):
            if not (inverse[k] > 0 and inverse[k] < np.inf):
                return False
        _down(system, width, top, first + lanes, end, inverse)
    return True


@njit(nogil=True, cache=True)
def forward_substitute(
    system: Real, width: int, order: int, first: int, end: int, inverse: Real
) -> None:  # pragma: no cover
    """R^-T times the columns `first .. end`, in their place: for right-hand sides that come later."""
    for top in range(0, order, ROWS):
        _take_rows(system, width, top, first, end, top, width, 1, 0, top)
        _down(system, width, top, first, end, inverse)


@njit(nogil=True, cache=True)
def back_substitute(
    system: Real, width: int, order: int, first: int, end: int, inverse: Real
) -> None:  # pragma: no cover
    """R^-1 times the columns `first .. end`, in their place; after R^-T they are A^-1 b."""
    for top in range(order - ROWS, -1, -ROWS):
        below = top + ROWS
        _take_rows(system, width, top, first, end, top * width + below, 1, width, below, order - below)
        _up(system, width, top, first, end, inverse)


@njit(nogil=True, cache=True)
def _take_rows(
    system: Real,
    width: int,
    top: int,
    column: int,
    end: int,
    left_at: int,
    left_step: int,
    left_row: int,
    right_row: int,
    count: int,
) -> None:  # pragma: no cover
    """Take from the tile of rows at `top` the products with the `count` rows from `right_row` on."""
    lanes = REGISTER // system.itemsize
    while column < end:
        at, right_at, left = top * width + column, right_row * width + column, (end - column) // lanes
        if left == 1:
            take_1(system, at, width, system, left_at, left_step, left_row, system, right_at, width, count)
            column += lanes
        elif left == 2 or left == 4:
            take_2(system, at, width, system, left_at, left_step, left_row, system, right_at, width, count)
            column += 2 * lanes
        else:
            take_3(system, at, width, system, left_at, left_step, left_row, system, right_at, width, count)
            column += 3 * lanes


@njit(nogil=True, cache=True)
def _down(
    system: Real, width: int, top: int, column: int, end: int, inverse: Real
) -> None:  # pragma: no cover
    """R^-T, with the triangle of the tile at `top`, times its columns `column .. end`."""
    lanes, corner = REGISTER // system.itemsize, top * width + top
    while column < end:
        at, left = top * width + column, (end - column) // lanes
        if left == 1:
            down_1(system, at, width, corner, inverse, top)
            column += lanes
        elif left == 2 or left == 4:
            down_2(system, at, width, corner, inverse, top)
            column += 2 * lanes
        else:
            down_3(system, at, width, corner, inverse, top)
            column += 3 * lanes


@njit(nogil=True, cache=True)
def _up(system: Real, width: int, top: int, column: int, end: int, inverse: Real) -> None:  # pragma: no cover
    """R^-1 times the same."""
    lanes, corner = REGISTER // system.itemsize, top * width + top
    while column < end:
        at, left = top * width + column, (end - column) // lanes
        if left == 1:
            up_1(system, at, width, corner, inverse, top)
            column += lanes
        elif left == 2 or left == 4:
            up_2(system, at, width, corner, inverse, top)
            column += 2 * lanes
        else:
            up_3(system, at, width, corner, inverse, top)
            column += 3 * lanes
