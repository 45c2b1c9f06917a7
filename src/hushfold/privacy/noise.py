"""Secure noise: what the door draws, and what the sampler's finite tables add to epsilon and delta.

Noise lives on the integers, its randomness is AES-256-CTR under a key of OS entropy that serves one release,
and no seed reaches it. Every claim is therefore computational: AES's distinguishing advantage is added to
delta.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp, inf, isfinite, nextafter
from typing import Any

import mpmath

from hushfold.errors import ArgumentError, NoiseError
from hushfold.privacy.laplace import LaplaceSampler
from hushfold.privacy.lattice import LEAST_SIGMA, Z_MAX, GaussianSampler
from hushfold.privacy.stream import Key, Stream, fixed_key_for_tests

GRADE = "lattice"
"""The noise grade a card names; anything else is stamped."""

__all__ = [
    "GRADE",
    "GaussianSampler",
    "Key",
    "LaplaceSampler",
    "Slack",
    "Stream",
    "cut",
    "fixed_key_for_tests",
    "slack",
]


@dataclass(frozen=True, slots=True)
class Slack:
    """What the Gaussian sampler adds to a transcript's epsilon and delta (`proofs/lattice-gaussian.md`)."""

    touched: int
    """The most coordinates, over all releases, that one user can move."""
    mu: float
    """Bound on the whitened shift of the whole transcript."""
    z_max: float
    """Standard deviations at which the law is cut."""
    eta: float
    """Bound on the relative gap between the law drawn and the rounded Gaussian, inside the cut."""
    epsilon: float
    """To be added to epsilon."""
    delta: float
    """To be added to delta."""


def cut(mu: float) -> float:
    """Where the samplers of a transcript of mu-GDP are cut, in standard deviations."""
    if not (mu >= 0 and isfinite(mu)):
        raise ArgumentError("mu", f"{mu} is not a finite number of at least 0", "Pass the budget's mu")
    return Z_MAX if mu <= 3.45 else 10.6 + mu


def gap(z_max: float) -> float:
    """Bound on |log(P~ / P)|, P~ the law drawn and P the rounded Gaussian, inside the cut; a power of two.

    For any standard deviation the sampler accepts; 2^-47 at 14 of them. Term by term in the proof page.
    """
    worst = z_max / 8 + 1 / 128  # largest argument of the exponential
    law = ((z_max + 0.125) ** 2 + 1) / (24 * LEAST_SIGMA**2)  # discrete against rounded Gaussian
    exponential, argument, uniform = 4 * 2.0**-52, 3 * worst * 2.0**-53, 2.72**worst * 2.0**-53
    rarest_cell, normaliser = 2.0**-51, 5 * 2.0**-52
    return 2.0 ** frexp(law + exponential + argument + uniform + rarest_cell + normaliser)[1]


def slack(touched: int, mu: float, delta: float, z_max: float | None = None) -> Slack:
    """The additions to (epsilon, delta), rounded up, for a transcript of mu-GDP that claims `delta`.

    `touched` bounds the coordinates one user can move over the whole transcript, from public sizes; `z_max`
    is the samplers' cut (by default `cut(mu)`). Raises `NoiseError` if delta would grow by more than a
    thousandth.
    """
    z_max = cut(mu) if z_max is None else z_max
    if touched < 0:
        raise ArgumentError("touched", "it is negative", "Count the coordinates one user can move")
    if not 0 < delta < 1:
        raise ArgumentError("delta", f"{delta} is not between 0 and 1", "Pass the delta of the claim")
    if not mu < z_max:
        raise ArgumentError(
            "z_max", "the samplers are cut inside the shift", "Cut them at `cut(mu)` or beyond"
        )
    eta = gap(z_max)
    at: Any = mpmath.MPContext()
    at.prec = 200
    tail = at.erfc((at.mpf(z_max) - mu) / at.sqrt(2)) / 2
    more_epsilon = _up(2 * at.mpf(eta) * touched)
    more_delta = _up(at.expm1(at.mpf(eta) * touched) * delta + 2 * touched * tail)
    if more_delta > delta / 1000:
        raise NoiseError(
            f"one user moves {touched} coordinates, so the sampler's own distance from its law would add "
            f"{more_delta:.2g} to delta, more than a thousandth of it; release fewer coordinates or claim a "
            "larger delta"
        )
    return Slack(touched, mu, z_max, eta, more_epsilon, more_delta)


def _up(number: Any) -> float:
    return nextafter(float(number), inf) if number else 0.0
