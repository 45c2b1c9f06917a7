"""DPALS, step by step and end to end, on small sets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.dpals_cases import STARS, film_rows, fitted
from tests.keys import numbered_keys

from hushfold.algorithms.dpals import item_statistics, user_design
from hushfold.algorithms.dpals_bill import bill_of_multipliers
from hushfold.algorithms.dpals_configs import DpalsConfig, Shares
from hushfold.algorithms.dpals_items import noise_edge, random_start, solve_items
from hushfold.algorithms.dpals_predict import predict, scores, user_factors
from hushfold.algorithms.dpals_setup import Declared, own_rows, training_rows
from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.errors import ArgumentError
from hushfold.local.fold_in import fold_in_reference
from hushfold.privacy.budget import Budget
from hushfold.privacy.door import Door
from hushfold.privacy.ledger import Ledger
from hushfold.rng import PublicRandom
from hushfold.statistics.total import total
from hushfold.types import Rows

PLAIN = DpalsConfig(rank=4, steps=2, items_per_user=60, sample="uniform", shares=Shares(counts=0))
LEAST_NOISE = dict.fromkeys(["counts", "centre", "recounts", "gram", "rhs", "global_gram"], 0.09)


def als(rows: Rows, model, start: np.ndarray) -> np.ndarray:
    """Algorithm 1 in float64, without noise: what the fit is to agree with where noise is negligible."""
    setup, cfg, factors = model.setup, model.setup.config, start.astype(np.float64)
    own = own_rows(rows, setup)
    for _ in range(cfg.steps):
        ridge = cfg.ridge * (np.minimum(np.diff(own.indptr), cfg.most_ratings) / cfg.typical_ratings)
        u = fold_in_reference(own, user_design(factors, cfg), ridge**cfg.user_power)
        u *= np.minimum(1, cfg.row_clip / np.maximum(np.linalg.norm(u, axis=1), 1e-12))[:, None]
        weights, weighted = training_rows(own, setup)
        owner = np.repeat(np.arange(len(own)), np.diff(weights.indptr))
        shared = cfg.unobserved_weight * u.T @ u
        ridges = cfg.ridge * setup.trained.clip(1) ** cfg.item_power
        ridges *= cfg.ridge / ridges.mean() if cfg.ridge else 1
        for item in range(len(factors)):
            mine = weights.items == item
            v, w = u[owner[mine]], weights.values[mine].astype(np.float64)
            x = (v.T * w) @ v + shared + ridges[item] * np.eye(cfg.rank)
            factors[item] = np.linalg.solve(x, v.T @ weighted.values[mine].astype(np.float64))
    return factors


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"unobserved_weight": 0.2},
        {"sample": "tail", "items_per_user": 12, "frequent_fraction": 0.5, "shares": Shares()},
        {"sample": "weights", "weight_budget": 9.0, "shares": Shares(recounts=0.1)},
        {"centre": "own"},
        {"centre": "means", "shares": Shares(centre=0.1)},
    ],
    ids=str,
)
def test_with_negligible_noise_it_is_alternating_least_squares(settings):
    """Thousands of people, noise of .09 bounds: the factors of well known items are those of float64."""
    rows = film_rows(4000, 30, 60_000)
    cfg = PLAIN.model_copy(update={"ridge": 5.0, "noise_ridge": 0.0, **settings})
    model, _ = fitted(rows, cfg, bill=bill_of_multipliers(cfg, LEAST_NOISE), epsilon=1e4)
    trained = len(model.setup.items)
    coins = PublicRandom(0).stream("dpals").standard_normal((trained, cfg.rank))
    exact = als(rows, model, random_start(trained, cfg, coins))
    known = np.argsort(-np.bincount(own_rows(rows, model.setup).items, minlength=trained))[:10]
    error = np.linalg.norm(model.factors[known] - exact[known]) / np.linalg.norm(exact[known])
    assert error < 0.03


def test_the_door_hands_every_block_its_own_part_of_what_lies_along():
    """Over three tiles: what solve is given of a public array, put together again, is the array."""
    users, along = Users(film_rows(50, 600, 2000)), np.arange(600, dtype=np.float64)
    door = Door(Ledger.throw_away().run(method="t", config={}), Budget(1.0, 1e-6, 1000), threads=2)
    sums = LocalEngine(threads=1).sum(users, lambda rows: (total(rows, 1.0),))
    (kept,) = door.gaussian("x", sums, 1000, solve=lambda tile, own: own + 0 * tile, along=(along,))
    assert np.array_equal(kept.value, along)


def test_every_item_is_solved_with_its_own_ridge():
    rng = np.random.default_rng(0)
    grams, sides = rng.normal(size=(3, 3)), rng.normal(size=(3, 2))
    together = solve_items(grams, sides, np.array([1.0, 2.0, 3.0]), "gram", None)
    for j in range(3):
        alone = solve_items(grams[j : j + 1], sides[j : j + 1], np.array([j + 1.0]), "gram", None)
        assert np.allclose(together[j], alone[0], rtol=1e-6)


class TestTheSolve:
    def test_negative_eigenvalues_count_as_zero(self):
        grams, sides = np.array([[-4.0, 0.0, 9.0]]), np.array([[2.0, 2.0]])
        assert solve_items(grams, sides, np.array([1.0]), "gram", None) == pytest.approx(
            np.array([[2.0, 0.2]])
        )

    def test_without_a_ridge_a_lost_direction_gets_nothing(self):
        grams, sides = np.array([[-4.0, 0.0, 9.0]]), np.array([[2.0, 2.0]])
        assert solve_items(grams, sides, np.array([0.0]), "gram", None) == pytest.approx(
            np.array([[0.0, 2 / 9]])
        )

    def test_the_paper_projects_the_whole_sum(self):
        grams, sides = np.array([[-4.0, 0.0, 9.0]]), np.array([[2.0, 2.0]])
        assert solve_items(grams, sides, np.array([5.0]), "paper", None) == pytest.approx(
            np.array([[2.0, 2 / 14]])
        )


class TestEdges:
    @pytest.mark.parametrize(
        "settings",
        [
            {"items_per_user": 500},
            {"ridge": 0.0},
            {"ridge": 0.0, "unobserved_weight": 0.5},
            {"steps": 0, "shares": Shares()},
            {"resample": True, "steps": 3},
            {"orthonormal": True},
            {"projection": "paper"},
            {"projection": "off"},
            {"centre": "ratings", "shares": Shares(centre=0.1)},
            {"sample": "weights", "weight_budget": 4.0, "weight_cap": 0.5},
        ],
        ids=str,
    )
    def test_every_setting_fits(self, settings):
        rows = film_rows(80, 20, 800)
        model, _ = fitted(rows, PLAIN.model_copy(update=settings))
        assert np.isfinite(model.factors).all()
        assert np.isfinite(predict(rows, rows, model)).all()

    @pytest.mark.parametrize("users", [0, 1])
    def test_nobody_and_somebody_are_fitted_alike(self, users):
        rows = film_rows(80, 20, 800).slice(0, users)
        model, ledger = fitted(rows, PLAIN.model_copy(update={"shares": Shares(recounts=0.1)}))
        full, others = fitted(
            film_rows(80, 20, 800), PLAIN.model_copy(update={"shares": Shares(recounts=0.1)})
        )
        assert [(row["name"], row["units"], row["parts"]) for row in ledger] == [
            (row["name"], row["units"], row["parts"]) for row in others
        ]
        assert model.factors.shape == full.factors.shape
        assert np.isfinite(model.factors).all()

    def test_one_item(self):
        rows = film_rows(80, 20, 800)
        first = Rows(
            np.arange(81), np.zeros(80, np.int32), rows.values[rows.indptr[:-1]], rows.keys, catalogue=1
        )
        model, _ = fitted(first, PLAIN.model_copy(update={"rank": 1}))
        assert model.factors.shape == (1, 1)

    def test_more_factors_than_items_is_refused_before_anything_is_spent(self):
        with pytest.raises(ArgumentError, match="rank"):
            fitted(film_rows(80, 20, 800), PLAIN.model_copy(update={"rank": 21}))
        with pytest.raises(ArgumentError, match="rank"):
            fitted(film_rows(80, 20, 800), PLAIN.model_copy(update={"rank": 11, "frequent_fraction": 0.5}))

    def test_a_fit_that_releases_nothing_is_refused(self):
        with pytest.raises(ArgumentError, match="steps"):
            fitted(film_rows(80, 20, 800), PLAIN.model_copy(update={"steps": 0}))

    def test_likes_have_no_mean_to_release(self):
        likes = replace(film_rows(80, 20, 800), values=np.ones(800, np.float32))
        with pytest.raises(ArgumentError, match="centre"):
            fitted(likes, PLAIN.model_copy(update={"centre": "own"}), declared=Declared(20, None))

    def test_the_same_integers_on_any_number_of_threads(self):
        rows = film_rows(400, 30, 6000)
        one, _ = fitted(rows, PLAIN, new_key=numbered_keys("threads"))
        two, _ = fitted(rows, PLAIN, new_key=numbered_keys("threads"), threads=2)
        assert np.array_equal(one.factors, two.factors)


class TestPredictions:
    def test_rare_items_are_predicted_by_the_own_mean_and_never_recommended(self):
        rows = film_rows(300, 40, 4000)
        model, _ = fitted(rows, PLAIN.model_copy(update={"frequent_fraction": 0.25, "shares": Shares()}))
        rare = np.setdiff1d(np.arange(40), model.setup.items)
        user = 5
        own = rows.slice(user, user + 1)
        wanted = Rows(np.array([0, len(rare)]), rare.astype(np.int32), np.zeros(len(rare)), own.keys, 40)
        assert predict(own, wanted, model) == pytest.approx(np.full(len(rare), own.values.mean()), rel=1e-6)
        ranked = scores(own, model)
        assert np.isneginf(ranked[0, rare]).all()
        assert np.isfinite(ranked[0, model.setup.items]).all()

    def test_they_lie_within_the_range(self):
        rows = film_rows(80, 20, 800)
        model, _ = fitted(rows, PLAIN, epsilon=0.05)
        predicted = predict(rows, rows, model)
        assert predicted.min() >= STARS[0]
        assert predicted.max() <= STARS[1]

    def test_the_last_fold_in_is_not_clipped(self):
        rows = film_rows(300, 40, 6000)
        cfg = PLAIN.model_copy(update={"ridge": 0.01, "row_clip": 0.1})
        model, _ = fitted(rows, cfg, epsilon=20.0)
        assert np.linalg.norm(user_factors(rows, model), axis=1).max() > cfg.row_clip

    def test_factors_learn(self):
        rows = film_rows(4000, 60, 120_000)
        cfg = DpalsConfig(rank=4, steps=2, items_per_user=30, centre="own", ridge=10.0, typical_ratings=30)
        model, _ = fitted(rows, cfg, epsilon=4.0)
        error = predict(rows, rows, model) - rows.values
        assert np.sqrt(np.mean(error**2)) < 0.93 * rows.values.std()


def test_the_ridge_follows_the_noise():
    """Twice the noise, twice the ridge on top; none where it is turned off."""
    cfg = PLAIN.model_copy(update={"rank": 8})
    assert noise_edge(250_000_000, 9.0, cfg) == pytest.approx(2 * 3 * 4)
    assert noise_edge(10**9, 9.0, cfg) == pytest.approx(1 * 3 * 4)
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(200, 8, 8))
    noise = (noise + noise.transpose(0, 2, 1)) / 2  # off-diagonal std 1 / sqrt 2 of a diagonal of 1
    largest = np.linalg.eigvalsh(noise)[:, -1].mean()
    assert largest == pytest.approx(noise_edge(10**9, 1.0, cfg), rel=0.25)


def test_what_a_user_contributes_to_both_statistics_is_clipped_there():
    rows = film_rows(80, 20, 800)
    model, _ = fitted(rows, PLAIN)
    huge = user_design(1e-6 * model.factors, PLAIN.model_copy(update={"ridge": 0.0}))
    grams, sides = item_statistics(rows, huge, replace(model.setup, config=PLAIN), 0)
    assert grams.spec.bound == pytest.approx(np.sqrt(20))
    assert sides.spec.bound == pytest.approx(np.sqrt(20) * 1.5)
