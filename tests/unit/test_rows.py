from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushfold.statistics.rows import guard, guard_reference, repair
from hushfold.types import Rows

CATALOGUE = 6
ENTRY = st.tuples(
    st.integers(-3, CATALOGUE + 2) | st.sampled_from([-(2**31), 2**31 - 1]),
    st.floats(width=32),
)
PEOPLE = st.lists(st.lists(ENTRY, max_size=8), max_size=6)


def rows_of(people, catalogue=CATALOGUE):
    entries = [entry for own in people for entry in own]
    return Rows(
        np.cumsum([0, *map(len, people)]).astype(np.int64),
        np.array([item for item, _ in entries], np.int32),
        np.array([value for _, value in entries], np.float32),
        np.arange(len(people), dtype=np.uint64),
        catalogue,
    )


def assert_same(rows, others):
    for name in ("indptr", "items", "values", "keys"):
        ours, theirs = getattr(rows, name), getattr(others, name)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    assert rows.catalogue == others.catalogue


@given(PEOPLE)
def test_agrees_with_its_twin(people):
    assert_same(guard(rows_of(people)), guard_reference(rows_of(people)))


@given(PEOPLE)
def test_what_comes_out_is_sound(people):
    rows = guard(rows_of(people))
    assert np.isfinite(rows.values).all()
    for items, _ in rows.each():
        assert (np.diff(items) > 0).all()
        assert ((items >= 0) & (items < CATALOGUE)).all()
    assert guard(rows) is rows


@given(PEOPLE)
def test_a_users_rows_depend_on_nobody_else(people):
    together = guard(rows_of(people))
    for user, own in enumerate(people):
        alone = guard(rows_of([own]))
        mine = together.slice(user, user + 1)
        np.testing.assert_array_equal(alone.items, mine.items)
        np.testing.assert_array_equal(alone.values, mine.values)


def test_the_last_of_repeated_items_is_kept():
    rows = guard(rows_of([[(3, 1.0), (1, 2.0), (3, 5.0), (1, np.nan)]]))
    assert rows.items.tolist() == [1, 3]
    assert rows.values.tolist() == [0.0, 5.0]


def test_repair_says_where_the_kept_entries_stood():
    rows, kept = repair(rows_of([[(3, 1.0), (-1, 2.0)], [(2, 3.0), (0, 4.0), (2, 5.0)]]))
    assert kept is not None
    assert kept.tolist() == [0, 3, 4]
    assert rows.indptr.tolist() == [0, 1, 3]
    assert repair(rows)[1] is None


@pytest.mark.parametrize(
    "indptr",
    [
        [],
        [0],
        [0, 2],
        [0, 3, 2],
        [0, 2, 9],
        [-4, 2, 4],
        [1, 2, 4],
        [4, 2, 0],
        [0, 2, 4, 4],
        [2**62, -(2**62), 4],
    ],
)
def test_pieces_outside_the_arrays_are_empty_rows(indptr):
    items, values = np.arange(4, dtype=np.int32), np.ones(4, np.float32)
    rows = guard(Rows(np.array(indptr, np.int64), items, values, np.zeros(2, np.uint64), CATALOGUE))
    assert len(rows.indptr) == 3
    assert rows.indptr[-1] == len(rows.items) == len(rows.values)
    assert guard(rows) is rows


def test_other_integers_than_the_usual_are_put_right_before_they_could_wrap_around():
    items = np.array([1, 2**32 + 2, -(2**32)])
    rows = guard(Rows(np.array([0, 3]), items, np.ones(3, np.float32), np.zeros(1, np.uint64), CATALOGUE))
    assert rows.items.tolist() == [1]
    assert rows.items.dtype == np.int32


def test_more_items_than_values_are_cut():
    rows = Rows(
        np.array([0, 3]), np.arange(3, dtype=np.int32), np.ones(2, np.float32), np.zeros(1, np.uint64), 6
    )
    assert len(guard(rows).items) == len(guard(rows).values) == 0


def test_nobody():
    nobody = Rows.empty(CATALOGUE)
    assert guard(nobody) is nobody
    assert_same(guard_reference(nobody), nobody)
