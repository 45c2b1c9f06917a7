from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from local_rows import ITEMS, KINDS, design_of, joined, row, rows_of

from hushfold.errors import ArgumentError
from hushfold.local.design import Design
from hushfold.local.fold_in import fold_in, fold_in_reference

LENGTHS = (0, 1, 2, 7, 8, 15, 16, 17, 33, 48, 49, 90, ITEMS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank", [1, 8, 20, 33, 64])
def test_it_agrees_with_the_formula(rank, kind):
    rows = rows_of(LENGTHS)
    coins = np.random.default_rng(1)
    weights = coins.uniform(0, 2, len(rows.items))
    ridges = coins.uniform(0.5, 2, len(rows))
    for arguments in ({}, {"ridge": ridges}, {"ridge": 0.7, "weights": weights}):
        expected = fold_in_reference(rows, design_of(rank, kind), **arguments)
        assert np.abs(expected[1:]).sum(axis=1).min() > 0
        for dtype, tolerance in (("float64", 1e-11), ("float32", 2e-5)):
            found = fold_in(rows, design_of(rank, kind, dtype), **arguments)
            assert found.dtype == dtype
            np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def test_both_systems_agree_where_they_meet():
    rank = 40
    for length in (29, 30, 31):  # dual up to 30 = .75 * 40, primal above
        rows, design = rows_of([length]), design_of(rank)
        np.testing.assert_allclose(fold_in(rows, design), fold_in_reference(rows, design), atol=1e-12)


def test_many_entries_are_taken_in_many_pieces():
    rows = rows_of([20_000], catalogue=30_000)
    design = design_of(24, catalogue=30_000)
    np.testing.assert_allclose(fold_in(rows, design), fold_in_reference(rows, design), atol=1e-12)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-6])
def test_conjugate_gradients_reach_their_tolerance(tolerance):
    rows, design = rows_of(LENGTHS), design_of(20)
    found = fold_in(rows, design, tolerance=tolerance)
    for user, (items, values) in enumerate(rows.each()):
        x = design.factors[items]
        residual = x.T @ (values - x @ found[user]) - found[user]
        assert np.linalg.norm(residual) <= 1.001 * tolerance * np.linalg.norm(x.T @ values)
    assert np.abs(found - fold_in_reference(rows, design)).max() > 0


def test_a_posterior_mean_is_a_fold_in():
    """hush.md 5: prior N(0, v) on the intercept, N(0, I) on the factors, noise psi_j."""
    rows, design = rows_of([30]), design_of(5, "intercept")
    x = np.hstack([np.ones((ITEMS, 1)), design.factors])[rows.items]
    covariance = x @ np.diag([0.3, *np.ones(5)]) @ x.T + np.diag(design.noise[rows.items])
    expected = np.diag([0.3, *np.ones(5)]) @ x.T @ np.linalg.solve(covariance, rows.values)
    np.testing.assert_allclose(fold_in(rows, design)[0], expected, atol=1e-12)


NO_ANSWER = {
    "nothing rated": row([], []),
    "a value that is no number": row([1, 2, 3], [1, np.nan, 2]),
    "an infinite value": row([1, 2, 3], [1, np.inf, 2]),
    "values too large": row([1, 2, 3], [3e38, 3e38, -3e38]),
    "nothing in the catalogue": row([-1, ITEMS, 2**31 - 1, -(2**31)], [1, 2, 3, 4]),
}


@pytest.mark.parametrize("case", NO_ANSWER)
@pytest.mark.parametrize("rank", [2, 30])
@pytest.mark.parametrize("tolerance", [0.0, 1e-4])
def test_no_answer_is_zero_and_nobody_elses_matter(case, rank, tolerance):
    bad, good = NO_ANSWER[case], rows_of([3, 40])
    design = design_of(rank, "intercept", "float32")
    found = fold_in(joined(good, bad, good), design, tolerance=tolerance)
    alone = fold_in(good, design, tolerance=tolerance)
    assert not found[2].any()
    np.testing.assert_array_equal(found[[0, 1, 3, 4]], np.tile(alone, (2, 1)))
    assert np.isfinite(alone).all()
    assert alone.any(axis=1).all()


