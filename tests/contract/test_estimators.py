"""What every estimator keeps: answers, round trips, edge cases, one ledger for one population."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import hushfold
from hushfold import DPALS, BiasModel, Hush, Ratings
from hushfold.algorithms.methods import method
from hushfold.data.simulate import simulate_ratings
from hushfold.errors import ArgumentError, BudgetExceeded, InputError
from hushfold.estimators import fit_private
from hushfold.privacy import run as runs
from hushfold.privacy.budget import Budget
from hushfold.privacy.ledger import Ledger

ITEMS = 120
ESTIMATORS = [Hush, BiasModel, DPALS]
KINDS = ["explicit", "implicit"]
TITLES = [f"film {number}" for number in range(ITEMS)]


def ratings(kind: str, users: int = 1500, items: int = ITEMS, **more) -> Ratings:
    simulated = simulate_ratings(users, items, 40 * users, implicit=kind == "implicit")
    declared = {"implicit": True} if kind == "implicit" else {"range": (0.5, 5.0)}
    declared |= {"catalogue": TITLES[:items], "population": "tests", "ledger": "throw-away"} | more
    names = np.array(TITLES)[simulated.item]
    values = None if kind == "implicit" else simulated.rating
    return Ratings.from_arrays(simulated.user, names, values, **declared)


def empty(kind: str, items: int) -> Ratings:
    declared = {"implicit": True} if kind == "implicit" else {"range": (0.5, 5.0)}
    values = None if kind == "implicit" else []
    return Ratings.from_arrays(
        [], [], values, catalogue=TITLES[:items], population="nobody", ledger="throw-away", **declared
    )


def history(kind: str):
    return (
        {"film 3": 5.0, "film 10": 1.0, "not in the catalogue": 4.0}
        if kind == "explicit"
        else ["film 3", "film 10"]
    )


@pytest.fixture(
    scope="module",
    params=[(e, k) for e in ESTIMATORS for k in KINDS],
    ids=lambda p: f"{p[0].__name__}-{p[1]}",
)
def fitted(request):
    estimator, kind = request.param
    return estimator(20.0, 1e-6).fit(ratings(kind)), kind


def test_recommendations_leave_out_what_the_user_had_and_come_best_first(fitted):
    model, kind = fitted
    best = model.recommend(history(kind), n=10)
    items, scores = [item for item, _ in best], [score for _, score in best]
    assert len(set(items)) == 10
    assert not {"film 3", "film 10"} & set(items)
    assert scores == sorted(scores, reverse=True)


def test_predictions_lie_in_the_range_and_unknown_items_have_none(fitted):
    model, kind = fitted
    if kind == "implicit":
        with pytest.raises(ArgumentError, match="predicts no values"):
            model.predict(history(kind), ["film 1"])
        return
    values = model.predict(history(kind), ["film 1", "no such film", "film 1", "film 99"])
    assert math.isnan(values[1])
    assert values[0] == values[2]
    assert ((values[[0, 3]] >= 0.5) & (values[[0, 3]] <= 5)).all()


def test_a_model_comes_back_from_disk_as_it_was(fitted, tmp_path):
    model, kind = fitted
    model.save(tmp_path / "model")
    loaded = hushfold.load(tmp_path / "model")
    assert loaded.recommend(history(kind), 10) == model.recommend(history(kind), 10)
    assert loaded.card == json.loads(json.dumps(model.card()))
    with pytest.raises(ArgumentError, match="exists already"):
        model.save(tmp_path / "model")


def test_the_card_states_the_budget_and_lists_every_charge(fitted):
    model, _ = fitted
    card = model.card()
    guarantee = card["guarantee"]
    assert guarantee["asked"] == {"epsilon": 20.0, "delta": 1e-6}
    assert 20.0 * (1 - 1e-6) <= guarantee["epsilon"] <= 20.0 * (1 + 1e-6)
    assert guarantee["replace_one_epsilon"] > guarantee["epsilon"]
    assert sum(row["units"] for row in card["releases"]) == card["spent"]["units"] <= card["spent"]["of"]
    assert {row["state"] for row in card["releases"]} == {"PUBLISHED"}
    assert card["stamps"] == ["throw-away ledger: nobody remembers this spend"]
    assert "joint DP for adding or removing one user" in guarantee["sentence"]
    deltas = [delta for _, delta in guarantee["curve"]]
    assert deltas == sorted(deltas, reverse=True)


def test_a_damaged_model_is_refused(fitted, tmp_path):
    model, _ = fitted
    for number, name in enumerate(("model.safetensors", "items.parquet", "manifest.json")):
        place = model.save(tmp_path / f"model{number}")
        body = bytearray((place / name).read_bytes())
        body[len(body) // 2] ^= 1
        (place / name).write_bytes(bytes(body))
        if name == "manifest.json":
            (place / name).write_bytes(bytes(body)[: len(body) // 2])
        with pytest.raises(InputError):
            hushfold.load(place)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("items", [1, 2, 40])
def test_nobody_is_data_too(estimator, kind, items):
    model = estimator(1.0, 1e-6).fit(empty(kind, items))
    best = model.recommend({"film 0": 3.0} if kind == "explicit" else ["film 0"], n=5)
    assert "film 0" not in [item for item, _ in best]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_user_is_enough_and_settings_are_kept(estimator, kind):
    model = estimator(1.0, 1e-6).fit(ratings(kind, users=1, items=60))
    assert model.recommend([] if kind == "implicit" else {}, n=3)
    assert repr(model).endswith("(epsilon=1, delta=1e-06)")


def test_ten_fits_on_one_population_draw_on_one_ledger(tmp_path):
    """L-06: a grid of fits is charged like ten fits, whichever estimators they are."""
    ledger, total = tmp_path / "ledger", Budget.gaussian(5.0, 1e-6)
    same = ratings("explicit", users=200, ledger=ledger)
    one = Budget.gaussian(1.0, 1e-6).units
    for turn in range(total.units // one):
        (Hush, BiasModel)[turn % 2](1.0, 1e-6, total=total).fit(same)
    with pytest.raises(BudgetExceeded, match="--raise"):
        Hush(1.0, 1e-6, total=total).fit(ratings("explicit", users=200, ledger=ledger))
    spent = Ledger.attach(ledger).books().populations["tests"].spent["gaussian"][0]
    assert one * (total.units // one) <= spent <= total.units


def test_a_delta_that_lets_one_declared_user_out_is_refused_before_any_spend(tmp_path):
    few = ratings("explicit", ledger=tmp_path / "ledger")
    with pytest.raises(ArgumentError, match="delta"):
        Hush(1.0, 1e-3).fit(replace(few, declared_users=1000))
    assert not (tmp_path / "ledger").exists()


def test_asking_before_fitting_says_what_to_do():
    with pytest.raises(ArgumentError, match="Call fit"):
        Hush(1.0, 1e-6).recommend([])


class Crash(Exception):
    """What stops a fit in the middle."""


def test_interrupted_fits_of_one_name_go_on_and_finished_ones_do_not(tmp_path, monkeypatch):
    same = ratings("implicit", users=300, ledger=tmp_path / "ledger")
    budget, how = Budget.gaussian(1.0, 1e-6), method("hush", "implicit")
    commit, calls = runs.Run.commit, []

    def crash_second(self, reservation, parts):
        calls.append(reservation.id)
        if len(calls) == 2:
            raise Crash
        commit(self, reservation, parts)

    monkeypatch.setattr(runs.Run, "commit", crash_second)
    with pytest.raises(Crash):
        fit_private(how, same, budget, resume="nightly")
    monkeypatch.undo()
    model = fit_private(how, same, budget, resume="nightly")
    assert [row["id"].split("/")[0] for row in model.card["releases"]] == ["nightly", "nightly"]
    books = Ledger.attach(tmp_path / "ledger").books()
    assert books.populations["tests"].spent["gaussian"][0] == budget.units
    with pytest.raises(BudgetExceeded):
        fit_private(how, same, budget, resume="nightly")
