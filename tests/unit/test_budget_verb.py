"""`hushfold budget`: the keys programs rely on, what people read, and how totals are raised."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from hushfold.cli import app as cli
from hushfold.cli.budget import budget
from hushfold.errors import ArgumentError, HushfoldError, LedgerCorrupt
from hushfold.privacy.budget import Budget
from hushfold.privacy.ledger import Ledger, Total


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A film club after one fit at epsilon 1, of which one release is committed."""
    path = tmp_path / "people.ledger"
    total = Total.of(Budget.gaussian(5, 1e-6))
    with Ledger.open(path, population="film club", total=total) as ledger:
        run = ledger.run("fit-1", method="hush", config={})
        for share in Budget.gaussian(1, 1e-6).split({"counts": 0.1, "moment": 0.9}):
            reservation = run.reserve(
                share.name, 0, share.units, {"shape": "moment", "multiplier": share.multiplier}
            )
        run.commit(reservation, {"0.0": np.zeros(3)})
    return path


def ask(*words: object) -> str:
    """What the verb prints, run in this process."""
    app = cli.typer.Typer()
    app.command()(budget)
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def answer(*words: object) -> dict[str, Any]:
    return json.loads(ask(*words, "--json"))


def test_the_stable_keys(path: Path) -> None:
    found = answer(path)
    assert (found["total"], found["delta"]) == (5.0, 1e-6)
    assert found["spent"] == pytest.approx(1.0, abs=1e-6)
    assert 4.8 < found["left"] < 4.9  # mu^2 adds up, epsilon does not
    assert [row["state"] for row in found["releases"]] == ["RESERVED", "COMMITTED"]
    assert {"id", "name", "step", "units", "mu2", "run", "method", "claim", "shape", "multiplier"} <= set(
        found["releases"][0]
    )
    units = found["populations"]["film club"]["claims"]["gaussian"]["units"]
    assert units["spent"] + units["left"] == units["total"] == Budget.gaussian(5, 1e-6).units
    assert found["head"] == Ledger.attach(path).head


def test_what_is_left_can_be_asked_for(path: Path) -> None:
    """The epsilon shown as left is granted to the next fit, to the last unit."""
    left = answer(path)["left"]
    with Ledger.open(path, population="film club") as ledger:
        ledger.run(method="hush", config={}).reserve("all", 0, Budget.gaussian(left, 1e-6).units, {})
    assert answer(path)["left"] == 0


def test_a_raise_is_to_a_total_at_the_recorded_delta(path: Path) -> None:
    found = answer(path, "--raise", "film club=8")
    assert (found["total"], found["delta"]) == (8.0, 1e-6)
    (entry,) = found["populations"]["film club"]["raises"]
    assert (entry["epsilon"], entry["units"]) == (8.0, Budget.gaussian(8, 1e-6).units)
    with pytest.raises(ArgumentError, match="only ever raised"):
        ask(path, "--raise", "film club=8")


def test_another_kind_of_claim_adds_up_with_the_first(path: Path) -> None:
    found = answer(path, "--raise", "film club=6", "--claim", "approximate", "--delta", "2e-6")
    assert (found["total"], found["delta"]) == (6.0, 3e-6)
    claims = found["populations"]["film club"]["claims"]
    assert (claims["approximate"]["total"], claims["approximate"]["delta"]) == (1.0, 2e-6)
    found = answer(path, "--raise", "film club=6.5", "--claim", "pure")
    assert found["populations"]["film club"]["claims"]["pure"]["units"]["total"] == 500_000_000
    with pytest.raises(ArgumentError, match="add up"):
        ask(path, "--raise", "film club=1.2")


def test_several_populations_and_what_looked(path: Path) -> None:
    with Ledger.attach(path) as ledger:
        ledger.note_unprotected("others", "compare [bold]: hush")
    found = answer(path)
    assert set(found["populations"]) == {"film club", "others"}
    assert "total" not in found
    assert answer(path, "--population", "film club")["total"] == 5.0
    text = ask(path)
    assert "compare [bold]: hush" in text
    assert "5% of the gaussian budget" in text


def test_a_piped_table_has_no_colours_and_fits_its_lines(path: Path) -> None:
    text = ask(path)
    assert "\x1b" not in text
    for word in (
        "film club",
        "fit-1",
        "hush",
        "counts",
        "reserved",
        "committed",
        "left",
        "head of the chain",
    ):
        assert word in text


@pytest.mark.parametrize(
    ("words", "argument"),
    [
        (["--raise", "film club"], "raise"),
        (["--raise", "=5"], "raise"),
        (["--raise", "film club=x"], "raise"),
        (["--raise", "film club=nan"], "raise"),
        (["--raise", "film club=inf"], "raise"),
        (["--raise", "film club=-1"], "raise"),
        (["--raise", "club=9"], "raise"),
        (["--raise", "film club=9", "--claim", "x"], "claim"),
        (["--raise", "film club=9", "--delta", "1"], "delta"),
        (["--population", "club"], "population"),
    ],
)
def test_bad_words_name_the_argument(path: Path, words: list[str], argument: str) -> None:
    head = Ledger.attach(path).head
    with pytest.raises(ArgumentError) as refusal:
        ask(path, *words)
    assert refusal.value.argument == argument
    assert Ledger.attach(path).head == head


def test_exit_codes(path: Path, tmp_path: Path) -> None:
    def code(*words: object) -> int:
        main = "from hushfold.cli import app; app.VERBS = ('budget', 'simulate'); app.main()"
        command = [sys.executable, "-c", main, "budget", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ)
        assert "Traceback" not in done.stderr
        return done.returncode

    assert code(path) == 0
    assert code(tmp_path / "nothing") == ArgumentError.exit_code == 2
    path.write_bytes(path.read_bytes()[:5000])
    assert code(path) == LedgerCorrupt.exit_code == 4
    with pytest.raises(HushfoldError):
        ask(path)
