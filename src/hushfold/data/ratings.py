"""`Ratings`: the rows, sealed, with everything about them that is public: what a fit is handed."""

# pyright: basic
from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
import pyarrow as pa

from hushfold.data.assemble import Task, collect_items, order_of_items
from hushfold.data.catalogue import Catalogue
from hushfold.data.declare import Declaration, Declared, Kind, declaration
from hushfold.data.frames import arrow_column
from hushfold.data.readers import ColumnNames, Loaded, open_frame, open_ratings, read_catalogue
from hushfold.data.report import ReadingReport
from hushfold.data.source import Columns, MemorySource
from hushfold.data.users import Users, gather, positions
from hushfold.data.vocabulary import Vocabulary
from hushfold.errors import ArgumentError, InputError

_ROW_BYTES = 12  # of a row in memory while it is placed and sorted


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Ratings:
    """Users' rows and their public declarations: `read`, `from_frame`, `from_arrays`, `from_scipy` make one.

    All of them take the same keyword arguments:

    - `range=(lo, hi)`, `implicit=True` or `counts=CAP`: what a value is; values are clipped to it. Implicit
      rows all count 1; repeated rows of counts add up, to at most the cap.
    - `catalogue=` a list, an array or a file of all item ids, or `catalogue_from_data=True`, which declares
      that the list of items is public.
    - `population=` whose budget a fit spends (default: the data file's name), and `ledger=` where it is kept:
      a path (default: hushfold.ledger) or "throw-away".
    - `declared_users=` the number of users, if it is public; it is never counted.
    - `repeats="last"` (by time if there is a time column, else by row) or `"mean"`, for explicit values.
    - `strict=True` refuses, before anything is spent, data that would have to be dropped, merged or clipped.
    - `memory=` bytes the rows may take (default: half of the machine); if they would take more they are read
      anew in every pass.
    """

    users: Users
    catalogue: Catalogue
    kind: Kind
    range: tuple[float, float] | None
    catalogue_from_data: bool
    population: str
    ledger: Path | Literal["throw-away"]
    declared_users: int | None
    columns: Columns | None
    """Names of the columns in the file, for a model to remember."""
    report: ReadingReport
    """The operator's exact counts: not for publication."""

    @property
    def implicit(self) -> bool:
        """Whether rows have no values."""
        return self.kind == "implicit"

    @staticmethod
    def read(
        path: Any,
        *,
        user: str | None = None,
        item: str | None = None,
        value: str | None = None,
        time: str | None = None,
        delimiter: str | None = None,
        encoding: str | None = None,
        bad_rows: float = 0.1,
        **declared: Unpack[Declared],
    ) -> Ratings:
        """Read a CSV, TSV, Parquet or Arrow file, a folder of Parquet files, or a MovieLens folder.

        Columns are guessed when their names are obvious. `bad_rows` is the share of malformed rows of a text
        file above which it is refused.
        """
        opened = open_ratings(path, delimiter, encoding)
        layout = opened.layout
        known = declaration(
            declared, opened.path, layout.range if layout else None, layout.film_ids() if layout else None
        )
        named = ColumnNames(user, item, value, time)
        loaded = opened.load(named, known.kind == "explicit", bad_rows, known.progress)
        notes = (layout.note(loaded.source.rows),) if layout else ()
        return _ratings(loaded, known, loaded.columns, notes)

    @staticmethod
    def from_frame(
        frame: Any,
        *,
        user: str | None = None,
        item: str | None = None,
        value: str | None = None,
        time: str | None = None,
        **declared: Unpack[Declared],
    ) -> Ratings:
        """Rows of any data frame: pandas, polars, pyarrow, duckdb, or whatever exports an Arrow stream."""
        known = declaration(declared, None)
        loaded = open_frame(frame).load(
            ColumnNames(user, item, value, time), known.kind == "explicit", 0.0, known.progress
        )
        return _ratings(loaded, known, loaded.columns)

    @staticmethod
    def from_arrays(
        users: Any, items: Any, values: Any = None, times: Any = None, **declared: Unpack[Declared]
    ) -> Ratings:
        """Rows as arrays of ids, values and times; ids of any type, looked up in the catalogue."""
        known = declaration(declared, None)
        if values is None and known.kind == "explicit":
            raise ArgumentError("values", "are missing", "Pass one value a row, or implicit=True")
        named = {"user": users, "item": items, "value": values, "time": times}
        arrays = {name: arrow_column(array) for name, array in named.items() if array is not None}
        if len({len(array) for array in arrays.values()}) > 1:
            raise ArgumentError(
                "users, items, values", "have different lengths", "Pass one of each for every row"
            )
        columns = Columns("user", "item", *(n if n in arrays else None for n in ("value", "time")))
        return _ratings(Loaded(MemorySource.of_table(pa.table(arrays)), _needed(columns, known)), known, None)

    @staticmethod
    def from_scipy(matrix: Any, user_ids: Any = None, **declared: Unpack[Declared]) -> Ratings:
        """Rows of a sparse matrix, users down and items across; stored zeros count as values.

        `catalogue` lists the items of the columns; `catalogue_from_data` numbers them. Users are known by
        `user_ids` or else by their row number, which must then mean the same person in every matrix.
        """
        known = declaration(declared, None)
        try:
            stored = matrix.tocoo()
            rows, items = np.asarray(stored.row), np.asarray(stored.col)
        except AttributeError:
            raise ArgumentError("matrix", "is not sparse", "Pass a scipy.sparse matrix or array") from None
        count, width = stored.shape
        users = np.arange(count) if user_ids is None else arrow_column(user_ids)
        if len(users) != count:
            raise ArgumentError("user_ids", "are not as many as the rows", "Pass one id for every row")
        catalogue = Catalogue(np.arange(width)) if known.catalogue is None else _catalogue(known, None)
        if len(catalogue) != width:
            raise ArgumentError(
                "catalogue", "is not as long as the matrix is wide", "Pass one id for every column"
            )
        arrays = {"user": arrow_column(users).take(pa.array(rows)), "item": items, "value": stored.data}
        columns = _needed(Columns("user", "item", "value"), known)
        loaded = Loaded(MemorySource.of_table(pa.table(arrays)), columns)
        return _finish(_task(loaded, known, positions(width)), loaded, known, catalogue, None)

    def __repr__(self) -> str:
        what = self.kind if self.range is None else f"{self.kind} {self.range[0]:g}..{self.range[1]:g}"
        source = ", item list from the data" if self.catalogue_from_data else ""
        return f"<Ratings of {self.population!r}: {what}, {len(self.catalogue)} items{source}>"


