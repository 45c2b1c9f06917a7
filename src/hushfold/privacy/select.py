"""Private selection: the best of a secret, random number of private runs, and what announcing it costs.

A base run draws one of the candidates (public settings), fits it privately and releases a score of it, all
within one mu. K base runs are made, K from a public law with secret coins; only the best one leaves. Trying
one more candidate then costs little: log E[K], not a factor K. Papernot and Steinke, "Hyperparameter Tuning
with Renyi Differential Privacy", ICLR 2022, Theorems 2 and 6; proof: `proofs/select.md`. Public maths only:
the search itself, which draws and releases, is `door_select.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import mpmath

from hushfold.errors import ArgumentError
from hushfold.privacy.gdp import delta_at, not_negative, probability

Law = Literal["geometric", "poisson"]
_BITS = 128  # of the secret word that the number of runs is read off
_SAFE = 1 + 1e-9  # far above what rounding could take off an epsilon
_ORDERS = [1 + 2 ** (step / 3) for step in range(-6, 34)]  # Renyi orders tried; every one is valid


@dataclass(frozen=True, slots=True)
class Runs:
    """The law of the number of base runs, at least 1: `expected` is its parameter's mean before that.

    `poisson` keeps the number near its mean and is cheaper; `geometric` may stop at once.
    """

    expected: float
    law: Law = "poisson"

    def __post_init__(self) -> None:
        if not 1 < self.expected <= 1000:
            raise ArgumentError(
                "expected", f"{self.expected} is not above 1 and at most 1000", "Pass e.g. 10"
            )

    @property
    def mean(self) -> float:
        """E[K]."""
        return self.expected / -math.expm1(-self.expected) if self.law == "poisson" else self.expected

    def cumulative(self, tail: float) -> list[Any]:
        """P(K <= 1), P(K <= 2), ... in high precision, until less than `tail` is left."""
        return _cumulative(self, tail)

    def most(self, tail: float) -> int:
        """K is cut here: it would be larger with a chance of less than `tail`."""
        return len(self.cumulative(tail))

    def number(self, word: int, tail: float) -> int:
        """The number of runs that a uniform secret word of 128 bits stands for, at most `most(tail)`."""
        sums = self.cumulative(tail)
        return next((k for k, total in enumerate(sums, 1) if word < int(total * 2**_BITS)), len(sums))


@lru_cache(maxsize=8)
def _cumulative(runs: Runs, tail: float) -> list[Any]:
    at: Any = mpmath.MPContext()
    at.prec = 2 * _BITS
    mean = at.mpf(runs.expected)
    weight = mean / at.expm1(mean) if runs.law == "poisson" else 1 / mean
    total, number = at.mpf(0), 1
    sums: list[Any] = []
    while not sums or 1 - total >= tail:
        total += weight
        sums.append(total)
        number += 1
        weight *= mean / number if runs.law == "poisson" else 1 - 1 / mean
    return sums


def price(mu: float, runs: Runs, delta: float) -> float:
    """The epsilon of the best of `runs` base runs, each mu-GDP with its score, at this delta; rounded up."""
    mu, delta = not_negative("mu", mu), probability("delta", delta)
    if mu == 0:
        return 0.0
    return _SAFE * min(max(_converted(_renyi(order, mu, runs), order, delta), 0.0) for order in _ORDERS)


def base_mu(epsilon: float, delta: float, runs: Runs) -> float:
    """The largest mu of a base run whose selection stays within (epsilon, delta); rounded down."""
    low, high = 0.0, 1.0
    while price(high, runs, delta) <= epsilon:
        low, high = high, 2 * high
    for _ in range(36):
        middle = (low + high) / 2
        low, high = (middle, high) if price(middle, runs, delta) <= epsilon else (low, middle)
    if low < 1e-6:
        problem = f"{epsilon} is less than choosing among {runs.expected:g} runs costs by itself"
        raise ArgumentError("epsilon", problem, "Raise it, or expect fewer runs")
    return low


def best(scores: Sequence[float]) -> int:
    """The place of the highest score, the first of equal ones; what is no number is lowest."""
    return max(range(len(scores)), key=lambda k: -math.inf if math.isnan(scores[k]) else scores[k])


def _renyi(order: float, mu: float, runs: Runs) -> float:
    """Renyi divergence of the announced result at one order (the theorems), from mu-GDP base runs."""
    own, chosen = order * mu**2 / 2, math.log(runs.mean) / (order - 1)
    if runs.law == "poisson":
        # the base run is also (log(order / (order - 1)), slip)-DP
        slip = delta_at(math.log1p(1 / (order - 1)), mu)
        return own + runs.expected * slip + chosen
    stop = math.log(runs.expected)
    second = max(1.0, math.sqrt(2 * stop) / mu)  # the other order the theorem is free to choose
    return own + 2 * ((second - 1) * mu**2 / 2 + stop / second) + chosen


def _converted(renyi: float, order: float, delta: float) -> float:
    """(order, renyi)-Renyi DP as an epsilon at delta: Canonne, Kamath and Steinke 2020, Proposition 12."""
    return renyi + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
