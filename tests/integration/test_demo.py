"""The README's first command, as a newcomer runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(240)


def hushfold(*words: str, where: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from hushfold.cli.app import main; main()", *words],
        cwd=where,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_demo_recommends_from_released_numbers_and_its_ledger_agrees(tmp_path):
    run = hushfold("demo", "--json", where=tmp_path)
    assert run.returncode == 0, run.stderr
    answer = json.loads(run.stdout)
    assert len(answer["also_like"]) == 3
    assert all(row["also"] for row in answer["also_like"])
    ledger = json.loads(hushfold("budget", "hushfold-demo/hushfold.ledger", "--json", where=tmp_path).stdout)
    assert ledger["left"] == 0
    assert ledger["spent"] <= ledger["total"] == 1.0
    assert [row["name"] for row in ledger["releases"]] == ["likes", "pairs"]
    assert {row["state"] for row in ledger["releases"]} == {"PUBLISHED"}
    assert answer["slack"]["epsilon"] < 1e-6


def test_every_demo_has_new_people_and_an_old_folder_is_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    refused = hushfold("demo", "--out", "mine", where=tmp_path)
    assert refused.returncode == 2
    assert "out: exists already" in refused.stderr
    assert "Traceback" not in refused.stderr