def _ratings(
    loaded: Loaded, known: Declaration, columns: Columns | None, notes: tuple[str, ...] = ()
) -> Ratings:
    loaded = replace(loaded, columns=_needed(loaded.columns, known))
    catalogue = _catalogue(known, columns)
    task = _task(loaded, known, Vocabulary() if catalogue is None else catalogue.vocabulary)
    return _finish(task, loaded, known, catalogue, columns, notes)


def _finish(
    task: Task,
    loaded: Loaded,
    known: Declaration,
    catalogue: Catalogue | None,
    columns: Columns | None,
    notes: tuple[str, ...] = (),
) -> Ratings:
    rows_at_once = max(1, known.memory // _ROW_BYTES)
    grow = catalogue is None
    if grow and task.source.rows > rows_at_once:
        collect_items(task)
        task, grow = replace(task, rank=order_of_items(task.items)), False
    users, tally = gather(task, rows_at_once, grow)
    report = ReadingReport.of(tally, loaded.malformed, loaded.unreadable, notes)
    defects = report.defects()
    if known.kind != "explicit" and not report.dropped_any():
        defects = []  # merging repeats and capping counts is what these kinds mean
    if known.strict and defects:
        raise InputError(
            f"strict reading found {', '.join(defects)}. Repair the data, or read without strict: they are "
            "then dropped, merged or clipped; `hushfold inspect` says how many"
        )
    return Ratings(
        users,
        Catalogue.of_data(task.items) if catalogue is None else catalogue,
        known.kind,
        known.range,
        known.catalogue is None,
        known.population,
        known.ledger,
        known.declared_users,
        columns,
        report,
    )


def _task(loaded: Loaded, known: Declaration, items: Vocabulary) -> Task:
    return Task(
        loaded.source,
        loaded.columns,
        items,
        repeats=known.repeats,
        range=known.range,
        progress=known.progress,
    )


def _needed(columns: Columns, known: Declaration) -> Columns:
    """Values are left unread where rows are all alike, times where no repeat is decided by them."""
    if known.kind == "implicit":
        return replace(columns, value=None, time=None)
    return columns if known.repeats == "last" else replace(columns, time=None)


def _catalogue(known: Declaration, columns: Columns | None) -> Any:
    if not isinstance(known.catalogue, Path):
        return known.catalogue
    named = columns is not None and not columns.item.isdigit()  # a position in one file is none in another
    return read_catalogue(known.catalogue, columns.item if columns is not None and named else None)
