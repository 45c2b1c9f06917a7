"""The plan of Hush on ratings: which releases run, and what share of the budget each one gets.

Public arithmetic on what release 1 told, or on declared sizes before any data are touched. The question is
whether a factor can be seen at all: a moment costs as much as all biases together, and where its noise drowns
every factor the biases are worth more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushfold.algorithms import bias
from hushfold.algorithms.also_like import LARGEST_HEAD, choose_head
from hushfold.algorithms.bias_posterior import Counts
from hushfold.privacy.budget import multiplier, split

Floats = NDArray[np.float64]

VISIBLE = 15.0  # an item is in the head when it is rated this many noise stds of the moment above zero
FIRST_SHARE = 0.10  # of release 1, whatever is planned after it
EXPECTED = 0.65 * 0.08  # strength of the strongest factor on the head, as a share of the squared residuals
MOMENT_SHARE = 0.45  # at which a factor's visibility is judged
FAINT, CLEAR = 0.9, 5.0  # visibilities: below the first no factor shows, above the second some surely do
EVEN = 0.8  # of the best head's visibility, on the whole catalogue: then there is no tail to refine

NO_FACTORS = bias.SHARES
PERHAPS = {
    "counts": FIRST_SHARE,
    "bias": 0.22,
    "scale": 0.01,
    "moment": 0.36,
    "cross": 0.10,
    "z-moment": 0.01,
    "second": 0.20,
}
NO_TAIL = {"counts": FIRST_SHARE, "bias": 0.15, "scale": 0.01, "moment": 0.74}
WITH_TAIL = {
    "counts": FIRST_SHARE,
    "bias": 0.15,
    "scale": 0.01,
    "moment": 0.45,
    "cross": 0.15,
    "z-moment": 0.02,
    "second": 0.12,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be released, in shares of the budget, and the visibility that this was decided by."""

    shares: dict[str, float]
    visibility: float
    """Of the strongest expected factor, on the head that shows it best: 1 is the edge of the noise."""
    whole: float
    """The same on the whole catalogue."""


def plan_explicit(counts: Counts, units: int) -> Plan:
    """The plan for a budget of so many billionths of mu^2, by counts released or expected beforehand."""
    at_share, _ = split(units, [MOMENT_SHARE, 1 - MOMENT_SHARE])
    best, whole = visibility(counts, multiplier(at_share))
    if best < FAINT:
        return Plan(NO_FACTORS, best, whole)
    if best < CLEAR:
        return Plan(PERHAPS, best, whole)
    *_, moment = split(units, list(NO_TAIL.values()))
    head = choose_head(counts.items, multiplier(moment), VISIBLE)
    even = len(head) == len(counts.items) and whole >= EVEN * best
    return Plan(NO_TAIL if even else WITH_TAIL, best, whole)


def visibility(counts: Counts, noise: float) -> tuple[float, float]:
    """How far the strongest factor is expected above the edge of a moment's noise: on the best head, on all.

    `noise` is the standard deviation on the moment's diagonal.
    """
    t = np.sort(counts.items)[::-1]
    pairs = max(pair_factor(counts), 0.0)
    strength = EXPECTED * pairs * np.cumsum(t**2)
    edge = noise * np.sqrt(2.0 * np.arange(1, len(t) + 1))
    above = strength / edge
    return float(above[:LARGEST_HEAD].max(initial=0.0)), float(above[-1])


def pair_factor(counts: Counts) -> float:
    """What turns two items' counts into the number of users who rated both; not positive if none are seen."""
    return counts.ratings / float(counts.items.sum()) ** 2
