"""The exact privacy curve of Gaussian releases, rounded to the safe side.

    delta(epsilon, mu) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)

(Balle & Wang 2018, Theorem 8; Dong, Roth & Su 2022, Corollary 2.13.) It is evaluated with more bits than the
subtraction can cancel, and every answer is the last float that passes a check at that precision, so epsilon
and delta are never too small and mu is never too large. Proof: `proofs/gaussian-composition.md`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import mpmath

from hushfold.errors import ArgumentError

FAR = 40  # standard deviations: a tail beyond it is below e^-800, and so below the smallest float
LARGEST = 1e12  # of an epsilon or mu that is worth an answer
CLOSE = 2.0**-60  # where Newton's guess is good enough to be checked
_SAFE = 128  # the curve is raised by one part in 2^128: far above its own rounding, far below a float's


def delta_at(epsilon: float, mu: float) -> float:
    """The delta at which mu-GDP releases are (epsilon, delta)-DP, rounded up; 0 only where mu is 0."""
    epsilon, mu = not_negative("epsilon", epsilon), not_negative("mu", mu)
    if mu == 0:
        return 0.0
    exact = _delta(epsilon, mu)
    return first_float(lambda value: value >= exact, near=float(exact))


def epsilon_at(delta: float, mu: float) -> float:
    """The epsilon at which mu-GDP releases are (epsilon, delta)-DP, rounded up; 0 where delta covers them."""
    delta, mu = probability("delta", delta), not_negative("mu", mu)
    if mu == 0:
        return 0.0
    return first_float(lambda epsilon: _delta(epsilon, mu) <= delta, near=_guess_epsilon(delta, mu))


def mu_for(epsilon: float, delta: float) -> float:
    """The largest mu whose releases are (epsilon, delta)-DP, rounded down."""
    epsilon, delta = not_negative("epsilon", epsilon), probability("delta", delta)
    too_much = first_float(lambda mu: mu > 0 and _delta(epsilon, mu) > delta, near=_guess_mu(epsilon, delta))
    return math.nextafter(too_much, 0)


def float_up(exact: Fraction) -> float:
    """The smallest float of at least `exact`."""
    return first_float(lambda value: Fraction(value) >= exact, near=float(exact))


def sqrt_up(square: Fraction) -> float:
    """The smallest float whose exact square is at least `square`."""
    return first_float(lambda root: Fraction(root) ** 2 >= square, near=_float_sqrt(square))


def not_negative(name: str, value: float) -> float:
    """`value` if it is a number from 0 to `LARGEST`; otherwise an error that names the argument."""
    if not 0 <= value <= LARGEST:
        problem = f"{value} is not a number from 0 to {LARGEST:g}"
        raise ArgumentError(name, problem, f"Pass a value of {name} such as 1.0")
    return float(value)


def probability(name: str, value: float) -> float:
    """`value` if it lies strictly between 0 and 1; otherwise an error that names the argument."""
    if not 0 < value < 1:
        remedy = f"Pass a value of {name} such as 1e-6, well below one in the number of users"
        raise ArgumentError(name, f"{value} does not lie strictly between 0 and 1", remedy)
    return float(value)


@lru_cache(maxsize=64)
def _arithmetic(bits: int) -> Any:
    """Arithmetic of so many bits, apart from mpmath's global one and never changed: safe between threads."""
    context: Any = mpmath.MPContext()
    context.prec = bits
    return context


def _for(mu: float) -> Any:
    """Enough bits for this mu: the subtraction cancels log2(FAR / mu), the squares lose 2 log2(FAR + mu)."""
    return _arithmetic(_SAFE + 128 + 64 * -(-abs(math.frexp(mu)[1]) // 32))


def _terms(at: Any, epsilon: Any, mu: Any) -> tuple[Any, Any]:
    """The two terms of the curve; the second is also its slope in epsilon, with the sign changed."""
    root = at.sqrt(2)
    above = at.erfc((epsilon / mu - mu / 2) / root) / 2
    return above, at.exp(epsilon) * at.erfc((epsilon / mu + mu / 2) / root) / 2


def _delta(epsilon: float, mu: float) -> Any:
    """The curve, raised by its safety margin."""
    at = _for(mu)
    epsilon, mu = at.mpf(epsilon), at.mpf(mu)
    distance = epsilon / mu - mu / 2
    if distance > FAR:
        return at.mpf(math.ulp(0.0))
    if distance < -FAR:
        return at.one
    first, second = _terms(at, epsilon, mu)
    return min(at.one, (first - second) * (1 + at.ldexp(1, -_SAFE)))


def _guess_epsilon(delta: float, mu: float) -> float:
    """Newton on log delta, downwards from the bound of concentrated DP (Bun & Steinke 2016, Prop. 1.3)."""
    at = _for(mu)
    target, mu = at.log(delta), at.mpf(mu)
    epsilon = mu**2 / 2 + mu * at.sqrt(-2 * target)
    for _ in range(50):
        first, second = _terms(at, epsilon, mu)
        step = (at.log(first - second) - target) * (first - second) / second
        epsilon = max(at.zero, epsilon + step)
        if abs(step) <= CLOSE * epsilon or epsilon == 0:
            break
    return float(epsilon)


def _guess_mu(epsilon: float, delta: float) -> float:
    """Newton on log delta against log mu, upwards from the larger of two lower bounds.

    They are the inverse of the bound of concentrated DP and the curve's largest slope in mu, 1/sqrt(2 pi).
    """
    log = -math.log(delta)
    start = max(math.sqrt(2) * epsilon / (math.sqrt(log + epsilon) + math.sqrt(log)), 2.5 * delta)
    at = _for(start)
    target, mu = at.log(delta), at.mpf(start)
    for _ in range(50):
        first, second = _terms(at, at.mpf(epsilon), mu)
        density = at.exp(-((epsilon / mu - mu / 2) ** 2) / 2) / at.sqrt(2 * at.pi)
        step = (at.log(first - second) - target) * (first - second) / (mu * density)
        mu *= at.exp(-step)
        if abs(step) <= CLOSE:
            break
    return float(mu)


def _float_sqrt(square: Fraction) -> float:
    """The root of a fraction of any size, to about a float's precision."""
    shift = 2 * ((square.numerator.bit_length() - square.denominator.bit_length()) // 2)
    return math.ldexp(math.sqrt(square / Fraction(2) ** shift), shift // 2)


def first_float(passes: Callable[[float], bool], near: float) -> float:
    """The smallest float of at least 0 that passes a monotone check: seen to pass, the float below to fail.

    Non-negative floats are ordered as their bits are, so this gallops away from `near` until the edge is
    between two tested floats, then halves. Infinity is taken to pass, whatever lies below 0 to fail.
    """
    at, failing, passing, stride = _bits(near), -1, _bits(math.inf), 1
    while passing - failing > 1:
        if passes(_float(at)):
            passing, at = at, max(at - stride, (failing + at) // 2)
        else:
            failing, at = at, min(at + stride, (at + passing + 1) // 2)
        stride *= 2
    return _float(passing)


def _bits(value: float) -> int:
    return struct.unpack("<q", struct.pack("<d", value))[0]


def _float(bits: int) -> float:
    return struct.unpack("<d", struct.pack("<q", bits))[0]
