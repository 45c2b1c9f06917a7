"""Running sums: what a prefix is made of, what it costs, and what a crash changes."""

from __future__ import annotations

import numpy as np
import pytest

from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.errors import ArgumentError, LedgerError
from hushfold.privacy.budget import NANO, Budget, multiplier, split
from hushfold.privacy.door import Door
from hushfold.privacy.door_tree import Tree
from hushfold.privacy.ledger import Ledger
from hushfold.statistics.base import LATTICE
from hushfold.statistics.total import total
from hushfold.types import Rows

ITEMS = 40
BUDGET = Budget(10.0, 1e-6, 100 * NANO)  # little noise, so that sums can be told apart
ENGINE = LocalEngine(threads=1)


def contribute(rows: Rows):
    return (total(rows, 5.0, nonnegative=True),)


def people(first: int, count: int = 30) -> Users:
    ids = np.repeat(np.arange(first, first + count), 2)
    return Users.from_arrays(ids, np.arange(len(ids)) % ITEMS, np.ones(len(ids)), ITEMS)


def exact(*epochs: Users) -> np.ndarray:
    return sum(ENGINE.sum(users, contribute)._content()[0].tile(0) for users in epochs) * (5.0 / LATTICE)


def tree_of(ledger: Ledger, epochs: int, run: str = "run", **more) -> Tree:
    return Tree(
        Door(ledger.run(run, method="t", config={}), BUDGET), "clicks", BUDGET.units, epochs=epochs, **more
    )


def test_every_prefix_is_the_running_sum_within_its_noise():
    tree, epochs = tree_of(Ledger.throw_away(), 11), [people(100 * k) for k in range(11)]
    noise = 5.0 * multiplier(BUDGET.units // 4)  # std of one node
    for t, users in enumerate(epochs, 1):
        prefix = tree.add(ENGINE, users, contribute)
        assert len(prefix.releases) == t.bit_count()
        error = prefix.value - exact(*epochs[:t])
        assert abs(error).max() < 6 * noise * np.sqrt(t.bit_count())


def test_a_level_is_paid_once_and_its_later_nodes_are_covered():
    ledger = Ledger.throw_away()
    tree = tree_of(ledger, 5)
    for k in range(5):
        tree.add(ENGINE, people(100 * k), contribute)
    prices = split(BUDGET.units, [1.0] * 3)
    rows = ledger.run("run", method="t", config={}).rows()
    assert [row["units"] for row in rows] == [prices[0], prices[1], 0, prices[2], 0]
    assert [row.get("covered_by") for row in rows] == [None, None, "run/clicks/1", None, "run/clicks/1"]
    assert sum(row["units"] for row in rows) == BUDGET.units


def test_a_stream_that_stops_early_has_paid_for_the_levels_it_used():
    ledger = Ledger.throw_away()
    tree = tree_of(ledger, 1000)
    for k in range(3):
        tree.add(ENGINE, people(100 * k), contribute)
    prices = split(BUDGET.units, [1.0] * 10)
    assert sum(row["units"] for row in ledger.run("run", method="t", config={}).rows()) == sum(prices[:2])


def test_further_epochs_of_one_user_are_dropped():
    tree, same = tree_of(Ledger.throw_away(), 3), people(0)
    for _ in range(3):
        prefix = tree.add(ENGINE, same, contribute)
    assert abs(prefix.value - exact(same)).max() < 6 * 5.0 * multiplier(BUDGET.units // 2) * 2


def test_more_epochs_a_user_mean_more_noise_at_the_same_price():
    ledger = Ledger.throw_away()
    tree, same = tree_of(ledger, 2, epochs_per_user=2), people(0)
    tree.add(ENGINE, same, contribute)
    prefix = tree.add(ENGINE, same, contribute)
    assert abs(prefix.value - 2 * exact(same)).max() < 6 * 5.0 * multiplier(BUDGET.units // 2 // 4)
    rows = ledger.run("run", method="t", config={}).rows()
    assert rows[0]["parts"][0]["multiplier"] == multiplier(rows[0]["units"] // 4)


def test_after_a_crash_committed_nodes_are_read():
    ledger, epochs = Ledger.throw_away(), [people(100 * k) for k in range(4)]
    before = [tree_of(ledger, 4).add(ENGINE, epochs[0], contribute)]
    tree = tree_of(ledger, 4)  # as a resumed process makes it
    after = [tree.add(ENGINE, users, contribute) for users in epochs]
    np.testing.assert_array_equal(before[0].value, after[0].value)
    assert abs(after[3].value - exact(*epochs)).max() < 6 * 5.0 * multiplier(BUDGET.units // 3)


def test_no_epoch_beyond_the_plan():
    tree = tree_of(Ledger.throw_away(), 1)
    tree.add(ENGINE, people(0), contribute)
    with pytest.raises(ArgumentError, match="epochs"):
        tree.add(ENGINE, people(100), contribute)


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"epochs": 3, "epochs_per_user": 0}])
def test_streams_have_epochs(wrong):
    with pytest.raises(ArgumentError, match="epochs"):
        tree_of(Ledger.throw_away(), **wrong)


def test_nothing_is_free_that_no_release_of_the_run_has_paid_for():
    run = Ledger.throw_away().run("run", method="t", config={})
    with pytest.raises(LedgerError, match="paid for nothing"):
        run.reserve("clicks", 3, 0, {}, covered_by="other/clicks/1")
    with pytest.raises(ArgumentError, match="units"):
        run.reserve("clicks", 3, 0, {})
