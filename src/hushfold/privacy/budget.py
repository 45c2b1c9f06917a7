"""A budget in whole units, its split over releases, and the noise every share buys.

A unit is a billionth of mu^2 (Gaussian releases) or of epsilon (pure ones, Laplace). Shares are integers and
add up to the budget exactly; a multiplier (noise std, or Laplace scale, over the stated bound) is rounded up,
so that what is drawn never costs more than its share. Proof: `proofs/gaussian-composition.md`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from hushfold.errors import ArgumentError
from hushfold.privacy.gdp import float_up, mu_for, probability, sqrt_up

NANO = 10**9  # units in a mu^2 of 1, or in an epsilon of 1

Claim = Literal["gaussian", "pure"]


@dataclass(frozen=True, slots=True)
class Share:
    """What one release may spend of a budget."""

    name: str
    units: int
    claim: Claim = "gaussian"

    @property
    def multiplier(self) -> float:
        """Noise std (gaussian) or Laplace scale (pure) as a multiple of the release's stated bound."""
        return multiplier(self.units) if self.claim == "gaussian" else laplace_multiplier(self.units)


@dataclass(frozen=True, slots=True)
class Budget:
    """What a fit may spend: the guarantee as stated, and the units it amounts to, rounded down."""

    epsilon: float
    delta: float
    units: int
    claim: Claim = "gaussian"

    @staticmethod
    def gaussian(epsilon: float, delta: float) -> Budget:
        """The budget of Gaussian releases that together are (epsilon, delta)-DP, by the exact curve."""
        return Budget(epsilon, delta, units_of(mu_for(epsilon, delta)))

    @staticmethod
    def pure(epsilon: float) -> Budget:
        """The budget of Laplace releases that together are epsilon-DP."""
        return Budget(epsilon, 0.0, units_of_epsilon(epsilon), "pure")

    def split(self, shares: Mapping[str, float]) -> tuple[Share, ...]:
        """One share per named release, in proportion to the numbers given."""
        parts = split(self.units, list(shares.values()))
        return tuple(Share(name, part, self.claim) for name, part in zip(shares, parts, strict=True))


def units_of(mu: float) -> int:
    """Whole units in mu^2, rounded down."""
    if not 0 <= mu < math.inf:
        raise ArgumentError("mu", f"{mu} is not a finite number of at least 0", "Pass mu_for(epsilon, delta)")
    return math.floor(Fraction(mu) ** 2 * NANO)


def units_of_epsilon(epsilon: float) -> int:
    """Whole units in a pure epsilon, rounded down; read as the decimal that is printed (0.3: 300 million)."""
    if not 0 <= epsilon < math.inf:
        raise ArgumentError("epsilon", f"{epsilon} is not a finite number of at least 0", "Pass such as 1.0")
    return math.floor(decimal(epsilon) * NANO)


def units_for(multiplier: float) -> int:
    """The price of a Gaussian release of this multiplier, rounded up; `units_for(multiplier(u)) == u`."""
    if not 0 < multiplier < math.inf:
        remedy = "Pass the noise std as a multiple of the stated bound, such as 4.0"
        raise ArgumentError("multiplier", f"{multiplier} is not a finite number above 0", remedy)
    return math.ceil(NANO / Fraction(multiplier) ** 2)


def multiplier(units: int) -> float:
    """Noise std over bound that `units` buy: the smallest float s with `units * s^2 >= 1e9` exactly."""
    return sqrt_up(Fraction(NANO, _at_least_one(units)))


def laplace_multiplier(units: int) -> float:
    """Laplace scale over bound (in L1) that `units` buy: the smallest float s with `units * s >= 1e9`."""
    return float_up(Fraction(NANO, _at_least_one(units)))


def split(units: int, shares: Sequence[float]) -> tuple[int, ...]:
    """Whole units in proportion to `shares`; they add up to `units`, the remainder goes to the last.

    Every share is read as the decimal that is printed, so `.1, .9` and `1, 9` split alike on every machine.
    """
    if not shares or not all(0 < share < math.inf for share in shares):
        problem = "there is none, or one is not a finite number above 0"
        raise ArgumentError("shares", problem, "Pass one positive number per release")
    exact = [decimal(share) for share in shares]
    parts = [math.floor(units * share / sum(exact)) for share in exact[:-1]]
    parts.append(units - sum(parts))
    if min(parts) < 1:
        problem = f"a budget of {units} billionths does not give every release at least one"
        raise ArgumentError("shares", problem, "Raise epsilon, or make fewer or more even releases")
    return tuple(parts)


def check_delta(delta: float, n_bound: int | None) -> str | None:
    """Refuse a delta that would allow publishing one random user outright; the warning to show, if any.

    `n_bound` is the declared upper bound on the number of users. The exact number never comes here: a refusal
    that depended on it would tell it.
    """
    probability("delta", delta)
    if n_bound is None:
        return None
    if n_bound < 1:
        raise ArgumentError("n_bound", f"{n_bound} is not a number of users", "Pass a whole number above 0")
    risk = decimal(delta) * n_bound
    if risk >= 1:
        problem = f"{delta:g} is not below one in the {n_bound} users declared"
        raise ArgumentError("delta", problem, f"Pass at most {0.1 / n_bound:.0e}")
    if risk > Fraction(1, 10):
        return f"delta {delta:g} is more than a tenth of one in the {n_bound} users declared"
    return None


def decimal(value: float) -> Fraction:
    """The shortest decimal that prints as this float: what was typed, exactly."""
    return Fraction(repr(float(value)))


def _at_least_one(units: int) -> int:
    if units < 1:
        problem = f"{units} billionths of a budget buy no release"
        raise ArgumentError("units", problem, "Raise epsilon, or give this release a larger share")
    return units
