"""A user's own residuals: their shrunk mean, their size. Own rows in, one number per user out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.errors import ArgumentError
from hushfold.types import Rows

Floats = NDArray[np.float64]


def shrunk_means(rows: Rows, shrinkage: float = 4.0) -> Floats:
    """Sum of the user's values over their number + `shrinkage`; 0 without entries, or if not finite."""
    if not (math.isfinite(shrinkage) and shrinkage >= 0):
        raise ArgumentError("shrinkage", f"{shrinkage} is not a finite number from 0", "Pass e.g. 4")
    means = np.zeros(len(rows))
    _means(rows.indptr, rows.values, shrinkage, means)
    return means


def root_mean_squares(rows: Rows) -> Floats:
    """The root mean square of the user's values; 0 without entries, or where it is not finite."""
    sizes = np.zeros(len(rows))
    _sizes(rows.indptr, rows.values, sizes)
    return sizes


def shrunk_means_reference(rows: Rows, shrinkage: float = 4.0) -> Floats:
    """The readable twin of `shrunk_means`, equal bit by bit."""
    return _finite(
        [sum(own.tolist()) / (len(own) + shrinkage) if len(own) else 0.0 for _, own in rows.each()]
    )


def root_mean_squares_reference(rows: Rows) -> Floats:
    """The readable twin of `root_mean_squares`, equal bit by bit."""
    return _finite(
        [
            math.sqrt(sum(value * value for value in own.tolist()) / len(own)) if len(own) else 0.0
            for _, own in rows.each()
        ]
    )


def _finite(numbers: list[float]) -> Floats:
    return np.array([number if math.isfinite(number) else 0.0 for number in numbers], np.float64)


@njit(nogil=True, cache=True)
def _means(
    indptr: NDArray[np.int64], values: NDArray[np.floating[Any]], shrinkage: float, means: Floats
) -> None:  # pragma: no cover
    for user in range(len(means)):
        own = values[indptr[user] : indptr[user + 1]]
        total = 0.0
        for value in own:
            total += np.float64(value)
        if len(own) > 0 and abs(total) < np.inf:
            means[user] = total / (len(own) + shrinkage)


@njit(nogil=True, cache=True)
def _sizes(
    indptr: NDArray[np.int64], values: NDArray[np.floating[Any]], sizes: Floats
) -> None:  # pragma: no cover
    for user in range(len(sizes)):
        own = values[indptr[user] : indptr[user + 1]]
        total = 0.0
        for value in own:
            total += np.float64(value) * np.float64(value)
        if len(own) > 0 and total < np.inf:
            sizes[user] = math.sqrt(total / len(own))
