"""F-02: Parquet and Arrow files. `python -m tests.fuzz.fuzz_parquet --seconds 600`."""

from __future__ import annotations

import decimal
import io
import random
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from tests.fuzz.engine import main, mutate_bytes

# Arrow allocates what the header of a page declares, up to 2 GiB, before it finds that the page is damaged.
# There is no limit to set (pyarrow 26), so a hostile file of 3 kB can take that much for half a second.
RSS_MIB = 4096.0

_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"compression": "none", "use_dictionary": False},
    {"compression": "zstd", "row_group_size": 2},
    {"data_page_version": "2.0", "compression": "gzip"},
)


def _columns() -> list[dict[str, Any]]:
    users, items, values = [1, 1, 2, 3, None], ["a", "b", "a", "c", "b"], [4.0, 3.5, 2.0, None, 9.0]
    plain = {"user": users, "item": items, "rating": values}
    return [
        plain,
        plain | {"user": pa.array(["1", "x", None, "", " "])},
        plain | {"user": pa.array([decimal.Decimal(n) for n in range(5)])},
        plain | {"item": pa.array(items).dictionary_encode(), "timestamp": [5, 4, 3, 2, 1]},
        plain
        | {
            "rating": ["4", "3,5", "x", "", "nan"],
            "timestamp": pa.array([1, 2, 3, 4, 5], pa.timestamp("us")),
        },
        plain | {"user": pa.array([1, 1, 2, 3, 4], pa.uint64()), "extra": [[1], [2, 3], None, [], [4]]},
        plain | {"item": pa.array([{"id": 1}] * 5)},
        plain | {"rating": pa.nulls(5)},
        plain | {"user": pa.array([1, 1, 2, 3, 3], pa.float32()), "item": pa.array(items, pa.large_binary())},
    ]


def seeds() -> list[bytes]:
    """Forty files: every kind of column written in several ways, and some as Arrow files."""
    files = []
    for columns in _columns():
        table = pa.table(columns)
        for options in _OPTIONS:
            sink = io.BytesIO()
            pq.write_table(table, sink, **options)
            files.append(sink.getvalue())
    for columns in _columns()[:4]:
        table, sink = pa.table(columns), io.BytesIO()
        with pyarrow.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        files.append(sink.getvalue())
    return files


def mutate(data: bytes, coins: random.Random) -> bytes:
    """Damage anywhere, or in the footer, where lengths and offsets stand; the magic words stay."""
    if coins.random() < 0.1 or len(data) < 24:
        return mutate_bytes(data, coins)
    start = coins.choice((4, 4, max(4, len(data) - 400), len(data) - 12))
    middle = data[start:-4] if coins.random() < 0.9 else data[start:-8]
    return data[:start] + mutate_bytes(middle, coins) + data[start + len(middle) :]


if __name__ == "__main__":
    main("tests.fuzz.fuzz_parquet", "log.parquet", seeds, mutate, RSS_MIB)
