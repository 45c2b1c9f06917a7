"""Whatever the rows are and however they come: one block a user, the same rows, the same ids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tests.data_room import STARS, rows_of, table_of

from hushfold.data.assemble import Task
from hushfold.data.identity import readable_key
from hushfold.data.lookup import codes_by_dictionary
from hushfold.data.placing import settled_by_dictionary
from hushfold.data.ratings import Ratings
from hushfold.data.source import Columns, MemorySource
from hushfold.data.users import Users, gather, identities, positions
from hushfold.data.vocabulary import Vocabulary

WIDE = st.floats(allow_nan=True, allow_infinity=True)
ROWS = st.lists(
    st.tuples(st.integers(-3, 12), st.integers(-2, 7), WIDE, st.integers(-(2**62), 2**62)), max_size=40
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
IDS = st.one_of(TEXT, st.integers(-(2**70), 2**70).map(str))


def _users(rows: list[Any], with_times: bool, repeats: Any = "last") -> Users:
    users, items, values, times = map(list, zip(*rows, strict=True)) if rows else ([], [], [], [])
    return Users.from_arrays(users, items, values, 6, times if with_times else None, repeats)


def _blocks(users: Users, users_per_block: int = 4) -> list[tuple[bytes, ...]]:
    return [
        tuple(a.tobytes() for a in (b.indptr, b.items, b.values, b.keys))
        for b in users.blocks(users_per_block)
    ]


@given(ROWS, st.randoms(use_true_random=False))
def test_with_times_the_order_of_rows_never_matters(rows: list[Any], coins: Any) -> None:
    shuffled = coins.sample(rows, len(rows))
    assert _blocks(_users(rows, True)) == _blocks(_users(shuffled, True))


@given(ROWS, st.randoms(use_true_random=False), st.sampled_from(["mean", "sum"]))
def test_means_and_sums_do_not_depend_on_the_order_either(rows: list[Any], coins: Any, repeats: str) -> None:
    shuffled = coins.sample(rows, len(rows))
    assert _blocks(_users(rows, False, repeats)) == _blocks(_users(shuffled, False, repeats))


@given(ROWS, st.randoms(use_true_random=False))
def test_without_times_only_the_order_of_repeats_matters(rows: list[Any], coins: Any) -> None:
    once = list({(u, i): (u, i, v, t) for u, i, v, t in rows}.values())
    assert _blocks(_users(once, False)) == _blocks(_users(coins.sample(once, len(once)), False))


@given(ROWS, st.booleans(), st.sampled_from(["last", "mean", "sum"]))
def test_rows_agree_with_the_dictionary(rows: list[Any], with_times: bool, repeats: Any) -> None:
    good = [row for row in rows if np.isfinite(row[2]) and 0 <= row[1] < 6]
    times = [row[3] for row in good] if with_times else None
    expected = settled_by_dictionary([row[:3] for row in good], repeats, times)
    assert rows_of(_users(rows, with_times, repeats)) == expected


@given(ROWS, st.integers(1, 12), st.integers(1, 30), st.integers(1, 9))
def test_a_user_is_in_one_block_whatever_the_memory(
    rows: list[Any], group: int, at_once: int, users_per_block: int
) -> None:
    users, items, values, _ = zip(*rows, strict=True) if rows else ([], [], [], [])
    table = pa.table(
        {
            "user": pa.array(users, pa.int64()),
            "item": pa.array(items, pa.int64()),
            "value": pa.array(values, pa.float64()),
        }
    )
    batches = table.to_batches(max_chunksize=group)
    source = _Groups(batches)
    task = Task(source, Columns("user", "item", "value"), positions(6))
    streamed, tally = gather(task, rows_at_once=at_once)
    keys = [key for block in streamed.blocks(users_per_block) for key in block.keys.tolist()]
    assert len(keys) == len(set(keys)) == tally.users
    assert rows_of(streamed) == rows_of(_users(rows, False))
    assert tally.rows == len(rows)
    lost = tally.missing_user + tally.missing_item + tally.not_finite + tally.unknown_item
    assert tally.rows == tally.kept + tally.merged + lost


class _Groups(MemorySource):
    """Every batch is a group of its own."""

    def __init__(self, batches: list[Any]) -> None:
        super().__init__(("user", "item", "value"), batches)
        self.groups = len(batches)

    def scan(self, names: tuple[str, ...], groups: range) -> Any:
        for group in groups:
            yield group, self._batches[group].select(list(names))


@given(st.lists(IDS, max_size=30))
def test_ids_round_trip(ids: list[str]) -> None:
    known: dict[str, int] = {}
    expected = codes_by_dictionary(known, ids, grow=True)
    vocabulary = Vocabulary()
    column = pa.array(ids, pa.large_string()).cast(pa.large_binary())
    assert vocabulary.codes(column, grow=True).tolist() == expected
    assert [str(i) for i in vocabulary.ids().to_pylist()] == list(known)
    assert vocabulary.keys().tolist() == [readable_key(i) for i in known]


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=20))
def test_rows_round_trip_through_ratings(pairs: list[tuple[str, str]]) -> None:
    users, items = zip(*pairs, strict=True)
    ratings = Ratings.from_arrays(users, items, [3] * len(pairs), **STARS)
    good = {pair for pair in pairs if -1 not in codes_by_dictionary({}, pair, grow=True)}
    assert set(table_of(ratings)) == good
    assert len(identities(ratings.users)) == len({user for user, _ in good})


@given(ROWS, st.integers(-3, 12))
def test_a_user_who_leaves_changes_nobody_else(rows: list[Any], leaver: int) -> None:
    everybody = _users(rows, True)
    others = _users([row for row in rows if row[0] != leaver], True)
    rest = {user: row for user, row in rows_of(everybody).items() if user != leaver}
    assert rest == rows_of(others)
    keys = [key for block in others.blocks() for key in block.keys.tolist()]
    assert keys == [k for b in everybody.blocks() for k in b.keys.tolist() if k != readable_key(leaver)]
