"""From a file to a model, its card and recommendations, by the command line alone; and the stable JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.timeout(280)


def hushfold(where: Path, *words: object, code: int = 0):
    """What a verb prints: its JSON if asked for, else its text."""
    command = [sys.executable, "-c", "from hushfold.cli.app import main; main()", *map(str, words)]
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout) if "--json" in words else done.stdout + done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with ratings, their catalogue, and a model fitted from them."""
    folder = tmp_path_factory.mktemp("shop")
    hushfold(
        folder, "simulate", "--users", 1500, "--items", 120, "--ratings", 45_000, "--out", "log.parquet",
        "--titles", "films.csv",
    )  # fmt: skip
    table = pq.read_table(folder / "log.parquet")
    pq.write_table(table.slice(0, 40_000), folder / "history.parquet")
    pq.write_table(table.slice(30_000), folder / "holdout.parquet")
    answer = hushfold(
        folder, "fit", "log.parquet", "--epsilon", 5, "--delta", 1e-6, "--range", 0.5, 5, "--catalogue",
        "films.csv", "--out", "model", "--json",
    )  # fmt: skip
    assert set(answer) >= {"model", "epsilon", "delta", "mu", "seconds", "peak_mb"}
    assert answer["stamps"] == []
    return folder


def test_the_card_tells_what_was_released(place):
    card = hushfold(place, "card", "model", "--json")
    assert card["method"] == "hush"
    assert card["population"] == "log"
    assert card["guarantee"]["asked"] == {"epsilon": 5.0, "delta": 1e-6}
    assert "joint DP" in hushfold(place, "card", "model")


def test_a_second_fit_on_the_same_people_is_refused_with_the_command_that_allows_it(place):
    words = (
        "fit",
        "log.parquet",
        "--epsilon",
        5,
        "--delta",
        1e-6,
        "--range",
        0.5,
        5,
        "--catalogue",
        "films.csv",
    )
    said = hushfold(place, *words, "--out", "again", code=4)
    assert "--raise log=E" in said
    assert not (place / "again").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--range", 0.5, 5), "catalogue"),
        (("--catalogue", "films.csv"), "range"),
        (("--range", 0.5, 5, "--catalogue", "films.csv", "--method", "magic"), "method"),
        (("--range", 0.5, 5, "--catalogue", "films.csv", "--implicit"), "range"),
    ],
)
def test_what_is_public_has_to_be_stated(place, words, said):
    ledger = (place / "hushfold.ledger").read_bytes()
    base = ("fit", "log.parquet", "--epsilon", 1, "--delta", 1e-6, "--out", "other")
    assert said in hushfold(place, *base, *words, code=2)
    assert (place / "hushfold.ledger").read_bytes() == ledger


def test_recommendations_are_per_user_and_leave_the_history_out(place):
    answer = hushfold(place, "recommend", "model", "--history", "history.parquet", "-n", 5, "--json")
    had = pq.read_table(place / "history.parquet").to_pydict()
    seen = set(zip(had["user"], had["item"], strict=True))
    assert len(answer["users"]) == len(set(had["user"]))
    for row in answer["users"]:
        assert len(row["items"]) == 5
        assert not {(row["user"], each["item"]) for each in row["items"]} & seen
    hushfold(place, "recommend", "model", "--history", "history.parquet", "-n", 5, "--out", "answers.parquet")
    written = pq.read_table(place / "answers.parquet")
    assert written.column_names == ["user", "place", "item", "score"]
    assert len(written) == 5 * len(answer["users"])


def test_similar_items_come_from_the_model(place):
    answer = hushfold(place, "similar", "model", 7, "-n", 3, "--json")
    assert len(answer["items"]) == 3
    assert 7 not in [each["item"] for each in answer["items"]]
    assert "item: is not in the catalogue" in hushfold(place, "similar", "model", 700, code=2)


def test_evaluate_is_marked_and_sliced(place):
    answer = hushfold(
        place, "evaluate", "model", "--history", "history.parquet", "--holdout", "holdout.parquet", "--json"
    )
    assert answer["protected"] is False
    assert "NOT PRIVATE" in answer["stamp"]
    assert 0.3 < answer["metrics"]["rmse"] < 1.2
    assert "popularity" in answer["slices"]


def test_compare_shows_the_straw_man_and_leaves_a_note_in_the_ledger(place):
    answer = hushfold(
        place, "compare", "log.parquet", "--methods", "hush", "--epsilon", "2,20", "--delta", 1e-6, "--json"
    )
    assert answer["protected"] is False
    assert {"rows", "split", "seed"} <= set(answer)
    names = {(row["method"], row["epsilon"]) for row in answer["rows"]}
    assert {("hush", 2.0), ("hush", 20.0), ("bias", 2.0), ("bias", 20.0), ("constant", None)} <= names
    keys = {
        "method",
        "private",
        "epsilon",
        "delta",
        "metric",
        "value",
        "std",
        "metrics",
        "seconds",
        "peak_mb",
    }
    assert all(set(row) == keys for row in answer["rows"])
    value = {(row["method"], row["epsilon"]): row["value"] for row in answer["rows"]}
    assert value["hush", 20.0] < value["constant", None]
    ledger = hushfold(place, "budget", "hushfold.ledger", "--json")
    noted = ledger["populations"]["log"]["unprotected"]
    assert [row["what"] for row in noted] == ["compare: hush at epsilon 2,20"]


def test_compare_turns_ratings_into_likes(place):
    answer = hushfold(
        place, "compare", "log.parquet", "--methods", "hush", "--epsilon", 10, "--delta", 1e-6,
        "--at-least", 4, "--json",
    )  # fmt: skip
    assert {row["metric"] for row in answer["rows"]} == {"recall@20"}
    assert answer["split"]["name"] == "new-users"
