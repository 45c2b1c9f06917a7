from __future__ import annotations

import numpy as np
import pytest
from local_rows import ITEMS, design_of, joined, row, rows_of

from hushfold.errors import ArgumentError
from hushfold.local.fold_in import fold_in
from hushfold.local.leave_one_out import leave_one_out, leave_one_out_reference

LENGTHS = (0, 1, 2, 9, 30, 129)  # the last one needs two rounds of estimates


@pytest.mark.parametrize("kind", ["plain", "noise", "intercept"])
@pytest.mark.parametrize("rank", [1, 7, 20])
def test_it_is_the_fold_in_of_the_others(rank, kind):
    rows = rows_of(LENGTHS)
    z, r = leave_one_out_reference(rows, design_of(rank, kind), longest=0.6)
    for dtype, tolerance in (("float64", 1e-9), ("float32", 1e-5)):
        met = leave_one_out(rows, design_of(rank, kind, dtype), longest=0.6)
        np.testing.assert_allclose(met.z, z, rtol=0, atol=tolerance)
        np.testing.assert_allclose(met.r, r, rtol=0, atol=tolerance)


def test_a_rating_does_not_shape_what_it_meets():
    rows, design = rows_of([40]), design_of(5, "intercept")
    before = leave_one_out(rows, design, longest=10.0)
    rows.values[3] += 100
    after = leave_one_out(rows, design, longest=10.0)
    np.testing.assert_allclose(after.z[3], before.z[3], atol=1e-10)
    np.testing.assert_allclose(after.r[3], before.r[3] + 100, atol=1e-5)
    assert np.abs(after.z[4] - before.z[4]).max() > 0.1


def test_factors_are_clipped():
    rows = rows_of(LENGTHS)
    rows.values[:] *= 100
    met = leave_one_out(rows, design_of(6, "intercept"), longest=0.5)
    lengths = np.linalg.norm(met.z, axis=1)
    assert lengths.max() <= 0.5 * (1 + 1e-12)
    assert (lengths > 0.499).sum() > 100
    unclipped = leave_one_out(rows, design_of(6, "intercept"), longest=1e9)
    np.testing.assert_array_equal(met.r, unclipped.r)


def test_the_only_rating_meets_nothing():
    met = leave_one_out(row([4], [2.5]), design_of(3, "intercept"), longest=1.0)
    np.testing.assert_allclose(met.z, 0, atol=1e-12)
    np.testing.assert_allclose(met.r, 2.5)


def test_what_has_no_answer_is_zero_and_stays_with_its_user():
    good, design = rows_of([5, 30]), design_of(6, "intercept", "float32")
    alone = leave_one_out(good, design, longest=1.0)
    for bad in (row([1, 2], [np.nan, 1]), row([1, 2], [np.inf, 1]), row([-1, ITEMS], [1, 1]), row([], [])):
        met = leave_one_out(joined(bad, good, bad), design, longest=1.0)
        own, last = len(bad.items), len(bad.items) + len(good.items)
        np.testing.assert_array_equal(met.z[own:last], alone.z)
        np.testing.assert_array_equal(met.r[own:last], alone.r)
        assert not np.concatenate([met.z[:own], met.z[last:]]).any()
        assert not np.concatenate([met.r[:own], met.r[last:]]).any()


def test_entries_outside_the_catalogue_have_no_part():
    design = design_of(4, "intercept")
    mixed = leave_one_out(row([-5, 3, 70, ITEMS], [9, 1, 2, 9]), design, longest=1.0)
    plain = leave_one_out(row([3, 70], [1, 2]), design, longest=1.0)
    np.testing.assert_array_equal(mixed.z[1:3], plain.z)
    np.testing.assert_array_equal(mixed.r, [0, *plain.r, 0])


def test_a_rating_that_is_all_there_is_to_a_direction_is_zero():
    """Without a prior on the intercept the only rating has leverage 1: there is nothing without it."""
    met = leave_one_out(row([4], [2.5]), design_of(2, "free intercept"), longest=1.0, ridge=1e-30)
    assert np.isfinite(met.z).all()
    assert np.isfinite(met.r).all()


def test_repeated_items_are_other_ratings():
    twice = row([4, 4], [1.0, 3.0])
    design = design_of(3, "intercept")
    met = leave_one_out(twice, design, longest=10.0)
    np.testing.assert_allclose(met.z[0], fold_in(row([4], [3.0]), design)[0, 1:], atol=1e-12)


@pytest.mark.parametrize("longest", [0.0, -1.0, np.inf, np.nan])
def test_the_bound_is_named(longest):
    with pytest.raises(ArgumentError, match="longest"):
        leave_one_out(rows_of([3]), design_of(2), longest)


def test_a_background_is_refused():
    with pytest.raises(ArgumentError, match="background"):
        leave_one_out(rows_of([3]), design_of(2, "background"), 1.0)
