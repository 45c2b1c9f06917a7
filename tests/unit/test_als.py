from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from local_rows import row, rows_of

from hushfold.algorithms import als
from hushfold.algorithms.als import AlsConfig, State, predict, scores, user_factors
from hushfold.data.users import Users
from hushfold.errors import ArgumentError
from hushfold.rng import PublicRandom
from hushfold.types import Unprotected

ITEMS = 40
EXPLICIT = AlsConfig(rank=6, steps=8, ridge=2.0, user_power=1.0, item_power=0.5)
LIKES = AlsConfig.likes(rank=6, steps=8, ridge=2.0)
PLAYS = AlsConfig(rank=6, steps=8, ridge=2.0, unobserved_weight=1.0, confidence=4.0)
KINDS = {"explicit": EXPLICIT, "likes": LIKES, "plays": PLAYS}


def ratings(kind, users=120, seed=0):
    """Low rank and noise; one user and one item have nothing."""
    coins = np.random.default_rng(seed)
    rows = rows_of(np.r_[0, coins.integers(1, 25, users - 1)], seed, ITEMS - 1)
    rows = type(rows)(rows.indptr, rows.items, rows.values, rows.keys, ITEMS)
    left, right = coins.normal(size=(users, 3)), coins.normal(size=(ITEMS, 3))
    owner = np.repeat(np.arange(users), np.diff(rows.indptr))
    liking = (left[owner] * right[rows.items]).sum(axis=1)
    rows.values[:] = {
        "explicit": 3 + liking + 0.3 * rows.values,
        "likes": np.ones(len(owner)),
        "plays": np.ceil(np.exp(liking / 2)),
    }[kind]
    return rows


def dense(rows):
    """Values and a mask, users x items."""
    values, seen = np.zeros((len(rows), rows.catalogue)), np.zeros((len(rows), rows.catalogue), bool)
    for user, (items, own) in enumerate(rows.each()):
        values[user, items], seen[user, items] = own, True
    return values, seen


def meant(values, seen, config):
    """Targets and weights of the observed entries, as the module's first lines put it."""
    if config.confidence is not None:
        weights = np.where(seen, config.confidence * values, 0)
        return np.where(seen, (config.unobserved_weight + weights) / np.where(seen, weights, 1), 0), weights
    centre = 0 if config.unobserved_weight else values[seen].mean()
    return values - centre, seen.astype(float)


def powers(counts, power):
    return counts.astype(float) ** power / (counts.astype(float) ** power).mean()


def objective(state, values, seen, config):
    """Equation 35, over all pairs."""
    target, weights = meant(values, seen, config)
    users, items = state.users.astype(float), state.items.astype(float)
    fitted = users @ items.T
    data = (weights * (target - fitted) ** 2).sum() + config.unobserved_weight * (fitted**2).sum()
    own = powers(seen.sum(1), config.user_power) @ (users**2).sum(1)
    own += powers(seen.sum(0), config.item_power) @ (items**2).sum(1)
    return data + config.ridge * own


def half_step(others, target, weights, ridges, unobserved):
    """Everybody on one side, one after the other, in float64."""
    solved = np.zeros((len(target), others.shape[1]))
    for one in range(len(target)):
        normal = (others.T * (weights[one] + unobserved)) @ others + ridges[one] * np.eye(others.shape[1])
        if weights[one].any():
            solved[one] = np.linalg.solve(normal, others.T @ (weights[one] * target[one]))
    return solved


def fitted(kind, dtype="float32", threads=2):
    config = replace(KINDS[kind], dtype=dtype)
    problem = als.prepare(ratings(kind), config)
    state = als.start(problem, PublicRandom(0))
    path = [state]
    for _ in range(config.steps):
        path.append(als.step(path[-1], problem, threads))
    return problem, path


