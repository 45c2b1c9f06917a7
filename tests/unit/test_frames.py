"""Data frames of every kind and ids of every type give the rows that plain int64 and float64 give."""

from __future__ import annotations

import decimal
import itertools
import uuid
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.data_room import STARS, table_of

from hushfold.data.columns import MISSING_TIME, ids, numbers, times
from hushfold.data.frames import arrow_column
from hushfold.data.ratings import Ratings
from hushfold.errors import ArgumentError, InputError

_RNG = np.random.default_rng(11)
USERS, ITEMS = _RNG.integers(0, 9, 60), _RNG.integers(0, 100, 60)
VALUES = _RNG.integers(1, 6, 60)
CANONICAL = {
    (str(u), str(i)): float(v) for u, i, v in zip(USERS, ITEMS, VALUES, strict=True)
}  # the last of a repeated pair


def _object(array: np.ndarray) -> np.ndarray:
    """Numbers and texts mixed."""
    cells = [int(n) if n % 2 else str(n) for n in array]
    return np.array([*cells, None], dtype=object)[:-1]


TYPES: dict[str, Any] = {
    "int8": lambda a: a.astype(np.int8),
    "int16": lambda a: a.astype(np.int16),
    "int32": lambda a: a.astype(np.int32),
    "int64": lambda a: a.astype(np.int64),
    "uint8": lambda a: a.astype(np.uint8),
    "uint16": lambda a: a.astype(np.uint16),
    "uint32": lambda a: a.astype(np.uint32),
    "uint64": lambda a: a.astype(np.uint64),
    "big-endian": lambda a: a.astype(">i4"),
    "float16": lambda a: a.astype(np.float16),
    "float32": lambda a: a.astype(np.float32),
    "float64": lambda a: a.astype(np.float64),
    "decimal": lambda a: pa.array([decimal.Decimal(int(n)).scaleb(0) for n in a], pa.decimal128(9, 2)),
    "str": lambda a: a.astype(str),
    "bytes": lambda a: a.astype("S"),
    "object": _object,
    "string": lambda a: pa.array(a.astype(str), pa.string()),
    "large_string": lambda a: pa.array(a.astype(str), pa.large_string()),
    "string_view": lambda a: pa.array(a.astype(str).tolist(), pa.string_view()),
    "binary": lambda a: pa.array([str(n).encode() for n in a], pa.binary()),
    "dictionary": lambda a: pa.array(a.astype(str)).dictionary_encode(),
    "dictionary of numbers": lambda a: pa.array(a).dictionary_encode(),
    "run-end": lambda a: pa.compute.run_end_encode(pa.array(a)),
    "chunked": lambda a: pa.chunked_array([a[:20], a[20:]]),
    "pandas nullable": lambda a: pd.Series(a).astype("Int64"),
    "pandas categorical": lambda a: pd.Series(a.astype(str)).astype("category"),
    "pandas arrow": lambda a: pd.Series(a).astype("int32[pyarrow]"),
    "polars": lambda a: pl.Series(a),
    "polars categorical": lambda a: pl.Series(a.astype(str)).cast(pl.Categorical),
    "list": lambda a: a.tolist(),
}
PAIRS = list(zip(TYPES, itertools.islice(itertools.cycle(TYPES), 7, 7 + len(TYPES)), strict=True))


@pytest.mark.parametrize(("user", "item"), PAIRS, ids=lambda name: name.replace(" ", "-"))
def test_pairs_of_id_types(user: str, item: str) -> None:
    """I-09: at least 24 pairs."""
    assert len(PAIRS) >= 24
    for catalogue in (np.arange(100), np.arange(100).astype(str)):
        declared = {**STARS, "catalogue_from_data": False, "catalogue": catalogue}
        ratings = Ratings.from_arrays(TYPES[user](USERS), TYPES[item](ITEMS), VALUES, **declared)
        assert table_of(ratings) == CANONICAL
    assert table_of(Ratings.from_arrays(TYPES[user](USERS), TYPES[item](ITEMS), VALUES, **STARS)) == CANONICAL


@pytest.mark.parametrize("kind", [k for k in TYPES if k not in ("run-end",)])
def test_types_of_values(kind: str) -> None:
    assert table_of(Ratings.from_arrays(USERS, ITEMS, TYPES[kind](VALUES), **STARS)) == CANONICAL


@pytest.mark.parametrize("kind", list(TYPES))
def test_keys_are_those_of_int64(kind: str) -> None:
    plain = Ratings.from_arrays(USERS, ITEMS, VALUES, **STARS)
    other = Ratings.from_arrays(TYPES[kind](USERS), ITEMS, VALUES, **STARS)
    for a, b in zip(plain.users.blocks(), other.users.blocks(), strict=True):
        assert all(
            np.array_equal(getattr(a, n), getattr(b, n)) for n in ("indptr", "items", "values", "keys")
        )


PANDAS = pd.DataFrame({"title": "x", "user_id": USERS, "item_id": ITEMS, "rating": VALUES})


@pytest.mark.parametrize(
    "frame",
    [
        lambda: PANDAS,
        lambda: PANDAS.set_index("title"),
        lambda: PANDAS.convert_dtypes(dtype_backend="pyarrow"),
        lambda: pl.from_pandas(PANDAS),
        lambda: pl.from_pandas(PANDAS).lazy(),
        lambda: pa.Table.from_pandas(PANDAS),
        lambda: pa.Table.from_pandas(PANDAS).to_batches()[0],
        lambda: pa.Table.from_pandas(PANDAS).to_reader(),
        lambda: duckdb.sql("select * from PANDAS"),
        lambda: duckdb.sql("select * from PANDAS").to_arrow_table(),
        lambda: _Capsule(pa.Table.from_pandas(PANDAS)),
    ],
)
def test_frames_of_every_kind(frame: Any) -> None:
    ratings = Ratings.from_frame(frame(), **STARS)
    assert table_of(ratings) == CANONICAL
    assert ratings.columns is not None
    assert ratings.columns.names() == ("user_id", "item_id", "rating")


