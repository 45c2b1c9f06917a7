"""Whether predicted ratings, and the uncertainty stated with them, are to be taken at their word."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from hushfold.errors import ArgumentError
from hushfold.evaluate.metrics.rating import residuals


class Bin(NamedTuple):
    """Rows with about the same prediction."""

    rows: int
    predicted: float
    actual: float


def calibration_bins(predicted: ArrayLike, actual: ArrayLike, bins: int = 10) -> list[Bin]:
    """Mean prediction and mean rating of rows in increasing order of prediction, as many rows in each."""
    if bins < 1:
        raise ArgumentError("bins", f"{bins} is less than 1", "Ten are usual")
    residuals(predicted, actual)
    left, right = np.asarray(predicted, np.float64), np.asarray(actual, np.float64)
    parts = np.array_split(np.argsort(left, kind="stable"), bins)
    return [Bin(len(p), float(left[p].mean()), float(right[p].mean())) for p in parts if len(p)]


def calibration_error(predicted: ArrayLike, actual: ArrayLike, bins: int = 10) -> float:
    """Mean over rows of how far their bin's mean prediction is from its mean rating; NaN without rows."""
    table = calibration_bins(predicted, actual, bins)
    rows = sum(b.rows for b in table)
    return sum(b.rows * abs(b.predicted - b.actual) for b in table) / rows if rows else float("nan")


def interval_share(predicted: ArrayLike, actual: ArrayLike, std: ArrayLike, level: float = 0.9) -> float:
    """Share of ratings inside the central interval of a Gaussian prediction; it should be `level`."""
    if not 0 < level < 1:
        raise ArgumentError("level", f"{level} is not a share", "Pass for example 0.9")
    error = residuals(predicted, actual)
    inside = np.abs(error) <= ndtri((1 + level) / 2) * np.asarray(std, np.float64)
    return float(inside.mean()) if len(error) else float("nan")
