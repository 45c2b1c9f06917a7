"""Errors of predicted ratings."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushfold.errors import ArgumentError


def rmse(predicted: ArrayLike, actual: ArrayLike) -> float:
    """Root of the mean squared error over the rows; NaN without rows."""
    error = residuals(predicted, actual)
    return float(np.sqrt(np.mean(error**2))) if len(error) else float("nan")


def mae(predicted: ArrayLike, actual: ArrayLike) -> float:
    """Mean absolute error over the rows; NaN without rows."""
    error = residuals(predicted, actual)
    return float(np.mean(np.abs(error))) if len(error) else float("nan")


def residuals(predicted: ArrayLike, actual: ArrayLike) -> NDArray[np.float64]:
    """Predicted minus actual, row by row."""
    left, right = np.asarray(predicted, np.float64), np.asarray(actual, np.float64)
    if left.shape != right.shape or left.ndim != 1:
        raise ArgumentError("predicted", "has not one number per row", "Predict every row that was held out")
    return left - right
