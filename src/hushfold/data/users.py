"""`Users`: everybody's bounded rows, sealed. Engines open it block by block; nobody else does."""

# pyright: basic
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from hushfold.data.assemble import Census, Part, Tally, Task, build, count, plan
from hushfold.data.frames import arrow_column
from hushfold.data.identity import Column
from hushfold.data.placing import Repeats
from hushfold.data.source import Columns, MemorySource
from hushfold.data.vocabulary import Vocabulary
from hushfold.errors import ArgumentError
from hushfold.types import Rows, Sealed, unseal

USERS_PER_BLOCK = 4096


class Users(Sealed):
    """Rows of all users, each user in exactly one block; `catalogue` (the number of items) is public.

    Users stand in the order of their keys, rows in the order of the items: neither tells how the data came.
    """

    __slots__ = ("_ids", "catalogue")

    def __init__(self, rows: Rows | Streamed, ids: Column = None) -> None:
        """`ids`, if known, are the users' ids in the order of the rows."""
        super().__init__(rows)
        self._ids = ids
        self.catalogue = rows.catalogue

    @staticmethod
    def from_arrays(
        users: Any, items: Any, values: Any, catalogue: int, times: Any = None, repeats: Repeats = "last"
    ) -> Users:
        """Group (user id, item index, value) triplets by user.

        Of a repeated pair the latest counts (by `times`, among equally late ones the largest value; without
        times the last row), or the mean or the sum of all. Rows outside the catalogue, without a user or not
        finite are dropped, whoever's they are; a user without rows is not there.
        """
        if not 0 <= catalogue < 2**31:
            raise ArgumentError("catalogue", "is no number of items", "Pass an integer from 0 to 2^31 - 1")
        named = {"user": users, "item": items, "value": values, "time": times}
        columns = {name: arrow_column(array) for name, array in named.items() if array is not None}
        if len({len(column) for column in columns.values()}) > 1:
            raise ArgumentError(
                "users, items, values", "have different lengths", "Pass one of each for every row"
            )
        task = Task(
            MemorySource.of_table(pa.table(columns)),
            Columns("user", "item", "value", None if times is None else "time"),
            positions(catalogue),
            repeats=repeats,
        )
        return gather(task)[0]

    def blocks(self, users_per_block: int = USERS_PER_BLOCK) -> Iterator[Rows]:
        """The rows, a block of users at a time."""
        content: Rows | Streamed = unseal(self)
        for rows in (content,) if isinstance(content, Rows) else content.parts():
            for start in range(0, len(rows), users_per_block):
                yield rows.slice(start, min(start + users_per_block, len(rows)))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Streamed:
    """Users whose rows are read anew in every pass, because together they would not fit in memory."""

    task: Task
    census: Census
    plan: tuple[Part, ...]
    catalogue: int

    def __repr__(self) -> str:
        return "<Streamed: private>"

    def parts(self) -> Iterator[Rows]:
        """The rows of one part of the users after the other."""
        for part in self.plan:
            yield build(self.task, self.census, part)[0]


def gather(task: Task, rows_at_once: int | None = None, grow: bool = False) -> tuple[Users, Tally]:
    """Read a source into `Users` and say what became of its rows.

    `grow` takes the catalogue from the data; it needs all rows at once or items already collected.
    """
    census = count(task)
    pa.default_memory_pool().release_unused()  # before the large arrays come
    tally = Tally(rows=census.total, missing_user=census.missing)
    parts = plan(census, rows_at_once)
    if not parts:
        return Users(Rows.empty(len(task.items)), pa.array([], pa.int64())), tally
    present: list[NDArray[np.int64]] = []
    rows = Rows.empty(len(task.items))
    for part in parts:
        rows, codes, became = build(task, census, part, grow)
        present.append(codes)
        tally.add(became)
    ids = census.users.ids().take(pa.array(np.concatenate(present)))
    if len(parts) == 1:
        return Users(rows, ids), tally
    return Users(Streamed(task, census, tuple(parts), len(task.items)), ids), tally


def identities(users: Users) -> Column:
    """The ids of the users, in the order of the blocks: for results that go back to their own user.

    Int64 or large_string (large_binary if some are no text). None if the rows came without ids.
    """
    return users._ids  # pyright: ignore[reportPrivateUsage]


def positions(catalogue: int) -> Vocabulary:
    """The vocabulary of items that are already positions 0 .. catalogue - 1."""
    items = Vocabulary()
    items.codes(pa.array(np.arange(catalogue)), grow=True)
    return items


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ItemMajor:
    """The same rows by item: entries `indptr[j] .. indptr[j + 1]` of item j are `rows.values[entries]`."""

    indptr: NDArray[np.int64]
    owners: NDArray[np.int32]
    """Position in the block of the user of each entry, ascending within an item."""
    entries: NDArray[np.int64]
    """Where each entry stands in `rows.items` and `rows.values`."""

    def __repr__(self) -> str:
        return "<ItemMajor: private>"


def by_item(rows: Rows) -> ItemMajor:
    """The item-major order of a block, by a counting sort; values are looked up, not copied."""
    indptr = np.zeros(rows.catalogue + 1, np.int64)
    np.cumsum(np.bincount(rows.items, minlength=rows.catalogue), out=indptr[1:])
    owners, entries = np.empty(len(rows.items), np.int32), np.empty(len(rows.items), np.int64)
    _deal(rows.indptr, rows.items, indptr[:-1].copy(), owners, entries)
    return ItemMajor(indptr, owners, entries)


@njit(nogil=True, cache=True)
def _deal(indptr: Any, items: Any, cursor: Any, owners: Any, entries: Any) -> None:
    for user in range(len(indptr) - 1):
        for entry in range(indptr[user], indptr[user + 1]):
            at = cursor[items[entry]]
            owners[at], entries[at] = user, entry
            cursor[items[entry]] = at + 1
