from __future__ import annotations

import math

import numpy as np
import pytest
from heavy_shapes import add_up, dense_rows, random_rows, with_values
from hypothesis import given
from hypothesis import strategies as st

from hushfold.errors import ArgumentError
from hushfold.privacy.audit.hostile import hostile_rows
from hushfold.statistics import gram_tiles
from hushfold.statistics.base import LATTICE, TILE, svec_diagonal, svec_size
from hushfold.statistics.gram import gram, gram_reference
from hushfold.statistics.gram_rows import fold, fold_reference
from hushfold.statistics.rows import guard
from hushfold.types import Rows


def one_user(items, weights, catalogue=5):
    return Rows(
        np.array([0, len(items)]),
        np.array(items, np.int32),
        np.array(weights, np.float32),
        np.zeros(1, np.uint64),
        catalogue,
    )


@given(seed=st.integers(0, 2**32), users=st.integers(0, 12), rank=st.integers(1, 9), wild=st.floats())
def test_hostile_rows_agree_with_the_reference(seed, users, rank, wild):
    coins = np.random.default_rng(seed)
    rows = hostile_rows(coins, users, TILE + 5)
    u = coins.normal(size=(users, rank)) * coins.choice([1e-3, 1, 1e300, wild], (users, 1))
    sums = np.concatenate(add_up(lambda r, v: gram(r, v, 2.0, 0.5), rows, u, 5))
    np.testing.assert_array_equal(sums, gram_reference(rows, u, 2.0, 0.5))


@pytest.mark.parametrize("rank", [1, 3, 8, 16, 24, 33, 40])
def test_a_mid_sized_set_agrees_with_the_reference(rank):
    rows, u = random_rows(300, 600, 0.05), dense_rows(300, rank)
    sums = np.concatenate(add_up(lambda r, v: gram(r, v, 4.0, 10.0), rows, u, 64, threads=2))
    np.testing.assert_array_equal(sums, gram_reference(rows, u, 4.0, 10.0))


def test_tiles_agree_with_their_twin():
    rows, u = random_rows(300, 600, 0.05), dense_rows(300, 20)
    joined = gram_tiles.join([fold(guard(rows), u, 2.0, 1.0)], 600, 20)
    for tile, size in enumerate([(256, 210), (256, 210), (88, 210)]):
        np.testing.assert_array_equal(joined.tile(tile, size), joined.tile_reference(tile, size))


def test_moving_partial_sums_to_int64_early_changes_nothing(monkeypatch):
    rows, u = random_rows(60, 50, 0.8), dense_rows(60, 5)
    (expected,) = add_up(lambda r, v: gram(r, v, 2.0, 1.0), rows, u)
    for most in (1, 2, 7):
        monkeypatch.setattr(gram_tiles, "EXACT_ROWS", most)
        (sums,) = add_up(lambda r, v: gram(r, v, 2.0, 1.0), rows, u)
        np.testing.assert_array_equal(sums, expected)


def test_it_is_the_sum_it_says_it_is():
    rows, u = random_rows(100, 50, 0.1), dense_rows(100, 4)
    rows = with_values(rows, np.abs(rows.values))
    budget, clip = 1e4, 1000.0  # above everything: nothing is clipped
    spec = gram(rows, u, budget, clip).spec
    (sums,) = add_up(lambda r, v: gram(r, v, budget, clip), rows, u)
    exact = np.zeros((50, 10))
    lost = 0.0
    for (items, values), row in zip(rows.each(), u.astype(np.float64), strict=True):
        exact[items] += np.outer(values, np.outer(row, row)[np.triu_indices(4)])
        lost += (np.sqrt(values) * np.abs(row).max() * math.sqrt(spec.bound) * 2**-15 * 2).sum()
    assert np.abs(sums * spec.step - exact).max() <= 1.1 * lost


def test_coordinates_are_the_rows_of_the_upper_triangle():
    rank = 11
    u = np.arange(1.0, rank + 1)[None]
    (sums,) = add_up(lambda r, v: gram(r, v, 1.0, 30.0), one_user([2], [1.0]), u)
    v = np.trunc(2**15 * u[0] / 30)
    np.testing.assert_array_equal(sums[2], np.outer(v, v)[np.triu_indices(rank)])
    np.testing.assert_array_equal(sums[2][svec_diagonal(svec_size(rank))], v * v)


def test_a_budget_filled_by_one_item_or_by_many_attains_the_bound():
    for count in (1, 16):
        rows = one_user(range(count), [7.0] * count, 20)
        (sums,) = add_up(lambda r, v: gram(r, v, 16.0, 2.0), rows, np.array([[0.0, 5.0]]))
        assert sums[:, 2].tolist() == [LATTICE / math.sqrt(count)] * count + [0] * (20 - count)


def test_negative_weights_count_as_none_and_take_no_budget():
    u = np.array([[3.0, 4.0]])
    (plain,) = add_up(lambda r, v: gram(r, v, 1.0, 5.0), one_user([1], [1.0]), u)
    (mixed,) = add_up(lambda r, v: gram(r, v, 1.0, 5.0), one_user([0, 1, 3], [-8.0, 1.0, 0.0]), u)
    np.testing.assert_array_equal(plain, mixed)


@given(
    weights=st.lists(st.floats(0, 2.0**100, width=32), min_size=1, max_size=30),
    row=st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=12),
    budget=st.floats(1e-6, 1e6),
    clip=st.floats(1e-6, 1e6),
)
def test_no_user_is_ever_longer_than_the_lattice(weights, row, budget, clip):
    v = fold_reference(np.array(weights, np.float32), np.array(row), math.sqrt(budget), clip)
    assert sum(int(square) ** 2 for square in (v * v).sum(axis=1)) <= LATTICE**2


def test_a_row_that_rounding_made_too_long_is_shrunk_or_dropped():
    """What the float steps before it rule out today, the integer check still has to catch."""
    from hushfold.statistics.gram_rows import _check  # pyright: ignore[reportPrivateUsage]

    indptr = np.array([0, 1, 2, 3])
    roots = np.ones(3, np.float32)
    dense = np.array([[2**15], [2**15 + 0.02], [2**15 + 2]], np.float32)
    dense[1] = np.nextafter(np.float32(2**15 + 1), np.float32(0))
    _check(indptr, roots, dense)
    assert roots[0] == 1
    assert roots[1] == 1  # truncated to 2^15
    assert roots[2] == 0  # one 2^-20 is not enough
    shrinkable = np.ones(1, np.float32)
    _check(np.array([0, 1]), shrinkable, np.array([[2**15 + 1]], np.float32))
    assert 0 < shrinkable[0] < 1


def test_the_description():
    spec = gram(Rows.empty(1000), np.zeros((0, 16)), 4.0, 3.0).spec
    assert (spec.shape, spec.size, spec.bound, spec.touched, spec.layout) == (
        "gram", (1000, 136), 18.0, 136000, "svec",
    )  # fmt: skip
    assert spec.replace == math.sqrt(2)


@pytest.mark.parametrize(
    ("argument", "changed"),
    [
        ("u", {"u": np.zeros((2, 3))}),
        ("u", {"u": np.zeros(3)}),
        ("weight_budget", {"weight_budget": -1.0}),
        ("row_clip", {"row_clip": np.nan}),
        ("row_clip", {"row_clip": 1e200}),
    ],
)
def test_bad_arguments_name_themselves(argument, changed):
    arguments = {"rows": Rows.empty(5), "u": np.zeros((0, 3)), "weight_budget": 1.0, "row_clip": 1.0}
    with pytest.raises(ArgumentError, match=argument):
        gram(**(arguments | changed))
