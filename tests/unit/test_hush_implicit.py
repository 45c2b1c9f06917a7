"""Hush on likes from rows to recommendations, through the product's own door."""

from __future__ import annotations

import numpy as np
import pytest
from tests.keys import numbered_keys

from hushfold.algorithms.hush.implicit import LikesModel, fit, learn, recommend, scores
from hushfold.data.simulate import simulate_ratings
from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.linalg.panels import SymmetricPanels
from hushfold.privacy.budget import Budget
from hushfold.privacy.door import Door
from hushfold.privacy.ledger import Ledger
from hushfold.types import Rows


def fitted(users: Users, epsilon: float = 10.0, threads: int = 1) -> LikesModel:
    run = Ledger.throw_away().run(method="hush", config={})
    door = Door(run, Budget.gaussian(epsilon, 1e-6), threads=threads, new_key=numbered_keys("hush"))
    return fit(users, LocalEngine(threads=threads), door).value


def likes_of(users: int, items: int, entries: int) -> Rows:
    drawn = simulate_ratings(users, items, entries, implicit=True)
    indptr = np.zeros(users + 1, np.int64)
    np.cumsum(np.bincount(drawn.user, minlength=users), out=indptr[1:])
    return Rows(indptr, drawn.item, drawn.rating, np.arange(users, dtype=np.uint64), items)


@pytest.fixture(scope="module")
def people() -> Rows:
    return likes_of(6000, 400, 200_000)


@pytest.fixture(scope="module")
def model(people: Rows) -> LikesModel:
    return fitted(Users(people.slice(0, 5500)))


def halves(rows: Rows) -> tuple[Rows, list[set[int]]]:
    """What the users show, and what they hide."""
    shown = np.arange(len(rows.items)) % 5 > 0
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
    indptr = np.r_[0, np.cumsum(np.bincount(owner[shown], minlength=len(rows)))]
    hidden = [set(rows.items[(owner == user) & ~shown].tolist()) for user in range(len(rows))]
    return Rows(indptr, rows.items[shown], rows.values[shown], rows.keys, rows.catalogue), hidden


def recall(best: np.ndarray, hidden: list[set[int]]) -> float:
    pairs = [(set(row.tolist()), own) for row, own in zip(best, hidden, strict=True) if own]
    return float(np.mean([len(own & row) / min(len(own), len(row)) for row, own in pairs]))


def popular(rows: Rows, likes: np.ndarray, k: int) -> np.ndarray:
    order = np.argsort(-likes, kind="stable")
    return np.array([order[~np.isin(order, own)][:k] for own, _ in rows.each()])


def reference_6d(likes: np.ndarray, moment: np.ndarray, noise: float) -> np.ndarray:
    """The simple rival: `P = (w G w + 4 E I)^-1`; the score of a history x is `-(x w P)_j / P_jj w_j`."""
    w = (likes / likes.mean()) ** 0.125
    w /= np.sqrt((w**2).mean())
    P = np.linalg.inv(w[:, None] * moment * w + 4 * noise * np.sqrt(2 * len(w)) * np.eye(len(w)))
    return -w[:, None] * P / P.diagonal()


def test_new_people_are_served_better_than_by_popularity(people: Rows, model: LikesModel):
    shown, hidden = halves(people.slice(5500, 6000))
    ours = recall(recommend(shown, model, 20), hidden)
    by_likes = recall(popular(shown, model.likes, 20), hidden)
    assert model.B.shape[1] > 2
    assert ours > 1.15 * by_likes


