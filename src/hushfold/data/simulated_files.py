"""Simulated rows to files: block by block, and in place only when they are whole."""

# pyright: basic
from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from hushfold.data.simulate import Arrays
from hushfold.data.titles import simulate_titles
from hushfold.errors import ArgumentError

Arrow = Any  # pyarrow ships no types
SCHEMA = pa.schema([("user", pa.int32()), ("item", pa.int32()), ("rating", pa.float32())])


def write_rows(out: Path, blocks: Iterator[Arrays]) -> int:
    """Write block by block beside `out`, then move there in one step; the number of rows."""
    part = out.with_name(f".{out.name}.part")
    rows = 0
    writer = _writer(out.suffix, part)
    try:
        for block in blocks:
            writer.write_table(pa.table(dict(zip(SCHEMA.names, block, strict=True)), SCHEMA))
            rows += len(block[0])
        writer.close()
        os.replace(part, out)
    finally:
        writer.close()
        part.unlink(missing_ok=True)
    return rows


def _writer(suffix: str, path: Path) -> Arrow:
    if not path.parent.is_dir():
        raise ArgumentError("out", "its folder does not exist", "Create it first")
    if suffix == ".parquet":
        return pyarrow.parquet.ParquetWriter(path, SCHEMA, compression="zstd")
    if suffix == ".csv":
        return pyarrow.csv.CSVWriter(path, SCHEMA)
    raise ArgumentError("out", "its name ends in neither .parquet nor .csv", "Name the file ratings.parquet")


def write_titles(path: Path, items: int, seed: int) -> None:
    """A catalogue of invented films: item, title."""
    columns = {"item": pa.array(range(items), pa.int32()), "title": simulate_titles(items, seed)}
    pyarrow.csv.write_csv(pa.table(columns), path)
