"""CSV and its relatives: any usual delimiter, encoding, header or none; bad rows skipped and counted.

Arrow cuts the text into cells; every cell is then read by the rules of `identity` and `decimal`, never by a
type guessed from the first rows: "007" stays a text wherever it stands.
"""

# pyright: basic
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
from numpy.typing import NDArray

from hushfold.data import columns as cast
from hushfold.data.decimal import read_decimals
from hushfold.data.dialect import Dialect, sniff
from hushfold.data.files import open_stream
from hushfold.data.identity import Column
from hushfold.data.source import Columns, MemorySource, Progress, ahead
from hushfold.data.vocabulary import Vocabulary
from hushfold.errors import ArgumentError, InputError

_BLOCK = 4 << 20  # bytes parsed at a time; no row may be longer
_LARGEST = float(np.finfo(np.float32).max)


class _NotUtf8(Exception):
    """The file looked like UTF-8 and is not."""


class CsvFile:
    """A text file whose dialect is known and whose rows are not read yet."""

    def __init__(self, path: Path, delimiter: str | None = None, encoding: str | None = None) -> None:
        """Reads the beginning of the file only."""
        self.path = path
        self.dialect: Dialect = sniff(path, delimiter, encoding)
        self.names = self.dialect.names

    @property
    def listed(self) -> str | None:
        """What to say instead of names when there are none, so that no row is quoted."""
        if self.dialect.header:
            return None
        return f"The file has no header; its columns are called {', '.join(self.names[:9])}"

    def load(self, columns: Columns, bad_rows: float, progress: Progress) -> tuple[MemorySource, int, int]:
        """The rows as compact columns; how many were malformed, and how many values were no numbers."""
        if not 0 <= bad_rows <= 1:
            raise ArgumentError("bad_rows", "is no share of the rows", "Pass a number from 0 to 1")
        try:
            return self._load(columns, bad_rows, progress)
        except _NotUtf8:
            self.dialect = replace(self.dialect, encoding="latin-1")
            return self._load(columns, bad_rows, progress)

    def _load(self, columns: Columns, bad_rows: float, progress: Progress) -> tuple[MemorySource, int, int]:
        malformed: list[int] = []
        batches, good, unreadable = [], 0, 0
        known = {name: Vocabulary() for name in (columns.user, columns.item)}
        for raw in ahead(self._raw(columns, malformed)):
            batch, unread = _compact(raw, columns, known)
            batches.append(batch)
            good += len(batch)
            unreadable += unread
            progress("reading text", good, 0)
        bad = len(malformed) + unreadable
        if bad and bad > bad_rows * (bad + good):
            raise InputError(
                f"{self.path}: too many rows have a wrong number of cells or no number for a value. Check "
                "delimiter= and the value column, or allow more with bad_rows="
            )
        ids = {name: vocabulary.ids() for name, vocabulary in known.items()}
        if self.dialect.encoding == "utf-8" and any(pa.types.is_large_binary(i.type) for i in ids.values()):
            raise _NotUtf8
        named = [_with_ids(batch, ids) for batch in batches]
        return MemorySource(columns.names(), named), len(malformed), unreadable

    def _raw(self, columns: Columns, malformed: list[int]) -> Iterator[Any]:
        """Batches of the chosen columns, cell by cell as bytes, without the header."""
        wide = 2 if self.dialect.delimiter == "::" else 1  # "::" is ":" with an empty column in between
        names = list(columns.names())
        cells = [f"f{wide * self.names.index(name)}" for name in names]
        last = f"f{wide * (len(self.names) - 1)}"

        def skip(row: Any) -> str:
            malformed.append(row.text.count("\n"))
            return "skip"

        header, ending = self.dialect.header, b""
        try:
            with open_stream(self.path) as stream:
                for batch in self._reader(stream, [*dict.fromkeys([*cells, last])], skip):
                    rows = batch.slice(1 if header else 0)
                    header = header and not len(batch)
                    if len(rows):
                        ending = rows.column(rows.num_columns - 1)[len(rows) - 1].as_py()
                        yield pa.RecordBatch.from_arrays([rows.column(cell) for cell in cells], names=names)
        except InputError:
            raise
        except UnicodeDecodeError:
            raise InputError(
                f"{self.path} is not written in {self.dialect.encoding}. Pass encoding="
            ) from None
        except (pa.ArrowException, OSError, EOFError, ValueError, KeyError) as error:
            raise InputError(
                f"{self.path} could not be read as delimited text ({type(error).__name__}): cut short, or a "
                "quote that never closes"
            ) from None
        if any(malformed) or (b"\n" in ending and (ending.endswith(b"\n") or self._delimiter in ending)):
            # what an open quote swallows looks like one row: the rest of the file would be lost in silence
            raise InputError(f"{self.path}: a quote that never closes swallows rows. Repair or remove it")

    @property
    def _delimiter(self) -> bytes:
        return self.dialect.delimiter.encode()

    def _reader(self, stream: Any, cells: list[str], skip: Callable[[Any], str]) -> Any:
        return arrow_csv.open_csv(
            stream,
            arrow_csv.ReadOptions(
                block_size=_BLOCK, autogenerate_column_names=True, encoding=self.dialect.encoding
            ),
            arrow_csv.ParseOptions(
                delimiter=self.dialect.delimiter[0], newlines_in_values=True, invalid_row_handler=skip
            ),
            arrow_csv.ConvertOptions(column_types=dict.fromkeys(cells, pa.binary()), include_columns=cells),
        )


def _compact(raw: Any, columns: Columns, known: dict[str, Vocabulary]) -> tuple[Any, int]:
    """Ids as codes, values and times as numbers; rows whose value is no number are left out and counted."""
    arrays = {name: raw.column(i).cast(pa.large_binary()) for i, name in enumerate(raw.schema.names)}
    compact, unread = {}, None
    for name, vocabulary in known.items():
        codes = vocabulary.codes(arrays[name], grow=True)
        compact[name] = pa.array(codes, mask=codes < 0)
    if columns.value is not None:
        values, unread = read_decimals(arrays[columns.value])
        compact[columns.value] = pa.array(_singles(values))
    if columns.time is not None:
        compact[columns.time] = pa.array(cast.times(arrays[columns.time], columns.time))
    batch = pa.RecordBatch.from_arrays(list(compact.values()), names=list(compact))
    if unread is None:
        return batch, 0
    return batch.filter(pa.array(~unread)), int(unread.sum())


def _with_ids(batch: Any, ids: dict[str, Column]) -> Any:
    """The batch with its codes as entries of one dictionary, which all batches share."""
    arrays = [
        pa.DictionaryArray.from_arrays(column, ids[name]) if name in ids else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _singles(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """As float32, finite where they are: what is too large becomes the largest."""
    with np.errstate(over="ignore"):
        singles = values.astype(np.float32)
    if np.isinf(singles).any():
        finite = np.isfinite(values)
        singles[finite] = np.clip(values[finite], -_LARGEST, _LARGEST).astype(np.float32)
    return singles
