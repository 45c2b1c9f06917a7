"""What comes through the door when nobody is behind it: every layout's noise has its law, in every cell.

Keys are fixed. A check that must accept alarms falsely with probability 1e-6; the same draws must be rejected
at 0.95 and 1.05 of the scale (`calibrate` asks both). A new algorithm joins with one line in `RELEASES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.keys import numbered_keys

from hushfold.algorithms.also_like import count_likes, count_pairs
from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.linalg.panels import SymmetricPanels
from hushfold.privacy.audit.calibration import LEAST_VALUES, calibrate
from hushfold.privacy.budget import Budget, units_for
from hushfold.privacy.door import Door
from hushfold.privacy.ledger import Ledger
from hushfold.statistics.base import Contribution, svec_diagonal
from hushfold.statistics.cross import cross
from hushfold.statistics.dense import dense, dense_rows
from hushfold.statistics.gram import gram
from hushfold.statistics.linear import Vectors, linear, linear_map
from hushfold.statistics.moment import moment
from hushfold.statistics.moment_rows import moment_rows
from hushfold.statistics.relation import Relation
from hushfold.statistics.total import total
from hushfold.types import Rows

PRICE = 10**5  # multiplier 100
IMAGE = linear_map(Relation("entry", 3), 500, Vectors(width=40, bound=2.0))
PURE_IMAGE = linear_map(Relation("entry", 3), 500, Vectors(width=40, bound=2.0), norm="l1")


@dataclass(frozen=True)
class Named:
    """A release of nobody's data."""

    name: str
    contribute: Callable[[Rows], tuple[Contribution, ...]]
    items: int
    mechanism: str = "gaussian"


RELEASES = [
    Named("total", lambda rows: (total(rows, 3.0),), 3000),
    Named("cross", lambda rows: (cross(rows, np.zeros((len(rows), 8)), 2.0, 1.5),), 700),
    Named("gram", lambda rows: (gram(rows, np.zeros((len(rows), 24)), 9.0, 1.0),), 300),
    Named("moment", lambda rows: (moment(np.zeros((len(rows), 280)), 1.0),), 5),
    Named("moment of rows", lambda rows: (moment_rows(rows, np.arange(0, 900, 2), 1.0),), 900),
    Named("dense", lambda rows: (dense(np.zeros((len(rows), 50, 60)), 1.0),), 5),
    Named("symmetric", lambda rows: (dense(np.zeros((len(rows), 280, 280)), 1.0, symmetric=True),), 5),
    Named("item rows", lambda rows: (dense_rows(rows, np.zeros((len(rows.items), 7)), 1.0),), 600),
    Named("linear", lambda rows: (linear(rows, np.zeros((len(rows), 40)), IMAGE),), 500),
    Named(
        "linear, pure", lambda rows: (linear(rows, np.zeros((len(rows), 40)), PURE_IMAGE),), 500, "laplace"
    ),
    Named("likes", count_likes, 3000),
    Named("pairs", lambda rows: count_pairs(rows, np.arange(100, 500)), 600),
]


def nobody(items: int) -> Users:
    return Users.from_arrays([], [], [], items)


def draws(named: Named, times: int, keys: str) -> list[np.ndarray]:
    """The released values of `times` rounds, in units of their noise's stated scale."""
    pure = named.mechanism == "laplace"
    budget = Budget.pure(1000.0) if pure else Budget(1.0, 1e-6, times * PRICE)
    run = Ledger.throw_away().run(method="t", config={}, claim="pure" if pure else "gaussian")
    door = Door(run, budget, threads=1, new_key=numbered_keys(keys))
    sums, values = LocalEngine(threads=1).sum(nobody(named.items), named.contribute), []
    for step in range(times):
        (released,) = getattr(door, named.mechanism)("noise", sums, PRICE, step=step)
        values.append(_dense(released.value))
    (part,) = run.rows()[0]["parts"]
    return [value / (part["sensitivity"] * part["multiplier"]) for value in values]


def _dense(value: Any) -> np.ndarray:
    return value.to_dense().astype(np.float64) if isinstance(value, SymmetricPanels) else value


def classes(named: Named, value: np.ndarray) -> dict[str, np.ndarray]:
    """The cells that share a scale, brought to unit scale."""
    (contribution,) = named.contribute(Rows.empty(named.items))
    if contribution.spec.layout == "dense":
        return {"cells": value.reshape(-1)}
    if contribution.spec.layout == "svec":
        on = svec_diagonal(value.shape[-1])
        return {"diagonal": value[..., on].ravel(), "off": value[..., ~on].ravel() * np.sqrt(2)}
    upper = np.triu_indices(len(value), 1)
    return {"diagonal": np.diag(value), "off": value[upper] * np.sqrt(2)}


@pytest.mark.parametrize("named", RELEASES, ids=lambda named: named.name)
def test_the_noise_of_every_release_has_its_law_and_no_other(named: Named):
    (first,) = draws(named, 1, f"size {named.name}")
    fewest = min(len(cells) for cells in classes(named, first).values())
    values = draws(named, -(-LEAST_VALUES // fewest), named.name)
    for kind in classes(named, first):
        noise = np.concatenate([classes(named, value)[kind] for value in values])[:400_000]
        family = "laplace" if named.mechanism == "laplace" else "gaussian"
        failed = [check for check in calibrate(noise, 1.0, family) if not check.passed]
        assert not failed, (kind, failed)


@pytest.mark.parametrize("named", RELEASES, ids=lambda named: named.name)
def test_every_cell_varies_and_none_repeats(named: Named):
    """P-06: of 8 rounds over nobody's rows, no cell is constant and no two rounds share a cell's value."""
    rounds = np.array(draws(named, 8, f"vary {named.name}"))
    varying = np.ptp(rounds, axis=0) > 0
    assert varying.all()
    repeats = sum(int((rounds[a] == rounds[b]).sum()) for a in range(8) for b in range(a))
    assert repeats <= 1e-4 * rounds.size  # float32 panels round; on the lattice it would be 1e-10 of them


def test_what_the_mechanisms_were_called_with_adds_up_to_what_the_ledger_says():
    """P-14: the sum of 1 / multiplier^2 over all statistics, in whole units, is the ledger's sum."""
    run = Ledger.throw_away().run(method="t", config={})
    door = Door(run, Budget(20.0, 1e-6, 2 * 10**9), threads=1)
    engine, users = LocalEngine(threads=1), nobody(40)

    def contribute(rows: Rows):
        return total(rows, 3.0), moment(np.zeros((len(rows), 4)), 1.0)

    for step, prices in enumerate(([1234567, 7654321], [999, 10**9], [31, 17])):
        door.gaussian("round", engine.sum(users, contribute), prices, step=step)
    rows = run.rows()
    paid = [part for row in rows for part in row["parts"]]
    assert sum(units_for(part["multiplier"]) for part in paid) == sum(row["units"] for row in rows)
    assert sum(row["units"] for row in rows) == 1234567 + 7654321 + 999 + 10**9 + 31 + 17
