"""The order of a release: what is charged, computed, drawn and read, and when."""

from __future__ import annotations

import numpy as np
import pytest

from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.errors import ArgumentError, BudgetExceeded, HushfoldError, InputError, NoiseError
from hushfold.privacy.budget import NANO, Budget
from hushfold.privacy.door import Door
from hushfold.privacy.ledger import Ledger, Total
from hushfold.privacy.noise import fixed_key_for_tests
from hushfold.statistics.base import Sum
from hushfold.statistics.cross import cross
from hushfold.statistics.dense import dense
from hushfold.statistics.gram import gram
from hushfold.statistics.linear import Vectors, linear, linear_map
from hushfold.statistics.moment import moment
from hushfold.statistics.moment_rows import moment_rows
from hushfold.statistics.relation import Relation
from hushfold.statistics.total import total
from hushfold.types import Released, Rows, Sealed

ITEMS = 600
BUDGET = Budget.gaussian(1.0, 1e-6)


@pytest.fixture
def users() -> Users:
    random = np.random.default_rng(5)
    return Users.from_arrays(
        random.integers(0, 300, 6000), random.integers(0, ITEMS, 6000), np.ones(6000), ITEMS
    )


@pytest.fixture
def ledger() -> Ledger:
    return Ledger.throw_away(total=Total("gaussian", 2 * BUDGET.units))


def door_of(ledger: Ledger, run: str | None = None, **more) -> Door:
    return Door(ledger.run(run, method="test", config={}), BUDGET, threads=2, **more)


def counts(rows: Rows):
    return (total(rows, 3.0),)


def watched(sums: Sum, calls: list[str], before=lambda: None) -> Sum:
    """The same sum, which says when it is added up."""
    compute = sums._content

    def compute_and_tell():
        before()
        calls.append("added up")
        return compute()

    return Sum(sums.specs, compute_and_tell)


def test_a_release_is_close_to_the_sum_and_names_who_paid(users, ledger):
    door = door_of(ledger, "run")
    (released,) = door.gaussian("counts", LocalEngine().sum(users, counts), BUDGET.units)
    exact = LocalEngine().sum(users, counts)._content()[0]
    truth = np.concatenate([exact.tile(k) for k in range(3)]) * exact.spec.step
    assert released.value.shape == (ITEMS,)
    assert released.releases == ("run/counts/0",)
    noise = released.value - truth
    assert 0.8 < noise.std() / (3.0 * door.run.rows()[0]["parts"][0]["multiplier"]) < 1.2


def test_the_ledger_is_charged_before_anything_is_added_up(users, ledger):
    door, calls, rows = door_of(ledger), [], []
    sums = watched(LocalEngine().sum(users, counts), calls, lambda: rows.extend(door.run.rows()))
    assert calls == []
    door.gaussian("counts", sums, 1000)
    assert [(row["state"], row["units"]) for row in rows] == [("RESERVED", 1000)]


@pytest.mark.parametrize("asked", [BUDGET.units + 1, 3 * BUDGET.units])
def test_more_than_the_runs_budget_is_refused_and_nothing_happens(users, ledger, asked):
    door, calls = door_of(ledger), []
    with pytest.raises(ArgumentError, match="left in this run's budget"):
        door.gaussian("counts", watched(LocalEngine().sum(users, counts), calls), asked)
    assert calls == []
    assert door.run.rows() == []


def test_more_than_the_populations_total_is_refused_and_nothing_happens(users):
    ledger, calls = Ledger.throw_away(total=Total("gaussian", 1000)), []
    door = door_of(ledger)
    with pytest.raises(BudgetExceeded, match="--raise"):
        door.gaussian("counts", watched(LocalEngine().sum(users, counts), calls), 1001)
    assert calls == []
    assert door.run.rows() == []


def test_a_committed_release_is_read_and_never_added_up_again(users, ledger):
    calls: list[str] = []
    sums = watched(LocalEngine().sum(users, counts), calls)
    first = door_of(ledger, "run").gaussian("counts", sums, 1000)[0]
    again = door_of(ledger, "run").gaussian("counts", sums, 1000)[0]
    assert calls == ["added up"]
    np.testing.assert_array_equal(first.value, again.value)
    assert len(door_of(ledger, "run").run.rows()) == 1


def test_a_crash_before_the_commit_draws_afresh_for_the_same_charge(users, ledger, monkeypatch):
    door, drawn = door_of(ledger, "run"), []
    sums = LocalEngine().sum(users, counts)

    def crash(_reservation, parts):
        drawn.append(parts["0.0"].copy())
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(door.run), "commit", lambda _run, reservation, parts: crash(reservation, parts))
        with pytest.raises(KeyboardInterrupt):
            door.gaussian("counts", sums, 1000)
    (released,) = door_of(ledger, "run").gaussian("counts", sums, 1000)
    assert not np.intersect1d(released.value[:256], drawn[0]).size
    assert [row["units"] for row in door.run.rows()] == [1000]


def test_who_commits_second_reads_what_the_first_committed(users, ledger):
    winner, loser = door_of(ledger, "run"), door_of(ledger, "run")
    sums, won = LocalEngine().sum(users, counts), []

    def overtaken() -> None:
        won.extend(winner.gaussian("counts", sums, 1000))

    (lost,) = loser.gaussian("counts", watched(sums, [], overtaken), 1000)
    np.testing.assert_array_equal(lost.value, won[0].value)
    assert len(loser.run.rows()) == 1


