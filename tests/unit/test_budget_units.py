"""Whole units: conversions that never overspend, a filter nobody gets past (L-05), the rule for delta."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from hushfold.errors import ArgumentError
from hushfold.privacy.accountant import Gaussian, Laplace, account
from hushfold.privacy.budget import (
    NANO,
    Budget,
    check_delta,
    laplace_multiplier,
    multiplier,
    split,
    units_for,
    units_of,
    units_of_epsilon,
)
from hushfold.privacy.gdp import mu_for
from hushfold.privacy.ledger_state import Population, Total


def test_adaptive_strategies_never_exceed_the_total():
    """L-05: 10 000 strategies that choose every noise after seeing what is left, greedy ones among them."""
    coins = random.Random(105)
    for _ in range(10_000):
        total = coins.randrange(1, 5 * NANO)
        people = Population("people", {"gaussian": Total("gaussian", total)})
        exact = Fraction(0)
        for _ in range(coins.randrange(1, 8)):
            left = people.left("gaussian")[0]
            match coins.randrange(4):
                case 0:
                    noise = math.exp(coins.uniform(math.log(0.3), math.log(3e4)))
                case 1 if left:
                    noise = multiplier(left)
                case 2 if left:
                    noise = math.nextafter(multiplier(left), 0)
                case _:
                    noise = multiplier(max(1, left // 2)) * coins.uniform(0.5, 1.5)
            price = units_for(noise)
            if people.covers("gaussian", price, 0):
                people.spent["gaussian"] = (total - left + price, 0)
                exact += 1 / Fraction(noise) ** 2
        assert people.left("gaussian")[0] >= 0
        assert exact * NANO <= total


def test_a_filter_by_rounded_prices_would_be_caught():
    """Negative control: prices rounded to the nearest unit overspend on many cheap releases."""
    noise = math.nextafter(multiplier(1), 0) * 0.9  # costs 1.23 units
    nearest = round(NANO / Fraction(noise) ** 2)
    assert Fraction(NANO) * 1000 / Fraction(noise) ** 2 > 1000 * nearest
    assert Fraction(NANO) * 1000 / Fraction(noise) ** 2 <= 1000 * units_for(noise)


def test_all_releases_of_a_split_budget_together_keep_the_promise():
    for epsilon, delta in ((0.1, 1e-8), (1.0, 1e-6), (10.0, 1e-5)):
        shares = Budget.gaussian(epsilon, delta).split({"counts": 0.1, "bias": 0.2, "moment": 0.7})
        statement = account([Gaussian(share.multiplier) for share in shares], delta)
        assert epsilon * (1 - 1e-4) < statement.epsilon <= epsilon
        assert [share.name for share in shares] == ["counts", "bias", "moment"]


def test_a_pure_budget_is_split_likewise():
    budget = Budget.pure(0.3)
    assert (budget.units, budget.delta, budget.claim) == (300_000_000, 0.0, "pure")
    statement = account([Laplace(share.multiplier) for share in budget.split({"a": 1, "b": 2})], 1e-6)
    assert statement.epsilon == pytest.approx(0.3)
    assert sum(share.units for share in budget.split({"a": 1, "b": 2})) == budget.units


def test_units_round_down_and_noise_up():
    mu = mu_for(1.0, 1e-5)
    assert Fraction(units_of(mu), NANO) <= Fraction(mu) ** 2 < Fraction(units_of(mu) + 1, NANO)
    assert units_of_epsilon(0.1) == 100_000_000
    assert units_of(1.0) == NANO
    assert multiplier(NANO) == 1.0
    assert laplace_multiplier(3) * 3 >= NANO
    for units in (1, 2, 3, 7, 999_999_999, 56_028_963, 4 * NANO - 1):
        assert units * Fraction(multiplier(units)) ** 2 >= NANO
        assert units * Fraction(math.nextafter(multiplier(units), 0)) ** 2 < NANO
        assert units * Fraction(laplace_multiplier(units)) >= NANO
        assert units_for(multiplier(units)) == units


@pytest.mark.parametrize("delta", [1e-6, 2e-6, 0.5])
def test_a_delta_that_allows_publishing_one_user_is_refused(delta):
    """L-07, at the boundary as typed: 1e-6 in floats is just below one in a million."""
    with pytest.raises(ArgumentError, match=r"^delta: .* 1000000 users declared\. Pass at most 1e-07$"):
        check_delta(delta, 1_000_000)


def test_a_large_delta_is_warned_about_and_a_small_one_is_not():
    assert "more than a tenth" in (check_delta(1.1e-7, 1_000_000) or "")
    assert "more than a tenth" in (check_delta(9.9e-7, 1_000_000) or "")
    assert check_delta(1e-7, 1_000_000) is None
    assert check_delta(1e-12, 1_000_000) is None
    assert check_delta(0.5, None) is None


def test_a_number_of_users_that_is_none_is_named():
    with pytest.raises(ArgumentError, match=r"^n_bound: "):
        check_delta(1e-6, 0)


@pytest.mark.parametrize("shares", [[], [0.0], [1.0, -1.0], [math.nan], [math.inf, 1.0]])
def test_bad_shares_are_named(shares):
    with pytest.raises(ArgumentError, match=r"^shares: .*\. Pass one positive number per release"):
        split(1000, shares)


def test_a_budget_too_small_to_divide_is_refused():
    with pytest.raises(ArgumentError, match=r"^shares: .*\. Raise epsilon"):
        split(2, [1, 1, 1])
    with pytest.raises(ArgumentError, match=r"^shares: "):
        Budget.gaussian(1e-9, 1e-9).split({"release": 1})
    with pytest.raises(ArgumentError, match=r"^units: "):
        multiplier(0)
    with pytest.raises(ArgumentError, match=r"^units: "):
        laplace_multiplier(-1)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_bad_multipliers_are_named(bad):
    with pytest.raises(ArgumentError, match=r"^multiplier: "):
        units_for(bad)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_bad_mu_and_epsilon_are_named(bad):
    with pytest.raises(ArgumentError, match=r"^mu: "):
        units_of(bad)
    with pytest.raises(ArgumentError, match=r"^epsilon: "):
        units_of_epsilon(bad)
