"""The fast half of `fold_in.py`: gather a user's item rows, form the smaller of two systems, solve it.

Primal: as many equations as unknowns. Dual (Woodbury), for users with few entries and a proper prior: as many
equations as entries, in coordinates scaled by the prior. Which one is used follows from the user's own number
of entries and from public settings.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.linalg.microkernel import take_in
from hushfold.linalg.small_solve import add_gram, back_substitute, factorise, padded_order, padded_width
from hushfold.local.conjugate import add, conjugate_gradients
from hushfold.statistics.lanes import prefetch

Real = NDArray[np.floating[Any]]

DUAL_BELOW = 0.75  # entries per unknown
GATHERED = 1 << 13  # numbers gathered before they are multiplied: they stay in the first-level cache
AHEAD = 8  # rows fetched ahead of the one that is read


@njit(nogil=True, cache=True)
def fold_users(  # pragma: no cover
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    values: Real,
    weights: Real,
    table: Real,
    roots: Real,
    fixed: Real,
    ridged: Real,
    ridges: Real,
    unknowns: int,
    tolerance: float,
    users: Real,
) -> None:
    """Fill `users`, which is zero; where the equations have no finite answer it stays so."""
    width = table.shape[1]
    lanes = padded_width(1, table.itemsize)
    order = padded_order(unknowns)
    most = int(DUAL_BELOW * unknowns)  # entries of a dual system
    dual_width = padded_width(max(most, 1), table.itemsize)
    chunk = max(GATHERED // width, 1)
    gathered = np.empty(max(chunk * width, unknowns * dual_width), table.dtype)
    system = np.empty(
        max(order * (width + lanes), padded_order(dual_width) * (dual_width + lanes)), table.dtype
    )
    inverse = np.empty(max(order, dual_width) + lanes, table.dtype)
    right, prior, scratch = (
        np.empty(width, table.dtype),
        np.empty(width, table.dtype),
        np.empty((3, width), table.dtype),
    )
    own_items, scales, targets = _room(dual_width, table)
    flat = table.reshape(-1)
    for user in range(min(len(users), len(indptr) - 1)):
        start, stop = indptr[user], indptr[user + 1]
        if not 0 <= start < stop <= min(len(items), len(values)):
            continue
        proper = True
        for c in range(width):
            prior[c] = fixed[c] + ridged[c] * ridges[user]
            proper &= prior[c] > 0
        small = proper and stop - start <= most
        if tolerance > 0 or small:
            if stop - start > len(own_items):
                own_items, scales, targets = _room(stop - start, table)
            count = _own_entries(start, stop, items, values, weights, roots, own_items, scales, targets)
            own = own_items[:count], scales[:count], targets[:count]
            if tolerance > 0:
                solved = conjugate_gradients(*own, table, prior, tolerance, scratch, users[user])
            else:
                solved = _dual(*own, table, prior, unknowns, gathered, system, inverse, users[user])
        else:
            normal_equations(
                start,
                stop,
                items,
                values,
                weights,
                table,
                flat,
                roots,
                prior,
                order,
                lanes,
                chunk,
                gathered,
                right,
                system,
            )
            solved = factorise(system, width + lanes, order, width + lanes, inverse)
            if solved:
                back_substitute(system, width + lanes, order, width, width + lanes, inverse)
                for c in range(unknowns):
                    users[user, c] = system[c * (width + lanes) + width]
        for c in range(unknowns):
            solved &= abs(users[user, c]) < np.inf
        if not solved:
            users[user] = 0


@njit(nogil=True, cache=True)
def entry_scale(entry: int, item: int, weights: Real, roots: Real) -> float:  # pragma: no cover
    """What an entry's row and value are multiplied by: the root of its precision."""
    if len(weights) == 0:
        return roots[item]
    return math.sqrt(weights[entry]) * roots[item]


