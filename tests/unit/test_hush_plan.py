"""The plan of Hush on ratings: how far a factor would stand out, and what is released because of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushfold.algorithms import bias
from hushfold.algorithms.bias_posterior import Counts
from hushfold.algorithms.hush.plan import (
    FIRST_SHARE,
    NO_FACTORS,
    NO_TAIL,
    PERHAPS,
    WITH_TAIL,
    pair_factor,
    plan_explicit,
    visibility,
)
from hushfold.privacy.budget import Budget, multiplier, split


def counts(items, ratings: float, users: float = 1000.0) -> Counts:
    return Counts(1.0, 5.0, np.asarray(items, float), 0.5, users, ratings, 0.0)


def even(items: int, each: float, ratings: float) -> Counts:
    return counts(np.full(items, each), ratings)


UNITS = Budget.gaussian(1.0, 1e-5).units


@pytest.mark.parametrize("shares", [NO_FACTORS, PERHAPS, NO_TAIL, WITH_TAIL])
def test_every_plan_spends_the_whole_budget_and_begins_alike(shares):
    assert sum(map(round, (1e9 * share for share in shares.values()))) == 10**9
    parts = split(UNITS, list(shares.values()))
    assert sum(parts) == UNITS
    assert next(iter(shares)) == "counts"
    assert parts[0] == split(UNITS, [FIRST_SHARE, 1 - FIRST_SHARE])[0]


def test_without_a_visible_factor_the_plan_is_that_of_the_bias_model():
    assert NO_FACTORS is bias.SHARES


def test_visibility_by_hand():
    public = counts([4.0, 3.0, 1.0], 40.0)
    kappa = 40 / 64
    assert pair_factor(public) == kappa
    at = [
        0.65 * kappa * 0.08 * square / (2.0 * math.sqrt(2 * h)) for h, square in ((1, 16), (2, 25), (3, 26))
    ]
    assert visibility(public, 2.0) == pytest.approx((max(at), at[2]))


def test_the_order_of_the_items_plays_no_part():
    assert visibility(counts([1.0, 4.0, 3.0], 40.0), 2.0) == visibility(counts([4.0, 3.0, 1.0], 40.0), 2.0)


def test_a_head_may_show_what_the_whole_catalogue_hides():
    best, whole = visibility(counts(np.r_[np.full(10, 100.0), np.full(5000, 0.5)], 1e5), 1.0)
    assert best > 5 * whole


def test_no_more_items_than_the_largest_head_are_looked_at():
    best, whole = visibility(even(40_000, 10.0, 1e6), 1.0)
    assert whole == pytest.approx(2 * best)


@pytest.mark.parametrize("ratings", [0.0, -50.0])
def test_without_interactions_nothing_is_visible(ratings):
    plan = plan_explicit(even(100, 50.0, ratings), UNITS)
    assert plan.visibility == 0
    assert plan.shares == NO_FACTORS


def _with_visibility(wanted: float, shape) -> Counts:
    """Counts of this shape whose number of ratings makes the strongest factor this visible."""
    noise = multiplier(split(UNITS, [0.45, 0.55])[0])
    best, _ = visibility(counts(shape, 1.0), noise)
    return counts(shape, wanted / best)


TAIL = np.r_[np.full(200, 500.0), np.full(3000, 0.5)]


@pytest.mark.parametrize(
    ("visible", "shape", "shares"),
    [
        (0.89, TAIL, NO_FACTORS),
        (0.91, TAIL, PERHAPS),
        (4.99, TAIL, PERHAPS),
        (5.01, TAIL, WITH_TAIL),
        (5.01, np.full(100, 500.0), NO_TAIL),
        (5.01, np.full(3000, 10.0), WITH_TAIL),  # even, but too thin to lie within a head
        (4.99, np.full(100, 500.0), PERHAPS),
    ],
)
def test_the_plan_follows_visibility_and_tail(visible, shape, shares):
    plan = plan_explicit(_with_visibility(visible, shape), UNITS)
    assert plan.visibility == pytest.approx(visible)
    assert plan.shares == shares


def test_one_item_has_a_plan():
    assert plan_explicit(even(1, 1e6, 1e6), UNITS).shares
