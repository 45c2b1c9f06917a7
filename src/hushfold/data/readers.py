"""From whatever holds rows to a source that can be scanned, its columns chosen."""

# pyright: basic
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from hushfold.data import columns as cast
from hushfold.data.catalogue import Catalogue
from hushfold.data.csv import CsvFile
from hushfold.data.dialect import OneColumn, read_lines
from hushfold.data.files import kind_of, open_stream, regular_path
from hushfold.data.frames import Frame
from hushfold.data.guess import choose_columns, guess, guess_item
from hushfold.data.movielens import Layout, movielens_layout
from hushfold.data.parquet import ParquetSource
from hushfold.data.source import Columns, MemorySource, Progress, Source, silent
from hushfold.errors import ArgumentError, InputError


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """The columns that were stated; the others are guessed."""

    user: str | None = None
    item: str | None = None
    value: str | None = None
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Loaded:
    """A source, its columns, and what the reader of a text file had to skip."""

    source: Source
    columns: Columns
    malformed: int = 0
    unreadable: int = 0


@dataclass(frozen=True, slots=True)
class Opened:
    """A file whose columns are known and whose rows are not read yet."""

    path: Path
    load: Callable[[ColumnNames, bool, float, Progress], Loaded]
    names: tuple[str, ...]
    layout: Layout | None = None
    by_position: bool = False
    """Whether a file without a header is read by the order of its columns."""


def open_ratings(path: Any, delimiter: str | None = None, encoding: str | None = None) -> Opened:
    """Find out what a path holds. Reads no more than the beginning or the footer of a file."""
    found = regular_path(path)
    layout = movielens_layout(found)
    file = layout.ratings if layout else found
    if file.is_dir() or kind_of(regular_path(file)) == "parquet":
        return _scanned(found, ParquetSource(file))
    if kind_of(file) == "arrow":
        return _scanned(found, _ipc(file))
    text = CsvFile(file, delimiter, encoding)

    def load(named: ColumnNames, needs_value: bool, bad_rows: float, progress: Progress) -> Loaded:
        columns = _choose(text.names, _assumed(named, text, layout), needs_value, text.listed)
        source, malformed, unreadable = text.load(columns, bad_rows, progress)
        return Loaded(source, columns, malformed, unreadable)

    return Opened(found, load, text.names, layout, not text.dialect.header)


def open_frame(frame: Any) -> Opened:
    """Any data frame; its columns are converted once they are chosen."""
    known = Frame(frame)

    def load(named: ColumnNames, needs_value: bool, bad_rows: float, progress: Progress) -> Loaded:
        columns = _choose(known.names, named, needs_value, None)
        return Loaded(MemorySource.of_table(known.table(columns.names())), columns)

    return Opened(Path(), load, known.names)


def read_catalogue(path: Path, item: str | None = None) -> Catalogue:
    """A published list of items: the item column of a table, or a file with one id a line."""
    file = regular_path(path, "catalogue")
    if file.is_dir() or kind_of(file) != "text":
        source: Source = ParquetSource(file) if file.is_dir() or kind_of(file) == "parquet" else _ipc(file)
        name = guess_item(source.names, item, None)
    else:
        try:
            text = CsvFile(file)
        except OneColumn:
            return Catalogue(read_lines(file))
        name = guess_item(text.names, item, text.listed)
        source, malformed, _ = text.load(Columns(name, name), 0.0, silent)
        if malformed:
            raise ArgumentError("catalogue", "has rows with a wrong number of cells", "Repair the file")
    batches = [cast.ids(batch.column(0), name) for _, batch in source.scan((name,), range(source.groups))]
    return Catalogue(pa.chunked_array(batches) if batches else [])


def has_values(opened: Opened) -> bool:
    """Whether a column of values is obvious."""
    return len(opened.names) > 2 if opened.by_position else bool(guess("value", opened.names))


def _scanned(path: Path, source: Source) -> Opened:
    def load(named: ColumnNames, needs_value: bool, bad_rows: float, progress: Progress) -> Loaded:
        return Loaded(source, _choose(source.names, named, needs_value, None))

    return Opened(path, load, source.names)


def _choose(names: tuple[str, ...], named: ColumnNames, needs_value: bool, listed: str | None) -> Columns:
    return choose_columns(
        names, named.user, named.item, named.value, named.time, needs_value=needs_value, listed=listed
    )


def _assumed(named: ColumnNames, text: CsvFile, layout: Layout | None) -> ColumnNames:
    """What is not stated follows from a known layout, or from the order of a file without a header."""
    order = ("user", "item", "value", "time")
    known = dict(zip(order, layout.columns, strict=True)) if layout else {}
    if not known and not text.dialect.header:
        known = text.dialect.by_position
    taken = {getattr(named, role) for role in order}
    return ColumnNames(
        *(
            getattr(named, role) or (known.get(role) if known.get(role) in set(text.names) - taken else None)
            for role in order
        )
    )


def _ipc(file: Path) -> MemorySource:
    try:
        with open_stream(file) as stream:
            table = pa.ipc.open_file(stream).read_all()
            table.validate(full=True)  # the format is read as it lies: offsets may point anywhere
            return MemorySource.of_table(table)
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        raise InputError(
            f"{file} is no readable Arrow file ({type(error).__name__}): damaged or cut short"
        ) from None
