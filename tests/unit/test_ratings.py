"""`Ratings`: what must be stated, what is dropped, and that nothing of it shows outside."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from tests.data_room import STARS, THROW_AWAY, rows_of, table_of

import hushfold
from hushfold.data.ratings import Ratings
from hushfold.errors import ArgumentError, InputError

USERS, ITEMS, VALUES = [1, 1, 2, 3], ["a", "b", "a", "c"], [5.0, 3.0, 1.0, 4.0]


def _arrays(**declared: Any) -> Ratings:
    return Ratings.from_arrays(USERS, ITEMS, VALUES, **{**STARS, **declared})


@pytest.mark.parametrize(
    ("declared", "argument", "remedy"),
    [
        ({"range": None}, "range", "implicit=True"),
        ({"range": (1, 5), "implicit": True}, "range", "State one"),
        ({"range": (5, 1)}, "range", "the lower one first"),
        ({"range": (1, float("nan"))}, "range", "finite"),
        ({"range": 5}, "range", "range="),
        ({"range": None, "counts": 0}, "counts", "counts=100"),
        ({"catalogue_from_data": False}, "catalogue", "catalogue_from_data=True"),
        ({"catalogue": ["a"]}, "catalogue_from_data", "one of the two"),
        ({"catalogue_from_data": False, "catalogue": ["a", "a"]}, "catalogue", "each once"),
        ({"catalogue_from_data": False, "catalogue": ["a", " "]}, "catalogue", "each once"),
        ({"population": None}, "population", "population="),
        ({"population": " "}, "population", "name of the people"),
        ({"ledger": None}, "ledger", "throw-away"),
        ({"declared_users": 0}, "declared_users", "positive"),
        ({"repeats": "first"}, "repeats", "mean"),
        ({"memory": 0}, "memory", "bytes"),
    ],
)
def test_what_is_not_stated_or_contradicts_is_named_with_its_remedy(
    declared: dict[str, Any], argument: str, remedy: str
) -> None:
    with pytest.raises(ArgumentError) as caught:
        _arrays(**declared)
    assert caught.value.argument == argument
    assert remedy in str(caught.value)


def test_a_file_is_its_own_population(tmp_path: Path) -> None:
    path = tmp_path / "log.2024.parquet"
    pq.write_table(pa.table({"user": USERS, "item": ITEMS, "rating": VALUES}), path)
    ratings = Ratings.read(path, range=(1, 5), catalogue=["a", "b", "c"])
    assert (ratings.population, ratings.ledger) == ("log", Path("hushfold.ledger"))
    assert repr(ratings) == "<Ratings of 'log': explicit 1..5, 3 items>"
    assert ratings.columns is not None
    assert ratings.columns.names() == ("user", "item", "rating")


def test_the_item_list_from_data_is_remembered_and_sorted() -> None:
    ratings = _arrays()
    assert ratings.catalogue_from_data
    assert ratings.catalogue.ids.to_pylist() == ["a", "b", "c"]
    assert "item list from the data" in repr(ratings)
    assert not _arrays(catalogue_from_data=False, catalogue=["c", "b", "a"]).catalogue_from_data


def test_unknown_items_are_dropped_and_the_order_of_the_catalogue_kept() -> None:
    ratings = _arrays(catalogue_from_data=False, catalogue=["x", "c", "a"])
    assert rows_of(ratings.users) == {1: {2: 5.0}, 2: {2: 1.0}, 3: {1: 4.0}}
    assert ratings.report.unknown_item == 1
    assert ratings.catalogue.index(["a", "nope", None, "x"]).tolist() == [2, -2, -2, 0]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf"), None])
def test_values_that_are_not_finite_are_dropped_and_counted(bad: float | None) -> None:
    ratings = Ratings.from_arrays([1, 2], ["a", "a"], [3.0, bad], **STARS)
    assert table_of(ratings) == {("1", "a"): 3.0}
    assert ratings.report.not_finite == 1


def test_values_outside_the_range_are_clipped() -> None:
    ratings = Ratings.from_arrays([1, 2, 3], ["a", "a", "a"], [-7, 1e30, 2], **STARS)
    assert table_of(ratings) == {("1", "a"): 1.0, ("2", "a"): 5.0, ("3", "a"): 2.0}
    assert ratings.report.clipped == 2
    same = Ratings.from_arrays([1, 2], ["a", "b"], [3, 3], **STARS)  # all equal is nothing special
    assert set(table_of(same).values()) == {3.0}


def test_repeats_merge_before_they_are_clipped() -> None:
    users, items, values = [1, 1, 1], ["a", "a", "a"], [9.0, 0.0, 3.0]
    assert table_of(Ratings.from_arrays(users, items, values, **STARS)) == {("1", "a"): 3.0}
    mean = Ratings.from_arrays(users, items, values, repeats="mean", **STARS)
    assert table_of(mean) == {("1", "a"): 4.0}
    assert mean.report.merged == 2
    late = Ratings.from_arrays(users, items, values, [3, 2, 1], **STARS)
    assert table_of(late) == {("1", "a"): 5.0}


def test_implicit_rows_count_one_and_counts_add_up_to_their_cap() -> None:
    words = {"catalogue_from_data": True, **THROW_AWAY}
    users, items = [1, 1, 1, 2], ["a", "a", "a", "b"]
    implicit = Ratings.from_arrays(users, items, implicit=True, **words)
    assert table_of(implicit) == {("1", "a"): 1.0, ("2", "b"): 1.0}
    assert implicit.implicit
    counted = Ratings.from_arrays(users, items, counts=2, **words)
    assert table_of(counted) == {("1", "a"): 2.0, ("2", "b"): 1.0}
    weighed = Ratings.from_arrays(users, items, [0.5, 0.25, -1, 1], counts=2, **words)
    assert table_of(weighed) == {("1", "a"): 0.0, ("2", "b"): 1.0}


def test_strict_refuses_without_saying_how_many() -> None:
    assert _arrays(strict=True).report.defects() == []
    with pytest.raises(InputError, match="not in the catalogue") as caught:
        _arrays(strict=True, catalogue_from_data=False, catalogue=["a"])
    assert not any(character.isdigit() for character in str(caught.value))
    for users, values in (([None, 1], [1, 1]), ([" ", 1], [1, 1]), ([1, 2], [9, 1]), ([1, 1], [1, 1])):
        with pytest.raises(InputError):
            Ratings.from_arrays(users, ["a", "a"], values, **STARS, strict=True)


def test_the_report_is_stamped() -> None:
    report = Ratings.from_arrays([1, None], ["a", "a"], [3, 3], **STARS).report
    assert repr(report).startswith("NOT FOR PUBLICATION")
    assert report.as_dict()["protected"] is False
    with pytest.raises(AttributeError):
        report.kept = 0  # type: ignore[misc]


def test_a_bad_user_and_an_absent_one_look_alike_from_outside() -> None:
    """D-02, as far as the reader goes: same types, same public attributes, same rows."""
    catalogue = {**STARS, "catalogue_from_data": False, "catalogue": ["a", "b"]}
    absent = Ratings.from_arrays([1, 2], ["a", "b"], [3, 4], **catalogue)
    for user, item, value in [
        (9, "a", np.nan),
        (9, "a", np.inf),
        (9, "zzz", 3),
        (9, None, 3),
        (None, "a", 3),
    ]:
        present = Ratings.from_arrays([1, user, 2], ["a", item, "b"], [3, value, 4], **catalogue)
        assert repr(present) == repr(absent)
        assert present.catalogue == absent.catalogue
        for a, b in zip(absent.users.blocks(), present.users.blocks(), strict=True):
            assert all(
                np.array_equal(getattr(a, n), getattr(b, n)) for n in ("indptr", "items", "values", "keys")
            )


def test_sparse_matrices() -> None:
    matrix = scipy.sparse.coo_array((VALUES, ([0, 0, 1, 2], [0, 1, 0, 2])), shape=(4, 3))
    words = {"range": (1, 5), **THROW_AWAY}
    named = Ratings.from_scipy(matrix.tocsr(), ["u", "v", "w", "x"], catalogue=["a", "b", "c"], **words)
    assert table_of(named) == {("u", "a"): 5.0, ("u", "b"): 3.0, ("v", "a"): 1.0, ("w", "c"): 4.0}
    numbered = Ratings.from_scipy(matrix, catalogue_from_data=True, **words)
    assert table_of(numbered)[("2", "2")] == 4.0
    for wrong in ({"catalogue": ["a"]}, {"catalogue_from_data": True, "user_ids": [1]}):
        with pytest.raises(ArgumentError):
            Ratings.from_scipy(matrix, **wrong, **words)
    with pytest.raises(ArgumentError, match="not sparse"):
        Ratings.from_scipy(np.zeros((2, 2)), catalogue_from_data=True, **words)


def test_memory_decides_how_rows_are_read_and_not_what_they_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    path = tmp_path / "log.parquet"
    table = pa.table(
        {"user": rng.integers(0, 60, 900), "item": rng.integers(0, 30, 900), "stars": rng.integers(1, 6, 900)}
    )
    table = table.append_column("timestamp", pa.array(rng.integers(0, 99, 900)))
    pq.write_table(table, path, row_group_size=100)
    small = Ratings.read(path, range=(1, 5), catalogue_from_data=True, memory=12 * 200)
    large = Ratings.read(path, range=(1, 5), catalogue_from_data=True)
    assert rows_of(small.users) == rows_of(large.users)
    assert small.report == large.report
    assert small.catalogue == large.catalogue


def test_ids_of_a_catalogue_file(tmp_path: Path) -> None:
    files = {
        "lines.txt": b"item\na\nb\nc\n",
        "bare.txt": b"a\nb\nc",
        "table.csv": b"title,item\nx,a\ny,b\nz,c\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    pq.write_table(pa.table({"asin": ["a", "b", "c"], "title": ["x", "y", "z"]}), tmp_path / "items.parquet")
    for name in (*files, "items.parquet"):
        ratings = _arrays(catalogue_from_data=False, catalogue=tmp_path / name)
        assert ratings.catalogue.ids.to_pylist() == ["a", "b", "c"]
    with pytest.raises(InputError, match="catalogue"):
        _arrays(catalogue_from_data=False, catalogue=tmp_path / "absent.csv")


def test_importing_hushfold_loads_nothing_heavy() -> None:
    code = "import sys, hushfold; print(sorted({'numpy', 'pyarrow', 'numba'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert hushfold.Ratings is Ratings
    assert "Ratings" in dir(hushfold)
    with pytest.raises(AttributeError):
        _ = hushfold.Nothing
