from __future__ import annotations

import numpy as np
import pytest

from hushfold.errors import ArgumentError
from hushfold.linalg.psd import nearest_psd, solve_items, solve_items_reference
from hushfold.linalg.svec import pack


def noisy(items, rank, seed=0):
    """Gram matrices with noise that takes about half of their eigenvalues below zero."""
    coins = np.random.default_rng(seed)
    half = coins.normal(size=(items, rank, rank))
    return half + half.swapaxes(1, 2), coins.normal(size=(items, rank))


def background_of(rank):
    half = np.random.default_rng(9).normal(size=(2 * rank, rank))
    return half.T @ half / rank


@pytest.mark.parametrize("projection", ["gram", "paper"])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 2.0, "each"])
@pytest.mark.parametrize("rank", [1, 4, 17])
def test_it_is_the_formula(rank, ridge, shared, projection):
    matrices, rights = noisy(130, rank)  # three batches
    ridges = np.random.default_rng(3).uniform(0.1, 3, 130) if ridge == "each" else ridge
    arguments = (pack(matrices), rights, ridges, background_of(rank) if shared else None, projection)
    np.testing.assert_allclose(
        solve_items(*arguments), solve_items_reference(*arguments), rtol=1e-7, atol=1e-9
    )


def test_the_two_projections():
    gram, right = np.array([[-3.0, 0.0, 2.0]]), np.array([[1.0, 1.0]])
    np.testing.assert_allclose(solve_items(gram, right, 1.0), [[1.0, 1 / 3]])  # max(-3, 0) + 1
    np.testing.assert_allclose(
        solve_items(gram, right, 1.0, projection="paper"), [[0.0, 1 / 3]]
    )  # max(-3 + 1, 0)


def test_projection_is_the_nearest():
    matrices, _ = noisy(5, 6)
    projected = nearest_psd(matrices)
    assert np.linalg.eigvalsh(projected).min() >= -1e-12
    lost = np.minimum(np.linalg.eigvalsh(matrices), 0)
    distance = np.linalg.norm(projected - matrices, axis=(1, 2))
    np.testing.assert_allclose(distance, np.linalg.norm(lost, axis=1))
    np.testing.assert_allclose(nearest_psd(projected), projected, atol=1e-12)


def test_without_ridge_what_is_not_seen_gets_nothing():
    seen = np.outer([1.0, 2.0, 2.0], [1.0, 2.0, 2.0])
    solved = solve_items(pack(seen)[None], np.array([[1.0, 1.0, 1.0]]), 0.0)
    np.testing.assert_allclose(solved, np.array([[1.0, 2.0, 2.0]]) * 5 / 81)


@pytest.mark.parametrize("projection", ["gram", "paper"])
@pytest.mark.parametrize("shared", [None, np.eye(4)])
def test_an_item_without_sense_is_zero_and_stays_alone(shared, projection):
    matrices, rights = noisy(6, 4)
    grams = pack(matrices)
    ridges = np.full(6, 0.5)
    expected = solve_items(grams, rights, ridges, shared, projection)
    grams[1, 2], rights[3, 0], ridges[4] = np.nan, np.inf, np.nan
    found = solve_items(grams, rights, ridges, shared, projection)
    assert not found[[1, 3, 4]].any()
    np.testing.assert_allclose(found[[0, 2, 5]], expected[[0, 2, 5]], atol=1e-12)


def test_all_zero_statistics_give_zero():
    assert not solve_items(np.zeros((2, 3)), np.zeros((2, 2)), 0.0).any()
    assert not solve_items(np.zeros((2, 3)), np.zeros((2, 2)), 1.0).any()
    assert solve_items(np.zeros((0, 3)), np.zeros((0, 2)), 1.0).shape == (0, 2)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"grams": np.zeros((2, 3))}, "grams, rights"),
        ({"grams": np.zeros((3, 6))}, "grams"),
        ({"grams": np.zeros((3, 5))}, "size"),
        ({"ridge": -1.0}, "ridge"),
        ({"ridge": np.ones(2)}, "ridge"),
        ({"background": np.eye(3)}, "background"),
        ({"projection": "none"}, "projection"),
    ],
)
def test_bad_arguments_are_named(changed, named):
    arguments = {"grams": np.zeros((3, 3)), "rights": np.zeros((3, 2)), "ridge": 1.0, **changed}
    with pytest.raises(ArgumentError) as caught:
        solve_items(**arguments)
    assert caught.value.argument == named


def test_only_square_matrices_are_projected():
    with pytest.raises(ArgumentError, match="square"):
        nearest_psd(np.zeros((2, 3)))
