"""Is this noise what it says it is? Two-sided: the stated scale is accepted, scales 5 % off are rejected.

On values known to be pure noise (the statistic of nobody's data). With 20,000 values a scale 5 % off is
rejected with certainty for all purposes, with 100,000 one that is 2 % off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from hushfold.errors import ArgumentError

FALSE_ALARM = 1e-6
LEAST_VALUES = 40_000
MARGIN = 0.05

Family = Literal["gaussian", "laplace"]


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: `figure` was held against `bound`."""

    name: str
    passed: bool
    figure: float
    bound: float


def calibrate(
    noise: NDArray[Any], scale: float, family: Family = "gaussian", *, false_alarm: float = FALSE_ALARM
) -> tuple[Check, ...]:
    """Scale, shape and independence of pure noise, and that scales `MARGIN` off would have been noticed.

    `scale` is the standard deviation of a Gaussian or the b of a Laplace. Each check that must accept
    alarms falsely with probability `false_alarm`; the figures are p-values.
    """
    values = np.asarray(noise, np.float64).reshape(-1) / scale
    if values.size < LEAST_VALUES:
        raise ArgumentError(
            "noise", f"fewer than {LEAST_VALUES} values", "Draw more: fewer could not tell 5 %"
        )
    accepting = {
        "scale": scale_p(values, family),
        "shape": shape_p(values, family),
        "sign": sign_p(values),
        "neighbours": correlation_p(values[1:], values[:-1]),
    }
    rejecting = {
        "scale x 0.95": scale_p(values / (1 - MARGIN), family),
        "scale x 1.05": scale_p(values / (1 + MARGIN), family),
    }
    return (
        *(Check(f"accepts {name}", bool(p > false_alarm), p, false_alarm) for name, p in accepting.items()),
        *(Check(f"rejects {name}", bool(p < false_alarm), p, false_alarm) for name, p in rejecting.items()),
    )


def scale_p(values: NDArray[np.float64], family: Family = "gaussian") -> float:
    """Two-sided p-value of the scale being 1: chi-square of the sum of squares, or of twice the absolute
    values.
    """
    if family == "gaussian":
        statistic, freedom = float(np.dot(values, values)), values.size
    else:
        statistic, freedom = float(2 * np.abs(values).sum()), 2 * values.size
    return float(2 * min(stats.chi2.cdf(statistic, freedom), stats.chi2.sf(statistic, freedom)))


def shape_p(values: NDArray[np.float64], family: Family = "gaussian") -> float:
    """Kolmogorov-Smirnov against the continuous law of scale 1; the lattice must be finer than 1 /
    sqrt(values).
    """
    law = {"gaussian": stats.norm, "laplace": stats.laplace}[family]
    expected, n = np.asarray(law.cdf(np.sort(values)), np.float64), values.size
    ranks = np.arange(n + 1) / n
    distance = max(float((ranks[1:] - expected).max()), float((expected - ranks[:-1]).max()))
    return float(special.kolmogorov(distance * (np.sqrt(n) + 0.12 + 0.11 / np.sqrt(n))))


def sign_p(values: NDArray[np.float64]) -> float:
    """p-value of both signs being as likely."""
    positive, negative = int((values > 0).sum()), int((values < 0).sum())
    return _normal_p((positive - negative) / np.sqrt(max(positive + negative, 1)))


def correlation_p(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """p-value of two runs of noise being independent: neighbours, two tiles, two releases; of none, 0."""
    spread = float(np.sqrt(np.dot(a * a, b * b)))
    return _normal_p(float(np.dot(a, b)) / spread) if spread > 0 else 0.0


def points_p(values: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    """Chi-square of single lattice points: value x in proportion to `weights[x + len(weights) // 2]`.

    Points expected fewer than 20 times are pooled.
    """
    centre = len(weights) // 2
    expected = weights / weights.sum() * values.size
    seen = np.bincount(np.clip(values + centre, 0, len(weights) - 1), minlength=len(weights))
    common = expected >= 20
    pooled_seen = np.append(seen[common], seen[~common].sum())
    pooled_expected = np.append(expected[common], expected[~common].sum())
    if pooled_expected[-1] < 5:
        pooled_seen, pooled_expected = pooled_seen[:-1], pooled_expected[:-1]
    statistic = float(((pooled_seen - pooled_expected) ** 2 / pooled_expected).sum())
    return float(stats.chi2.sf(statistic, len(pooled_seen) - 1))


def _normal_p(z: float) -> float:
    return float(2 * special.ndtr(-abs(z)))
