"""The bias model: its formulas on cases worked out by hand, and its answers to odd data."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.keys import numbered_keys

from hushfold.algorithms import bias
from hushfold.algorithms.bias_posterior import (
    Counts,
    Draft,
    Observed,
    draft_of,
    model_of,
    popularity_features,
    posterior,
    read_counts,
)
from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.errors import ArgumentError
from hushfold.privacy.budget import Budget
from hushfold.privacy.door import Door
from hushfold.privacy.ledger import Ledger
from hushfold.types import Rows


def rows_of(*users: dict[int, float], catalogue: int = 4) -> Rows:
    indptr = np.cumsum([0, *map(len, users)]).astype(np.int64)
    items = np.array([item for user in users for item in user], np.int32)
    values = np.array([value for user in users for value in user.values()], np.float32)
    return Rows(indptr, items, values, np.arange(len(users), dtype=np.uint64) + 7, catalogue)


def summed(contributions) -> np.ndarray:
    """The real value of the only statistic, without noise."""
    (contribution,) = contributions
    accumulator = contribution.accumulator()
    accumulator.add(contribution)
    tiles = [accumulator.tile(tile) for tile in range(contribution.spec.tiles)]
    return np.concatenate(tiles) * contribution.spec.step


def counts(items=(10.0, 5.0, 2.0, 1.0), mean=0.0, low=1.0, high=5.0, floor=0.5, users=20.0, ratings=90.0):
    return Counts(low, high, np.array(items), floor, users, ratings, mean)


def fit(users: Users, epsilon=1.0, low=1.0, high=5.0, keys="bias"):
    with Ledger.throw_away() as ledger:
        run = ledger.run(method="bias", config={})
        door = Door(run, Budget.gaussian(epsilon, 1e-6), threads=1, new_key=numbered_keys(keys))
        model = bias.fit(users, LocalEngine(threads=1), door, low, high)
        assert sum(row["units"] for row in run.rows()) == door.budget.units
    return model.value


class TestWhatAUserContributes:
    def test_the_first_row_holds_items_presence_number_and_mean(self):
        first = summed(bias.count_ratings(rows_of({0: 5.0, 2: 4.0}, {2: 1.0}), 1.0, 5.0))
        expected = [
            math.sqrt(0.85 / 2),
            0.0,
            math.sqrt(0.85 / 2) + math.sqrt(0.85),
            0.0,
            2 * math.sqrt(0.05),
            3 * math.sqrt(0.05) / 1000,
            math.sqrt(0.05) * (1.5 / 2 - 2 / 2),
        ]
        assert first == pytest.approx(expected, abs=1e-7)

    def test_what_is_read_from_the_first_row_is_what_was_put_in(self):
        released = summed(bias.count_ratings(rows_of({0: 5.0, 2: 4.0}, {2: 1.0}), 1.0, 5.0))
        read = read_counts(released, 1e-4, 1.0, 5.0)
        assert read.items == pytest.approx(
            [math.sqrt(0.5), read.floor, math.sqrt(0.5) + 1, read.floor], abs=1e-6
        )
        assert read.floor == pytest.approx(0.5e-4 / math.sqrt(0.85))
        assert read.users == pytest.approx(2, abs=1e-6)
        assert read.ratings == pytest.approx(3, abs=1e-3)
        assert read.mean == pytest.approx((1.5 - 2) / 2, abs=1e-6)
        assert read.centre == pytest.approx(3 - 0.25, abs=1e-6)

    def test_a_user_without_a_usable_rating_counts_as_absent(self):
        outside = Rows(
            np.array([0, 1]), np.array([9], np.int32), np.ones(1, np.float32), np.zeros(1, "u8"), 4
        )
        assert not summed(bias.count_ratings(outside, 1.0, 5.0)).any()
        assert not summed(bias.sum_scale(outside, counts(), np.zeros(4))).any()

    def test_only_so_many_ratings_of_a_user_count(self):
        heavy = rows_of(dict.fromkeys(range(1500), 3.0), catalogue=1500)
        assert summed(bias.count_ratings(heavy, 1.0, 5.0))[-2] == pytest.approx(math.sqrt(0.05), abs=1e-6)

    def test_bias_sums_are_of_residuals_after_mean_and_own_bias(self):
        public = counts(mean=0.5)  # centre 3.5; own bias (1.5 + 0.5) / (2 + 4)
        sums = summed(bias.sum_biases(rows_of({0: 5.0, 2: 4.0}), public))
        expected = (np.array([1.5, 0, 0.5, 0]) - 1 / 3) * [1, 0, 1, 0] / math.sqrt(2)
        assert sums == pytest.approx(expected, abs=1e-6)

    def test_bias_sums_are_clipped_as_a_row(self):
        sums = summed(bias.sum_biases(rows_of({0: 5.0, 1: 1.0}), counts()))
        assert np.linalg.norm(sums) == pytest.approx(0.3 * 4)
        assert sums[0] == pytest.approx(-sums[1])

    def test_the_scale_is_of_residuals_after_items_and_the_own_bias_fitted_again(self):
        biases = np.array([1.0, 0.0, -1.0, 0.0])
        left = np.array([5 - 3 - 1, 2 - 3 + 1])  # own bias (1 + 0) / 6
        expected = np.sqrt(np.mean((left - 1 / 6) ** 2))
        assert summed(bias.sum_scale(rows_of({0: 5.0, 2: 2.0}), counts(), biases))[0] == pytest.approx(
            expected
        )

    def test_second_sums_are_of_the_residuals_of_the_draft(self):
        draft = Draft(counts(), Observed(np.zeros(4), 1.0), np.array([1.0, 0.0, -1.0, 0.0]), 1.0)
        expected = np.array([1 - 1 / 6, 0, -1 / 6, 0]) / math.sqrt(2)
        assert summed(bias.sum_residuals(rows_of({0: 5.0, 2: 2.0}), draft)) == pytest.approx(expected)


class TestPublicSide:
    def test_counts_and_users_have_floors_and_the_mean_stays_in_the_range(self):
        read = read_counts(np.array([-3.0, 8.0, -1.0, -0.5, 9.0]), 2.0, 0.0, 10.0)
        floor = 1.0 / math.sqrt(0.85)
        assert read.items == pytest.approx([floor, 8 / math.sqrt(0.85)])
        assert (read.users, read.mean) == (1.0, 5.0)
        assert read.ratings < 0

    def test_the_scale_is_kept_between_what_is_negligible_and_what_is_possible(self):
        observed = Observed(np.zeros(4), 1.0)
        assert draft_of(counts(), observed, np.zeros(4), np.array([16.0])).scale == pytest.approx(0.8)
        assert draft_of(counts(), observed, np.zeros(4), np.array([-5.0])).scale == pytest.approx(0.08)
        assert draft_of(counts(), observed, np.zeros(4), np.array([1e9])).scale == 2.0

    def test_one_posterior_of_two_looks_is_that_of_one_look_at_their_noise_combined(self):
        sums = np.array([8.0, -3.0, 1.0, 0.4])
        twice = posterior(counts(), [Observed(sums, 0.6), Observed(sums, 0.8)], 1.0)
        once = posterior(counts(), [Observed(sums, 0.48)], 1.0)
        assert np.allclose(twice, once, rtol=1e-12)

    def test_looks_weigh_by_their_inverse_noise_variance(self):
        one, other = np.array([8.0, -3.0, 1.0, 0.4]), np.array([5.0, -2.0, 0.0, 0.3])
        both = posterior(counts(), [Observed(one, 1.0), Observed(other, 2.0)], 1.0)
        mixed = posterior(counts(), [Observed(0.8 * one + 0.2 * other, math.sqrt(0.8))], 1.0)
        assert np.allclose(both, mixed, rtol=1e-12)

    def test_a_sharp_second_look_is_not_shrunk_towards_the_draft(self):
        truth, public = np.array([1.2, -0.9, 0.8, -1.1]), counts((1e4, 9e3, 8e3, 7e3))
        draft = Draft(public, Observed(public.items * truth / 3, 1e9), truth / 3, 0.1)
        model = model_of(draft, public.items * (truth - truth / 3), 1e-3)
        assert model.biases == pytest.approx(truth, rel=1e-3)

    def test_without_a_second_look_the_first_stays(self):
        observed = Observed(np.array([8.0, -3.0, 1.0, 0.4]), 1.0)
        model = model_of(Draft(counts(), observed, np.zeros(4), 1.1))
        assert np.array_equal(model.biases, posterior(counts(), [observed], 1.1)[0])

    def test_an_item_nobody_is_seen_to_rate_gets_what_is_usual(self):
        coins = np.random.default_rng(0)
        t = np.r_[np.full(500, 0.5), np.exp(coins.uniform(0, 6, 3000))]
        log = np.log(t / 0.5) / np.log(t.max() / 0.5)
        truth = 0.8 * log - 0.5 + 0.1 * coins.standard_normal(3500)
        sums = t * truth + coins.standard_normal(3500)
        biases, variance = posterior(counts(t), [Observed(sums, 1.0)], 1e-3)
        assert abs(biases[:500].mean() + 0.5) < 0.15  # and not the mean of all, near 0
        known = t > 50
        assert np.abs(biases - truth)[known].max() < 0.1
        assert variance[known].max() < variance[:500].min()

    def test_features_are_zero_where_all_items_are_at_the_floor(self):
        features = popularity_features(counts((0.5, 0.5, 0.5, 0.5)))
        assert np.array_equal(features, np.tile([1.0, 0, 0, 0], (4, 1)))
        assert popularity_features(counts((10.0, 5.0, 0.5)))[[0, 2]].tolist() == [
            [1, 1, 0.6, pytest.approx(0.3)],
            [1, 0, 0, 0],
        ]


class TestPrediction:
    model = replace(
        model_of(Draft(counts(mean=0.5), Observed(np.zeros(4), 1.0), np.zeros(4), 1.0)),
        biases=np.array([0.3, -0.2, 0.1, 4.0]),
    )

    def test_adds_the_own_bias_shrunk_by_four_ratings_and_stays_within_the_range(self):
        shown, wanted = rows_of({0: 5.0, 1: 4.0}), rows_of({2: 0.0, 3: 0.0})
        own = ((5 - 3.5 - 0.3) + (4 - 3.5 + 0.2)) / 6
        assert bias.predict(self.model, shown, wanted) == pytest.approx([3.5 + 0.1 + own, 5.0])

    def test_a_user_without_ratings_gets_what_everybody_thinks(self):
        assert bias.predict(self.model, rows_of({}), rows_of({1: 0.0})) == pytest.approx([3.3])

    def test_more_ratings_make_it_surer(self):
        wanted = rows_of({3: 0.0})
        stds = [
            bias.predict_std(self.model, rows_of(dict.fromkeys(range(n), 3.0)), wanted)[0] for n in range(4)
        ]
        assert sorted(stds, reverse=True) == stds
        assert min(stds) > math.sqrt(1.05)


ODD_USERS = {
    "nobody": Users.from_arrays([], [], [], 6),
    "one user": Users.from_arrays([1], [2], [4.0], 6),
    "one item": Users.from_arrays(range(30), [0] * 30, np.arange(30) % 5 + 1.0, 1),
    "all equal": Users.from_arrays(np.repeat(range(40), 5), np.tile(range(5), 40), np.full(200, 3.0), 6),
    "not finite, outside the range": Users(
        rows_of({0: math.nan, 1: math.inf, 2: -1e30}, {0: 1e9, 3: -math.inf}, catalogue=6)
    ),
}


@pytest.mark.parametrize("users", ODD_USERS.values(), ids=ODD_USERS.keys())
@pytest.mark.parametrize("epsilon", [0.1, 20.0])
def test_any_data_give_a_finite_model_and_predictions_within_the_range(users, epsilon):
    model = fit(users, epsilon)
    assert np.isfinite(model.biases).all()
    assert (model.variance > 0).all()
    assert 0.08 <= model.scale <= 2
    strange = rows_of({0: math.nan, 3: 1e30}, {}, catalogue=users.catalogue)
    wanted = rows_of({0: 0.0, 5: 0.0}, {1: 0.0}, catalogue=6)
    predicted = bias.predict(model, strange, wanted)
    assert ((predicted >= 1) & (predicted <= 5)).all()
    assert np.isfinite(bias.predict_std(model, strange, wanted)).all()


def test_the_same_keys_and_data_give_the_same_model_whatever_the_order_of_the_rows():
    coins = np.random.default_rng(1)
    user, item = np.divmod(coins.permutation(600)[:300], 20)
    stars = coins.integers(1, 6, 300).astype(float)
    order = coins.permutation(300)
    models = [
        fit(Users.from_arrays(user[index], item[index], stars[index], 20))
        for index in (np.arange(300), order)
    ]
    assert np.array_equal(models[0].biases, models[1].biases)
    other = fit(Users.from_arrays(user, item, stars, 20), keys="other")
    assert not np.array_equal(models[0].biases, other.biases)


def test_a_large_budget_recovers_the_biases_of_simple_data():
    coins = np.random.default_rng(2)
    truth, own = coins.normal(0, 0.5, 8), coins.normal(0, 0.5, 4000)
    user, item = np.divmod(np.arange(32_000), 8)
    noise = coins.normal(0, 0.3, 32_000)
    model = fit(Users.from_arrays(user, item, np.clip(3 + truth[item] + own[user] + noise, 1, 5), 8), 20.0)
    found = model.biases - model.biases.mean()
    assert np.abs(found - (truth - truth.mean())).max() < 0.05


@pytest.mark.parametrize(("low", "high"), [(5.0, 1.0), (1.0, 1.0), (math.nan, 5.0), (1.0, math.inf)])
def test_a_range_that_is_none_is_refused_before_anything_is_spent(low, high):
    with pytest.raises(ArgumentError, match="range"):
        fit(ODD_USERS["one user"], low=low, high=high)


def test_a_catalogue_without_items_is_refused_before_anything_is_spent():
    with pytest.raises(ArgumentError, match="catalogue"):
        fit(Users.from_arrays([], [], [], 0))


def test_popularity_is_one_release_of_the_whole_budget():
    users = Users.from_arrays([1, 1, 2, 3], [0, 1, 0, 0], np.ones(4), 3)
    with Ledger.throw_away() as ledger:
        run = ledger.run(method="popularity", config={})
        budget = Budget.gaussian(20.0, 1e-6)
        likes = bias.fit_popularity(users, LocalEngine(threads=1), Door(run, budget, threads=1))
        assert [row["units"] for row in run.rows()] == [budget.units]
    assert likes.value.shape == (3,)
