"""Parquet: files, folders, partitions, every type of column; a documented cast or a typed error."""

from __future__ import annotations

import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.data_room import STARS, table_of

from hushfold.data.parquet import ParquetSource
from hushfold.data.ratings import Ratings
from hushfold.errors import InputError

PLAIN = {("1", "a"): 4.0, ("1", "b"): 3.5, ("2", "a"): 2.0}


def _table(**columns: Any) -> pa.Table:
    return pa.table({"user": [1, 1, 2], "item": ["a", "b", "a"], "rating": [4, 3.5, 2], **columns})


def _read(tmp_path: Path, table: pa.Table, **options: Any) -> Ratings:
    path = tmp_path / "log.parquet"
    pq.write_table(table, path, **options)
    return Ratings.read(path, **STARS)


@pytest.mark.parametrize(
    "columns",
    [
        {"rating": pa.array([4, 3.5, 2], pa.float16())},
        {"rating": pa.array(["4", "3.5", "2"])},
        {"rating": pa.array([decimal.Decimal("4.0"), decimal.Decimal("3.5"), decimal.Decimal("2.0")])},
        {"rating": pa.array([4, 3.5, 2]).dictionary_encode()},
        {"user": pa.array([b"1", b"1", b"2"])},
        {"user": pa.array(["1", "1", "2"]).dictionary_encode()},
        {"user": pa.array([decimal.Decimal(1), decimal.Decimal(1), decimal.Decimal(2)])},
        {"user": pa.array([1, 1, 2], pa.uint64())},
        {"item": pa.array(["a", "b", "a"]).dictionary_encode()},
        {"other": pa.array([[1], [2, 3], None]), "deep": pa.array([{"x": 1}] * 3)},
    ],
)
def test_types_that_are_cast(columns: dict[str, Any], tmp_path: Path) -> None:
    assert table_of(_read(tmp_path, _table(**columns))) == PLAIN


@pytest.mark.parametrize(
    "columns",
    [
        {"user": pa.array([[1], [1], [2]])},
        {"item": pa.array([{"id": 1}] * 3)},
        {"rating": pa.array([[4], [3], [2]])},
        {"item": pa.array([[("k", 1)]] * 3, pa.map_(pa.string(), pa.int64()))},
        {"rating": pa.array([1, 2, 3], pa.date32())},
    ],
)
def test_types_that_are_refused(columns: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has the type"):
        _read(tmp_path, _table(**columns))


def test_columns_of_nothing(tmp_path: Path) -> None:
    ratings = _read(tmp_path, _table(user=pa.nulls(3)))
    assert table_of(ratings) == {}
    assert ratings.report.missing_user == 3
    assert table_of(_read(tmp_path, _table(rating=pa.nulls(3)))) == {}
    assert table_of(_read(tmp_path, _table().slice(0, 0))) == {}


@pytest.mark.parametrize(
    "options",
    [
        {"row_group_size": 1},
        {"compression": "zstd"},
        {"compression": "gzip"},
        {"use_dictionary": False},
        {"version": "1.0"},
        {"data_page_version": "2.0"},
        {"write_statistics": False},
    ],
)
def test_ways_of_writing(options: dict[str, Any], tmp_path: Path) -> None:
    assert table_of(_read(tmp_path, _table(), **options)) == PLAIN


def test_a_folder_of_files_in_any_depth(tmp_path: Path) -> None:
    for i, name in enumerate(("a.parquet", "below/b.parquet", "below/deeper/c.parquet")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(_table().slice(i, 1), tmp_path / name)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "_metadata.parquet").write_bytes(b"junk")
    assert table_of(Ratings.read(tmp_path, **STARS)) == PLAIN


def test_hive_partitions_are_columns(tmp_path: Path) -> None:
    for user, year, part in (("1", "2023", [0, 1]), ("2", "2024", [2])):
        folder = tmp_path / f"user={user}" / f"year={year}"
        folder.mkdir(parents=True)
        pq.write_table(_table().drop_columns("user").take(part), folder / "part.parquet")
    nobody = tmp_path / "user=__HIVE_DEFAULT_PARTITION__" / "year=2024"
    nobody.mkdir(parents=True)
    pq.write_table(_table().drop_columns("user"), nobody / "part.parquet")
    ratings = Ratings.read(tmp_path, **STARS)
    assert table_of(ratings) == PLAIN
    assert ratings.report.missing_user == 3
    assert set(ParquetSource(tmp_path).names) == {"user", "year", "item", "rating"}


def test_files_that_do_not_agree(tmp_path: Path) -> None:
    pq.write_table(_table(), tmp_path / "a.parquet")
    pq.write_table(_table().rename_columns(["user", "item", "stars"]), tmp_path / "b.parquet")
    with pytest.raises(InputError, match="value column is not obvious"):
        Ratings.read(tmp_path, **STARS)


def test_types_that_differ_from_file_to_file_are_one(tmp_path: Path) -> None:
    pq.write_table(_table().slice(0, 1), tmp_path / "a.parquet")
    pq.write_table(_table(user=pa.array(["1", "1", "2"])).slice(1, 1), tmp_path / "b.parquet")
    pq.write_table(_table(user=pa.array([1.0, 1.0, 2.0])).slice(2, 1), tmp_path / "c.parquet")
    assert table_of(Ratings.read(tmp_path, **STARS)) == PLAIN


def test_damage_is_a_typed_error(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(_table(), path)
    whole = path.read_bytes()
    for content in (
        whole[:-1],
        whole[: len(whole) // 2],
        whole[:4] + whole[-8:],
        whole[:8] + b"\xff" * 99 + whole[107:],
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match="no readable Parquet"):
            Ratings.read(path, **STARS)


def test_only_the_columns_that_are_read_are_decoded(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(_table(extra=["x"] * 3), path)
    ((_, batch),) = ParquetSource(path).scan(("item", "user"), range(1))
    assert batch.schema.names == ["user", "item"] or batch.schema.names == ["item", "user"]


def test_long_texts_and_short_ones_are_read_alike(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    users = [f"{n:036d}x" for n in rng.integers(0, 5000, 9000)]
    items = [f"{n:036d}y" for n in rng.integers(0, 5, 9000)]
    table = pa.table({"user": users, "item": items, "rating": rng.integers(1, 6, 9000)})
    assert len(table_of(_read(tmp_path, table, row_group_size=2000))) == len(
        set(zip(users, items, strict=True))
    )
