"""Where rows come from: anything that can be read again and again, batch by batch, column by column."""

# pyright: basic
from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from hushfold.errors import InputError

BATCH = 1 << 16  # rows handled at a time: small beside the whole, large beside the cost of a call


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of the columns that are read; `value` is None for implicit data, `time` if repeats need none."""

    user: str
    item: str
    value: str | None = None
    time: str | None = None

    def names(self) -> tuple[str, ...]:
        """The columns there are, each once."""
        return tuple(dict.fromkeys(n for n in (self.user, self.item, self.value, self.time) if n is not None))


Progress = Callable[[str, int, int], None]
"""Called with the name of a step, rows done and rows in all (0: not known)."""


def silent(step: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


class Source(Protocol):
    """A table that may be larger than memory. Every scan yields the same rows in the same order."""

    groups: int
    """Rows come in this many groups, each of which can be read alone."""

    @property
    def rows(self) -> int:
        """Number of rows, for planning and progress."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        ...

    def scan(self, names: tuple[str, ...], groups: range) -> Iterator[tuple[int, Any]]:
        """`(group, record batch)` for the named columns of these groups."""
        ...


class MemorySource:
    """Record batches in memory: one group. The types of a column may differ from batch to batch."""

    groups = 1

    def __init__(self, names: tuple[str, ...], batches: list[Any]) -> None:
        self.names = names
        self.rows = sum(len(batch) for batch in batches)
        self._batches = batches

    @staticmethod
    def of_table(table: Any) -> MemorySource:
        """The rows of an Arrow table."""
        return MemorySource(tuple(table.column_names), table.to_batches(max_chunksize=BATCH))

    def scan(self, names: tuple[str, ...], groups: range) -> Iterator[tuple[int, Any]]:
        """All rows, a batch at a time."""
        wanted = require_once(self.names, names)
        for batch in self._batches if groups else ():
            yield 0, batch.select(wanted)


def ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """The same batches, the next one being read on another thread while this one is used."""
    with ThreadPoolExecutor(1) as reader:
        waiting = reader.submit(next, batches, None)
        while (batch := waiting.result()) is not None:
            waiting = reader.submit(next, batches, None)
            yield batch


def require_once(names: tuple[str, ...], wanted: tuple[str, ...]) -> list[str]:
    """The wanted columns, each of which must be there exactly once."""
    for name in wanted:
        if names.count(name) != 1:
            problem = "is not there" if name not in names else "is there more than once"
            raise InputError(f"column {name!r} {problem}. Columns: {', '.join(names)}")
    return list(wanted)


def column_of(batch: Any, name: str) -> Any:
    """One column of a record batch."""
    return batch.column(batch.schema.get_field_index(name))