@pytest.mark.parametrize("wild", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("length", [3, 100])
def test_a_weight_or_ridge_without_sense_is_zero(wild, length):
    rows, design = rows_of([length, length]), design_of(20, dtype="float32")
    weights = np.ones(2 * length)
    weights[1] = wild
    found = fold_in(rows, design, weights=weights)
    assert not found[0].any()
    assert found[1].any()
    ridges = np.array([wild if wild != -1 else -1e9, 1.0])
    assert np.isfinite(fold_in(rows, design, ridges)).all()
    assert fold_in(rows, design, ridges)[1].any()


def test_a_weight_beyond_float32_makes_no_noise():
    rows, design = rows_of([5]), design_of(3, dtype="float32")
    assert not fold_in(rows, design, weights=np.full(5, 1e300)).any()


def test_singular_equations_are_zero():
    twice = np.zeros((ITEMS, 2))
    twice[:, 0] = 1
    rows = rows_of([50, 3])
    assert not fold_in(rows, Design(twice), ridge=0.0).any()
    assert not fold_in(rows, Design(twice, dtype="float64"), ridge=0.0).any()
    assert not fold_in_reference(rows, Design(twice), ridge=0.0).any()


def test_entries_outside_the_catalogue_do_not_count():
    design = design_of(4)
    mixed = row([-5, 3, 70, ITEMS, 2**31 - 1], [9, 1, 2, 9, 9])
    np.testing.assert_allclose(fold_in(mixed, design), fold_in(row([3, 70], [1, 2]), design), atol=1e-14)


def test_a_row_that_is_not_there_is_empty():
    broken = row([1, 2], [1, 1])
    broken.indptr[1] = 7
    assert not fold_in(broken, design_of(4)).any()


def test_no_users_and_no_factors():
    assert fold_in(rows_of([]), design_of(3, "intercept")).shape == (0, 4)
    assert fold_in(rows_of([5]), Design(np.zeros((ITEMS, 0)))).shape == (1, 0)
    only_intercept = fold_in(rows_of([5]), Design(np.zeros((ITEMS, 0)), intercept_variance=0.25))
    np.testing.assert_allclose(only_intercept, rows_of([5]).values.sum() / (5 + 4), rtol=1e-6)


def test_a_design_travels():
    design = design_of(5, "everything")
    again = pickle.loads(pickle.dumps(design))
    rows = rows_of([4, 60])
    np.testing.assert_array_equal(fold_in(rows, design), fold_in(rows, again))
    assert repr(design) == "<Design: 160 items x 6 unknowns>"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"factors": np.zeros(3)}, "factors"),
        ({"dtype": "int32"}, "dtype"),
        ({"noise": np.zeros(4)}, "noise"),
        ({"noise": np.full(4, np.nan)}, "noise"),
        ({"noise": np.ones(3)}, "noise"),
        ({"intercept_variance": 0.0}, "intercept_variance"),
        ({"intercept_variance": math.nan}, "intercept_variance"),
        ({"background": np.eye(3)}, "background"),
        ({"background": np.array([[1.0, 2.0], [0.0, 1.0]])}, "background"),
        ({"background": -np.eye(2)}, "background"),
        ({"background": np.full((2, 2), np.nan)}, "background"),
    ],
)
def test_a_design_says_what_is_wrong_with_it(arguments, named):
    with pytest.raises(ArgumentError) as caught:
        Design(**{"factors": np.zeros((4, 2)), **arguments})
    assert caught.value.argument == named


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"ridge": -1.0}, "ridge"),
        ({"ridge": math.inf}, "ridge"),
        ({"ridge": np.ones(3)}, "ridge"),
        ({"weights": np.ones(2)}, "weights"),
        ({"tolerance": 1.0}, "tolerance"),
        ({"tolerance": math.nan}, "tolerance"),
    ],
)
def test_bad_arguments_are_named(arguments, named):
    with pytest.raises(ArgumentError) as caught:
        fold_in(rows_of([3]), design_of(2), **arguments)
    assert caught.value.argument == named
