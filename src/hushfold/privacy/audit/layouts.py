"""Every layout in which the door draws, as releases of nobody's data: what comes out is noise alone.

Two findings per layout. *Calibration*: the noise has its stated scale, shape, signs and independence, and
would have been rejected at 0.95 and 1.05 of it. *Structure* (P-06): every cell varies, and no two rounds
share a cell's value; the likelihood of a claimed mechanism does not notice noise that is missing where
nobody contributed. A new statistic joins with one line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.linalg.panels import SymmetricPanels
from hushfold.privacy.audit.calibration import LEAST_VALUES, Check, calibrate
from hushfold.privacy.budget import NANO, Budget
from hushfold.privacy.door import Door
from hushfold.privacy.ledger import Ledger
from hushfold.privacy.run import Run
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

Floats = NDArray[np.float64]
MakeDoor = Callable[[Run, Budget], Door]

PRICE = 10**5  # multiplier 100
ROUNDS = 8  # in which every cell must vary
SAME_BY_ROUNDING = 1e-4  # share of equal cells in float32 panels; on the lattice it would be 1e-10
MOST_VALUES = 400_000
_IMAGE = linear_map(Relation("entry", 3), 500, Vectors(width=40, bound=2.0))
_PURE_IMAGE = linear_map(Relation("entry", 3), 500, Vectors(width=40, bound=2.0), norm="l1")


@dataclass(frozen=True, slots=True)
class Named:
    """A release of nobody's data, in real units of its stated noise."""

    name: str
    contribute: Callable[[Rows], tuple[Contribution, ...]]
    """One contribution, public state included."""
    items: int
    mechanism: str = "gaussian"


LAYOUTS = (
    Named("total", lambda rows: (total(rows, 3.0),), 3000),
    Named("cross", lambda rows: (cross(rows, np.zeros((len(rows), 8)), 2.0, 1.5),), 700),
    Named("gram", lambda rows: (gram(rows, np.zeros((len(rows), 24)), 9.0, 1.0),), 300),
    Named("moment", lambda rows: (moment(np.zeros((len(rows), 280)), 1.0),), 5),
    Named("moment of rows", lambda rows: (moment_rows(rows, np.arange(0, 900, 2), 1.0),), 900),
    Named("dense", lambda rows: (dense(np.zeros((len(rows), 50, 60)), 1.0),), 5),
    Named("symmetric", lambda rows: (dense(np.zeros((len(rows), 280, 280)), 1.0, symmetric=True),), 5),
    Named("item rows", lambda rows: (dense_rows(rows, np.zeros((len(rows.items), 7)), 1.0),), 600),
    Named("linear", lambda rows: (linear(rows, np.zeros((len(rows), 40)), _IMAGE),), 500),
    Named(
        "linear, pure", lambda rows: (linear(rows, np.zeros((len(rows), 40)), _PURE_IMAGE),), 500, "laplace"
    ),
)


def check_noise(named: Named, make_door: MakeDoor = Door, least: int = LEAST_VALUES) -> list[Check]:
    """Calibration of every class of cells, on at least so many values each."""
    rounds = draws(named, make_door)
    values = [next(rounds)]
    fewest = min(len(cells) for cells in classes(named, values[0]).values())
    values += [next(rounds) for _ in range(-(-least // fewest) - 1)]
    checks: list[Check] = []
    for kind in classes(named, values[0]):
        noise = np.concatenate([classes(named, value)[kind] for value in values])[:MOST_VALUES]
        family = "laplace" if named.mechanism == "laplace" else "gaussian"
        found = calibrate(noise, 1.0, family)
        checks += [Check(f"{named.name}, {kind}: {c.name}", c.passed, c.figure, c.bound) for c in found]
    return checks


def check_cells(named: Named, make_door: MakeDoor = Door, rows: Rows | None = None) -> list[Check]:
    """P-06, over `ROUNDS` releases of the same rows (nobody's, unless some are given)."""
    drawn = draws(named, make_door, rows)
    rounds = np.array([next(drawn) for _ in range(ROUNDS)])
    still = int((np.ptp(rounds, axis=0) == 0).sum())
    repeated = sum(int((rounds[a] == rounds[b]).sum()) for a in range(ROUNDS) for b in range(a))
    allowed = SAME_BY_ROUNDING * rounds.size if rounds.dtype == np.float32 else 0.0
    return [
        Check(f"{named.name}: cells that never vary", still == 0, still, 0),
        Check(f"{named.name}: cells drawn alike in two rounds", repeated <= allowed, repeated, allowed),
    ]


def draws(named: Named, make_door: MakeDoor = Door, rows: Rows | None = None) -> Iterator[NDArray[Any]]:
    """Release after release, in units of the noise's stated scale, each through a door and run of its own."""
    pure = named.mechanism == "laplace"
    budget = Budget.pure(PRICE / NANO) if pure else Budget(1.0, 1e-6, PRICE)
    users = Users(Rows.empty(named.items) if rows is None else rows)
    sums = LocalEngine(threads=1).sum(users, named.contribute)
    while True:
        with Ledger.throw_away() as ledger:
            run = ledger.run(method="audit", config={}, claim="pure" if pure else "gaussian")
            door = make_door(run, budget)
            through = door.laplace if pure else door.gaussian
            (released,) = through("noise", sums, PRICE)
            (part,) = run.rows()[0]["parts"]
        value = _dense(released.value)
        yield value / value.dtype.type(part["sensitivity"] * part["multiplier"])


def _dense(value: Any) -> NDArray[Any]:
    return value.to_dense() if isinstance(value, SymmetricPanels) else value


def classes(named: Named, value: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """The cells that share a scale, brought to unit scale."""
    (contribution,) = named.contribute(Rows.empty(named.items))
    if contribution.spec.layout == "dense":
        return {"cells": value.reshape(-1)}
    if contribution.spec.layout == "svec":
        on = svec_diagonal(value.shape[-1])
        return {"diagonal": value[..., on].ravel(), "off": value[..., ~on].ravel() * np.sqrt(2)}
    upper = np.triu_indices(len(value), 1)
    return {"diagonal": np.diag(value), "off": value[upper] * np.sqrt(2)}
