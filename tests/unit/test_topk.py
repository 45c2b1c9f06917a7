"""Exact top-k: against its readable twin, with ties, exclusions, hostile scores and every awkward size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushfold.errors import ArgumentError
from hushfold.linalg import topk as module
from hushfold.linalg.topk import Panels, topk, topk_of_scores, topk_reference


def lists(rng: np.random.Generator, users: int, items: int, share: float):
    hidden = rng.random((users, items)) < share
    return np.concatenate(([0], np.cumsum(hidden.sum(1)))), np.nonzero(hidden)[1].astype(np.int32)


@given(seed=st.integers(0, 10_000), k=st.integers(1, 40), levels=st.sampled_from([2, 5, 1000]))
def test_scores_with_ties_and_exclusions_equal_the_twin(seed, k, levels):
    rng = np.random.default_rng(seed)
    users, items = int(rng.integers(1, 8)), int(rng.choice([1, 3, 127, 128, 1023, 1024, 1025, 2100]))
    scores = rng.integers(-levels, levels, (users, items)) / 7
    scores[rng.random(scores.shape) < 0.05] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0])
    hidden = lists(rng, users, items, 0.3)
    found, wanted = topk_of_scores(scores, k, hidden), topk_reference(scores, k, hidden)
    assert (found.scores == wanted.scores).all()
    assert (found.items == wanted.items).all()


@pytest.mark.parametrize("shape", ["flat", "decaying", "integers"])
@pytest.mark.parametrize(("users", "items", "rank"), [(1, 5, 3), (300, 2500, 16), (700, 1024, 1)])
def test_factors_equal_exact_scores(shape, users, items, rank):
    """Small integers have exact products, so items agree to the last tie; floats agree in their scores."""
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((users, rank)), rng.standard_normal((items, rank))
    if shape == "decaying":
        right *= np.exp(-6 * rng.random((items, 1)))
    if shape == "integers":
        left, right = np.rint(2 * left), np.rint(2 * right)
    hidden = lists(rng, users, items, 0.02)
    found = topk(left, right, 10, hidden)
    wanted = topk_reference(left.astype(np.float32).astype(float) @ right.astype(np.float32).T, 10, hidden)
    assert found.scores == pytest.approx(wanted.scores, rel=1e-5, abs=1e-5)
    if shape == "integers":
        assert (found.items == wanted.items).all()


def test_most_of_a_decaying_model_is_never_scored(monkeypatch):
    rng = np.random.default_rng(1)
    seen = []
    offer = module._offer_panel
    monkeypatch.setattr(module, "_offer_panel", lambda *a: (seen.append(a[0].size), offer(*a)))
    right = rng.standard_normal((20_000, 8)) * np.exp(-8 * rng.random((20_000, 1)))
    topk(rng.standard_normal((256, 8)), right, 5)
    assert sum(seen) < 0.3 * 256 * 20_000


def test_threads_change_nothing():
    rng = np.random.default_rng(2)
    left, right = rng.standard_normal((900, 12)), rng.standard_normal((3000, 12))
    one, two = topk(left, right, 7, threads=1), topk(left, right, 7, threads=3)
    assert (one.items == two.items).all()
    assert one.scores.tobytes() == two.scores.tobytes()


def test_company_changes_nothing_not_a_bit():
    rng = np.random.default_rng(3)
    left, panels = rng.standard_normal((600, 9)), Panels.of(rng.standard_normal((2000, 9)))
    together = topk(left, panels, 6)
    for some in (slice(0, 1), slice(17, 40), slice(511, 600)):
        apart = topk(left[some], panels, 6)
        assert apart.items.tobytes() == together.items[some].tobytes()
        assert apart.scores.tobytes() == together.scores[some].tobytes()


@pytest.mark.parametrize("rank", [1, 5, 64])
def test_the_product_equals_numpys(rank):
    rng = np.random.default_rng(4)
    left = rng.standard_normal((16, rank)).astype(np.float32)
    right = rng.standard_normal((rank, module.PANEL)).astype(np.float32)
    scores = np.full((16, module.PANEL), np.nan, np.float32)
    module._multiply(left, right, scores)
    assert scores == pytest.approx(left.astype(float) @ right, abs=1e-5)


def test_hostile_factors_are_no_exception_and_no_recommendation():
    left = np.array([[1.0, 0.0], [np.nan, 1.0], [0.0, 0.0], [1e38, 1e38]], np.float32)
    right = np.array([[1.0, 1.0], [np.inf, 0.0], [2.0, np.nan], [3e38, 3e38], [-1.0, 0.0]], np.float32)
    best = topk(left, right, 3)
    assert best.items[0, :2].tolist() == [3, 0]
    assert best.items[1].tolist() == [-1, -1, -1]
    assert np.isfinite(best.scores[best.items >= 0]).all()


def test_fewer_than_k_leave_empty_places():
    best = topk(np.ones((1, 1)), np.arange(3.0)[:, None], 5, (np.array([0, 1]), np.array([2], np.int32)))
    assert best.items.tolist() == [[1, 0, -1, -1, -1]]
    assert best.scores.tolist() == [[1.0, 0.0, -np.inf, -np.inf, -np.inf]]


@pytest.mark.parametrize("users", [0, 1, 255, 257])
def test_any_number_of_users(users):
    assert topk(np.ones((users, 2)), np.eye(2), 1).items.tolist() == [[0]] * users


def test_bad_arguments_are_named():
    for call in (
        lambda: topk(np.ones((2, 3)), np.ones((4, 2)), 1),
        lambda: topk(np.ones((2, 3)), np.ones(3), 1),
        lambda: topk(np.ones((2, 3)), np.ones((4, 3)), 0),
        lambda: topk(np.ones((2, 3)), np.ones((4, 3)), 1, (np.array([0, 0]), np.empty(0, np.int32))),
    ):
        with pytest.raises(ArgumentError):
            call()
