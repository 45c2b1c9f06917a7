"""`hushfold inspect`: what is in a file, for the operator; the real sets agree with their known counts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hushfold.cli import progress
from hushfold.cli.app import main

LOG = "user,item,rating\n1,a,4\n1,b,9\n2,a,2\n2,a,3\n3,zzz,1\n,a,3\n4,a,NaN\n"


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as done:
        main(["inspect", *words])
    out, err = capsys.readouterr()
    return int(done.value.code or 0), out, err


def _document(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    code, out, err = _run(capsys, *words, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(LOG)
    return path


def test_json(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "items.txt").write_text("a\nb\nc\n")
    found = _document(capsys, str(log), "--range", "1", "5", "--catalogue", str(tmp_path / "items.txt"))
    assert found["protected"] is False
    assert "NOT PRIVATE" in found["stamp"]
    assert found["columns"] == {"user": "user", "item": "item", "value": "rating", "time": None}
    assert (found["rows"], found["kept"], found["merged"], found["clipped"]) == (7, 3, 1, 1)
    assert {k: n for k, n in found["dropped"].items() if n} == {
        "missing_user": 1,
        "not_finite": 1,
        "unknown_item": 1,
    }
    data = found["data"]
    assert (data["users"], data["items"], data["items_seen"]) == (2, 3, 2)
    assert data["mean"] == pytest.approx(4.0)
    assert data["values"] == [{"value": v, "rows": 1} for v in (3.0, 4.0, 5.0)]
    assert data["activity"] == {"1": 1, "2-4": 1}
    assert data["popularity"] == {"0": 1, "1": 1, "2-4": 1}
    assert found["notes"] == []


def test_people_read_it_too(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, str(log))
    assert code == 0
    assert out.startswith("NOT PRIVATE")
    for words in ("4 of 7 rows kept", "1 rows without a user id", "no --range was stated", "█"):
        assert words in out.replace("\n", " ")


def test_implicit_when_nothing_looks_like_a_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item\n1,a\n2,a\n")
    found = _document(capsys, str(path))
    assert found["kind"] == "implicit"
    assert found["data"]["mean"] is None
    assert any("--implicit" in note for note in found["notes"])


def test_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item,rating\n")
    found = _document(capsys, str(path))
    assert (found["rows"], found["data"]["users"], found["data"]["correlation"]) == (0, 0, None)
    assert _run(capsys, str(path))[0] == 0


def test_errors_name_the_option_and_the_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.csv"
    path.write_text("who,item,rating\n1,2,3\n")
    code, _, err = _run(capsys, str(path))
    assert code == 2
    assert "--user" in err
    assert "who, item, rating" in err
    code, out, _ = _run(capsys, str(tmp_path / "absent"), "--json")
    assert code == 2
    assert json.loads(out)["error"] == "InputError"
    assert _run(capsys, str(path), "--user", "who")[0] == 0


def test_a_bar_only_on_a_terminal_and_only_with_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    bars: list[str] = []
    monkeypatch.setattr("rich.progress.Progress.start", lambda self: bars.append("started"))
    for terminal, quiet, patience, started in (
        (True, False, -1.0, 1),
        (True, False, 1e9, 0),
        (True, True, -1.0, 0),
        (False, False, -1.0, 0),
    ):
        bars.clear()
        monkeypatch.setattr(progress, "PATIENCE", patience)
        monkeypatch.setattr("sys.stderr.isatty", lambda terminal=terminal: terminal)
        with progress.row_progress(quiet) as show:
            show("placing rows", 1, 2)
            show("reading text", 1, 0)
        assert len(bars) == started


_NUMBER = re.compile(r"-?[\d,]*\.?\d+")


def _known(real_data: Path) -> dict[str, dict[str, Any]]:
    """The two tables of counts in the page that comes with the sets."""
    known: dict[str, dict[str, Any]] = {}
    for line in (real_data / "README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if len(cells) == 9 and cells[1].startswith(("explicit", "implicit", "mixed")) and "," not in cells[0]:
            known[cells[0]] = {"table": cells}
    for line in (real_data / "README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if len(cells) == 7 and cells[1].count("/") == 4 and cells[0] != "file":
            names = ["ml-1m", "ml-1m-implicit"] if "both" in cells[0] else [cells[0]]
            for name in names:
                known[name]["shape"] = cells
    return known


def _numbers(text: str) -> list[float]:
    return [float(n.replace(",", "")) for n in _NUMBER.findall(text)]


def test_real_sets_have_their_known_counts(real_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = _known(real_data)
    assert len(known) == 12
    for name, facts in known.items():
        found = _document(capsys, str(real_data / f"{name}.parquet"))
        data = found["data"]
        table = facts["table"]
        rows, users, items = (_numbers(cell)[0] for cell in table[2:5])
        assert (data["rows"], data["users"], data["items"]) == (rows, users, items), name
        assert found["kept"] == found["rows"] == rows
        assert 100 * data["density"] == pytest.approx(_numbers(table[5])[0], rel=0.01)
        if data["mean"] is None:
            assert table[7] == "-"
        else:
            assert data["mean"] == pytest.approx(_numbers(table[7])[0], abs=6e-4)
            assert data["std"] == pytest.approx(_numbers(table[8])[0], abs=6e-4)
        shape = facts["shape"]
        spread = data["per_user"]
        least, median, mean, high, most = _numbers(shape[1])
        assert (spread["min"], spread["max"]) == (least, most)
        assert spread["median"] == median
        assert spread["mean"] == pytest.approx(mean, abs=0.051)
        assert spread["p99"] == pytest.approx(high, abs=0.51)
        assert data["users_with_20"] == _numbers(shape[2])[0]
        assert data["single_users"] == _numbers(shape[3])[0]
        spread = data["per_item"]
        assert [spread["min"], spread["median"], spread["max"]] == _numbers(shape[4])
        assert data["top_20_percent"] == pytest.approx(_numbers(shape[5])[0], abs=6e-4), name
        assert data["correlation"] == pytest.approx(_numbers(shape[6])[0], abs=6e-4), name
