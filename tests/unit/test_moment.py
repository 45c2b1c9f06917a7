from __future__ import annotations

import math

import numpy as np
import pytest

from hushfold.errors import ArgumentError
from hushfold.statistics import moment as module
from hushfold.statistics.moment import moment, moment_reference
from hushfold.statistics.quantise import TWO_FACTORS


def summed(contribution):
    accumulator = contribution.accumulator()
    accumulator.add(contribution)
    return accumulator.tile(0)[0]


def rows(users, rank, seed=0):
    coins = np.random.default_rng(seed)
    u = coins.normal(size=(users, rank)) * 10.0 ** coins.integers(-3, 4, (users, 1))
    u[coins.random((users, rank)) < 0.02] = np.inf
    return u


@pytest.mark.parametrize(("users", "rank"), [(0, 3), (1, 1), (1, 4), (40, 5)])
def test_agrees_with_its_twin(users, rank):
    contribution = moment(rows(users, rank), 2.0)
    assert contribution.spec.size == (1, rank * (rank + 1) // 2)
    assert (summed(contribution) == moment_reference(rows(users, rank), 2.0)).all()


def test_sums_are_exact_across_products(monkeypatch):
    whole = summed(moment(rows(50, 4), 1.0))
    monkeypatch.setattr(module, "EXACT_USERS", 7)
    assert (summed(moment(rows(50, 4), 1.0)) == whole).all()


def test_the_largest_product_is_below_what_float64_holds_exactly():
    assert module.EXACT_USERS * TWO_FACTORS**2 < 2**53


def test_the_bound_is_that_of_the_outer_product():
    spec = moment(rows(3, 4), 3.0).spec
    assert spec.bound == 9.0
    assert spec.replace == math.sqrt(2)
    assert spec.layout == "svec"
    heavy = summed(moment(np.array([[30.0, 40.0]]), 3.0)) * spec.step
    np.testing.assert_allclose(heavy, 9 * np.array([0.36, 0.48, 0.64]), rtol=1e-4)


@pytest.mark.parametrize(
    ("u", "bound", "argument"), [(np.ones(3), 1.0, "u"), (np.ones((2, 2)), 1e200, "bound")]
)
def test_bad_arguments_are_named(u, bound, argument):
    with pytest.raises(ArgumentError) as caught:
        moment(u, bound)
    assert caught.value.argument == argument