class _Capsule:
    """What a database driver hands over: nothing but a stream that can be read once."""

    def __init__(self, table: Any) -> None:
        self._stream = table.to_reader()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._stream.__arrow_c_stream__(requested_schema)


def test_a_frame_with_a_mixed_column() -> None:
    frame = pd.DataFrame({"user": _object(USERS), "item": ITEMS, "rating": VALUES})
    assert table_of(Ratings.from_frame(frame, **STARS)) == CANONICAL


def test_what_is_no_frame() -> None:
    for thing in (3, "log.csv", object(), np.zeros(3)):
        with pytest.raises((ArgumentError, InputError)):
            Ratings.from_frame(thing, **STARS)


def test_columns_that_are_not_obvious_are_asked_for() -> None:
    frame = pd.DataFrame({"movie_id": [1], "book_id": [2], "who": [3], "rating": [4]})
    with pytest.raises(InputError, match=r"--user.*not obvious.*movie_id, book_id, who"):
        Ratings.from_frame(frame, **STARS)
    with pytest.raises(InputError, match="could be any of movie_id, book_id"):
        Ratings.from_frame(frame, user="who", **STARS)
    with pytest.raises(InputError, match="no column 'whom'"):
        Ratings.from_frame(frame, user="whom", **STARS)
    with pytest.raises(InputError, match="is the user column"):
        Ratings.from_frame(frame, user="who", item="who", **STARS)
    assert table_of(Ratings.from_frame(frame, user="who", item="book_id", **STARS)) == {("3", "2"): 4.0}


def test_a_column_that_is_there_twice() -> None:
    table = pa.table([[1], [2], [3], [4]], names=["user", "user", "item", "rating"])
    with pytest.raises(InputError):
        Ratings.from_frame(table, **STARS)


def test_odd_ids() -> None:
    one = uuid.UUID(int=5)
    same = [
        [2**63, 2**64 - 1],
        np.array([2**63, 2**64 - 1], np.uint64),
        [str(2**63), str(2**64 - 1)],
        [float(2**63), decimal.Decimal(2**64 - 1)],
    ]
    for column in same:
        assert [bytes(str(i), "ascii") for i in (2**63, 2**64 - 1)] == ids(
            arrow_column(column), "user"
        ).to_pylist()
    fixed = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([one.bytes], pa.binary(16)))
    assert (
        ids(fixed, "user").to_pylist() == [str(one).encode()] == ids(arrow_column([one]), "user").to_pylist()
    )
    assert ids(arrow_column([1.5, float("nan"), 2.0]), "user").to_pylist() == [b"1.5", None, b"2"]
    assert ids(arrow_column([True, False, None]), "user").to_pylist() == [1, 0, None]
    assert ids(pa.nulls(2), "user").to_pylist() == [None, None]
    assert ids(arrow_column(np.array(["2024-01-01"], "M8[D]")), "user").to_pylist() == [b"2024-01-01"]
    decimals = pa.array([decimal.Decimal("7.00"), decimal.Decimal("7.50")])
    assert ids(decimals, "user").to_pylist() == [b"7", b"7.5"]


@pytest.mark.parametrize("cell", [[1], {"a": 1}, [[1]]])
def test_nested_columns_are_refused_by_name_and_type(cell: Any) -> None:
    column = pa.array([cell])
    for read in (ids, numbers, times):
        with pytest.raises(InputError, match="column 'c' has the type"):
            read(column, "c")


def test_times_order_like_times() -> None:
    ascending = [
        [-5, 0, 7, 2**62],
        [-5.5, -0.1, 0.0, 1e300],
        ["2023-12-31", "2024-01-01", "2024-01-02"],
        ["2024-01-01T00:00:00Z", "2024-01-01T00:00:01Z"],
        ["2024-01-01 00:00:00.5", "2024-01-02 00:00:00"],
        ["5", "70", "1e3"],
        np.array(["2024-01-01", "2024-01-02"], "M8[ns]"),
        pa.array([1, 2], pa.timestamp("s", "Europe/Berlin")),
        pa.array([1, 2], pa.date32()),
        [2**63, 2**64 - 1],
    ]
    for column in ascending:
        order = times(arrow_column(column), "time")
        assert (np.diff(order) > 0).all(), column
        assert (order > MISSING_TIME).all()
    assert times(arrow_column([None, "when"]), "time").tolist() == [MISSING_TIME] * 2
    assert times(arrow_column([1.0, float("nan")]), "time")[1] == MISSING_TIME
    assert (
        times(pa.array(["7", "8"]).dictionary_encode(), "time").tolist()
        == times(arrow_column([7.0, 8.0]), "t").tolist()
    )
    with pytest.raises(InputError):
        times(pa.array([1], pa.duration("s")), "time")


def test_unequal_lengths_and_shapes() -> None:
    with pytest.raises(ArgumentError, match="different lengths"):
        Ratings.from_arrays([1, 2], [1], [1], **STARS)
    with pytest.raises(ArgumentError, match="dimensions"):
        Ratings.from_arrays(np.zeros((2, 2)), [1, 1], [1, 1], **STARS)
    with pytest.raises(ArgumentError, match="values"):
        Ratings.from_arrays([1], [1], **STARS)
