"""`hushfold audit`: what it prints, when it fails, and that what it says can fail."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hushfold.cli import audit as verb
from hushfold.cli.app import main
from hushfold.errors import ArgumentError
from hushfold.privacy.audit import report
from hushfold.privacy.audit.calibration import Check
from hushfold.privacy.audit.controls import CONTROLS, COUNTS, Control
from hushfold.privacy.audit.methods import METHODS
from hushfold.privacy.audit.report import Caught, Report, audit_build
from hushfold.privacy.audit.sensitivity import Subject

SOUND = Report((Check("total: bound", True, 1.0, 1.0),), (Caught("no clip", "bound", True),))


@pytest.fixture
def found(monkeypatch):
    """Puts a report in the place of the audit."""
    return lambda answer: monkeypatch.setattr(report, "audit_build", lambda method, watch: answer)


def run(capsys, *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["audit", *words])
    return int(stopped.value.code or 0), capsys.readouterr().out


def test_json_has_the_stable_keys_and_no_figure_that_is_no_number(found, capsys):
    found(replace(SOUND, checks=(*SOUND.checks, Check("noise", True, float("nan"), float("inf")))))
    code, out = run(capsys, "--json")
    assert code == 0
    assert json.loads(out) == {
        "passed": True,
        "checks": [
            {"name": "total: bound", "passed": True, "figure": 1.0, "bound": 1.0},
            {"name": "noise", "passed": True, "figure": None, "bound": None},
        ],
        "controls": [{"name": "no clip", "layer": "bound", "caught": True}],
    }


@pytest.mark.parametrize(
    "broken",
    [
        replace(SOUND, checks=(Check("total: bound", False, 1.5, 1.0),)),
        replace(SOUND, controls=(Caught("no clip", "bound", False),)),
    ],
    ids=["a check fails", "a control is missed"],
)
def test_a_failure_is_told_and_ends_in_exit_code_one(found, capsys, broken):
    found(broken)
    assert run(capsys, "--json")[0] == 1
    code, out = run(capsys)
    assert code == 1
    assert re.search(r"failed +total: bound: 1.5, bound 1|no clip +bound +NO", out)


def test_a_clean_audit_counts_what_it_did(found, capsys):
    found(SOUND)
    code, out = run(capsys)
    assert code == 0
    assert "1 checks, 0 failed; 1 controls, 0 missed" in out


def test_an_unknown_method_is_refused_by_name(capsys):
    with pytest.raises(ArgumentError, match="also-like"):
        audit_build("nothing", shapes=(), layouts=(), controls=())
    assert run(capsys, "--method", "nothing")[0] == 2


def test_a_heavy_shape_fails_the_audit_and_a_sound_control_is_missed():
    heavy = Subject("heavy", CONTROLS[0].broken, tight=False)
    found = audit_build(shapes=(heavy,), layouts=(), controls=(Control("sound", "bound", COUNTS.contribute),))
    assert not found.passed
    assert [check.name for check in found.checks if not check.passed and check.figure > 1]
    assert [control.caught for control in found.controls] == [False]


def test_a_method_brings_its_own_subjects_and_releases():
    watched: list[str] = []
    found = audit_build("also-like", shapes=(), layouts=(), controls=(), watch=watched.append)
    assert found.passed
    names = {subject.name for subject in METHODS["also-like"].subjects}
    assert {name.removeprefix("exact sensitivity: ") for name in watched} >= names
    assert verb.document(found)["passed"] is True


def test_the_verb_loads_nothing_heavy_before_it_runs():
    program = (
        "import sys, hushfold.cli.audit; print([m for m in ('numpy', 'numba', 'scipy') if m in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_the_page_lists_every_control(repository: Path):
    page = (repository / "docs" / "audit.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| (\w+) \|", page, re.MULTILINE)
    assert [row for row in rows if row[0] != "control"] == [(c.name, c.layer) for c in CONTROLS]


@pytest.mark.slow
def test_the_whole_audit_passes_and_catches_everything():
    found = audit_build("also-like")
    assert found.passed
    assert len(found.controls) == len(CONTROLS)
