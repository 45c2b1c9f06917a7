"""`hushfold simulate`: realistic ratings for trials and scale tests."""

# pyright: basic
from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import typer

from hushfold.cli.app import print_json
from hushfold.data.simulate import Arrays, Kind, simulate_blocks, simulate_ratings
from hushfold.data.titles import simulate_titles
from hushfold.errors import ArgumentError

Arrow = Any  # pyarrow ships no types


def _schema() -> Arrow:
    return pa.schema([("user", pa.int32()), ("item", pa.int32()), ("rating", pa.float32())])


def simulate(
    users: Annotated[int, typer.Option(help="How many users.")],
    items: Annotated[int, typer.Option(help="How many items.")],
    ratings: Annotated[int, typer.Option(help="How many rows (low-rank: how many to expect).")],
    out: Annotated[Path, typer.Option(help="Where to write them: .parquet or .csv.")],
    seed: Annotated[int, typer.Option(help="The same seed writes the same rows.")] = 0,
    implicit: Annotated[
        bool, typer.Option("--implicit", help="What was chosen, not how it was liked.")
    ] = False,
    kind: Annotated[
        Kind, typer.Option(help="A realistic film set, or a low-rank matrix of real values.")
    ] = "film",
    outliers: Annotated[float, typer.Option(help="Share of rows that become gross errors.")] = 0.0,
    titles: Annotated[
        Path | None, typer.Option(help="Also write the catalogue here: item, invented title (.csv).")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
) -> None:
    """Simulate ratings with the skew, activity and taste of a film set; columns user, item, rating."""
    started = time.perf_counter()
    if kind == "low-rank":
        whole = simulate_ratings(users, items, ratings, seed, kind=kind, implicit=implicit, outliers=outliers)
        blocks: Iterator[Arrays] = iter([(whole.user, whole.item, whole.rating)])
    else:
        blocks = simulate_blocks(users, items, ratings, seed, implicit=implicit, outliers=outliers)
    rows = _write(out, blocks)
    if titles is not None:
        _write_catalogue(titles, items, seed)
    seconds = time.perf_counter() - started
    if json:
        answer = {
            "out": str(out),
            "users": users,
            "items": items,
            "rows": rows,
            "kind": kind,
            "implicit": implicit,
        }
        print_json({**answer, "seed": seed, "seconds": round(seconds, 3)})
    else:
        print(f"{rows} simulated rows of {users} users and {items} items in {out} ({seconds:.1f} s)")


def _write(out: Path, blocks: Iterator[Arrays]) -> int:
    """Write block by block beside `out`, then move there in one step; the number of rows."""
    schema = _schema()
    part = out.with_name(f".{out.name}.part")
    rows = 0
    writer = _writer(out.suffix, part, schema)
    try:
        for block in blocks:
            writer.write_table(pa.table(dict(zip(schema.names, block, strict=True)), schema))
            rows += len(block[0])
        writer.close()
        os.replace(part, out)
    finally:
        writer.close()
        part.unlink(missing_ok=True)
    return rows


def _writer(suffix: str, path: Path, schema: Arrow) -> Arrow:
    if not path.parent.is_dir():
        raise ArgumentError("out", "its folder does not exist", "Create it first")
    if suffix == ".parquet":
        return pyarrow.parquet.ParquetWriter(path, schema, compression="zstd")
    if suffix == ".csv":
        return pyarrow.csv.CSVWriter(path, schema)
    raise ArgumentError("out", "its name ends in neither .parquet nor .csv", "Name the file ratings.parquet")


def _write_catalogue(path: Path, items: int, seed: int) -> None:
    columns = {"item": pa.array(range(items), pa.int32()), "title": simulate_titles(items, seed)}
    pyarrow.csv.write_csv(pa.table(columns), path)
