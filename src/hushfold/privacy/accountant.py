"""What a list of releases guarantees together, for one user added or removed and for one user replaced.

A release is described by a small frozen event; an event this module does not know is an error, never ignored.
Gaussian releases compose exactly (mu^2 adds), Laplace releases by adding epsilons, anything else through its
privacy loss distribution, as one row with its own (epsilon, delta). Proofs: `proofs/gaussian-composition.md`,
`proofs/replace-one.md`, `proofs/dpals-round.md`, `proofs/hush.md`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from hushfold.errors import ArgumentError
from hushfold.privacy.gdp import epsilon_at, float_up, not_negative, sqrt_up


@dataclass(frozen=True, slots=True)
class Gaussian:
    """`count` Gaussian releases with noise of `multiplier` times the stated L2 bound."""

    multiplier: float
    count: int = 1
    replace: float = 2.0
    """What replacing one user moves the statistic by, as a multiple of its bound (`Spec.replace`)."""

    def __post_init__(self) -> None:
        _check(self.count, self.replace, multiplier=self.multiplier)

    @property
    def mu2(self) -> Fraction:
        """Its mu^2 when one user is added or removed."""
        return self.count / Fraction(self.multiplier) ** 2

    @property
    def replace_mu2(self) -> Fraction:
        """Its mu^2 when one user is replaced."""
        return self.mu2 * Fraction(self.replace) ** 2


@dataclass(frozen=True, slots=True)
class DpalsRound:
    """`count` rounds of DPALS: item Grams and right-hand sides of the same users, perhaps the global Gram.

    All three are multipliers: noise std over stated bound. Replacing a user moves Grams and right-hand sides
    together by less than each alone allows, so the round has a formula of its own (`replaced_round`), which
    holds where both are made of the same clipped vectors and weights (`proofs/replace-one.md`).
    """

    gram: float
    rhs: float
    global_gram: float | None = None
    count: int = 1
    gap: float = field(kw_only=True)
    """How far quantisation may part the two statistics: `lattice_gap`; 0 in real arithmetic, as in papers."""

    def __post_init__(self) -> None:
        third = {} if self.global_gram is None else {"global_gram": self.global_gram}
        _check(self.count, gram=self.gram, rhs=self.rhs, **third)
        not_negative("gap", self.gap)

    @property
    def mu2(self) -> Fraction:
        """Theorem A: the sum over the statistics of the round."""
        return self.count * (_inverse2(self.gram) + _inverse2(self.rhs) + self._global)

    @property
    def replace_mu2(self) -> Fraction:
        """The joint formula of the round; the global Gram alone moves by the root of 2."""
        gram, rhs = _inverse2(self.gram), _inverse2(self.rhs)
        return self.count * (replaced_round(gram, rhs, Fraction(self.gap)) + 2 * self._global)

    @property
    def _global(self) -> Fraction:
        return Fraction(0) if self.global_gram is None else _inverse2(self.global_gram)


@dataclass(frozen=True, slots=True)
class Laplace:
    """`count` Laplace releases with scale `multiplier` times the stated L1 bound."""

    multiplier: float
    count: int = 1
    replace: float = 2.0

    def __post_init__(self) -> None:
        _check(self.count, self.replace, multiplier=self.multiplier)

    @property
    def epsilon(self) -> Fraction:
        """Its pure epsilon when one user is added or removed."""
        return self.count / Fraction(self.multiplier)


@dataclass(frozen=True, slots=True)
class SampledGaussian:
    """`count` Gaussian releases, each of a secret Poisson sample that a user is in with chance `rate`.

    Secret means: coins of fresh OS entropy, dropped after the sum. Public coins amplify nothing.
    """

    multiplier: float
    rate: float
    count: int = 1

    def __post_init__(self) -> None:
        _check(self.count, multiplier=self.multiplier)
        if not 0 < self.rate <= 1:
            raise ArgumentError(
                "rate", f"{self.rate} is not above 0 and at most 1", "Pass a chance such as 0.01"
            )


Event = Gaussian | DpalsRound | Laplace | SampledGaussian


@dataclass(frozen=True, slots=True)
class Statement:
    """A guarantee in numbers: (epsilon, delta)-DP, every number rounded to the safe side."""

    claim: Literal["gaussian", "pure", "approximate"]
    epsilon: float
    delta: float
    replace_epsilon: float
    """At the same delta, for one user replaced by another; infinite where none could be certified."""
    mu: float | None = None
    """Of Gaussian releases: the whole curve, not one point of it."""
    replace_mu: float | None = None

    @property
    def rho(self) -> float | None:
        """The same releases as zero-concentrated DP: Renyi DP of alpha rho at every order alpha."""
        return None if self.mu is None else float_up(Fraction(self.mu) ** 2 / 2)


def account(events: Iterable[Event], delta: float) -> Statement:
    """What the releases guarantee together; `delta` is ignored where all are pure (then it is 0)."""
    gaussian: list[Gaussian | DpalsRound] = []
    laplace: list[Laplace] = []
    sampled: list[SampledGaussian] = []
    for event in events:
        match event:
            case Gaussian() | DpalsRound():
                gaussian.append(event)
            case Laplace():
                laplace.append(event)
            case SampledGaussian():
                sampled.append(event)
            case _:  # pyright: ignore[reportUnnecessaryComparison]
                remedy = "Describe the release by Gaussian, DpalsRound, Laplace or SampledGaussian"
                raise ArgumentError("events", f"a {type(event).__name__} cannot be accounted", remedy)
    if not sampled and not laplace:
        return _gaussian(gaussian, delta)
    if not sampled and not gaussian:
        return _pure(laplace)
    return _mixed(gaussian, laplace, sampled, delta)


def together(*statements: Statement) -> Statement:
    """Basic composition of separate statements: epsilons and deltas add. Safe for rows of different kinds."""
    delta = float_up(sum((Fraction(s.delta) for s in statements), Fraction(0)))
    if delta >= 1:
        raise ArgumentError("delta", "the deltas add up to 1 or more", "State every row at a smaller delta")
    epsilon, replace = (
        math.inf if math.inf in column else float_up(sum(map(Fraction, column), Fraction(0)))
        for column in ([s.epsilon for s in statements], [s.replace_epsilon for s in statements])
    )
    return Statement("approximate" if delta else "pure", epsilon, delta, replace)


def replaced_round(gram_mu2: Fraction, rhs_mu2: Fraction, gap: Fraction = Fraction(0)) -> Fraction:
    """mu^2 of a DPALS round when one user is replaced: h(a, b) + 2 b gap of `proofs/replace-one.md`."""
    twice = 4 * (gram_mu2 + rhs_mu2)
    if rhs_mu2 > 2 * gram_mu2:
        return min(twice, (4 + 2 * gap) * rhs_mu2)
    return min(twice, 2 * gram_mu2 + (2 + 2 * gap) * rhs_mu2 + rhs_mu2**2 / (2 * gram_mu2))


def lattice_gap(rank: int, items: int) -> float:
    """How far 15-bit quantisation may part a user's Grams from the right-hand sides, on up to `items` items.

    The factor is 2 for truncation; the rest covers single-precision roots and the shrinking of a long row.
    """
    return 2.2 * math.sqrt(rank) * (items**0.25 + 1) / 2**15


def replaced_hush(
    counts: Fraction, bias: Fraction, scale: Fraction, moment: Fraction, refinement: Fraction = Fraction(0)
) -> Fraction:
    """mu^2 of Hush's releases when one user is replaced, from the mu^2 of each (`proofs/hush.md`).

    What `Gaussian.replace` of sqrt(2.1), 2, 1, sqrt(2) and 2 adds up to.
    """
    return Fraction(21, 10) * counts + 4 * bias + scale + 2 * moment + 4 * refinement


def paper_dpals_rho2(steps: int, items: int, gram: float, rhs: float, pre: float) -> float:
    """REPRODUCTION ONLY, not our guarantee: the bill behind Table 4 of the DPALS paper, in its own sigmas.

    Both statistics of a step are billed (the paper's Theorem 1 bills one), the noisy mean k times too low.
    """
    return items * steps / 2 * (1 / gram**2 + 1 / rhs**2) + (items + 1) / pre**2


def paper_dpals_epsilon(rho2: float, delta: float) -> float:
    """REPRODUCTION ONLY, not our guarantee: the conversion of concentrated DP that the DPALS paper prints."""
    return rho2 + 2 * math.sqrt(rho2 * math.log(1 / delta))


def _gaussian(events: list[Gaussian | DpalsRound], delta: float) -> Statement:
    mu = sqrt_up(sum((event.mu2 for event in events), Fraction(0)))
    replaced = sqrt_up(sum((event.replace_mu2 for event in events), Fraction(0)))
    return Statement(
        "gaussian", epsilon_at(delta, mu), delta, epsilon_at(delta, replaced), mu=mu, replace_mu=replaced
    )


def _pure(events: list[Laplace]) -> Statement:
    epsilon = sum((event.epsilon for event in events), Fraction(0))
    replaced = sum((event.epsilon * Fraction(event.replace) for event in events), Fraction(0))
    return Statement("pure", float_up(epsilon), 0.0, float_up(replaced))


def _mixed(
    gaussian: list[Gaussian | DpalsRound],
    laplace: list[Laplace],
    sampled: list[SampledGaussian],
    delta: float,
) -> Statement:
    from hushfold.privacy.pld import PrivacyLoss  # the import takes seconds, and few runs need it

    loss = PrivacyLoss(
        sqrt_up(sum((event.mu2 for event in gaussian), Fraction(0))),
        [(event.multiplier, event.count) for event in laplace],
        [(event.multiplier, event.rate, event.count) for event in sampled],
    )
    return Statement("approximate", loss.epsilon_at(delta), delta, loss.replace_epsilon_at(delta))


def _check(count: int, replace: float = 2.0, **multipliers: float) -> None:
    for name, value in multipliers.items():
        if not 0 < value < math.inf:
            raise ArgumentError(name, f"{value} is not a finite number above 0", "Pass a value such as 4.0")
    if count < 1:
        raise ArgumentError("count", f"{count} is not a number of releases", "Pass a whole number above 0")
    if not 1 <= replace <= 2:
        raise ArgumentError("replace", f"{replace} is not from 1 to 2", "Pass 2, which always holds")


def _inverse2(multiplier: float) -> Fraction:
    return 1 / Fraction(multiplier) ** 2
