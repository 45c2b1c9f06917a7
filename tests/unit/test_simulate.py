"""The simulation: exact sizes, the same rows from the same seed, and a file of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

from hushfold.cli import simulate as verb
from hushfold.data import film
from hushfold.data.draw import alias_table
from hushfold.data.simulate import Scale, simulate_blocks, simulate_ratings, simulate_twin
from hushfold.data.simulated_files import write_rows
from hushfold.data.titles import simulate_titles
from hushfold.errors import ArgumentError

SIZES = [(1, 1, 1), (1, 40, 40), (7, 3, 21), (50, 20, 50), (300, 90, 9000), (400, 1000, 30_000)]


@pytest.mark.parametrize(("users", "items", "ratings"), SIZES)
@pytest.mark.parametrize("implicit", [False, True])
def test_rows_are_as_many_as_asked_distinct_and_in_order(users, items, ratings, implicit):
    data = simulate_ratings(users, items, ratings, seed=5, implicit=implicit)
    assert len(data) == ratings
    pair = data.user.astype(np.int64) * items + data.item
    assert (np.diff(pair) > 0).all()
    assert data.item.min() >= 0
    assert data.item.max() < items
    assert (np.bincount(data.user, minlength=users) > 0).all()
    assert set(np.unique(data.rating)) <= ({1.0} if implicit else set(np.arange(1, 11) / 2))


def test_a_seed_means_its_rows_whole_or_in_blocks(monkeypatch):
    whole = simulate_ratings(2000, 150, 60_000, seed=1)
    monkeypatch.setattr(film, "BLOCK", 512)
    blocks = list(simulate_blocks(2000, 150, 60_000, seed=1, outliers=0.1))
    assert len(blocks) == 4
    again = simulate_ratings(2000, 150, 60_000, seed=1, outliers=0.1)
    for column, name in enumerate(("user", "item", "rating")):
        joined = np.concatenate([block[column] for block in blocks])
        assert joined.tobytes() == getattr(again, name).tobytes()
    assert whole.item.tobytes() != simulate_ratings(2000, 150, 60_000, seed=2).item.tobytes()


def test_popularity_activity_and_ratings_look_like_a_film_set():
    data = simulate_ratings(4000, 1500, 400_000, seed=0)
    own, each = np.bincount(data.user), np.bincount(data.item, minlength=1500)
    assert np.sort(each)[::-1][:300].sum() / len(data) > 0.8
    assert own.min() >= 20
    assert own.max() > 5 * own.mean()
    assert np.corrcoef(own[data.user], each[data.item])[0, 1] < -0.15
    assert data.rating.mean() == pytest.approx(3.5, abs=0.03)
    assert data.rating.std() == pytest.approx(1.06, abs=0.03)
    truth = data.user_bias[data.user] + data.item_bias[data.item]
    truth = truth + (data.user_taste[data.user] * data.item_taste[data.item]).sum(axis=1)
    assert np.corrcoef(truth, data.rating)[0, 1] > 0.7


def test_taste_decides_what_is_chosen_the_more_so_for_implicit_feedback():
    def liking(data) -> float:
        chosen = (data.user_taste[data.user] * data.item_taste[data.item]).sum(axis=1).mean()
        return float(chosen)

    rated, chosen = (simulate_ratings(2000, 800, 40_000, implicit=which) for which in (False, True))
    assert 0.05 < liking(rated) < liking(chosen)


def test_light_and_heavy_users_draw_by_the_same_law(monkeypatch):
    """Rejection and the race of clocks: item frequencies agree; 5 standard errors of a binomial."""
    from hushfold.data import draw

    users, items, each = 4000, 60, 3
    weights = 1 / np.arange(1.0, items + 1)
    indptr = np.arange(users + 1) * each
    taste = np.zeros((users, 1), np.float32), np.zeros((items, 1), np.float32)
    words = np.random.default_rng(0).integers(2**63, size=2 * users).astype(np.uint64)
    arguments = (weights, *alias_table(weights / weights.sum()), *taste, 0.0, 0.0)
    raced = np.empty(users * each, np.int32)
    for u in range(users):
        draw._race(raced[u * each : (u + 1) * each], weights, taste[0][u], taste[1], 0.0, 0.0, words[u])
    rejected = draw.choose(indptr, *arguments, words[users:])
    left, right = (np.bincount(drawn, minlength=items) for drawn in (raced, rejected))
    assert (np.abs(left - right) < 5 * np.sqrt(left + right + 1)).all()
    with np.errstate(over="ignore"):  # the coins count modulo 2^64
        readable = draw.choose.py_func(indptr[:21], *arguments, words[:20])
    assert draw.choose(indptr[:21], *arguments, words[:20]).tolist() == readable.tolist()


def test_alias_tables_hold_the_weights():
    weights = np.array([0.5, 3.0, 0.0, 1.0, 2.5])
    keep, other = alias_table(weights)
    share = keep / len(keep)
    np.add.at(share, other, (1 - keep) / len(keep))
    assert share == pytest.approx(weights / weights.sum())


def test_outliers_are_gross_and_known():
    clean, dirty = (simulate_ratings(500, 80, 9000, seed=3, outliers=share) for share in (0.0, 0.2))
    assert (clean.item == dirty.item).all()
    assert (clean.rating == dirty.rating)[~dirty.outlier].all()
    assert np.abs(clean.rating - dirty.rating)[dirty.outlier].min() >= 2
    assert dirty.outlier.mean() == pytest.approx(0.2, abs=0.02)


def test_the_low_rank_matrix_has_unit_deviation_and_its_rank():
    data = simulate_ratings(3000, 200, 60_000, seed=1, kind="low-rank", rank=4)
    assert len(data) == pytest.approx(60_000, rel=0.03)
    full = data.user_taste @ data.item_taste.T
    assert full.std() == pytest.approx(1, abs=0.02)
    assert np.linalg.matrix_rank(full.astype(float), tol=1e-3) == 4
    assert data.rating == pytest.approx(full[data.user, data.item], abs=1e-5)
    each = np.bincount(data.item, minlength=200)
    assert np.abs(each - 300).max() < 6 * np.sqrt(300)
    dirty = simulate_ratings(3000, 200, 60_000, seed=1, kind="low-rank", rank=4, outliers=0.1)
    assert np.abs(dirty.rating - data.rating)[dirty.outlier] == pytest.approx(10, abs=1e-4)


def test_a_twin_has_the_released_counts_whatever_noise_did_to_them():
    rng = np.random.default_rng(0)
    counts = 2000 * rng.random(120) ** 4
    released = counts + rng.normal(0, 5, 120)
    released[:3] = -40, np.nan, np.inf
    twin = simulate_twin(released, users=3010.7, ratings=40_000.2, scale=Scale(1, 5, 1, 3.9, 0.9))
    assert (twin.users, twin.items, len(twin)) == (3011, 120, 40_000)
    wanted = np.clip(released[3:], 0, None)
    each = np.bincount(twin.item, minlength=120)[3:]
    assert np.corrcoef(each, wanted)[0, 1] > 0.99
    assert twin.rating.mean() == pytest.approx(3.9, abs=0.02)
    assert set(np.unique(twin.rating)) <= {1, 2, 3, 4, 5}


def test_titles_are_different_and_come_in_the_same_order():
    titles = simulate_titles(6000)
    assert len(set(titles)) == 6000
    assert simulate_titles(100) == titles[:100]
    assert all(title[-1] == ")" and title[-6] == "(" for title in titles)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_the_verb_writes_a_file_and_a_catalogue(tmp_path, capsys, suffix):
    out, titles = tmp_path / f"ratings.{suffix}", tmp_path / "titles.csv"
    verb.simulate(60, 25, 700, out, titles=titles, json=True)
    read = pyarrow.parquet.read_table if suffix == "parquet" else pyarrow.csv.read_csv
    table = read(out)
    assert table.column_names == ["user", "item", "rating"]
    assert table.num_rows == json.loads(capsys.readouterr().out)["rows"] == 700
    assert pyarrow.csv.read_csv(titles).num_rows == 25
    verb.simulate(60, 25, 700, out, kind="low-rank")
    assert "simulated rows of 60 users" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"ratings.{suffix}", "titles.csv"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: simulate_ratings(0, 5, 5),
        lambda: simulate_ratings(5, 5, 26),
        lambda: simulate_ratings(5, 5, 3),
        lambda: simulate_ratings(5, 5, 20, outliers=1.0),
        lambda: simulate_ratings(5, 5, 20, kind="low-rank", implicit=True),
        lambda: simulate_ratings(5, 5, 20, kind="low-rank", rank=6),
        lambda: Scale(5, 1, 1, 3),
        lambda: simulate_titles(-1),
        lambda: write_rows(Path("x.json"), iter(())),
    ],
)
def test_bad_arguments_are_named(call):
    with pytest.raises(ArgumentError):
        call()
