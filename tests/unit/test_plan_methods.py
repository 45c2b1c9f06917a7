"""`hushfold plan --method`: releases and expectations from declared sizes, and an honest warning."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.dpals_cases import film_rows, fitted

from hushfold.algorithms.dpals_configs import DpalsConfig, default_config
from hushfold.algorithms.dpals_setup import Declared
from hushfold.algorithms.dpals_simulation import tune_on_twin
from hushfold.algorithms.planning import METHODS, Sizes, dpals_bounds, plan_method, theory_of
from hushfold.cli import app
from hushfold.errors import ArgumentError
from hushfold.privacy.budget import Budget

SIZES = ("--users", "3000", "--items", "150", "--interactions", "60000")


@pytest.fixture
def run(monkeypatch, capsys):
    monkeypatch.setattr(app, "VERBS", ("plan",))

    def call(*words):
        with pytest.raises(SystemExit) as caught:
            app.main(["plan", "--delta", "1e-5", *words])
        return caught.value.code, *capsys.readouterr()

    return call


@pytest.mark.parametrize("implicit", [[], ["--implicit"]], ids=["ratings", "likes"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_plan_with_the_stable_keys(run, method, implicit):
    code, out, _ = run("--epsilon", "8", "--method", method, *SIZES, *implicit, "--json")
    view = json.loads(out)
    assert code == 0
    assert {"mu", "epsilon", "delta", "releases", "warnings", "method", "expected"} <= view.keys()
    assert sum(release["units"] for release in view["releases"]) == view["units"]
    assert all({"name", "sensitivity", "multiplier", "mu2"} <= release.keys() for release in view["releases"])


@pytest.mark.parametrize("likes", [False, True])
def test_the_planned_releases_of_dpals_are_those_of_a_fit(likes):
    config = default_config(40, likes)
    rows = film_rows(60, 40, 1500)
    declared = Declared(40, None if likes else (0.5, 5.0), 60)
    _, ledger = fitted(rows, config, declared=declared, epsilon=8.0)
    made = sorted((part["sensitivity"], part["units"]) for row in ledger for part in row["parts"])
    sizes = Sizes(60, 40, 1500, implicit=likes)
    planned = plan_method("dpals", sizes, Budget.gaussian(8.0, 1e-5))
    whole = Budget.gaussian(8.0, 1e-5).units
    expected = sorted((planned.sensitivities[name], share * whole) for name, share in planned.shares.items())
    assert planned.sensitivities == dpals_bounds(config, sizes)
    assert [bound for bound, _ in made] == pytest.approx([bound for bound, _ in expected])
    assert [price for _, price in made] == pytest.approx([price for _, price in expected], rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_too_few_users_are_told_so_and_many_are_not(method):
    few = plan_method(method, Sizes(50, 200, 1000), Budget.gaussian(0.2, 1e-5))
    assert any("too few users" in line for line in few.warnings)
    assert not plan_method(method, Sizes(20_000, 60, 400_000), Budget.gaussian(10.0, 1e-5)).warnings


@pytest.mark.parametrize(
    "words", [("--users", "10"), ("--users", "9", "--items", "2", "--interactions", "99")]
)
def test_sizes_that_cannot_be_are_refused(run, words):
    code, _, err = run("--epsilon", "1", "--method", "bias", *words)
    assert code == 2
    assert "interactions" in err


def test_an_unknown_method_is_refused(run):
    code, _, err = run("--epsilon", "1", "--method", "magic", *SIZES)
    assert code == 2
    assert "dpals" in err


def test_people_read_both_figures(run):
    _, out, _ = run("--epsilon", "8", "--method", "dpals", *SIZES)
    assert "simulated at 100% of these sizes" in out
    assert "order of magnitude, constants unspecified" in out


def test_theory_improves_with_users_and_worsens_with_items():
    budget = Budget.gaussian(1.0, 1e-5)
    small, large, wide = (
        theory_of(Sizes(n, m, 20 * n), budget)["relative_error"]
        for n, m in ((10_000, 100), (100_000, 100), (10_000, 1000))
    )
    assert large < small < wide


def test_a_search_on_a_twin_prefers_what_can_work():
    counts = np.linspace(2000, 50, 60)
    hopeless = DpalsConfig(rank=4, row_clip=1e-3, noise_ridge=0.0, ridge=1e-9)
    chosen = tune_on_twin(
        counts, 2000, 60_000, [hopeless, default_config(60, False)], Budget.gaussian(5.0, 1e-5)
    )
    assert chosen == default_config(60, False)


def test_sizes_are_checked():
    for bad in ({"users": 0}, {"skew": 1.5}, {"interactions": 10**9}):
        with pytest.raises(ArgumentError):
            Sizes(**({"users": 100, "items": 100, "interactions": 1000} | bad))
