"""Privacy loss distributions: one (epsilon, delta) for releases neither all Gaussian nor all Laplace.

A thin coat over Google's `dp_accounting`, which rounds losses up to a grid and composes them by FFT
(Doroshenko et al. 2022, "Connect the Dots"). Its rounding of losses is safe; what floating point may do to
the sums is taken off delta before it is asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld

from hushfold.errors import ArgumentError
from hushfold.privacy.gdp import probability

SMALLEST_DELTA = 1e-12  # the sums are of doubles: right to about 1e-16 of a probability
ROUNDING = 1e-6, 1e-14  # relative and absolute: taken off delta, each far above what was seen of its kind
GROUPS = 64  # points at which a replacement is tried as a removal and an addition


class PrivacyLoss:
    """The loss of all releases of a run when one user is added or removed."""

    def __init__(
        self,
        mu: float,
        laplace: Sequence[tuple[float, int]],
        sampled: Sequence[tuple[float, float, int]],
    ) -> None:
        """`mu` of all Gaussian releases; (multiplier, count); (multiplier, chance of being in, count)."""
        loss: Any = pld.identity()
        if mu > 0:
            loss = loss.compose(pld.from_gaussian_mechanism(1 / mu))
        for multiplier, count in laplace:
            loss = loss.compose(pld.from_laplace_mechanism(multiplier).self_compose(count))
        for multiplier, rate, count in sampled:
            one = pld.from_gaussian_mechanism(multiplier, sampling_prob=rate)
            loss = loss.compose(one.self_compose(count))
        self._loss = loss

    def epsilon_at(self, delta: float) -> float:
        """An epsilon at which the releases are (epsilon, delta)-DP."""
        if probability("delta", delta) < SMALLEST_DELTA:
            problem = f"{delta:g} is finer than a loss distribution in double precision can certify"
            raise ArgumentError("delta", problem, f"Pass at least {SMALLEST_DELTA:g}")
        relative, absolute = ROUNDING
        return float(self._loss.get_epsilon_for_delta(delta * (1 - relative) - absolute))

    def replace_epsilon_at(self, delta: float) -> float:
        """The same for one user replaced: removed, then another added; infinite if delta is too small for it.

        An (epsilon, delta) holds for the two steps as (2 epsilon, (1 + e^epsilon) delta).
        """
        deltas = np.maximum(np.geomspace(delta / 2, SMALLEST_DELTA, GROUPS), SMALLEST_DELTA)
        steps = ((self.epsilon_at(d), d) for d in deltas)
        return min(
            (2 * epsilon for epsilon, d in steps if (1 + math.exp(epsilon)) * d <= delta * (1 - 1e-9)),
            default=math.inf,
        )
