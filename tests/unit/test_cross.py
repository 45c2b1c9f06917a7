from __future__ import annotations

import numpy as np
import pytest
from heavy_shapes import add_up, dense_rows, random_rows
from hypothesis import given
from hypothesis import strategies as st

from hushfold.errors import ArgumentError
from hushfold.privacy.audit.hostile import hostile_rows
from hushfold.statistics.base import LATTICE, TILE
from hushfold.statistics.cross import cross, cross_reference
from hushfold.types import Rows


@given(seed=st.integers(0, 2**32), users=st.integers(0, 12), rank=st.integers(1, 9), wild=st.floats())
def test_hostile_rows_agree_with_the_reference(seed, users, rank, wild):
    coins = np.random.default_rng(seed)
    rows = hostile_rows(coins, users, TILE + 5)
    u = coins.normal(size=(users, rank)) * coins.choice([1e-3, 1, 1e300, wild], (users, 1))
    sums = np.concatenate(add_up(lambda r, v: cross(r, v, 2.0, 0.5), rows, u, 5))
    np.testing.assert_array_equal(sums, cross_reference(rows, u, 2.0, 0.5))


@pytest.mark.parametrize("rank", [1, 8, 33])
def test_a_mid_sized_set_agrees_with_the_reference(rank):
    rows, u = random_rows(300, 600, 0.05), dense_rows(300, rank)
    sums = np.concatenate(add_up(lambda r, v: cross(r, v, 4.0, 10.0), rows, u, 64, threads=2))
    np.testing.assert_array_equal(sums, cross_reference(rows, u, 4.0, 10.0))


def test_it_is_the_weighted_sum_it_says_it_is():
    rows, u = random_rows(100, 50, 0.1), dense_rows(100, 4)
    weight_bound, row_bound = 100.0, 1e6  # far above everything: nothing is clipped
    spec = cross(rows, u, weight_bound, row_bound).spec
    (sums,) = add_up(lambda r, v: cross(r, v, weight_bound, row_bound), rows, u)
    exact = np.zeros((50, 4))
    for (items, values), row in zip(rows.each(), u.astype(np.float64), strict=True):
        exact[items] += np.outer(values, row)
    lost = weight_bound * 2**-15 * np.abs(u).sum() + row_bound * 2**-15 * np.abs(rows.values).sum()
    assert np.abs(sums * spec.step - exact).max() <= 2 * lost


def test_one_user_attains_the_bound_with_either_sign():
    for sign in (1, -1):
        rows = Rows(np.array([0, 1]), np.array([3], np.int32), np.array([sign * 9], np.float32),
                    np.zeros(1, np.uint64), 5)  # fmt: skip
        (sums,) = add_up(lambda r, v: cross(r, v, 2.0, 3.0), rows, np.array([[0.0, 4.0]]))
        assert sums[3].tolist() == [0, sign * LATTICE]
        assert np.abs(sums).sum() == LATTICE


def test_the_description():
    spec = cross(Rows.empty(1000), np.zeros((0, 16)), 2.0, 3.0).spec
    assert (spec.shape, spec.size, spec.bound, spec.touched, spec.replace, spec.layout) == (
        "cross", (1000, 16), 6.0, 16000, 2.0, "dense",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("argument", "changed"),
    [
        ("u", {"u": np.zeros((2, 3))}),
        ("u", {"u": np.zeros(3)}),
        ("weight_bound", {"weight_bound": 0.0}),
        ("weight_bound", {"weight_bound": 1e300, "row_bound": 1e300}),
        ("row_bound", {"row_bound": np.inf}),
    ],
)
def test_bad_arguments_name_themselves(argument, changed):
    arguments = {"rows": Rows.empty(5), "u": np.zeros((0, 3)), "weight_bound": 1.0, "row_bound": 1.0}
    with pytest.raises(ArgumentError, match=argument):
        cross(**(arguments | changed))
