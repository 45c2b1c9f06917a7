"""Adaptive weights, unit weights and the public normaliser, on rows small enough to check by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushfold.local.preprocess import centre_and_clip, frequent_items, user_means
from hushfold.local.weights import adaptive_weights, unit_weights, user_ridge
from hushfold.types import Rows


def one_user(items: list[int], values: list[float] | None = None, catalogue: int = 5) -> Rows:
    rated = np.array(values or [1.0] * len(items), np.float32)
    return Rows(
        np.array([0, len(items)]), np.array(items, np.int32), rated, np.array([9], np.uint64), catalogue
    )


def test_weights_are_proportional_to_the_power_of_the_count():
    weights = adaptive_weights(one_user([0, 1]), [16.0, 81.0, 1, 1, 1], power=0.25, budget=13.0)
    assert weights == pytest.approx([math.sqrt(13) * 3 / math.sqrt(13), 2.0], rel=1e-10)


def test_a_lone_entry_meets_the_cap_instead_of_the_whole_budget():
    assert adaptive_weights(one_user([3]), np.ones(5), 0.25, budget=50.0, cap=2.0) == pytest.approx([2.0])


def test_what_the_cap_saves_goes_to_the_others():
    weights = adaptive_weights(one_user([0, 1, 2]), [1.0, 256, 256, 1, 1], 0.5, budget=3.0, cap=1.5)
    assert weights == pytest.approx([1.5, math.sqrt(0.375), math.sqrt(0.375)], rel=1e-10)


def test_unit_weights_give_every_row_norm_one():
    rows = Rows(
        np.array([0, 4, 4, 5]),
        np.array([0, 1, 2, 3, 0], np.int32),
        np.ones(5, np.float32),
        np.arange(3, dtype=np.uint64),
        5,
    )
    assert unit_weights(rows).tolist() == [0.5, 0.5, 0.5, 0.5, 1.0]


def test_the_ridge_saturates_at_a_public_count():
    rows = Rows(
        np.array([0, 0, 1, 5]),
        np.array([0, 0, 1, 2, 3], np.int32),
        np.ones(5, np.float32),
        np.arange(3, dtype=np.uint64),
        5,
    )
    assert user_ridge(rows, power=0.5, typical=4, most=4).tolist() == [0.0, 0.5, 1.0]
    assert user_ridge(rows, power=0.5, typical=4, most=1).tolist() == [0.0, 0.5, 0.5]


def test_centring_then_clipping_never_exceeds_the_bound():
    """Clip first and centre after, and 5 - 1 would leave a value of 4 under a bound of 2."""
    assert centre_and_clip(one_user([0, 1, 2], [5, 1, 2]), 1.0, 2.0).values.tolist() == [2.0, 0.0, 1.0]


def test_a_user_without_entries_has_the_public_mean():
    assert user_means(one_user([]), otherwise=3.5).tolist() == [3.5]


def test_frequent_items_break_ties_by_index():
    assert frequent_items([2.0, 5.0, 2.0, math.nan, 2.0], 0.5).tolist() == [True, True, True, False, False]
