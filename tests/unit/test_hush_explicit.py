"""Hush on ratings: which releases run and what they cost, the moment's law, prediction, odd data, quality."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from tests.keys import numbered_keys

from hushfold.algorithms import bias
from hushfold.algorithms.bias_posterior import Counts, Draft, Observed, model_of
from hushfold.algorithms.hush import explicit
from hushfold.algorithms.hush.explicit import (
    Moment,
    RatingsModel,
    factors_of,
    moment_of,
    over_catalogue,
    predict,
    predict_std,
    scores,
    sum_moment,
    without_factors,
)
from hushfold.algorithms.hush.sweeps import Factors
from hushfold.data.simulate import simulate_ratings
from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.errors import ArgumentError
from hushfold.linalg.panels import SymmetricPanels
from hushfold.local.fold_in import fold_in_reference
from hushfold.privacy.budget import Budget
from hushfold.privacy.door import Door
from hushfold.privacy.ledger import Ledger
from hushfold.types import Rows


def rows_of(*users: dict[int, float], catalogue: int = 5) -> Rows:
    indptr = np.cumsum([0, *map(len, users)]).astype(np.int64)
    items = np.array([item for user in users for item in user], np.int32)
    values = np.array([value for user in users for value in user.values()], np.float32)
    return Rows(indptr, items, values, np.arange(len(users), dtype=np.uint64) + 7, catalogue)


def draft(items: int = 5, scale: float = 1.0, ratings: float = 90.0, users: float = 20.0) -> Draft:
    t = np.linspace(10, 2, items)
    counts = Counts(1.0, 5.0, t, 0.5, users, ratings, mean=0.25)
    return Draft(counts, Observed(np.zeros(items), 1.0), 0.2 * np.cos(np.arange(items)), scale)


@dataclass
class Spent:
    model: RatingsModel
    releases: dict[str, int]
    budget: Budget


def fit(users: Users, epsilon: float = 1.0, low: float = 1.0, high: float = 5.0, keys: str = "hush") -> Spent:
    with Ledger.throw_away() as ledger:
        run = ledger.run(method="hush", config={})
        budget = Budget.gaussian(epsilon, 1e-6)
        door = Door(run, budget, threads=1, new_key=numbered_keys(keys))
        model = explicit.fit(users, LocalEngine(threads=1), door, low, high)
        rows = {row["name"]: row["units"] for row in run.rows()}
        assert set(model.releases) == {f"{run.id}/{name}/0" for name in rows}
        return Spent(model.value, rows, budget)


def rated(users: int, items: int, observed: float, seed: int = 0, rank: int = 2) -> Users:
    """Ratings 1 .. 5 with strong factors, every pair seen alike often."""
    coins = np.random.default_rng(seed)
    taste = coins.normal(0, 1, (users, rank)) @ coins.normal(0, 0.7, (rank, items))
    user, item = np.nonzero(coins.random((users, items)) < observed)
    stars = np.clip(np.rint(3 + taste + 0.3 * coins.standard_normal(taste.shape)), 1, 5)[user, item]
    return Users.from_arrays(user, item, stars, items)


class TestReleases:
    def test_small_budgets_make_the_bias_model_of_the_same_noise(self):
        users = rated(200, 30, 0.2)
        spent = fit(users, 0.5)
        assert list(spent.releases) == ["counts", "bias", "scale", "second"]
        with Ledger.throw_away() as ledger:
            run = ledger.run(method="bias", config={})
            door = Door(run, spent.budget, threads=1, new_key=numbered_keys("hush"))
            alone = bias.fit(users, LocalEngine(threads=1), door, 1.0, 5.0).value
        assert spent.model.factors.shape == (30, 0)
        assert np.array_equal(spent.model.bias.biases, alone.biases)

    def test_an_even_catalogue_needs_no_round(self):
        spent = fit(rated(4000, 60, 0.8), 20.0)
        assert list(spent.releases) == ["counts", "bias", "scale", "moment"]
        assert spent.model.factors.shape == (60, 2)

    def test_a_tail_gets_the_round_and_with_it_factors(self):
        coins = np.random.default_rng(1)
        user, item = np.nonzero(coins.random((6000, 80)) < np.r_[np.full(40, 0.7), np.full(40, 0.01)])
        left, right = coins.normal(0, 1, (6000, 2)), coins.normal(0, 0.7, (80, 2))
        stars = np.clip(3 + (left[user] * right[item]).sum(axis=1), 1, 5)
        spent = fit(Users.from_arrays(user, item, stars, 80), 20.0)
        assert list(spent.releases) == ["counts", "bias", "scale", "moment", "round"]
        assert spent.model.factors.shape[1] >= 2
        assert np.abs(spent.model.factors[40:]).max() > 0.1
        assert spent.releases["round"] > sum(spent.releases[name] for name in ("counts", "bias", "scale"))

    def test_what_the_round_would_have_cost_goes_to_the_biases_if_no_factor_shows(self, monkeypatch):
        from hushfold.algorithms.hush import plan

        monkeypatch.setattr(plan, "FAINT", 0.0)
        coins = np.random.default_rng(2)
        users = Users.from_arrays(
            np.repeat(np.arange(300), 5),
            coins.integers(0, 90, 1500),
            coins.integers(1, 6, 1500).astype(float),
            90,
        )
        spent = fit(users, 1.0)
        assert list(spent.releases) == ["counts", "bias", "scale", "moment", "second"]
        assert spent.releases["second"] / spent.budget.units == pytest.approx(0.31, abs=1e-6)
        assert spent.model.factors.shape == (90, 0)

    @pytest.mark.parametrize("epsilon", [0.5, 3.0, 20.0])
    def test_the_whole_budget_is_spent_and_no_more(self, epsilon):
        for users in (rated(3000, 60, 0.8), rated(300, 200, 0.1)):
            spent = fit(users, epsilon)
            assert sum(spent.releases.values()) == spent.budget.units


class TestMoment:
    def test_rows_are_residuals_at_unit_length_within_the_head(self):
        public = draft(scale=2.0)
        rows = rows_of({0: 5.0, 2: 4.0, 3: 1.0})
        e = np.array([5.0, 4.0, 1.0]) - 3.25 - public.biases[[0, 2, 3]]
        x = (e - e.sum() / 7)[:2] / math.sqrt(2) / 2.4
        (contribution,) = sum_moment(rows, public, np.array([0, 1, 2]))
        total = contribution.accumulator()
        total.add(contribution)
        found = total.tile(0) * contribution.spec.step
        expected = np.zeros((3, 3))
        expected[np.ix_([0, 2], [0, 2])] = np.triu(np.outer(x, x))
        assert found == pytest.approx(expected, abs=1e-4)

    def test_its_law_by_hand(self):
        public, head = draft(scale=0.5), np.array([0, 1, 3])
        panels = SymmetricPanels.from_dense(np.diag([3.0, 2.0, 1.0]).astype(np.float32))
        moment = moment_of(public, head, panels, 0.7)
        t = public.counts.items
        beta, kappa = 6.0 / (20.0 * 0.25), 90.0 / t.sum() ** 2
        assert moment.strength == pytest.approx(beta * kappa * t.sum() / t[head].sum())
        assert moment.sampling == pytest.approx(0.1 * 20.0 * (beta * 0.25) ** 2 / t.sum() ** 2)
        assert moment.noise == 0.7

    @pytest.mark.parametrize(
        ("trace", "ratings"), [(-1.0, 90.0), (0.0, 90.0), (1.0, 0.0), (1.0, -5.0), (-1.0, -5.0)]
    )
    def test_without_a_positive_trace_or_number_of_ratings_there_are_no_factors(self, trace, ratings):
        public = draft(ratings=ratings)
        panels = SymmetricPanels.from_dense(np.diag([trace, 0, 0, 0, 0]).astype(np.float32))
        moment = moment_of(public, np.arange(5), panels, 0.7)
        assert factors_of(public, moment).count == 0

    def test_items_outside_the_head_have_mean_zero_and_the_variance_of_the_prior(self):
        head = np.array([1, 3])
        moment = Moment(head, SymmetricPanels.from_dense(np.eye(2, dtype=np.float32)), 1.0, 1.0, 0.0)
        fit = Factors(
            np.array([[2.0], [4.0]]), np.array([[0.4], [0.4]]), np.array([0.3]), np.ones(2), np.full(2, 2.0)
        )
        everything = over_catalogue(draft(), moment, fit)
        assert everything.F[:, 0].tolist() == [0, 1, 0, 2, 0]
        assert everything.variance[:, 0] == pytest.approx([0.3, 0.1, 0.3, 0.1, 0.3])


class TestPrediction:
    def model(self, rank: int = 2) -> RatingsModel:
        coins = np.random.default_rng(0)
        return RatingsModel(model_of(draft()), coins.normal(0, 0.6, (5, rank)), coins.uniform(0.3, 0.6, 5))

    rows = rows_of({0: 5.0, 1: 4.0, 4: 4.0}, {}, {2: 1.0})
    wanted = rows_of({2: 0.0}, {0: 0.0, 3: 0.0}, {})

    def test_is_the_posterior_mean_of_the_users_own_model(self):
        model = self.model()
        left = bias.without_biases(self.rows, model.bias.counts, model.bias.biases)
        own = fold_in_reference(left, model.design)
        users = [0, 1, 1]
        taste = np.einsum("ek,ek->e", own[users, 1:], model.factors[self.wanted.items])
        expected = 3.25 + model.bias.biases[self.wanted.items] + own[users, 0] + taste
        assert predict(model, self.rows, self.wanted) == pytest.approx(np.clip(expected, 1, 5), abs=1e-5)

    def test_scores_are_predictions_before_they_are_clipped(self):
        for model in (self.model(), self.model(rank=0), without_factors(model_of(draft()))):
            every = scores(model, self.rows)
            assert every.shape == (3, 5)
            clipped = np.clip(every, 1, 5)[[0, 1, 1], [2, 0, 3]]
            assert predict(model, self.rows, self.wanted) == pytest.approx(clipped, abs=1e-5)

    def test_the_standard_deviation_is_that_of_the_posterior(self):
        model = self.model()
        x = np.hstack([np.ones((5, 1)), model.factors])
        seen = [0, 1, 4]
        precision = np.diag([1 / 0.3, 1, 1]) + (x[seen].T / model.noise[seen]) @ x[seen]
        known = x[2] @ np.linalg.inv(precision) @ x[2] + model.noise[2] + model.bias.variance[2]
        unknown = x[0] @ np.diag([0.3, 1, 1]) @ x[0] + model.noise[0] + model.bias.variance[0]
        found = predict_std(model, self.rows, self.wanted)
        assert found[:2] == pytest.approx(np.sqrt([known, unknown]))

    def test_without_factors_it_is_that_of_the_bias_model(self):
        model = without_factors(model_of(draft()))
        assert np.array_equal(
            predict(model, self.rows, self.wanted), bias.predict(model.bias, self.rows, self.wanted)
        )
        assert np.array_equal(
            predict_std(model, self.rows, self.wanted), bias.predict_std(model.bias, self.rows, self.wanted)
        )

    def test_strange_rows_are_answered_within_the_range(self):
        strange = rows_of({0: math.nan, 1: math.inf, 2: -1e30, 3: 1e30})
        predicted = predict(self.model(), strange, rows_of({4: 0.0}))
        assert ((predicted >= 1) & (predicted <= 5)).all()
        assert np.isfinite(predict_std(self.model(), strange, rows_of({4: 0.0}))).all()


ODD_USERS = {
    "nobody": Users.from_arrays([], [], [], 6),
    "one user": Users.from_arrays([1] * 3, [2, 4, 5], [4.0, 1.0, 5.0], 6),
    "one item": Users.from_arrays(range(300), [0] * 300, np.arange(300) % 5 + 1.0, 1),
    "two items": Users.from_arrays(
        np.repeat(range(3000), 2), [0, 1] * 3000, np.arange(6000) // 2 % 5 + 1.0, 2
    ),
    "all equal": Users.from_arrays(
        np.repeat(range(2000), 5), np.tile(range(5), 2000), np.full(10_000, 3.0), 6
    ),
    "not finite, outside the range": Users(
        rows_of({0: math.nan, 1: math.inf, 2: -1e30}, {0: 1e9, 3: -math.inf}, catalogue=6)
    ),
}


@pytest.mark.parametrize("users", ODD_USERS.values(), ids=ODD_USERS.keys())
@pytest.mark.parametrize("epsilon", [0.1, 20.0])
@pytest.mark.parametrize("forced", [False, True], ids=["planned", "every release"])
def test_any_data_give_a_finite_model_and_predictions_within_the_range(users, epsilon, forced, monkeypatch):
    if forced:
        from hushfold.algorithms.hush import plan

        monkeypatch.setattr(plan, "FAINT", -1.0)
    model = fit(users, epsilon).model
    for part in (model.bias.biases, model.factors, model.noise):
        assert np.isfinite(part).all()
    assert (model.noise > 0).all()
    wanted = rows_of({0: 0.0, users.catalogue - 1: 0.0}, {0: 0.0}, catalogue=users.catalogue)
    shown = rows_of({0: 2.0}, {}, catalogue=users.catalogue)
    predicted = predict(model, shown, wanted)
    assert ((predicted >= 1) & (predicted <= 5)).all()
    assert np.isfinite(predict_std(model, shown, wanted)).all()


def test_the_same_keys_and_data_give_the_same_model():
    users = rated(2000, 40, 0.6)
    one, same, other = (fit(users, 8.0, keys=keys).model for keys in ("a", "a", "b"))
    assert np.array_equal(one.factors, same.factors)
    assert np.array_equal(one.bias.biases, same.bias.biases)
    assert not np.array_equal(one.bias.biases, other.bias.biases)


def test_a_range_that_is_none_is_refused_before_anything_is_spent():
    with pytest.raises(ArgumentError, match="range"):
        fit(ODD_USERS["one user"], low=5.0, high=1.0)


SIZES = {
    "sparse": (1500, 1200, 30_000),
    "films": (6000, 800, 300_000),
    "dense": (4000, 60, 120_000),
    "few people": (150, 300, 9000),
}


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES.keys())
@pytest.mark.parametrize("epsilon", [0.8, 1.0, 4.0, 5.0, 10.0, 20.0])
def test_hush_is_never_much_worse_than_the_bias_model_with_the_whole_budget(size, epsilon):
    drawn = simulate_ratings(*size, seed=5)
    held_out = np.random.default_rng(0).random(len(drawn)) < 0.1
    users = Users.from_arrays(
        drawn.user[~held_out], drawn.item[~held_out], drawn.rating[~held_out], drawn.items
    )
    shown, wanted = (
        Rows(
            np.r_[0, np.cumsum(np.bincount(drawn.user[part], minlength=drawn.users))],
            drawn.item[part],
            drawn.rating[part],
            np.arange(drawn.users, dtype=np.uint64),
            drawn.items,
        )
        for part in (~held_out, held_out)
    )

    def rmse(predicted):
        return math.sqrt(np.mean((predicted - wanted.values) ** 2))

    ours, rival = [], []
    for draw in range(4):
        model = fit(users, epsilon, 0.5, 5.0, keys=f"ours {draw}").model
        ours.append(rmse(predict(model, shown, wanted)))
        with Ledger.throw_away() as ledger:
            run = ledger.run(method="bias", config={})
            door = Door(run, Budget.gaussian(epsilon, 1e-6), new_key=numbered_keys(f"rival {draw}"))
            alone = bias.fit(users, LocalEngine(), door, 0.5, 5.0).value
        rival.append(rmse(bias.predict(alone, shown, wanted)))
    assert np.mean(ours) <= 1.005 * np.mean(rival)
