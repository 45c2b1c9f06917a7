from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushfold.errors import ArgumentError
from hushfold.statistics.quantise import (
    ONE_FACTOR,
    TWO_FACTORS,
    quantise_dense,
    quantise_reference,
    quantise_rows,
)

VALUE = st.floats() | st.floats(-3, 3)
BOUND = st.floats(1e-300, 1e300) | st.floats(0.1, 10)
LATTICE = st.sampled_from([ONE_FACTOR, TWO_FACTORS, 2**8, 1000])
NORM = st.sampled_from(["l1", "l2"])


def norm_of(whole, norm, weights=None):
    weights = [1] * len(whole) if weights is None else weights
    if norm == "l1":
        return sum(int(w) * abs(int(q)) for q, w in zip(whole, weights, strict=True))
    return sum(int(w) * int(q) ** 2 for q, w in zip(whole, weights, strict=True))


@given(st.lists(VALUE, max_size=9), BOUND, LATTICE, NORM)
def test_ragged_agrees_with_its_twin_and_keeps_the_bound(row, bound, lattice, norm):
    values = np.array(row, np.float64)
    whole = quantise_rows(np.array([0, len(row)]), values, bound, lattice, norm)
    assert whole.tolist() == quantise_reference(row, bound, lattice, norm)
    assert norm_of(whole, norm) <= (lattice if norm == "l1" else lattice**2)


@given(st.lists(st.tuples(VALUE, st.integers(1, 2)), min_size=1, max_size=9), BOUND, LATTICE, NORM)
def test_weighted_agrees_with_its_twin_and_keeps_the_bound(row, bound, lattice, norm):
    values = np.array([[value for value, _ in row]])
    weights = np.array([weight for _, weight in row])
    whole = quantise_dense(values, bound, lattice, norm, weights)[0]
    assert whole.tolist() == quantise_reference(values[0], bound, lattice, norm, weights)
    assert norm_of(whole, norm, weights) <= (lattice if norm == "l1" else lattice**2)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=9), st.floats(0.1, 1e4), LATTICE)
def test_truncates_toward_zero_what_is_within_the_bound(row, bound, lattice):
    length = math.sqrt(sum(value * value for value in row))
    whole = quantise_reference(row, bound, lattice)
    kept = min(1.0, bound / length) if length else 1.0
    for q, value in zip(whole, row, strict=True):
        exact = value * kept * lattice / bound
        assert abs(q) <= abs(exact) * (1 + 1e-12) + 1e-9
        assert abs(exact - q) <= 1 + lattice * 2.0**-19


@given(st.lists(st.lists(VALUE, max_size=5), max_size=6), LATTICE)
def test_a_row_is_quantised_the_same_wherever_it_stands(people, lattice):
    indptr = np.cumsum([0, *map(len, people)])
    whole = quantise_rows(indptr, np.array([v for own in people for v in own], np.float64), 2.0, lattice)
    for own, start, stop in zip(people, indptr, indptr[1:], strict=False):
        assert whole[start:stop].tolist() == quantise_reference(own, 2.0, lattice)


def test_float32_rows_are_read_as_the_numbers_they_are():
    row = np.random.default_rng(0).normal(size=20).astype(np.float32)
    whole = quantise_rows(np.array([0, 20]), row, 1.5)
    assert whole.tolist() == quantise_reference(row, 1.5)


def test_a_row_that_rounds_onto_the_bound_but_exceeds_it_is_taken_back():
    """The float norm of (1, 2^-30) is exactly 1, its integer norm 2^60 + 1."""
    row = [1.0, 2.0**-30]
    whole = quantise_reference(row, 1.0)
    assert whole == quantise_dense(np.array([row]), 1.0)[0].tolist()
    assert norm_of(whole, "l2") <= ONE_FACTOR**2
    assert whole[0] == math.trunc(ONE_FACTOR * (1 - 2.0**-20))


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_not_finite_makes_the_row_zero_and_no_other(odd):
    rows = np.array([[1.0, odd, 0.0], [1.0, 0.0, 0.0], [odd, odd, odd]])
    assert quantise_dense(rows, 1.0).tolist() == [[0, 0, 0], [ONE_FACTOR, 0, 0], [0, 0, 0]]


def test_huge_rows_keep_their_direction():
    whole = quantise_dense(np.array([[1.7e308, -1.7e308], [3e200, 4e200]]), 1e-3)
    half = ONE_FACTOR / math.sqrt(2)
    np.testing.assert_allclose(whole, [[half, -half], [0.6 * ONE_FACTOR, 0.8 * ONE_FACTOR]], rtol=2e-6)


def test_a_user_at_the_clip_uses_the_whole_lattice():
    assert quantise_dense(np.array([[0.0, 5.0], [7.0, 0.0]]), 5.0).tolist() == [
        [0, ONE_FACTOR],
        [ONE_FACTOR, 0],
    ]


def test_nobody_and_empty_rows():
    assert quantise_rows(np.array([0]), np.zeros(0), 1.0).shape == (0,)
    assert quantise_rows(np.array([0, 0, 0]), np.zeros(0), 1.0).shape == (0,)
    assert quantise_dense(np.zeros((0, 4)), 1.0).shape == (0, 4)
    assert quantise_dense(np.zeros((4, 0)), 1.0).shape == (4, 0)


def test_a_weight_on_a_single_column_counts():
    assert quantise_dense(np.ones((1, 1)), 1.0, weights=np.array([2]))[0, 0] == int(ONE_FACTOR / math.sqrt(2))


@pytest.mark.parametrize("bound", [0.0, -1.0, np.inf, np.nan])
def test_a_bound_that_bounds_nothing_is_refused(bound):
    with pytest.raises(ArgumentError, match="bound"):
        quantise_dense(np.ones((1, 1)), bound)


@pytest.mark.parametrize("lattice", [15, 30, 2**31])
def test_a_lattice_that_is_a_number_of_bits_is_refused(lattice):
    with pytest.raises(ArgumentError, match="lattice"):
        quantise_dense(np.ones((1, 1)), 1.0, lattice)


def test_weights_of_another_width_are_refused():
    with pytest.raises(ArgumentError, match="weights"):
        quantise_dense(np.ones((1, 2)), 1.0, weights=np.ones(3, np.int64))
