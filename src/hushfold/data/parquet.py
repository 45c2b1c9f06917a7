"""Parquet: a file or a folder of them (hive partitions included), streamed, needed columns only."""

# pyright: basic
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from hushfold.data.source import BATCH, require_once
from hushfold.errors import InputError

_PURGE = 1 << 16  # rows after which memory that was read into is given back
_SAMPLE = 1 << 17  # rows that tell whether texts repeat
_BUFFER = 1 << 18  # bytes of a column read at a time, instead of its whole row group
_NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"


class ParquetSource:
    """Row groups of one or many files; `key=value` folders are columns too."""

    def __init__(self, path: Path) -> None:
        """Reads the footers only."""
        files = [path] if path.is_file() else _files_below(path)
        self._parts: list[tuple[Path, int, dict[str, str | None]]] = []
        self.rows, names = 0, None
        for file in files:
            keys = {} if file == path else _partition(file.relative_to(path))
            with _typed(file), pq.ParquetFile(file) as opened:
                here = (*opened.schema_arrow.names, *(k for k in keys if k not in opened.schema_arrow.names))
                self.rows += opened.metadata.num_rows
                self._parts += [(file, group, keys) for group in range(opened.num_row_groups)]
            # columns that only some files have cannot be read from all of them
            names = here if names is None else tuple(n for n in names if n in here)
        self.names: tuple[str, ...] = names or ()
        self.groups = len(self._parts)
        self._repetitive: dict[tuple[Any, ...], list[str]] = {}

    def scan(self, names: tuple[str, ...], groups: range) -> Iterator[tuple[int, Any]]:
        """Batches of the named columns, row group by row group."""
        wanted = require_once(self.names, names)
        index = groups.start
        while index < groups.stop:
            file, first, keys = self._parts[index]
            stop = index
            while stop < groups.stop and self._parts[stop][0] == file:
                stop += 1
            with _typed(file), self._open(file, wanted) as opened:
                rows = _rows_at_a_time(opened, wanted)
                stored = [n for n in wanted if n in opened.schema_arrow.names]
                for group in range(first, first + stop - index):
                    batches = opened.iter_batches(rows, row_groups=[group], columns=stored, use_threads=False)
                    for number, batch in enumerate(batches, 1):
                        yield index - first + group, _with_keys(batch, stored, wanted, keys)
                        if number * rows % _PURGE == 0:  # or this thread's heap hoards what was read
                            pa.default_memory_pool().release_unused()
            index = stop

    def _open(self, file: Path, wanted: list[str]) -> Any:
        """Texts that repeat a lot are read as dictionaries: a few distinct ids instead of every row."""
        opened = pq.ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False)
        texts = [f.name for f in opened.schema_arrow if _is_text(f.type) and f.name in wanted]
        if not texts or not opened.num_row_groups:
            return opened
        opened.close()
        if (file, *texts) not in self._repetitive:
            self._repetitive[file, *texts] = _repetitive(file, texts)
            pa.default_memory_pool().release_unused()
        return pq.ParquetFile(
            file, read_dictionary=self._repetitive[file, *texts], buffer_size=_BUFFER, pre_buffer=False
        )


def _rows_at_a_time(opened: Any, wanted: list[str]) -> int:
    """Fewer where a row is a whole text, so that what is being read stays small beside what is kept."""
    return BATCH // 4 if any(_is_text(f.type) for f in opened.schema_arrow if f.name in wanted) else BATCH


def _is_text(kind: Any) -> bool:
    return pa.types.is_string(kind) or pa.types.is_binary(kind)


def _repetitive(file: Path, texts: list[str]) -> list[str]:
    """Which columns have few distinct texts among their first rows.

    The metadata of the column would tell without reading, but some damaged ones end the process (pyarrow 26).
    """
    with pq.ParquetFile(file, read_dictionary=texts, buffer_size=_BUFFER, pre_buffer=False) as opened:
        batch = next(opened.iter_batches(_SAMPLE, row_groups=[0], columns=texts), None)
    if batch is None:
        return []
    return [n for n in texts if 4 * len(batch.column(batch.schema.names.index(n)).dictionary) < len(batch)]


def _files_below(folder: Path) -> list[Path]:
    """The Parquet files of a folder, hidden and underscored names left out, in the order of their paths."""
    found = [
        file
        for file in sorted(folder.rglob("*.parquet"))
        if file.is_file() and not any(p.startswith(("_", ".")) for p in file.relative_to(folder).parts)
    ]
    if not found:
        raise InputError(f"{folder} holds no Parquet file and no known layout. Name a file in it")
    return found


def _partition(file: Path) -> dict[str, str | None]:
    pairs = (part.split("=", 1) for part in file.parent.parts if "=" in part)
    return {unquote(k): None if v == _NO_PARTITION else unquote(v) for k, v in pairs}


def _with_keys(batch: Any, stored: list[str], wanted: list[str], keys: dict[str, str | None]) -> Any:
    """The batch with the columns that stand in the folders' names."""
    if len(stored) == len(wanted):
        return batch
    arrays = [
        batch.column(stored.index(name))
        if name in stored
        else pa.DictionaryArray.from_arrays(
            pa.repeat(pa.scalar(0 if keys[name] is not None else None, pa.int8()), len(batch)),
            pa.array([keys[name] or ""], pa.large_string()),
        )
        for name in wanted
    ]
    return pa.RecordBatch.from_arrays(arrays, names=wanted)


@contextmanager
def _typed(file: Path) -> Iterator[None]:
    """Errors of the Parquet library as typed ones, without their text: it may quote the file."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{file} is no readable Parquet file ({type(error).__name__}): damaged or cut short"
        ) from None
