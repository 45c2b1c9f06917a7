"""`Users`: grouped by user under keys of the id alone, whatever the order and the types of the rows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.data_room import rows_of

from hushfold.data import assemble
from hushfold.data.assemble import Task, collect_items, order_of_items
from hushfold.data.identity import readable_key
from hushfold.data.placing import settled_by_dictionary
from hushfold.data.source import Columns, MemorySource
from hushfold.data.users import Users, by_item, gather, identities, positions
from hushfold.errors import ArgumentError, SealError
from hushfold.types import Rows


def test_the_contract_of_triplets() -> None:
    users = Users.from_arrays([7, 7, 3, 3, 3], [1, 0, 2, 9, -1], [5, 4, 3, 2, 1], 3)
    assert rows_of(users) == {7: {0: 4.0, 1: 5.0}, 3: {2: 3.0}}
    (block,) = users.blocks(10)
    assert users.catalogue == block.catalogue == 3
    assert [a.dtype for a in (block.indptr, block.items, block.values, block.keys)] == [
        np.int64,
        np.int32,
        np.float32,
        np.uint64,
    ]


def test_keys_are_those_of_the_ids_and_users_stand_in_their_order() -> None:
    users = Users.from_arrays([5, "x", 9, "07"], [0, 0, 0, 0], [1, 1, 1, 1], 1)
    (block,) = users.blocks(10)
    assert block.keys.tolist() == sorted(readable_key(i) for i in (5, "x", 9, "07"))
    assert [readable_key(i) for i in identities(users).to_pylist()] == block.keys.tolist()


def test_everybody_without_a_good_row_is_absent() -> None:
    present = Users.from_arrays([1, 2], [0, 1], [1.0, 2.0], 2)
    with_ghosts = Users.from_arrays(
        [1, 2, 3, 4, 5, None], [0, 1, 0, 7, -1, 0], [1.0, 2.0, np.nan, 1, 1, 1], 2
    )
    for a, b in zip(present.blocks(), with_ghosts.blocks(), strict=True):
        for name in ("indptr", "items", "values", "keys"):
            assert np.array_equal(getattr(a, name), getattr(b, name))


def test_nobody_at_all() -> None:
    for users in (
        Users.from_arrays([], [], [], 3),
        Users.from_arrays([1], [5], [1], 3),
        Users(Rows.empty(3)),
    ):
        assert list(users.blocks()) == []
        assert users.catalogue == 3


def test_huge_values_stay_finite_and_zeros_have_one_sign() -> None:
    (block,) = Users.from_arrays([1, 1, 1], [0, 1, 2], [1e300, -1e300, -0.0], 3).blocks()
    largest = np.finfo(np.float32).max
    assert block.values.tolist() == [largest, -largest, 0.0]
    assert not np.signbit(block.values[2])


@pytest.mark.parametrize("repeats", ["last", "mean", "sum"])
def test_repeats_agree_with_the_dictionary(repeats: Any) -> None:
    rng = np.random.default_rng(3)
    rows = list(zip(rng.integers(0, 6, 400), rng.integers(0, 9, 400), rng.normal(size=400), strict=True))
    users = Users.from_arrays(*zip(*rows, strict=True), 9, repeats=repeats)
    assert rows_of(users) == settled_by_dictionary(rows, repeats)


def test_the_latest_counts_and_among_equally_late_the_largest() -> None:
    rows = [(1, 0, 3.0, 5), (1, 0, 4.0, 9), (1, 0, 2.0, 9), (1, 0, 5.0, 1), (1, 1, 1.0, 0), (2, 0, 2.0, None)]
    for order in itertools.permutations(rows):
        users = Users.from_arrays(
            *zip(*((u, i, v) for u, i, v, _ in order), strict=True), 2, [t for *_, t in order]
        )
        assert rows_of(users) == {1: {0: 4.0, 1: 1.0}, 2: {0: 2.0}}


def test_times_agree_with_the_dictionary() -> None:
    rng = np.random.default_rng(4)
    users, items = rng.integers(0, 6, 500), rng.integers(0, 9, 500)
    values, times = rng.integers(1, 6, 500), rng.integers(0, 30, 500)
    rows = list(zip(users, items, values, strict=True))
    assert rows_of(Users.from_arrays(users, items, values, 9, times)) == settled_by_dictionary(
        rows, "last", times.tolist()
    )


def test_item_major_order_without_a_second_copy_of_the_values() -> None:
    rng = np.random.default_rng(5)
    users = Users.from_arrays(rng.integers(0, 40, 600), rng.integers(0, 25, 600), rng.normal(size=600), 30)
    (rows,) = users.blocks(100)
    by = by_item(rows)
    owners = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
    order = np.lexsort([owners, rows.items])
    assert np.array_equal(by.entries, order)
    assert np.array_equal(by.owners, owners[order])
    assert np.array_equal(np.diff(by.indptr), np.bincount(rows.items, minlength=30))


class _Grouped(MemorySource):
    """One group a batch, as a file has row groups; counts how often each is read."""

    def __init__(self, batches: list[Any]) -> None:
        super().__init__(("user", "item", "value"), batches)
        self.groups = len(batches)
        self.reads = [0] * len(batches)

    def scan(self, names: tuple[str, ...], groups: range) -> Any:
        for group in groups:
            self.reads[group] += 1
            yield group, self._batches[group].select(list(names))


def _grouped(users: np.ndarray, rows_per_group: int) -> tuple[_Grouped, list[tuple[int, int, float]]]:
    rng = np.random.default_rng(6)
    items, values = rng.integers(0, 12, len(users)), rng.integers(1, 6, len(users)).astype(float)
    table = pa.table({"user": users, "item": items, "value": values})
    batches = table.to_batches(max_chunksize=rows_per_group)
    return _Grouped(batches), list(zip(users.tolist(), items.tolist(), values.tolist(), strict=True))


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_rows_beyond_memory_never_split_a_user(order: str) -> None:
    users = np.sort(np.random.default_rng(7).integers(0, 50, 1000))
    if order == "shuffled":
        users = np.random.default_rng(8).permutation(users)
    source, rows = _grouped(users, 100)
    task = Task(source, Columns("user", "item", "value"), positions(12))
    streamed, tally = gather(task, rows_at_once=150)
    assert rows_of(streamed) == settled_by_dictionary(rows, "last")
    assert tally.rows == 1000 == tally.kept + tally.merged
    keys = [key for block in streamed.blocks(7) for key in block.keys.tolist()]
    assert len(keys) == len(set(keys)) == 50
    if order == "sorted":
        source.reads = [0] * source.groups
        list(streamed.blocks())
        assert sum(source.reads) <= 2 * source.groups  # each group about once, and what parts share


def test_items_from_the_data_in_parts_are_those_of_one_pass() -> None:
    source, _ = _grouped(np.random.default_rng(9).integers(0, 50, 1000), 100)
    columns = Columns("user", "item", "value")
    together = positions(0)
    whole, _ = gather(Task(source, columns, together), grow=True)
    apart = positions(0)
    task = Task(source, columns, apart)
    collect_items(task)
    parts, _ = gather(Task(source, columns, apart, rank=order_of_items(apart)), rows_at_once=200)
    assert rows_of(whole) == rows_of(parts)


def test_two_ids_with_one_key_stay_two_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        assemble.Vocabulary,
        "keys",
        lambda self: np.full(len(self), 5, np.uint64),  # everybody collides
    )
    for order in itertools.permutations([("a", 0), ("b", 1), ("c", 2)]):
        users = Users.from_arrays([u for u, _ in order], [i for _, i in order], [1, 1, 1], 3)
        assert list(rows_of(users).items()) == [("a", {0: 1.0}), ("b", {1: 1.0}), ("c", {2: 1.0})]


def test_sealed() -> None:
    users = Users.from_arrays([1], [0], [1], 1)
    assert repr(users) == "<Users: sealed>"
    with pytest.raises(SealError):
        iter(users)  # type: ignore[call-overload]


def test_bad_arguments() -> None:
    with pytest.raises(ArgumentError, match="different lengths"):
        Users.from_arrays([1, 2], [0], [1], 1)
    with pytest.raises(ArgumentError, match="catalogue"):
        Users.from_arrays([1], [0], [1], -1)
    with pytest.raises(ArgumentError, match="no column"):
        Users.from_arrays(3, [0], [1], 1)
