"""Spike and slab over the residual, and the precision model that holds what it keeps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, logit

from hushfold.algorithms.hush import pairs as room
from hushfold.algorithms.hush.model import MomentModel
from hushfold.algorithms.hush.pairs import residual_pairs, residual_pairs_reference, shift_of
from hushfold.algorithms.hush.precision import LikesPrecision
from hushfold.linalg.panels import SymmetricPanels

NOISE = 3.0


def world(items: int = 600, partners: int = 200, strength: float = 30.0):
    """(model, B, mass, truth): noise, one factor and some strong pairs among items of decreasing likes."""
    rng = np.random.default_rng(0)
    likes = 400 / (1 + np.arange(items)) ** 0.6
    truth = np.zeros((items, items))
    left, right = rng.integers(0, 150, (2, partners))
    truth[left, right] = truth[right, left] = strength
    np.fill_diagonal(truth, 0)
    B = rng.standard_normal((items, 1)) * 0.05 * np.sqrt(likes)[:, None]
    upper = np.triu(rng.standard_normal((items, items)), 1) * NOISE / np.sqrt(2)
    moment = SymmetricPanels.from_dense(truth + B @ B.T + upper + upper.T + np.diag(likes))
    return MomentModel.of(moment, likes, 1.0, NOISE, 0.0), B, likes, truth


def test_panels_after_panels_give_what_the_dense_twin_gives(monkeypatch: pytest.MonkeyPatch):
    model, B, mass, _ = world()
    monkeypatch.setattr(room, "_mixing_weight", lambda factors: 0.003)
    kept = residual_pairs(model, B, mass).toarray()
    reference = residual_pairs_reference(model, B, mass, 0.003)
    edge = (kept == 0) != (reference == 0)  # float32 against float64 at the threshold
    assert edge.sum() <= 4
    np.testing.assert_allclose(kept[~edge], reference[~edge], rtol=1e-3, atol=1e-4)
    assert np.array_equal(kept, kept.T)
    assert not kept.diagonal().any()


def test_the_mixing_weight_is_that_of_the_pairs_one_by_one(monkeypatch: pytest.MonkeyPatch):
    model, B, mass, _ = world(300)
    shares: list[float] = []
    whole = room._mixing_weight
    monkeypatch.setattr(room, "_mixing_weight", lambda factors: shares.append(whole(factors)) or shares[0])
    residual_pairs(model, B, mass)
    upper = np.triu_indices(300, 1)
    residual = (model.moment.to_dense() - B @ B.T)[upper]
    slab = np.square(0.2 * np.minimum(mass[:, None], mass)[upper])
    residual, slab = residual[slab >= model.variance / 4], slab[slab >= model.variance / 4]
    ratio = slab / model.variance
    factor = (ratio / (model.variance + slab) * residual**2 - np.log1p(ratio)) / 2
    share = room.FIRST_SHARE
    for _ in range(room.STEPS):
        share = expit(logit(share) + factor).mean()
    assert shares[0] == pytest.approx(share, rel=0.01)


def test_strong_pairs_are_found_and_noise_is_not():
    model, B, mass, truth = world()
    kept = residual_pairs(model, B, mass).toarray()
    strong = truth > 0
    assert (kept[strong] > 20).mean() > 0.95
    assert np.square(kept[~strong]).mean() < 0.01 * model.variance


def test_pure_noise_leaves_next_to_nothing():
    model, B, mass, _ = world(partners=0)
    kept = residual_pairs(model, B, mass)
    assert np.square(kept.data).sum() < 0.005 * model.variance * 600**2


def test_items_too_rare_to_show_anything_have_no_pairs():
    model, B, _, _ = world()
    assert residual_pairs(model, B, np.full(600, 0.1)).nnz == 0


def sparse(items: int, nonzero: int, strength: float, seed: int = 0) -> csr_array:
    rng = np.random.default_rng(seed)
    dense = np.zeros((items, items), np.float32)
    left, right = rng.integers(0, items, (2, nonzero))
    dense[left, right] = rng.standard_normal(nonzero) * strength
    dense = np.triu(dense, 1)
    return csr_array(dense + dense.T)


@pytest.mark.parametrize("strength", [0.0, 0.5, 2.0])
def test_the_shift_makes_the_whole_positive_definite(strength: float):
    pairs, own = sparse(500, 4000, strength), np.linspace(1, 3, 500)
    shift = shift_of(pairs, own)
    assert shift >= 1
    assert np.linalg.eigvalsh(np.diag(own * shift) + pairs.toarray()).min() > 0.2
    smallest = np.linalg.eigvalsh(pairs.toarray() / np.sqrt(np.outer(own, own)))[0]
    assert shift == pytest.approx(max(1, -1.5 * smallest), rel=0.02)


def precision(factors: int, nonzero: int, items: int = 300) -> tuple[LikesPrecision, np.ndarray]:
    rng = np.random.default_rng(1)
    own, pairs = rng.random(items) * 50 + 10, sparse(items, nonzero, 4.0)
    own *= shift_of(pairs, own)
    model = LikesPrecision(own, rng.standard_normal((items, factors)) * 4, pairs)
    return model, np.diag(own) + model.B @ model.B.T + pairs.toarray()


@pytest.mark.parametrize(("factors", "nonzero"), [(0, 0), (5, 0), (0, 900), (8, 900)])
def test_a_solve_is_the_dense_inverse_applied(factors: int, nonzero: int):
    model, dense = precision(factors, nonzero)
    x = (np.random.default_rng(2).random((300, 7)) < 0.05).astype(np.float64)
    x[:, 3] = 0
    expected = np.linalg.solve(dense, x)
    solved = model.solve(x)
    assert np.abs(solved - expected).max() < 2e-4 * np.abs(expected).max()
    assert not solved[:, 3].any()


def test_a_column_does_not_depend_on_its_company():
    model, _ = precision(8, 900)
    x = (np.random.default_rng(2).random((300, 40)) < 0.05).astype(np.float64)
    np.testing.assert_allclose(model.solve(x)[:, [5]], model.solve(x[:, [5]]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("factors", "nonzero"), [(0, 0), (5, 0), (0, 900), (8, 900)])
def test_the_diagonal_is_that_of_the_dense_inverse(factors: int, nonzero: int):
    model, dense = precision(factors, nonzero)
    off = model.diagonal() / np.linalg.inv(dense).diagonal() - 1
    if nonzero:  # as ill-conditioned as the shift allows: real sets stay at half a per cent
        assert np.sqrt(np.square(off).mean()) < 0.02
        assert np.abs(off).max() < 0.1
    else:
        assert np.abs(off).max() < 1e-9


def test_the_local_diagonal_is_exact_where_every_neighbour_is_seen():
    """Blocks of four items that know each other and nobody else."""
    block = np.array([[0, 3, 1, 2], [3, 0, 2, 0], [1, 2, 0, 1], [2, 0, 1, 0]], np.float32)
    pairs = csr_array(np.kron(np.eye(10, dtype=np.float32), block))
    own = np.linspace(8, 12, 40)
    model = LikesPrecision(own, np.zeros((40, 0)), pairs)
    exact = np.linalg.inv(np.diag(own) + pairs.toarray()).diagonal()
    first = np.arange(0, 40, 4)  # the items of each block that are linked to all others of it
    np.testing.assert_allclose(model.local_diagonal()[first], exact[first], rtol=1e-6)
