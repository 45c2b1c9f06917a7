"""Populations, totals and claims: what a ledger grants, and how it refuses."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from hushfold.errors import ArgumentError, BudgetExceeded, LedgerCorrupt, LedgerError
from hushfold.privacy.budget import Budget
from hushfold.privacy.ledger import Ledger, Total, price_of

TOTAL = Total("gaussian", 1000)


def open_ledger(path: Path, population: str = "people", total: Total | None = TOTAL) -> Ledger:
    return Ledger.open(path, population=population, total=total)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


def test_a_new_population_needs_a_name_and_a_total(path: Path) -> None:
    with pytest.raises(ArgumentError, match="population"):
        Ledger.open(path, total=TOTAL)
    with pytest.raises(ArgumentError, match="total"):
        Ledger.open(path, population="people")


WRONG_TOTALS = [
    Total("gaussian", -1),
    Total("gaussian", 2**62),
    Total("gaussian", 1.5),  # pyright: ignore[reportArgumentType]
    Total("gaussian", 1, epsilon=float("inf")),
    Total("gaussian", 1, epsilon=1.0, delta=1.0),
    Total("approximate", 1, 10**18 + 1),
    Total("zero", 1),  # pyright: ignore[reportArgumentType]
]


@pytest.mark.parametrize("total", WRONG_TOTALS, ids=range(len(WRONG_TOTALS)))
def test_a_total_is_a_finite_guarantee_in_whole_units(path: Path, total: Total) -> None:
    with pytest.raises(ArgumentError, match=r"total|claim"):
        open_ledger(path, total=total)
    ledger = open_ledger(path)
    with pytest.raises(ArgumentError, match="claim"):
        ledger.run(method="test", config={}, claim="zero")  # pyright: ignore[reportArgumentType]


def test_the_total_is_fixed_when_the_population_is_first_entered(path: Path) -> None:
    open_ledger(path)
    open_ledger(path, total=None)
    Ledger.open(path, population="people", default_total=Total("gaussian", 5))
    with pytest.raises(ArgumentError, match=r"--raise people=E"):
        open_ledger(path, total=Total("gaussian", 1001))
    assert open_ledger(path).books().populations["people"].totals == {"gaussian": TOTAL}


def test_a_default_total_is_that_of_the_first_fit(path: Path) -> None:
    stated = Total.of(Budget.gaussian(1.0, 1e-6))
    ledger = Ledger.open(path, population="people", default_total=stated)
    assert ledger.books().populations["people"].totals["gaussian"] == stated


def test_several_populations_share_a_file_and_nothing_else(path: Path) -> None:
    here, there = open_ledger(path), open_ledger(path, "others")
    here.run(method="test", config={}).reserve("sum", 0, 1000, {})
    there.run(method="test", config={}).reserve("sum", 0, 1000, {})
    for ledger in (here, there):
        with pytest.raises(BudgetExceeded):
            ledger.run(method="test", config={}).reserve("sum", 0, 1, {})


def test_a_second_fit_draws_on_the_same_budget_and_the_refusal_names_the_remedy(path: Path) -> None:
    open_ledger(path).run(method="test", config={}).reserve("sum", 0, 600, {})
    second = open_ledger(path).run(method="test", config={})
    with pytest.raises(BudgetExceeded, match=r"hushfold budget .*people.ledger --raise people=E"):
        second.reserve("sum", 0, 401, {})
    second.reserve("sum", 0, 400, {})


def test_ten_fits_are_charged_ten_times(path: Path) -> None:
    for _ in range(10):
        open_ledger(path).run(method="test", config={}).reserve("sum", 0, 100, {})
    with pytest.raises(BudgetExceeded):
        open_ledger(path).run(method="test", config={}).reserve("sum", 0, 1, {})


def test_a_raise_is_recorded_and_a_total_never_falls(path: Path) -> None:
    ledger = open_ledger(path)
    ledger.run(method="test", config={}).reserve("sum", 0, 1000, {})
    ledger.raise_total("people", Total("gaussian", 1500, epsilon=2.0, delta=1e-6))
    ledger.run(method="test", config={}).reserve("sum", 0, 500, {})
    (entry,) = open_ledger(path, total=None).books().populations["people"].raises
    assert (entry["units"], entry["epsilon"]) == (1500, 2.0)
    for total in (TOTAL, Total("gaussian", 1500, epsilon=2.0, delta=1e-6)):
        with pytest.raises(ArgumentError, match="only ever raised"):
            ledger.raise_total("people", total)
    with pytest.raises(ArgumentError, match="no budget"):
        ledger.raise_total("nobody", TOTAL)


def test_claims_have_budgets_of_their_own_and_a_run_makes_one(path: Path) -> None:
    ledger = open_ledger(path)
    with pytest.raises(BudgetExceeded):
        ledger.run(method="test", config={}, claim="pure").reserve("sum", 0, 1, {})
    ledger.raise_total("people", Total.of(Budget.pure(0.3)))
    run = ledger.run(method="test", config={}, claim="pure")
    run.reserve("sum", 0, 300_000_000, {})
    with pytest.raises(BudgetExceeded):
        run.reserve("sum", 1, 1, {})
    with pytest.raises(ArgumentError, match="delta_units"):
        run.reserve("sum", 2, 1, {}, delta_units=1)
    ledger.run(method="test", config={}).reserve("sum", 0, 1000, {})


def test_a_row_with_its_own_epsilon_and_delta_adds_up_in_both(path: Path) -> None:
    ledger = open_ledger(path, total=Total.approximate(1.0, 1e-6))
    run = ledger.run(method="sgd", config={}, claim="approximate")
    units, delta_units = price_of(0.5, 6e-7)
    run.reserve("training", 0, units, {}, delta_units=delta_units)
    with pytest.raises(BudgetExceeded, match="delta"):
        run.reserve("training", 1, units, {}, delta_units=delta_units)
    units, delta_units = price_of(0.5, 4e-7)
    run.reserve("training", 1, units, {}, delta_units=delta_units)
    with pytest.raises(BudgetExceeded):
        run.reserve("training", 2, 1, {})


def test_prices_are_rounded_up_and_totals_down() -> None:
    assert price_of(1e-9 / 3, 1e-19) == (1, 1)
    assert Total.approximate(1.9999999999, 1e-6).units == 1_999_999_999
    assert Total.approximate(0.3, 1e-6) == Total("approximate", 300_000_000, 10**12, 0.3, 1e-6)


@pytest.mark.parametrize("wrong", [0, -1, 2**62, 1.5, "7", None, np.nan])
def test_amounts_are_whole_and_positive(path: Path, wrong: object) -> None:
    run = open_ledger(path).run(method="test", config={})
    with pytest.raises(ArgumentError, match="units"):
        run.reserve("sum", 0, wrong, {})  # pyright: ignore[reportArgumentType]
    run.reserve("sum", 0, np.int64(5), {"multiplier": np.float32(2)})


def test_the_ledger_says_who_looked(path: Path) -> None:
    ledger = Ledger.attach(path, create=True)
    ledger.note_unprotected("people", "compare: hush, als")
    (note,) = open_ledger(path).books().populations["people"].unprotected
    assert note["what"] == "compare: hush, als"


def test_a_throw_away_ledger_runs_the_same_code_and_says_so(path: Path) -> None:
    ledger = Ledger.throw_away()
    assert ledger.is_throw_away
    assert not open_ledger(path).is_throw_away
    ledger.run(method="test", config={}).reserve("sum", 0, 10**12, {})
    small = Ledger.throw_away(total=TOTAL).run("fit", method="test", config={})
    with pytest.raises(BudgetExceeded):
        small.reserve("sum", 0, 1001, {})
    reservation = small.reserve("sum", 0, 1000, {})
    small.commit(reservation, {"sum": np.ones(3)})
    assert small.result(reservation)["sum"].tolist() == [1, 1, 1]
    small.close()


def test_a_closed_throw_away_ledger_is_gone() -> None:
    with Ledger.throw_away() as ledger:
        run = ledger.run(method="test", config={})
    with pytest.raises(LedgerError, match="closed"):
        run.reserve("sum", 0, 1, {})


@pytest.mark.parametrize("name", ["", None, "x" * 201, "a\nb", "\x1b[31m"])
def test_a_population_has_a_printable_name(path: Path, name: str | None) -> None:
    with pytest.raises(ArgumentError, match="population"):
        Ledger.open(path, population=name, total=TOTAL)


def test_head_moves_with_every_entry_and_can_be_expected(path: Path) -> None:
    ledger = open_ledger(path)
    before = ledger.head
    ledger.run(method="test", config={})
    assert ledger.head > before
    for head in (before, ledger.head):
        Ledger.open(path, population="people", expect_head=head)
    for wrong in (ledger.head[:-1] + "x", "", "7", before.replace("0", "1", 1)):
        with pytest.raises(LedgerCorrupt):
            Ledger.open(path, population="people", expect_head=wrong)


def test_a_ledger_goes_on_after_it_was_closed(path: Path) -> None:
    ledger = open_ledger(path)
    run = ledger.run(method="test", config={})
    ledger.close()
    run.reserve("sum", 0, 1000, {})
    ledger.close()
    with pytest.raises(BudgetExceeded):
        run.reserve("sum", 1, 1, {})


def test_attaching_to_nothing_is_an_error(path: Path) -> None:
    with pytest.raises(ArgumentError, match="no file"):
        Ledger.attach(path)
    with pytest.raises(ArgumentError, match="population"):
        Ledger.attach(path, create=True).run(method="test", config={})


def _in_child(work: object) -> int:
    """Exit code of a forked child that calls `work`."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        work()  # type: ignore[operator]
        os._exit(0)
    except LedgerError:
        os._exit(4)
    except BaseException:
        os._exit(1)


def test_a_forked_child_spends_from_the_same_budget(path: Path) -> None:
    run = open_ledger(path).run("fit", method="test", config={})
    run.reserve("parent", 0, 500, {})
    assert _in_child(lambda: run.reserve("child", 0, 500, {})) == 0
    assert _in_child(lambda: run.reserve("child", 1, 1, {})) == 4
    with pytest.raises(BudgetExceeded):
        run.reserve("parent", 1, 1, {})


def test_a_throw_away_ledger_is_not_split_by_a_fork() -> None:
    run = Ledger.throw_away(total=TOTAL).run("fit", method="test", config={})
    assert _in_child(lambda: run.reserve("child", 0, 1, {})) == 4
    run.reserve("parent", 0, 1, {})


def test_a_ledger_does_not_travel(path: Path) -> None:
    with pytest.raises(TypeError):
        pickle.dumps(open_ledger(path))
