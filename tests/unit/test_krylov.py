"""Eigenvalues above a threshold, from products alone, against a full decomposition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from hushfold.linalg.krylov import eigen_above, smallest_eigenvalue
from hushfold.threads import one_blas_thread


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with one_blas_thread():
        yield


def noise(size: int, seed: int = 0) -> np.ndarray:
    """Symmetric, off-diagonal variance 1: its spectrum ends at 2 sqrt(size)."""
    square = np.triu(np.random.default_rng(seed).standard_normal((size, size)), 1)
    return square + square.T


def spiked(size: int, strengths: list[float], seed: int = 1) -> np.ndarray:
    """Noise plus directions of these strengths, in units of the noise's edge."""
    directions = np.linalg.qr(np.random.default_rng(seed).standard_normal((size, len(strengths))))[0]
    return noise(size) + directions * (2 * np.sqrt(size) * np.array(strengths)) @ directions.T


@pytest.mark.parametrize("size", [1, 7, 60, 900, 1500])
def test_what_lies_above_the_threshold_is_what_a_full_decomposition_finds(size: int):
    matrix = spiked(size, [5.0, 3.0, 2.5, 1.5, -4.0][: max(size // 2, 1)])
    threshold = 1.1 * 2 * np.sqrt(size)
    values, vectors = np.linalg.eigh(matrix)
    above = values > threshold
    found = eigen_above(lambda x: matrix @ x, size, threshold, most=40)
    np.testing.assert_allclose(found.values, values[above][::-1], rtol=2e-3)
    angles = np.linalg.svd(found.vectors.T @ vectors[:, above], compute_uv=False)
    assert (angles > 0.99).all()


@pytest.mark.parametrize("size", [500, 1200])
def test_nothing_stands_above_pure_noise(size: int):
    matrix = noise(size)
    found = eigen_above(lambda x: matrix @ x, size, 1.03 * 2 * np.sqrt(size), most=40)
    assert found.values.shape == (0,)
    assert found.vectors.shape == (size, 0)


def test_a_value_just_above_the_threshold_is_found_because_the_space_widens():
    """Theta + 1 / theta is where a spike of strength theta comes out: 1.06 edges here, 3 % above."""
    size = 1500
    matrix = spiked(size, [0.5 * 1.42])
    edge = 2 * np.sqrt(size)
    assert 1.03 < np.linalg.eigvalsh(matrix)[-1] / edge < 1.1
    assert len(eigen_above(lambda x: matrix @ x, size, 1.03 * edge, most=40).values) == 1


def test_no_more_are_returned_than_asked_for_and_they_are_the_largest():
    matrix = spiked(600, [6.0, 5.0, 4.0, 3.0])
    found = eigen_above(lambda x: matrix @ x, 600, 10.0, most=2)
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(matrix)[::-1][:2], rtol=1e-6)


def test_the_same_matrix_gives_the_same_answer():
    matrix = spiked(700, [3.0, 2.0])
    first, second = (eigen_above(lambda x: matrix @ x, 700, 60.0, most=9) for _ in range(2))
    assert np.array_equal(first.vectors, second.vectors)


@pytest.mark.parametrize("size", [1, 30, 1000])
def test_the_smallest_eigenvalue_is_not_the_largest_in_modulus(size: int):
    matrix = spiked(size, [9.0, -2.0][: max(1, size // 2)])
    exact = np.linalg.eigvalsh(matrix)[0]
    assert smallest_eigenvalue(lambda x: matrix @ x, size) == pytest.approx(exact, rel=1e-2)
