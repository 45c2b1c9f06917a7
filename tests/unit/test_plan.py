"""`hushfold plan`: the stable keys, the arithmetic behind them, and errors that say what to do."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest

from hushfold.cli import app
from hushfold.privacy.accountant import Gaussian, account


@pytest.fixture
def run(monkeypatch, capsys):
    """Runs `hushfold plan ...` in this process; exit code, standard output, standard error."""
    monkeypatch.setattr(app, "VERBS", ("plan",))

    def call(*words):
        with pytest.raises(SystemExit) as caught:
            app.main(["plan", *words])
        return caught.value.code, *capsys.readouterr()

    return call


def test_json_has_the_stable_keys_and_one_release_by_default(run):
    code, out, _ = run("--epsilon", "1", "--delta", "1e-5", "--json")
    view = json.loads(out)
    assert code == 0
    assert {"mu", "epsilon", "delta", "releases"} <= view.keys()
    assert (view["epsilon"], view["delta"], round(view["mu"], 4)) == (1.0, 1e-5, 0.2681)
    (release,) = view["releases"]
    assert {"name", "sensitivity", "multiplier", "mu2"} <= release.keys()
    assert (release["name"], release["sensitivity"]) == ("release", 1.0)
    assert release["multiplier"] == pytest.approx(1 / view["mu"], rel=1e-6)
    assert release["mu2"] == pytest.approx(view["mu"] ** 2, rel=1e-6)
    assert view["relation"] == "one user added or removed"
    assert view["replace_one_epsilon"] > 2
    assert view["warnings"] == []


def test_the_noise_of_a_plan_keeps_its_promise(run):
    words = ("--releases", "counts=0.1,bias=0.2,moment=.7", "--sensitivity", "counts=7.1")
    _, out, _ = run("--epsilon", "3", "--delta", "1e-6", *words, "--json")
    view = json.loads(out)
    counts, bias, moment = view["releases"]
    assert sum(release["units"] for release in view["releases"]) == view["units"]
    assert (counts["sensitivity"], bias["sensitivity"]) == (7.1, 1.0)
    assert counts["std"] == counts["multiplier"] * 7.1
    assert moment["mu2"] == pytest.approx(0.7 * view["mu"] ** 2, rel=1e-6)
    events = [Gaussian(release["multiplier"]) for release in view["releases"]]
    assert 2.999 < account(events, 1e-6).epsilon <= 3


def test_options_may_be_repeated(run):
    _, once, _ = run("--epsilon", "1", "--delta", "1e-6", "--releases", "a=1,b=2", "--json")
    _, twice, _ = run("--epsilon", "1", "--delta", "1e-6", "--releases", "a=1", "--releases", "b=2", "--json")
    assert once == twice


def test_text_is_short_and_plain_when_piped(run):
    code, out, _ = run("--epsilon", "1", "--delta", "1e-6", "--releases", "counts=1,[red]moment=9")
    assert code == 0
    assert "\x1b" not in out
    assert "epsilon 1 at delta 1e-06 for one user added or removed: mu 0.2367" in out
    assert "for one user replaced by another: epsilon 2.123 at most" in out
    assert [line.split()[:3] for line in out.splitlines()[-2:]] == [
        ["counts", "10.0%", "1"],
        ["[red]moment", "90.0%", "1"],
    ]
    assert max(map(len, out.splitlines())) <= 80


def test_a_delta_too_large_for_the_users_declared(run):
    code, out, _ = run("--epsilon", "1", "--delta", "5e-7", "--n-bound", "1000000")
    assert code == 0
    assert out.startswith("warning  delta 5e-07 is more than a tenth of one in the 1000000 users declared")
    _, out, _ = run("--epsilon", "1", "--delta", "5e-7", "--n-bound", "1000000", "--json")
    assert json.loads(out)["warnings"] == [
        "delta 5e-07 is more than a tenth of one in the 1000000 users declared"
    ]
    code, _, problem = run("--epsilon", "1", "--delta", "1e-6", "--n-bound", "1000000")
    assert code == 2
    assert "Pass at most 1e-07" in problem


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--epsilon", "-1", "--delta", "1e-6"], "epsilon: -1.0 is not a number from 0 to 1e+12"),
        (["--epsilon", "nan", "--delta", "1e-6"], "epsilon: nan is not"),
        (["--epsilon", "inf", "--delta", "1e-6"], "epsilon: inf is not"),
        (["--epsilon", "1", "--delta", "0"], "delta: 0.0 does not lie strictly between 0 and 1"),
        (["--epsilon", "1", "--delta", "1"], "delta: 1.0 does not"),
        (["--epsilon", "0", "--delta", "1e-9"], "Raise epsilon"),
        (
            ["--epsilon", "1", "--delta", "1e-6", "--releases", "counts"],
            "releases: 'counts' is not a name and",
        ),
        (["--epsilon", "1", "--delta", "1e-6", "--releases", "a=1,a=2"], "releases: 'a' is named twice"),
        (["--epsilon", "1", "--delta", "1e-6", "--releases", "a=0"], "releases: 'a=0'"),
        (["--epsilon", "1", "--delta", "1e-6", "--releases", "a=nan"], "releases: 'a=nan'"),
        (["--epsilon", "1", "--delta", "1e-6", "--sensitivity", "b=2"], "They are: release"),
        (["--epsilon", "1", "--delta", "1e-6", "--n-bound", "0"], "n_bound: 0"),
    ],
)
def test_bad_arguments_exit_2_with_the_argument_and_the_remedy(run, words, problem):
    code, out, said = run(*words)
    assert code == 2
    assert out == ""
    assert problem in said
    assert said.count("\n") == 1
    code, out, _ = run(*words, "--json")
    assert code == 2
    assert json.loads(out)["error"] == "ArgumentError"


def test_a_missing_guarantee_exits_2(run):
    assert run("--epsilon", "1")[0] == 2


def test_importing_the_verb_is_cheap():
    """Nothing heavy before the verb is asked for: `hushfold --version` imports every verb."""
    heavy = "{'numpy', 'scipy', 'mpmath', 'dp_accounting', 'rich.table'} & set(sys.modules)"
    code = f"import sys, hushfold.cli.plan; found = {heavy}; print(sorted(found))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_plan_rounds_to_the_safe_side(run):
    _, out, _ = run("--epsilon", "1", "--delta", "1e-5", "--json")
    view = json.loads(out)
    assert math.fsum(release["mu2"] for release in view["releases"]) <= view["mu"] ** 2
