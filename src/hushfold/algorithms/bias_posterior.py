"""What everybody makes of the bias model's releases: public mathematics on released values, nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ITEMS, USERS, RATINGS, MEAN = 0.85, 0.05, 0.05, 0.05  # of the squared norm of a user's first row
MOST_RATINGS = 1000  # of one user, that the released number of ratings counts
SECOND_CLIP = 1.2  # of the released scale: the clip of every later row of residuals
FIRST_GUESS = 0.22  # of the range, for the scale, until that is released


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What release 1 tells, on a declared range of ratings."""

    low: float
    high: float
    items: Floats
    """How much each item is rated, every user's row at unit length; at least `floor`."""
    floor: float
    """Half the standard deviation of the noise on `items`."""
    users: float
    ratings: float
    """May come out negative where there are hardly any."""
    mean: float
    """Of the users' own means, as a difference from the middle of the range."""

    @property
    def width(self) -> float:
        """Of the range."""
        return self.high - self.low

    @property
    def centre(self) -> float:
        """What a rating is on average: the zero of all biases."""
        return (self.low + self.high) / 2 + self.mean


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """Released sums of residuals, every user's row at unit length: `t_j b_j` under noise of this std."""

    sums: Floats
    noise: float


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """What releases 2 and 3 add: first biases, and the size of what is left of a rating after them."""

    counts: Counts
    observed: Observed
    biases: Floats
    scale: float

    @property
    def clip(self) -> float:
        """The norm that later rows of residuals are clipped to."""
        return SECOND_CLIP * self.scale


@dataclass(frozen=True, slots=True, eq=False)
class BiasModel:
    """The finished model: `centre + biases[j]`, plus the user's own bias, computed by that user."""

    counts: Counts
    scale: float
    biases: Floats
    variance: Floats
    """Of the posterior of each bias."""


def read_counts(released: Floats, noise: float, low: float, high: float) -> Counts:
    """The quantities that release 1 carries; `noise` is its standard deviation."""
    items, (here, many, mean) = released[:-3] / math.sqrt(ITEMS), released[-3:]
    floor = noise / math.sqrt(ITEMS) / 2
    users, half = max(here / math.sqrt(USERS), 1.0), (high - low) / 2
    return Counts(
        low,
        high,
        np.maximum(items, floor),
        floor,
        float(users),
        float(many * MOST_RATINGS / math.sqrt(RATINGS)),
        float(np.clip(mean * half / math.sqrt(MEAN) / users, -half, half)),
    )


def first_draft(counts: Counts, observed: Observed) -> Floats:
    """The items' biases as far as release 2 tells them."""
    return posterior(counts, [observed], FIRST_GUESS * counts.width)[0]


def draft_of(counts: Counts, observed: Observed, biases: Floats, scales: Floats) -> Draft:
    """Releases 1 to 3 together; the scale is kept between what is negligible and what is possible."""
    scale = np.clip(scales[0] / counts.users, 0.02 * counts.width, counts.width / 2)
    return Draft(counts, observed, biases, float(scale))


def model_of(draft: Draft, second: Floats | None = None, noise: float = math.inf) -> BiasModel:
    """The biases by all that was released; `second` are sums of residuals after the draft."""
    seen = [draft.observed]
    if second is not None:
        seen.append(Observed(second + draft.counts.items * draft.biases, noise))
    biases, variance = posterior(draft.counts, seen, draft.scale)
    return BiasModel(draft.counts, draft.scale, biases, variance)


def posterior(counts: Counts, seen: Sequence[Observed], scale: float) -> tuple[Floats, Floats]:
    """Mean and variance of the items' biases, shrunk once, towards what items so popular usually have.

        s_j = t_j b_j + N(0, noise^2 + v t_j),   v = scale^2 / 2 * users / sum t,   b_j ~ N(usual_j, tau^2)

    What is usual is piecewise linear in log t_j. It and tau are fitted in turns: the one by ridge regression
    of the sums, the other by what these vary beyond their noise.
    """
    t, width = counts.items, counts.width
    precision = sum(1 / one.noise**2 for one in seen)
    s = sum((one.sums / one.noise**2 for one in seen), np.zeros_like(t)) / precision
    noise = 1 / precision + 0.5 * scale**2 * counts.users * t / max(float(t.sum()), counts.floor)
    features = popularity_features(counts)
    usual, tau2 = np.zeros_like(t), (0.1 * width) ** 2
    for _ in range(12):
        weight = 1 / (noise + tau2 * t**2)
        usual = features @ _regression(t[:, None] * features, s, weight, width)
        beyond = (weight**2 * t**2 * ((s - t * usual) ** 2 - noise)).sum()
        information = max((weight**2 * t**4).sum(), np.finfo(float).tiny)
        tau2 = float(np.clip(beyond / information, (0.02 * width) ** 2, (0.2 * width) ** 2))
    spread = noise + tau2 * t**2
    return usual + tau2 * t * (s - t * usual) / spread, tau2 * noise / spread


def _regression(design: Floats, s: Floats, weight: Floats, width: float) -> Floats:
    """Ridge regression of the sums: a level, and three slopes that may be larger."""
    ridge = np.diag(1 / (np.array([0.05, 0.3, 0.3, 0.3]) * width) ** 2)
    gram = design.T @ (weight[:, None] * design)
    return np.asarray(np.linalg.solve(gram + ridge, design.T @ (weight * s)), np.float64)


def popularity_features(counts: Counts) -> Floats:
    """1, l, (l - .4)+ and (l - .7)+ for the logarithm l of each item's count, between 0 and 1."""
    log = np.log(counts.items / counts.floor)
    log /= max(float(log.max(initial=0.0)), np.finfo(float).tiny)
    return np.stack([np.ones_like(log), log, np.maximum(log - 0.4, 0), np.maximum(log - 0.7, 0)], axis=1)
