"""What comes through the door when nobody is behind it: every layout's noise has its law, in every cell.

Keys are fixed. A check that must accept alarms falsely with probability 1e-6; the same draws must be rejected
at 0.95 and 1.05 of the scale (`calibrate` asks both). A statistic joins in `privacy/audit/layouts.py`, an
algorithm in `privacy/audit/methods.py`, with one line.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from tests.keys import numbered_keys

from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.privacy.audit.layouts import LAYOUTS, check_cells, check_noise
from hushfold.privacy.audit.methods import METHOD_RELEASES
from hushfold.privacy.budget import Budget, units_for
from hushfold.privacy.door import Door
from hushfold.privacy.ledger import Ledger
from hushfold.statistics.moment import moment
from hushfold.statistics.total import total
from hushfold.types import Rows

every_release = pytest.mark.parametrize("named", [*LAYOUTS, *METHOD_RELEASES], ids=lambda named: named.name)


def failed(checks):
    return [check for check in checks if not check.passed]


def door_of(keys: str):
    return partial(Door, threads=1, new_key=numbered_keys(keys))


@every_release
def test_the_noise_of_every_release_has_its_law_and_no_other(named):
    assert not failed(check_noise(named, door_of(named.name)))


@every_release
def test_every_cell_varies_and_none_repeats(named):
    """P-06: of 8 rounds over nobody's rows, no cell is constant and no two rounds share a cell's value."""
    assert not failed(check_cells(named, door_of(f"vary {named.name}")))


def test_what_the_mechanisms_were_called_with_adds_up_to_what_the_ledger_says():
    """P-14: the sum of 1 / multiplier^2 over all statistics, in whole units, is the ledger's sum."""
    run = Ledger.throw_away().run(method="t", config={})
    door = Door(run, Budget(20.0, 1e-6, 2 * 10**9), threads=1)
    engine, users = LocalEngine(threads=1), Users.from_arrays([], [], [], 40)

    def contribute(rows: Rows):
        return total(rows, 3.0), moment(np.zeros((len(rows), 4)), 1.0)

    for step, prices in enumerate(([1234567, 7654321], [999, 10**9], [31, 17])):
        door.gaussian("round", engine.sum(users, contribute), prices, step=step)
    rows = run.rows()
    paid = [part for row in rows for part in row["parts"]]
    assert sum(units_for(part["multiplier"]) for part in paid) == sum(row["units"] for row in rows)
    assert sum(row["units"] for row in rows) == 1234567 + 7654321 + 999 + 10**9 + 31 + 17
