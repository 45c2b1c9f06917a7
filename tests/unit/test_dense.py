from __future__ import annotations

import math

import numpy as np
import pytest

from hushfold.errors import ArgumentError
from hushfold.privacy.audit.hostile import hostile_rows
from hushfold.rng import PublicRandom
from hushfold.statistics.dense import dense, dense_reference, dense_rows
from hushfold.statistics.quantise import ONE_FACTOR, quantise_reference
from hushfold.statistics.rows import repair
from hushfold.types import Rows


def summed(contribution):
    accumulator = contribution.accumulator()
    accumulator.add(contribution)
    return accumulator._total


def wild(shape, seed=0):
    coins = np.random.default_rng(seed)
    values = coins.normal(size=shape) * 10.0 ** coins.integers(-4, 5, shape)
    values[coins.random(shape) < 0.02] = np.nan
    return values


@pytest.mark.parametrize("shape", [(9,), (9, 1), (9, 4), (9, 3, 2), (0, 5), (0,)])
def test_agrees_with_its_twin(shape):
    contribution = dense(wild(shape), 2.0)
    reference = dense_reference(wild(shape).reshape(shape[0], *(shape[1:] or (1,))), 2.0)
    assert contribution.spec.size == (shape[1:] or (1,))
    assert (summed(contribution).ravel() == reference).all()


@pytest.mark.parametrize("users", [0, 1, 9])
def test_symmetric_agrees_with_its_twin(users):
    values = wild((users, 4, 4), 1)
    contribution = dense(values, 2.0, symmetric=True)
    assert contribution.spec.layout == "svec"
    assert contribution.spec.size == (1, 10)
    assert (summed(contribution)[0] == dense_reference(values, 2.0, symmetric=True)).all()


def test_a_symmetric_array_is_clipped_by_the_norm_of_the_whole_matrix():
    values = np.array([[[0.0, 1.0], [1.0, 0.0]]])
    result = summed(dense(values, 1.0, symmetric=True))[0] / ONE_FACTOR
    np.testing.assert_allclose(result, [0, 1 / math.sqrt(2), 0], atol=1e-8)


def test_non_negative_cells_make_replacing_cheaper():
    values = np.array([[-1.0, 0.5]])
    contribution = dense(values, 1.0, nonnegative=True)
    assert (summed(contribution) / ONE_FACTOR).tolist() == [0, 0.5]
    assert contribution.spec.replace == math.sqrt(2)
    assert dense(np.ones(3), 1.0, nonnegative=True).spec.replace == 1
    assert dense(np.ones(3), 1.0).spec.replace == 2


@pytest.mark.parametrize("seed", range(8))
def test_item_rows_follow_their_items_through_repair(seed):
    rows = hostile_rows(PublicRandom(seed).stream("blocks"), 8, 20)
    blocks = wild((len(rows.items), 3), seed)
    expected = np.zeros((20, 3), np.int64)
    sound, kept = repair(rows)
    blocks_kept = blocks if kept is None else blocks[kept]
    for start, stop in zip(sound.indptr, sound.indptr[1:], strict=False):
        integers = quantise_reference(blocks_kept[start:stop].ravel(), 0.5)
        for item, own in zip(sound.items[start:stop], np.reshape(integers, (-1, 3)), strict=True):
            expected[item] += own
    assert (summed(dense_rows(rows, blocks, 0.5)) == expected).all()


def test_item_rows_of_nobody():
    contribution = dense_rows(Rows.empty(7), np.empty((0, 2)), 1.0)
    assert contribution.spec.size == (7, 2)
    assert not summed(contribution).any()


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: dense(np.ones((2, 3)), np.inf), "bound"),
        (lambda: dense(np.ones((2, 3)), 1.0, symmetric=True), "values"),
        (lambda: dense(np.ones((2, 3, 2)), 1.0, symmetric=True), "values"),
        (lambda: dense_rows(Rows.empty(3), np.ones((1, 2)), 1.0), "blocks"),
        (lambda: dense_rows(Rows.empty(3), np.ones(0), 1.0), "blocks"),
    ],
)
def test_bad_arguments_are_named(call, argument):
    with pytest.raises(ArgumentError) as caught:
        call()
    assert caught.value.argument == argument