def test_the_precision_model_beats_its_simple_rival(people: Rows):
    """6D on the same released moment, at an epsilon where the noise matters."""
    seen: list[tuple] = []

    def remembering(*released):
        seen.append(released)
        return learn(*released)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hushfold.algorithms.hush.implicit.learn", remembering)
        model = fitted(Users(people.slice(0, 5500)), epsilon=2.0)
    likes, head, moment, noise, _ = seen[0]
    shown, hidden = halves(people.slice(5500, 6000))
    weights = reference_6d(np.maximum(likes[head], noise), moment.to_dense().astype(float), noise)
    x = np.zeros((len(shown), shown.catalogue))
    x[np.repeat(np.arange(len(shown)), np.diff(shown.indptr)), shown.items] = 1
    rival = np.full(x.shape, -np.inf)
    rival[:, head] = x[:, head] @ weights
    rival[x > 0] = -np.inf
    best = np.argsort(-rival, axis=1, kind="stable")[:, :20]
    assert recall(recommend(shown, model, 20), hidden) > recall(best, hidden) - 0.005


def test_scores_are_those_of_the_dense_formula(people: Rows, model: LikesModel):
    few = people.slice(0, 30)
    places = np.full(few.catalogue, -1)
    places[model.head] = np.arange(len(model.head))
    values, histories = scores(few, model, places)
    precision = np.linalg.inv(np.diag(model.D) + model.B @ model.B.T + model.pairs.toarray())
    expected = -(histories.toarray() @ precision) / model.own
    np.testing.assert_allclose(values, expected, atol=5e-4 * np.abs(expected).max())


def test_nobody_is_recommended_what_they_have_and_lists_are_full(people: Rows, model: LikesModel):
    few = people.slice(0, 40)
    best = recommend(few, model, 30)
    for row, (own, _) in zip(best, few.each(), strict=True):
        assert len(set(row.tolist())) == 30
        assert not set(row.tolist()) & set(own.tolist())


def test_items_outside_the_head_follow_by_likes_and_the_end_is_marked():
    likes = np.array([9.0, 50.0, 3.0, 40.0, 7.0])
    head = np.array([1, 3])
    moment = SymmetricPanels.from_dense(np.array([[30.0, 5.0], [5.0, 25.0]]))
    model = learn(likes, head, moment, 1.0, 1.0)
    rows = Rows(
        np.array([0, 0, 2]), np.array([1, 4], np.int32), np.ones(2, np.float32), np.zeros(2, np.uint64), 5
    )
    assert recommend(rows, model, 6).tolist() == [[1, 3, 0, 4, 2, -1], [3, 0, 2, -1, -1, -1]]


def test_somebody_without_a_history_sees_what_is_liked(model: LikesModel):
    rows = Rows.empty(400)
    nobody = Rows(np.zeros(2, np.int64), rows.items, rows.values, np.zeros(1, np.uint64), 400)
    expected = np.argsort(-model.likes, kind="stable")[:10]
    assert recommend(nobody, model, 10)[0].tolist() == expected.tolist()


def test_a_user_gets_the_same_in_any_company(people: Rows, model: LikesModel):
    few = people.slice(10, 60)
    assert np.array_equal(recommend(few, model, 10)[7], recommend(few.slice(7, 8), model, 10)[0])


def test_the_same_key_gives_the_same_model_on_any_number_of_threads(people: Rows):
    first, second = (fitted(Users(people.slice(0, 800)), threads=threads) for threads in (1, 2))
    assert np.array_equal(first.head, second.head)
    assert np.array_equal(first.D, second.D)
    assert np.array_equal(first.own, second.own)


@pytest.mark.parametrize("users", [0, 1])
@pytest.mark.parametrize("items", [1, 2, 60, 700])
def test_nobody_one_user_one_item_are_fitted_like_anything_else(users: int, items: int):
    everybody = Users.from_arrays(["ann"] * users, [0] * users, [1] * users, items)
    model = fitted(everybody, epsilon=1.0)
    assert np.isfinite(model.D).all()
    assert (model.own > 0).all()
    rows = next(everybody.blocks(), Rows.empty(items))
    assert recommend(rows, model, 5).shape == (users, 5)


def test_what_is_learnt_never_needs_the_number_of_users():
    """`learn` is handed released arrays and two public noise levels: there is nothing else to depend on."""
    assert learn.__code__.co_varnames[: learn.__code__.co_argcount] == (
        "likes",
        "head",
        "moment",
        "noise",
        "likes_noise",
    )
