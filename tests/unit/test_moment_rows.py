from __future__ import annotations

import math

import numpy as np
import pytest
from heavy_shapes import add_up, pick, random_rows, with_values
from hypothesis import given
from hypothesis import strategies as st

from hushfold.errors import ArgumentError
from hushfold.privacy.audit.hostile import hostile_rows
from hushfold.statistics.base import LATTICE, TILE
from hushfold.statistics.moment_rows import MOST_ITEMS, moment_rows, moment_rows_reference
from hushfold.types import Rows


def joined(sums, size):
    """The panels as one square."""
    square = np.zeros((size, size), np.int64)
    for number, panel in enumerate(sums):
        square[number * TILE : (number + 1) * TILE, number * TILE :] = panel
    return square


def summed(rows, head, bound, users_per_block=5, threads=1):
    sums = add_up(
        lambda r, _: moment_rows(r, head, bound), rows, np.empty((len(rows), 0)), users_per_block, threads
    )
    return joined(sums, len(head))


@given(
    seed=st.integers(0, 2**32), users=st.integers(0, 12), size=st.integers(1, TILE + 50), likes=st.booleans()
)
def test_hostile_rows_agree_with_the_reference(seed, users, size, likes):
    coins = np.random.default_rng(seed)
    rows = hostile_rows(coins, users, TILE + 50)
    rows = with_values(rows, np.ones(len(rows.values))) if likes else rows
    head = np.sort(coins.choice(TILE + 50, size, replace=False))
    np.testing.assert_array_equal(summed(rows, head, 2.0), moment_rows_reference(rows, head, 2.0))


@pytest.mark.parametrize("size", [1, 2, TILE - 1, TILE, TILE + 1, 2 * TILE, 600])
@pytest.mark.parametrize("likes", [False, True])
def test_a_mid_sized_set_agrees_with_the_reference(size, likes):
    rows = random_rows(300, 650, 0.05)
    rows = with_values(rows, np.ones(len(rows.values))) if likes else rows
    head = np.sort(np.random.default_rng(size).choice(650, size, replace=False))
    expected = moment_rows_reference(rows, head, 3.0)
    np.testing.assert_array_equal(summed(rows, head, 3.0, 64, threads=2), expected)


def test_blocks_of_likes_and_of_ratings_add_up():
    rows = random_rows(40, 300, 0.1)
    values = rows.values.copy()
    values[: rows.indptr[20]] = 1
    rows, head = with_values(rows, values), np.arange(300)
    np.testing.assert_array_equal(summed(rows, head, 2.0, 20), moment_rows_reference(rows, head, 2.0))


def test_the_same_integers_as_a_dense_product():
    rows, head = random_rows(200, 400, 0.2), np.arange(0, 400, 3)
    quantised = moment_rows(rows, head, 5.0).rows
    dense = np.zeros((200, len(head)), np.int64)
    dense[np.repeat(np.arange(200), np.diff(quantised.indptr)), quantised.places] = quantised.values
    np.testing.assert_array_equal(summed(rows, head, 5.0), np.triu(dense.T @ dense))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_value_that_fills_the_whole_bound_fits_into_16_bits(sign):
    """2^15 is kept as -2^15; it stands alone in its row, so only its square is seen."""
    rows = pick(random_rows(4, 300, 0.1), [1, 2])
    values = rows.values.copy()
    values[: rows.indptr[1]] = 0
    values[3] = sign * 1e9
    rows, head = with_values(rows, values), np.arange(300)
    square = summed(rows, head, 2.0)
    np.testing.assert_array_equal(square, moment_rows_reference(rows, head, 2.0))
    alone = summed(pick(rows, [0]), head, 2.0)
    assert alone.max() == alone.sum() == LATTICE


def test_it_is_the_sum_it_says_it_is():
    rows, head = random_rows(100, 60, 0.1), np.arange(0, 60, 2)
    bound = 50.0
    real = summed(rows, head, bound) * moment_rows(rows, head, bound).spec.step
    exact = np.zeros((60, 60))
    for items, values in rows.each():
        exact[np.ix_(items, items)] += np.outer(values, values)
    lost = 2 * bound * 2**-15 * np.abs(rows.values).sum()
    assert np.abs(real - np.triu(exact[np.ix_(head, head)])).max() <= 2 * lost


def test_only_the_head_counts_toward_the_norm():
    rows = random_rows(30, 100, 0.5)
    outside = rows.items >= 50
    louder = with_values(rows, np.where(outside, 1e9, rows.values))
    np.testing.assert_array_equal(summed(rows, np.arange(50), 2.0), summed(louder, np.arange(50), 2.0))


def test_the_description():
    spec = moment_rows(Rows.empty(1000), np.arange(600), 3.0).spec
    assert (spec.shape, spec.size, spec.bound, spec.touched, spec.layout) == (
        "moment", (600, 600), 9.0, 600 * 601 // 2, "triangle",
    )  # fmt: skip
    assert spec.replace == math.sqrt(2)
    assert [spec.tile_size(tile) for tile in range(spec.tiles)] == [(256, 600), (256, 344), (88, 88)]


@pytest.mark.parametrize(
    ("argument", "head", "bound"),
    [
        ("head", np.zeros(0, np.int64), 1.0),
        ("head", np.arange(MOST_ITEMS + 1), 1.0),
        ("head", np.arange(3.0), 1.0),
        ("head", np.arange(4).reshape(2, 2), 1.0),
        ("head", np.array([1, 1]), 1.0),
        ("head", np.array([2, 1]), 1.0),
        ("head", np.array([-1, 1]), 1.0),
        ("head", np.array([1, 2**17]), 1.0),
        ("bound", np.arange(3), 0.0),
        ("bound", np.arange(3), np.nan),
    ],
)
def test_bad_arguments_name_themselves(argument, head, bound):
    with pytest.raises(ArgumentError, match=argument):
        moment_rows(Rows.empty(2**17), head, bound)
