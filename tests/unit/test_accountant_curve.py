"""The exact curve against 200-bit references, at ordinary and at extreme points (P-01, L-08)."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from hushfold.errors import ArgumentError
from hushfold.privacy import gdp
from hushfold.privacy.accountant import DpalsRound, Gaussian, account
from hushfold.privacy.budget import Budget, multiplier
from hushfold.privacy.gdp import delta_at, epsilon_at, float_up, mu_for, sqrt_up

BITS = 200


def reference_delta(epsilon, mu):
    """The curve as printed, in 200 bits."""
    mu = mpmath.mpf(mu)
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


def too_low(epsilon, delta, mu):
    """Whether the true epsilon, the root of the falling printed curve, is above this one."""
    return reference_delta(epsilon, mu) > delta


def test_random_dpals_bills_are_never_below_the_reference_nor_a_millionth_above():
    """P-01: 500 random (sigma, k, T, B, lambda0). What counts is the multiplier the door draws with."""
    rng = np.random.default_rng(101)
    with mpmath.workprec(BITS):
        for _ in range(500):
            steps, items, budget = rng.integers(1, 6), rng.integers(1, 200), rng.uniform(1, 200)
            gram, rhs, third = (float(s) for s in np.exp(rng.uniform(np.log(2), np.log(300), 3)))
            counts = float(rng.uniform(5, 300) / math.sqrt(items))
            delta = float(10 ** rng.uniform(-10, -3))
            gram, rhs = gram / math.sqrt(budget), rhs / math.sqrt(budget)
            third = third if rng.random() < 0.5 else None
            mu2 = steps * (1 / mpmath.mpf(gram) ** 2 + 1 / mpmath.mpf(rhs) ** 2)
            mu2 += steps / mpmath.mpf(third) ** 2 if third else 0
            mu2 += 2 / mpmath.mpf(counts) ** 2
            events = [DpalsRound(gram, rhs, third, int(steps), gap=0), Gaussian(counts, 2)]
            ours, mu = account(events, delta).epsilon, mpmath.sqrt(mu2)
            assert not too_low(ours, delta, mu)
            assert ours == 0 or too_low(ours * (1 - 1e-6), delta, mu)


def test_the_formula_is_the_hockey_stick_integral():
    """Not the printed formula again, but the divergence it stands for, integrated."""
    with mpmath.workprec(BITS):
        for epsilon, mu in ((0.5, 0.2), (1.0, 0.2681), (4.0, 1.0), (20.0, 3.4478)):
            ratio = mpmath.exp(epsilon)
            start = mpmath.mpf(epsilon) / mu + mpmath.mpf(mu) / 2
            integral = mpmath.quad(
                lambda x, mu=mu, ratio=ratio: mpmath.npdf(x, mu) - ratio * mpmath.npdf(x),
                [start, start + 1, start + 3, start + 10, start + 40],
            )
            assert 0 <= delta_at(epsilon, mu) / integral - 1 < 1e-15


@pytest.mark.parametrize(
    ("epsilon", "mu"),
    [(0.5, 0.1422), (1, 0.2681), (2, 0.5016), (5, 1.1212), (10, 2.0004), (20, 3.4478)],
)
def test_exact_mu_at_one_in_a_hundred_thousand(epsilon, mu):
    assert round(mu_for(epsilon, 1e-5), 4) == mu


@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-15, 1e-5, 0.3, 1 - 1e-12])
@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 0.01, 1.0, 50.0, 1e4, 1e10])
def test_inverses_agree_to_the_last_float(epsilon, delta):
    """The certified edges: mu passes at delta and the next float does not; epsilon comes back from below."""
    mu = mu_for(epsilon, delta)
    with mpmath.workprec(2500):
        assert reference_delta(epsilon, mu) <= delta
        assert reference_delta(epsilon, math.nextafter(mu, math.inf)) * (1 + mpmath.mpf(2) ** -120) > delta
    back = epsilon_at(delta, mu)
    assert back <= epsilon
    assert back == pytest.approx(epsilon, rel=1e-9, abs=1e-9 * mu)


def test_far_tails_stay_finite_and_on_the_safe_side():
    assert delta_at(1e10, 1.0) == math.ulp(0.0)
    assert delta_at(1.0, 1e10) == 1.0
    assert delta_at(1.0, 0.0) == 0.0
    assert epsilon_at(1e-6, 0.0) == 0.0
    assert epsilon_at(0.5, 0.1) == 0.0
    assert delta_at(0.0, 1e-300) >= 3.989422804014326e-301
    assert 5e23 < epsilon_at(1e-6, 1e12) < 5.0001e23


def test_the_curve_is_monotone_where_floats_are_neighbours():
    for mu in (0.01, 0.2681, 3.0):
        epsilons = [epsilon_at(1e-6, m) for m in (math.nextafter(mu, 0), mu, math.nextafter(mu, 9))]
        assert epsilons == sorted(epsilons)


def test_noise_found_by_search_is_enough_and_not_wasteful():
    """L-08: 1000 random targets, through whole units to the multiplier the door would draw with."""
    rng = np.random.default_rng(108)
    for _ in range(1000):
        epsilon, delta = (
            float(np.exp(rng.uniform(np.log(0.05), np.log(20)))),
            float(10 ** rng.uniform(-12, -3)),
        )
        noise = Fraction(multiplier(Budget.gaussian(epsilon, delta).units))
        assert epsilon_at(delta, sqrt_up(1 / noise**2)) <= epsilon
        assert epsilon_at(delta, float(1 / noise) / (1 - 1e-4)) > epsilon * (1 - 1e-3)


def test_a_curve_a_little_too_low_would_be_noticed(monkeypatch):
    """Negative control of P-01: the same check rejects an accountant that is off by a part in 1e12."""
    right = gdp._delta
    monkeypatch.setattr(gdp, "_delta", lambda epsilon, mu: right(epsilon, mu) * (1 - 1e-12))
    with mpmath.workprec(BITS):
        assert too_low(epsilon_at(1e-5, 0.3), 1e-5, 0.3)


def test_threads_share_the_arithmetic_without_disturbing_each_other():
    jobs = [(10.0**-k, 0.05 * k) for k in range(2, 14)] * 4
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda job: epsilon_at(*job), jobs)) == [epsilon_at(*job) for job in jobs]


@pytest.mark.parametrize(
    "square", [Fraction(0), Fraction(2), Fraction(1, 3), Fraction(10**80), Fraction(1, 10**80)]
)
def test_roots_are_the_smallest_float_that_covers(square):
    root = sqrt_up(square)
    assert Fraction(root) ** 2 >= square
    assert root == 0 or Fraction(math.nextafter(root, 0)) ** 2 < square


def test_fractions_are_rounded_up():
    assert float_up(Fraction(1, 3)) == math.nextafter(1 / 3, 1)
    assert float_up(Fraction(1, 4)) == 0.25


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, math.inf, -math.inf])
def test_a_bad_epsilon_is_named(epsilon):
    for call in (lambda: mu_for(epsilon, 1e-6), lambda: delta_at(epsilon, 1.0), lambda: Budget.pure(epsilon)):
        with pytest.raises(ArgumentError, match=r"^epsilon: .* is not .*\. Pass") as caught:
            call()
        assert caught.value.argument == "epsilon"


@pytest.mark.parametrize("delta", [0.0, -1e-6, 1.0, 2.0, math.nan, math.inf])
def test_a_bad_delta_is_named(delta):
    for call in (lambda: mu_for(1.0, delta), lambda: epsilon_at(delta, 1.0)):
        with pytest.raises(ArgumentError, match=r"^delta: .* between 0 and 1\. Pass"):
            call()


@pytest.mark.parametrize("mu", [-1.0, math.nan, math.inf])
def test_a_bad_mu_is_named(mu):
    for call in (lambda: delta_at(1.0, mu), lambda: epsilon_at(1e-6, mu)):
        with pytest.raises(ArgumentError, match=r"^mu: "):
            call()
