"""Conjugate gradients for one user's equations: for ranks so large that forming them would cost more."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Real = NDArray[np.floating[Any]]


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc"})
def dot(left: Real, right: Real) -> float:  # pragma: no cover
    """An inner product; its order of summation follows from its length alone."""
    total = left[:1].sum() * 0
    for c in range(len(left)):
        total += left[c] * right[c]
    return total


@njit(nogil=True, cache=True, fastmath={"contract"})
def add(row: Real, factor: float, total: Real) -> None:  # pragma: no cover
    """`total += factor * row`."""
    for c in range(len(row)):
        total[c] += factor * row[c]


@njit(nogil=True, cache=True)
def conjugate_gradients(  # pragma: no cover
    own_items: NDArray[np.int64],
    scales: Real,
    targets: Real,
    table: Real,
    prior: Real,
    tolerance: float,
    scratch: Real,
    user: Real,
) -> bool:
    """Solve (X^T X + prior) u = X^T targets from u = 0, X the scaled rows.

    Ends with |residual| <= tolerance |X^T targets|; if that is not reached, False. At most twice as many
    steps as unknowns; a step without curvature is the last.
    """
    residual, direction, image = scratch[0], scratch[1], scratch[2]
    residual[:] = 0
    for j in range(len(own_items)):
        add(table[own_items[j]], targets[j] * scales[j], residual)
    direction[:] = residual
    square = dot(residual, residual)
    enough = square * tolerance * tolerance
    for _ in range(2 * len(user)):
        if not square > enough:
            break
        for c in range(len(user)):
            image[c] = prior[c] * direction[c]
        for j in range(len(own_items)):
            row = table[own_items[j]]
            add(row, dot(row, direction) * scales[j] * scales[j], image)
        curvature = dot(direction, image)
        if not curvature > 0:
            break
        add(direction, square / curvature, user)
        add(image, -square / curvature, residual)
        before, square = square, dot(residual, residual)
        for c in range(len(user)):
            direction[c] = residual[c] + square / before * direction[c]
    return bool(square <= enough)