@njit(nogil=True, cache=True)
def normal_equations(
    start: int,
    stop: int,
    items: NDArray[np.int32],
    values: Real,
    weights: Real,
    table: Real,
    flat: Real,
    roots: Real,
    prior: Real,
    order: int,
    extra: int,
    chunk: int,
    gathered: Real,
    right: Real,
    system: Real,
) -> None:  # pragma: no cover
    """The user's normal matrix and, in the first of `extra` columns behind it, the right-hand side."""
    width = table.shape[1]
    stride = width + extra
    right[:] = 0
    for c in range(order):
        system[c * stride : c * stride + width + padded_width(1, table.itemsize)] = 0
        system[c * stride + c] = prior[c]
    filled = 0
    for entry in range(start, stop):
        if entry + AHEAD < len(items):
            for number in range(0, width, 64 // table.itemsize):
                prefetch(flat, items[entry + AHEAD] * width + number)
        item = items[entry]
        if not 0 <= item < len(table):
            continue
        scale = entry_scale(entry, item, weights, roots)
        target = scale * values[entry]
        take_in(flat, item * width, scale, target, gathered, filled * width, right, width)
        filled += 1
        if filled == chunk:
            add_gram(system, stride, order, gathered, width, width, filled)
            filled = 0
    if filled:
        add_gram(system, stride, order, gathered, width, width, filled)
    for c in range(order):
        system[c * stride + width] = right[c]


@njit(nogil=True, cache=True)
def item_columns(
    begin: int,
    end: int,
    items: NDArray[np.int32],
    table: Real,
    roots: Real,
    order: int,
    stride: int,
    first: int,
    last: int,
    system: Real,
) -> None:  # pragma: no cover
    """The rows of the entries' items, scaled by `roots`, as columns from `first` on."""
    for c in range(order):
        system[c * stride + first : c * stride + last] = 0
    for entry in range(begin, end):
        item = items[entry]
        if 0 <= item < len(table):
            for c in range(min(order, table.shape[1])):
                system[c * stride + first + entry - begin] = roots[item] * table[item, c]


@njit(nogil=True, cache=True)
def _room(entries: int, table: Real) -> tuple[NDArray[np.int64], Real, Real]:  # pragma: no cover
    return np.empty(entries, np.int64), np.empty(entries, table.dtype), np.empty(entries, table.dtype)


@njit(nogil=True, cache=True)
def _own_entries(
    start: int,
    stop: int,
    items: NDArray[np.int32],
    values: Real,
    weights: Real,
    roots: Real,
    own_items: NDArray[np.int64],
    scales: Real,
    targets: Real,
) -> int:  # pragma: no cover
    count = 0
    for entry in range(start, stop):
        item = items[entry]
        if 0 <= item < len(roots):
            own_items[count] = item
            scales[count] = entry_scale(entry, item, weights, roots)
            targets[count] = scales[count] * values[entry]
            count += 1
    return count


@njit(nogil=True, cache=True)
def _dual(
    own_items: NDArray[np.int64],
    scales: Real,
    targets: Real,
    table: Real,
    prior: Real,
    unknowns: int,
    gathered: Real,
    system: Real,
    inverse: Real,
    user: Real,
) -> bool:  # pragma: no cover
    """(I + B B^T) a = targets for B the scaled rows over the root of the prior; u = B^T a over that root."""
    count, lanes = len(own_items), padded_width(1, table.itemsize)
    columns, order = padded_width(max(count, 1), table.itemsize), padded_order(count)
    stride = columns + lanes
    gathered[: unknowns * columns] = 0
    for c in range(unknowns):
        root = math.sqrt(prior[c])
        for j in range(count):
            gathered[c * columns + j] = table[own_items[j], c] * (scales[j] / root)
    system[: order * stride] = 0
    for j in range(order):
        system[j * stride + j] = 1
    for j in range(count):
        system[j * stride + columns] = targets[j]
    add_gram(system, stride, order, gathered, columns, columns, unknowns)
    if not factorise(system, stride, order, stride, inverse):
        return False
    back_substitute(system, stride, order, columns, stride, inverse)
    for j in range(count):
        add(table[own_items[j]], system[j * stride + columns] * scales[j], user)
    for c in range(unknowns):
        user[c] /= prior[c]
    return True


@njit(nogil=True, cache=True)
def turn(users: Real, axes: Real, start: int, turned: Real) -> None:  # pragma: no cover
    """Sum of the `axes` (one per row), as far along each as the user's factors say."""
    for user in range(len(users)):
        for c in range(len(axes)):
            add(axes[c], users[user, start + c], turned[user, start:])
