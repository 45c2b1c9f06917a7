from __future__ import annotations

import numpy as np
import pytest

from hushfold.linalg.small_solve import (
    add_gram,
    back_substitute,
    factorise,
    forward_substitute,
    padded_order,
    padded_width,
)

TOLERANCE = {"float32": 3e-6, "float64": 1e-13}


def laid_out(matrix, sides, dtype):
    """One flat buffer, padded as the solver wants it; what must not be read is NaN."""
    size, count = sides.shape
    itemsize = np.dtype(dtype).itemsize
    order, first = padded_order(size), padded_width(size, itemsize)
    width = first + padded_width(count, itemsize)
    system = np.zeros((order, width), dtype)
    system[np.tril_indices(order, -1)] = np.nan
    system[:size, :size] = np.where(np.tri(size, k=-1), np.nan, matrix)
    system[range(size, order), range(size, order)] = 1
    system[:size, first : first + count] = sides
    return system.reshape(-1), width, order, first


def positive(size, seed=0):
    coins = np.random.default_rng(seed)
    half = coins.normal(size=(2 * size, size))
    return half.T @ half / size + np.eye(size), coins.normal(size=(size, 3))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 100, 128])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_it_solves(size, count, dtype):
    matrix, _ = positive(size)
    sides = np.random.default_rng(1).normal(size=(size, count))
    expected = np.linalg.solve(matrix, sides)
    system, width, order, first = laid_out(matrix, sides, dtype)
    inverse = np.zeros(order, dtype)
    assert factorise(system, width, order, width, inverse)
    back_substitute(system, width, order, first, width, inverse)
    found = system.reshape(order, width)[:size, first : first + count]
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE[dtype])
    np.testing.assert_allclose(inverse[:size], 1 / np.diag(np.linalg.cholesky(matrix)), rtol=1e-4)


def test_later_right_hand_sides_are_solved_the_same_bit_by_bit():
    matrix, sides = positive(21)
    at_once, width, order, first = laid_out(matrix, sides, "float32")
    later = at_once.copy()
    inverse = np.zeros(order, np.float32)
    factorise(at_once, width, order, width, inverse)
    factorise(later, width, order, first, inverse)
    forward_substitute(later, width, order, first, width, inverse)
    shape = order, width
    np.testing.assert_array_equal(at_once.reshape(shape)[:, first:], later.reshape(shape)[:, first:])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("place", [0, 8, 11, 20])
def test_what_is_not_positive_definite_is_refused(place, wrong, dtype):
    matrix, sides = positive(21)
    matrix[place, place] = wrong
    system, width, order, _ = laid_out(matrix, sides, dtype)
    assert not factorise(system, width, order, width, np.zeros(order, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [1, 8, 17, 40, 64, 65, 130])
def test_it_adds_the_gram_matrix(columns, dtype):
    coins = np.random.default_rng(columns)
    itemsize = np.dtype(dtype).itemsize
    width, order = padded_width(columns, itemsize), padded_order(columns)
    stride, extra = width + 8, padded_width(1, itemsize)
    rows = np.zeros((13, stride), dtype)
    rows[:, :columns] = coins.integers(-5, 6, (13, columns))
    sums = np.ones((order, width + extra), dtype)
    add_gram(sums.reshape(-1), width + extra, order, rows.reshape(-1), stride, width, 13)
    upper = np.triu_indices(columns)
    expected = 1 + rows[:, :columns].T @ rows[:, :columns]
    np.testing.assert_array_equal(sums[:columns, :columns][upper], expected[upper])
    np.testing.assert_array_equal(sums[:, width:], 1)  # the right-hand sides stay as they were
