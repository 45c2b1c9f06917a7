"""Files that are not what they seem are refused at once, with a typed error that quotes no row."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from tests.data_room import STARS, table_of

from hushfold.data import files
from hushfold.data.decimal import read_decimals, readable_decimal
from hushfold.data.ratings import Ratings
from hushfold.errors import ArgumentError, HushfoldError, InputError


def _refusal(path: object) -> str:
    """The message; a whole second is an eternity for a refusal, and a pipe would wait for ever."""
    started = time.monotonic()
    with pytest.raises(HushfoldError) as caught:
        Ratings.read(path, **STARS)
    assert time.monotonic() - started < 60  # the test runner's own patience; I-12 asks for one second
    return str(caught.value)


def test_empty_missing_folder_pipe(tmp_path: Path) -> None:
    empty, pipe = tmp_path / "empty.csv", tmp_path / "pipe"
    empty.touch()
    os.mkfifo(pipe)
    assert "0 bytes" in _refusal(empty)
    assert "no file" in _refusal(tmp_path / "absent.csv")
    assert "no file" in _refusal(empty / "below")
    assert "no Parquet file" in _refusal(tmp_path)
    assert "pipe" in _refusal(pipe)
    assert "device" in _refusal("/dev/null")
    assert "cannot be used" in _refusal("a\0b")
    assert "cannot be used" in _refusal("x" * 5000)
    assert "cannot be used" in _refusal(3.5)


def test_permission_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item,rating\n1,a,4\n")
    path.chmod(0)
    if os.geteuid() == 0:  # root may read everything
        monkeypatch.setattr(files.os, "access", lambda path, mode: False)
    assert "permission denied" in _refusal(path)


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"PK\x03\x04junk", "zip"),
        (b"SQLite format 3\0", "database"),
        (b"\x80\x04\x95", "pickle"),
        (b"\x93NUMPY\x01", "from_arrays"),
        (b"\x89HDF\r\n", "HDF5"),
        (b"\xfd7zXZ\0", "xz"),
        (b"PAR1junk", "Parquet"),
        (b"ARROW1junk", "Arrow"),
        (b"\x1f\x8bjunk", "cut short"),
        (bytes(100), "one column"),
    ],
)
def test_files_of_other_programs(content: bytes, hint: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(content)
    assert hint in _refusal(path)


def test_what_a_file_is_does_not_depend_on_its_name(tmp_path: Path) -> None:
    table = pa.table({"user": [1], "item": ["a"], "rating": [4]})
    pq.write_table(table, tmp_path / "log.csv")
    with pyarrow.ipc.new_file(tmp_path / "log.parquet", table.schema) as writer:
        writer.write_table(table)
    for name in ("log.csv", "log.parquet"):
        assert table_of(Ratings.read(tmp_path / name, **STARS)) == {("1", "a"): 4.0}


def test_an_arrow_file_whose_offsets_point_beyond_its_texts(tmp_path: Path) -> None:
    """Found by fuzzing: the format is read as it lies, and a compiled loop would follow the offsets."""
    path = tmp_path / "log.arrow"
    table = pa.table({"user": ["abc", "de"], "item": ["a", "b"], "rating": [4.0, 3.0]})
    with pyarrow.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    whole = path.read_bytes()
    offsets = bytes([0, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0])
    assert whole.count(offsets) == 1
    path.write_bytes(whole.replace(offsets, offsets[:8] + b"\0\0\0\x40"))
    assert "no readable Arrow file" in _refusal(path)


def test_no_message_quotes_a_row(tmp_path: Path) -> None:
    secret = "hush4711"
    contents = [
        f"{secret},{secret}\n{secret},{secret}\n",
        f"{secret},{secret},{secret},{secret},{secret}\n" * 3,
        f"user,item,rating\n{secret},{secret},{secret}\n",
        f'user,item,rating\n{secret},"{secret},1\n',
        f"1,{secret},2,{secret},3,{secret}\n",
        f"{secret}\n{secret}\n",
        f"user,item,rating\n{secret},1\n",
    ]
    for content in contents:
        path = tmp_path / "log.csv"
        path.write_text(content)
        assert secret not in _refusal(path)


def test_dialects_can_be_stated(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes("user|item|rating\n1|é,e|4\n".encode("latin-1"))
    stated = Ratings.read(path, delimiter="|", encoding="latin-1", **STARS)
    assert table_of(stated) == {("1", "é,e"): 4.0}
    for arguments in ({"delimiter": "#"}, {"encoding": "klingon"}, {"bad_rows": 2}):
        with pytest.raises(ArgumentError):
            Ratings.read(path, **arguments, **STARS)
    with pytest.raises(InputError, match="not written in"):
        Ratings.read(path, encoding="ascii", **STARS)


def test_bytes_that_are_not_utf8_beyond_the_beginning(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b"user,item,rating\n" + b"1,a,4\n" * 60_000 + "2,é,3\n".encode("latin-1"))
    assert table_of(Ratings.read(path, **STARS)) == {("1", "a"): 4.0, ("2", "é"): 3.0}


def test_the_share_of_bad_rows_can_be_set(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item,rating\n" + "1,a,4\n" * 6 + "1,a\n2,a,x\n" * 2)
    with pytest.raises(InputError, match="bad_rows"):
        Ratings.read(path, **STARS)
    assert Ratings.read(path, bad_rows=0.4, **STARS).report.dropped()["malformed"] == 2
    with pytest.raises(InputError):
        Ratings.read(path, bad_rows=0.39, **STARS)


def test_values_too_large_for_a_row_are_clipped_like_others(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item,rating\n1,a,1e300\n2,a,-1e300\n3,a,1e999\n4,a,2\n")
    ratings = Ratings.read(path, **STARS)
    assert table_of(ratings) == {("1", "a"): 5.0, ("2", "a"): 1.0, ("4", "a"): 2.0}
    assert (ratings.report.clipped, ratings.report.not_finite) == (2, 1)


def test_progress_counts_rows_and_steps(tmp_path: Path) -> None:
    path, seen = tmp_path / "log.csv", []
    path.write_text("user,item,rating\n" + "1,a,4\n" * 50)
    Ratings.read(path, progress=lambda *step: seen.append(step), **STARS)
    assert seen == [("reading text", 50, 0), ("counting users", 50, 50), ("placing rows", 50, 50)]


NUMBERS = [
    b"4", b" 4 ", b"-4.5", b"+0.5", b"3,5", b"1e3", b".5", b"5.", b"-0", b"0.1", b"123456789012345", b"nan",
    b"12345678901234567890", b"0.3000000000000000444", b"inf", b"", b"  ", b"1.2.3", b"1,234.5", b"four",
    b"0x10", b"1_0", b"--1", b"\xff", b".", b"-", b"\xd9\xa1", b"1e999", b"\0",
]  # fmt: skip


def test_numbers_read_fast_are_the_readable_ones() -> None:
    values, unread = read_decimals(pa.array([*NUMBERS, None], pa.large_binary()))
    assert unread is not None
    for cell, value, bad in zip(NUMBERS, values.tolist(), unread.tolist(), strict=False):
        expected = readable_decimal(cell)
        assert bad == (expected is None), cell
        assert expected is None or repr(value) == repr(expected), cell
    assert repr(values[-1].item()) == "nan"
    assert not unread[-1]


def test_every_short_decimal_is_rounded_as_python_rounds_it() -> None:
    cells = [
        f"{sign}{whole}.{part}"
        for sign in ("", "-")
        for whole in (0, 7, 4096)
        for part in range(0, 10**6, 997)
    ]
    values, unread = read_decimals(pa.array(cells, pa.large_string()).cast(pa.large_binary()))
    assert unread is None
    assert values.tolist() == [float(cell) for cell in cells]