@pytest.mark.parametrize("kind", KINDS)
def test_it_reaches_the_objective_of_a_plain_float64_reference(kind):
    config, (values, seen) = KINDS[kind], dense(ratings(kind))
    target, weights = meant(values, seen, config)
    user_ridges = config.ridge * powers(seen.sum(1), config.user_power)
    item_ridges = config.ridge * powers(seen.sum(0), config.item_power)
    problem, path = fitted(kind)
    users, items = path[0].users, path[0].items.astype(float)
    for _ in range(config.steps):
        users = half_step(items, target, weights, user_ridges, config.unobserved_weight)
        items = half_step(users, target.T, weights.T, item_ridges, config.unobserved_weight)
    best = objective(State(config.steps, users, items), values, seen, config)
    for dtype, tolerance in (("float32", 1e-4), ("float64", 1e-7)):
        problem, path = fitted(kind, dtype)
        assert als.loss(path[-1], problem) == pytest.approx(best, rel=tolerance)
    np.testing.assert_allclose(path[-1].users @ path[-1].items.T, users @ items.T, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_is_the_equation(kind):
    problem, path = fitted(kind, "float64")
    values, seen = dense(ratings(kind))
    for state in path:
        assert als.loss(state, problem) == pytest.approx(
            objective(state, values, seen, KINDS[kind]), rel=1e-6
        )


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_lowers_the_loss(kind):
    problem, path = fitted(kind, "float64")
    losses = [als.loss(state, problem) for state in path[1:]]
    assert all(after < before for before, after in pairwise(losses))


def test_confidence_is_that_of_hu_koren_volinsky():
    """Their objective, (1 + alpha r) (p - u.v)^2 over all pairs, differs from ours by a constant."""
    problem, path = fitted("plays", "float64")
    values, seen = dense(ratings("plays"))
    without_ridge, apart = replace(PLAYS, ridge=0.0), []
    for state in path[1:]:
        ridges = objective(state, values, seen, PLAYS) - objective(state, values, seen, without_ridge)
        theirs = ((1 + 4.0 * values) * (seen - state.users @ state.items.T) ** 2).sum() + ridges
        apart.append(als.loss(state, problem) - theirs)
    np.testing.assert_allclose(apart, apart[0], rtol=1e-6)


def test_threads_and_blocks_do_not_change_a_bit(monkeypatch):
    one = fitted("likes", threads=1)[1][-1]
    monkeypatch.setattr(als, "ENTRIES_PER_BLOCK", 37)
    other = fitted("likes", threads=2)[1][-1]
    np.testing.assert_array_equal(one.users, other.users)
    np.testing.assert_array_equal(one.items, other.items)


def handle(kind):
    rows = ratings(kind)
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
    return Users.from_arrays(owner, rows.items, rows.values, ITEMS)


def test_a_fit_says_that_it_is_not_private():
    result = als.fit(handle("explicit"), EXPLICIT)
    assert isinstance(result, Unprotected)
    assert repr(result).startswith("NOT PRIVATE")
    assert repr(result.value) == "<AlsModel, NOT PRIVATE: 40 items x 6>"


def test_progress_and_seeds():
    seen = []
    one = als.fit(handle("likes"), LIKES, PublicRandom(1), progress=seen.append).value
    other = als.fit(handle("likes"), LIKES, PublicRandom(2)).value
    assert [state.step for state in seen] == list(range(1, 9))
    assert np.abs(one.items - other.items).max() > 0.1


def test_users_fold_in_and_predictions_are_good():
    rows = ratings("explicit")
    model = als.fit(handle("explicit"), replace(EXPLICIT, ridge=0.5)).value
    assert model.centre == pytest.approx(rows.values.mean(), rel=1e-6)
    own = predict(rows, rows, model)
    assert np.sqrt(np.mean((own - rows.values) ** 2)) < 0.5 * rows.values.std()
    u = user_factors(rows, model)
    np.testing.assert_allclose(scores(rows, model), model.centre + u @ model.items.T, rtol=1e-6)
    one = predict(rows.slice(3, 4), row([7], [0], ITEMS), model)[0]
    assert scores(rows, model)[3, 7] == pytest.approx(one, rel=1e-5)
    assert not u[0].any()  # who has rated nothing is predicted the centre


@pytest.mark.parametrize("kind", KINDS)
def test_folding_in_the_training_rows_is_one_more_half_step(kind):
    problem, path = fitted(kind, "float64")
    model = als.model(path[-1], problem)
    again = als.solve_side(problem.users, path[-1].items, problem.config)
    np.testing.assert_allclose(user_factors(ratings(kind), model), again, rtol=1e-6, atol=1e-8)


def test_nobody_and_nothing():
    empty = Users.from_arrays([], [], [], ITEMS)
    model = als.fit(empty, replace(EXPLICIT, steps=2)).value
    assert not model.items.any()
    assert predict(rows_of([], catalogue=ITEMS), rows_of([], catalogue=ITEMS), model).shape == (0,)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"rank": 0}, "rank"),
        ({"steps": 0}, "rank"),
        ({"ridge": -1.0}, "ridge"),
        ({"ridge": math.nan}, "ridge"),
        ({"user_power": -0.5}, "user_power"),
        ({"item_power": math.inf}, "item_power"),
        ({"unobserved_weight": -1.0}, "unobserved_weight"),
        ({"confidence": 0.0}, "confidence"),
    ],
)
def test_settings_are_named(settings, named):
    with pytest.raises(ArgumentError, match=named):
        AlsConfig(**settings)


def test_other_users_are_refused():
    model = als.fit(handle("explicit"), EXPLICIT).value
    with pytest.raises(ArgumentError, match="wanted"):
        predict(ratings("explicit"), row([1], [1.0], ITEMS), model)