def test_solving_tile_by_tile_keeps_only_the_solution(users, ledger):
    factors = np.linspace(-1, 1, 300 * 4).reshape(300, 4)

    def contribute(rows: Rows):
        own = np.resize(factors, (len(rows), 4))
        return gram(rows, own, 9.0, 1.0), cross(rows, own, 3.0, 1.0)

    def solve(grams: np.ndarray, sides: np.ndarray) -> np.ndarray:
        assert grams.shape[1:] == (10,)
        assert sides.shape == (len(grams), 4)
        return grams.sum(1, keepdims=True) + sides

    door = door_of(ledger)
    (solved,) = door.gaussian("round", LocalEngine().sum(users, contribute), [1000, 2000], solve=solve)
    assert solved.value.shape == (ITEMS, 4)
    (row,) = door.run.rows()
    assert row["units"] == 3000
    assert [part["units"] for part in row["parts"]] == [1000, 2000]


def test_statistics_without_a_common_axis_cannot_be_solved_together(users, ledger):
    def contribute(rows: Rows):
        return counts(rows)[0], moment(np.ones((len(rows), 3)), 1.0)

    with pytest.raises(ArgumentError, match="different first axes"):
        door_of(ledger).gaussian(
            "round", LocalEngine().sum(users, contribute), [10, 10], solve=lambda *tiles: tiles[0]
        )


@pytest.mark.parametrize("units", [0, -5, [10, 10], []])
def test_prices_are_whole_positive_and_one_per_statistic(users, ledger, units):
    with pytest.raises(ArgumentError, match="units"):
        door_of(ledger).gaussian("counts", LocalEngine().sum(users, counts), units)


def test_a_pure_statistic_needs_the_laplace_mechanism_and_a_pure_budget(users):
    image = linear_map(Relation("entry", 1), ITEMS, Vectors(width=2, bound=2.0), norm="l1")

    def contribute(rows: Rows):
        return (linear(rows, np.ones((len(rows), 2)), image),)

    ledger = Ledger.throw_away()
    sums = LocalEngine().sum(users, contribute)
    with pytest.raises(ArgumentError, match=r"door\.laplace"):
        door_of(ledger).gaussian("image", sums, 1000)
    budget = Budget.pure(2.0)
    door = Door(ledger.run(method="test", config={}, claim="pure"), budget)
    (released,) = door.laplace("image", sums, budget.units)
    assert released.value.shape == sums.specs[0].size
    assert door.slack() is None
    assert door.run.rows()[0]["kind"] == "laplace"


def test_too_little_noise_for_the_lattice_is_refused_before_any_charge(users, ledger):
    door = Door(ledger.run(method="test", config={}), Budget(80.0, 1e-6, 10**12))
    with pytest.raises(NoiseError):
        door.gaussian("counts", LocalEngine().sum(users, counts), 500 * NANO)
    assert door.run.rows() == []


def test_a_slack_that_would_show_in_delta_is_refused_before_any_charge(users, ledger):
    door = Door(ledger.run(method="test", config={}), Budget(1.0, 1e-40, BUDGET.units))
    with pytest.raises(NoiseError, match="thousandth"):
        door.gaussian("counts", LocalEngine().sum(users, counts), 1000)
    assert door.run.rows() == []


def test_the_slack_adds_up_over_the_releases_of_a_run(users, ledger):
    door = door_of(ledger)
    sums = LocalEngine().sum(users, counts)
    door.gaussian("counts", sums, 1000)
    one = door.slack()
    door.gaussian("counts", sums, 1000, step=1)
    assert door.slack().touched == 2 * one.touched
    assert door.slack().epsilon > one.epsilon > 0


def test_a_key_of_a_test_is_named_in_the_ledger(users, ledger):
    door = door_of(ledger, new_key=lambda: fixed_key_for_tests(b"k" * 32))
    door.gaussian("counts", LocalEngine().sum(users, counts), 1000)
    assert "NOT PRIVATE" in door.run.rows()[0]["grade"]


def test_one_user_in_two_places_is_refused_before_any_charge(ledger):
    twice = Rows(
        np.array([0, 1, 2]),
        np.array([3, 4], np.int32),
        np.ones(2, np.float32),
        np.array([7, 7], np.uint64),
        9,
    )
    door = door_of(ledger)
    with pytest.raises(InputError, match="two places"):
        door.gaussian("counts", LocalEngine().sum(Users(twice), counts), 1000)
    assert door.run.rows() == []


def test_a_description_that_depends_on_the_data_is_refused(users, ledger):
    def contribute(rows: Rows):
        return (total(rows, 1.0 + len(rows)),)

    with pytest.raises(HushfoldError, match="depends on the data"):
        door_of(ledger).gaussian("counts", LocalEngine().sum(users, contribute), 1000)


def test_a_sum_shows_nothing(users):
    sums = LocalEngine().sum(users, counts)
    assert isinstance(sums, Sealed)
    assert repr(sums) == "<Sum: sealed>"


def test_released_panels_are_symmetric_and_named(users, ledger):
    head = np.arange(0, ITEMS, 2)
    sums = LocalEngine().sum(users, lambda rows: (moment_rows(rows, head, 2.0),))
    (released,) = door_of(ledger, "run").gaussian("pairs", sums, 1000)
    assert isinstance(released, Released)
    matrix = released.value.to_dense()
    np.testing.assert_array_equal(matrix, matrix.T)


def test_progress_counts_tiles_and_nothing_else(users, ledger):
    seen: list[tuple[str, int, int]] = []
    door = door_of(ledger, progress=lambda *step: seen.append(step))
    door.gaussian("counts", LocalEngine().sum(users, counts), 1000)
    assert seen == [("counts", 1, 3), ("counts", 2, 3), ("counts", 3, 3)]


def test_dense_values_pass_the_same_door(users, ledger):
    sums = LocalEngine().sum(users, lambda rows: (dense(np.ones((len(rows), 2, 3)), 10.0),))
    (released,) = door_of(ledger).gaussian("dense", sums, 1_000_000)
    assert released.value.shape == (2, 3)
