"""From a source to `Users`: count, place, settle.

One scan learns the users and how many rows each has; a second puts every row where it belongs, so that the
result is the only array of the data's size. If it would not fit in memory, the users are cut into parts and
each pass over the data scans the groups of rows a part needs: nobody is ever split, whatever the order of the
file, and nothing is written to disk.
"""

# pyright: basic
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow.compute
from numpy.typing import NDArray

from hushfold.data import columns as cast
from hushfold.data import placing
from hushfold.data.identity import Column
from hushfold.data.placing import MODES, Repeats
from hushfold.data.source import Columns, Progress, Source, ahead, column_of, silent
from hushfold.data.vocabulary import Vocabulary
from hushfold.types import Rows

_arrow: Any = pyarrow.compute  # untyped
_NOBODY = np.zeros(0, bool)


@dataclass(slots=True)
class Tally:
    """What became of the rows. For the operator; never for publication."""

    rows: int = 0
    missing_user: int = 0
    missing_item: int = 0
    unreadable_value: int = 0
    not_finite: int = 0
    unknown_item: int = 0
    merged: int = 0
    clipped: int = 0
    kept: int = 0
    users: int = 0

    def add(self, other: Tally) -> None:
        """Take in the tally of another part."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True, slots=True)
class Task:
    """What to read, and what a row means. All of it is public."""

    source: Source
    columns: Columns
    items: Vocabulary
    rank: NDArray[np.int32] | None = None
    """Where each code of `items` stands in the catalogue; None: codes are positions."""
    repeats: Repeats = "last"
    range: tuple[float, float] | None = None
    progress: Progress = silent


@dataclass(frozen=True, slots=True)
class Census:
    """Who is in the data: ids by code, rows of each, the first and last group they occur in."""

    users: Vocabulary
    rows: NDArray[np.int64]
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    missing: int
    total: int


def scan(task: Task, step: str, names: tuple[str, ...], groups: range) -> Iterator[tuple[int, Column]]:
    """Batches of a source, with progress."""
    done = 0
    for group, batch in ahead(task.source.scan(names, groups)):
        yield group, batch
        done += len(batch)
        task.progress(step, done, task.source.rows)


def count(task: Task) -> Census:
    """First scan: the user column alone."""
    users = Vocabulary()
    rows = np.zeros(1024, np.int64)
    first, last = np.full(1024, -1, np.int32), np.full(1024, -1, np.int32)
    missing = total = 0
    for group, batch in scan(task, "counting users", (task.columns.user,), range(task.source.groups)):
        codes = users.codes(cast.ids(column_of(batch, task.columns.user), task.columns.user), grow=True)
        if len(users) > len(rows):
            more = 2 * len(users) - len(rows)
            rows = np.concatenate([rows, np.zeros(more, np.int64)])
            first, last = (np.concatenate([f, np.full(more, -1, np.int32)]) for f in (first, last))
        missing += placing.count_rows(codes, group, rows, first, last)
        total += len(codes)
    size = len(users)
    return Census(users, rows[:size], first[:size], last[:size], missing, total)


def collect_items(task: Task) -> None:
    """Take the items of all good rows into the vocabulary."""
    names = tuple(n for n in task.columns.names() if n != task.columns.time)
    for _, batch in scan(task, "collecting items", names, range(task.source.groups)):
        users = cast.ids(column_of(batch, task.columns.user), task.columns.user)
        _item_codes(
            task, batch, Vocabulary().codes(users, grow=True) >= 0, _values(task, batch)[0], grow=True
        )


@dataclass(frozen=True, slots=True)
class Part:
    """The users of one part, by code, in the order of the blocks, and the groups they are in."""

    codes: NDArray[np.int64]
    groups: range


def plan(census: Census, rows_at_once: int | None) -> list[Part]:
    """Cut the users into parts of at most `rows_at_once` rows (at least one user each); None: one part.

    One part shows users in the order of their keys, a shuffle that depends on no other user. Several show
    them by the group they first occur in, so that a file sorted by user is read about once.
    """
    keys = census.users.keys()
    everybody = np.argsort(keys, kind="stable")
    _break_ties(everybody, keys, census.users)
    if rows_at_once is None or census.rows.sum() <= rows_at_once:
        groups = range(int(census.last.max(initial=-1)) + 1)
        return [Part(everybody, groups)] if len(everybody) else []
    everybody = everybody[np.argsort(census.first[everybody], kind="stable")]
    cuts = [0]
    before = np.concatenate([[0], np.cumsum(census.rows[everybody])])
    while cuts[-1] < len(everybody):
        reach = int(np.searchsorted(before, before[cuts[-1]] + rows_at_once, side="right")) - 1
        cuts.append(max(reach, cuts[-1] + 1))
    slices = [everybody[a:b] for a, b in pairwise(cuts)]
    return [Part(s, range(int(census.first[s].min()), int(census.last[s].max()) + 1)) for s in slices]


def _break_ties(order: NDArray[np.int64], keys: NDArray[np.uint64], users: Vocabulary) -> None:
    """Two ids with one key stand in the order of their texts, not of the file."""
    tied = np.flatnonzero(keys[order[1:]] == keys[order[:-1]]) if len(order) else np.zeros(0, int)
    if len(tied):
        ids = users.ids()
        for start in np.unique(keys[order[tied]]):
            where = np.flatnonzero(keys[order] == start)
            order[where] = sorted(order[where], key=lambda code: str(ids[int(code)].as_py()))


def build(
    task: Task, census: Census, part: Part, grow: bool = False
) -> tuple[Rows, NDArray[np.int64], Tally]:
    """Second scan: the rows of a part, sorted and merged; the codes of its users; what became of its rows.

    `grow` takes unknown items into `task.items` and orders them (see `order_of_items`); otherwise they are
    dropped.
    """
    ends = np.cumsum(census.rows[part.codes])
    starts = ends - census.rows[part.codes]
    cursor = np.full(len(census.users), -1, np.int64)
    cursor[part.codes] = starts
    size = int(ends[-1]) if len(ends) else 0
    items, values = np.empty(size, np.int32), np.empty(size, np.float32)
    counts = np.zeros(5, np.int64)
    names = tuple(n for n in task.columns.names() if n != task.columns.time or n == task.columns.value)
    for _, batch in scan(task, "placing rows", names, part.groups):
        users = _user_codes(task, census, batch)
        numbers, unread = _values(task, batch)
        codes = _item_codes(task, batch, users >= 0, numbers, grow)
        placing.place(users, codes, numbers, unread, cursor, items, values, counts)
    ends = cursor[part.codes]
    rank = order_of_items(task.items) if grow else task.rank
    if rank is not None:
        placing.rename(starts, ends, items, rank)
    by_time = task.columns.time is not None and task.repeats == "last"
    indptr = np.zeros(len(starts) + 1, np.int64)
    repeated = np.zeros(size if by_time else 0, bool)
    merged = placing.settle(starts, ends, items, values, MODES[task.repeats], indptr, repeated)
    kept = int(indptr[-1])
    items, values = _shrunk(items, kept), _shrunk(values, kept)
    if by_time and merged:
        _keep_latest(task, census, part, rank, indptr, items, values, np.flatnonzero(repeated[:kept]))
    clipped = placing.bound(values, *map(np.float32, task.range)) if task.range is not None else 0
    present = np.diff(indptr) > 0
    codes = part.codes[present]
    rows = Rows(
        np.concatenate([indptr[:1], indptr[1:][present]]),
        items,
        values,
        census.users.keys()[codes],
        len(task.items),
    )
    missing_item, unreadable, not_finite, unknown, _ = (int(c) for c in counts)
    tally = Tally(0, 0, missing_item, unreadable, not_finite, unknown, merged, clipped, kept, len(codes))
    return rows, codes, tally


def order_of_items(items: Vocabulary) -> NDArray[np.int32]:
    """The place of every id in ascending order (numbers by size, texts by bytes), whoever came first."""
    rank = np.empty(len(items), np.int32)
    rank[_arrow.array_sort_indices(items.ids()).to_numpy()] = np.arange(len(items), dtype=np.int32)
    return rank


def _user_codes(task: Task, census: Census, batch: Column) -> NDArray[np.int32]:
    return census.users.codes(cast.ids(column_of(batch, task.columns.user), task.columns.user))


def _values(task: Task, batch: Column) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    if task.columns.value is None:
        return np.zeros(0), _NOBODY
    numbers, unread = cast.numbers(column_of(batch, task.columns.value), task.columns.value)
    return numbers, _NOBODY if unread is None else unread


def _item_codes(
    task: Task, batch: Column, wanted: NDArray[np.bool_], numbers: NDArray[np.float64], grow: bool
) -> NDArray[np.int32]:
    ids = cast.ids(column_of(batch, task.columns.item), task.columns.item)
    if not grow:
        return task.items.codes(ids)
    return task.items.codes(ids, grow=True, wanted=wanted & np.isfinite(numbers) if len(numbers) else wanted)


def _keep_latest(
    task: Task,
    census: Census,
    part: Part,
    rank: NDArray[np.int32] | None,
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    values: NDArray[np.float32],
    several: NDArray[np.int64],
) -> None:
    """Third scan, only where pairs are repeated and times are given."""
    assert task.columns.time is not None
    place_of = np.full(len(census.users) + 2, -1, np.int32)  # two more, for the codes -1 and -2
    place_of[part.codes] = np.arange(len(part.codes), dtype=np.int32)
    where = None if rank is None else np.concatenate([rank, np.array([-2, -1], np.int32)])
    latest = np.full(len(several), cast.MISSING_TIME)
    values[several] = -np.inf
    for _, batch in scan(task, "merging repeats", task.columns.names(), part.groups):
        users = place_of[_user_codes(task, census, batch)]
        codes = _item_codes(task, batch, users >= 0, np.zeros(0), grow=False)
        codes = codes if where is None else where[codes]
        numbers, unread = _values(task, batch)
        numbers = np.where(unread, np.nan, numbers) if len(unread) else numbers
        times = cast.times(column_of(batch, task.columns.time), task.columns.time)
        placing.keep_latest(users, codes, numbers, times, indptr, items, values, several, latest)


def _shrunk(array: Any, size: int) -> Any:
    """The first `size` cells, the rest given back to the system."""
    if size < len(array):
        array.resize(size, refcheck=False)
    return array
