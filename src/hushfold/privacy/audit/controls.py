"""Negative controls: what is broken on purpose, and the layer that must notice it.

    bound         one user moves the integer sum further than stated        exact, hostile neighbours
    company       a contribution depends on who else is there               exact, blocks and departures
    calibration   the noise is not the stated one                           chi-square and shape, two-sided
    structure     a cell without noise, or with noise seen before           every cell, eight rounds
    precision     fine bits tell a canary's absence                         the attack on floats

`LAYERS` holds the check of each; the honest system passes all of them, every control fails its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.privacy.audit import broken_doors, broken_sums
from hushfold.privacy.audit.calibration import Check
from hushfold.privacy.audit.company import check_departures
from hushfold.privacy.audit.layouts import Floats, MakeDoor, Named, check_cells, check_noise
from hushfold.privacy.audit.precision import Canary, check_precision
from hushfold.privacy.audit.sensitivity import Subject, check_bound, check_company
from hushfold.privacy.budget import NANO, Budget
from hushfold.privacy.door import Door
from hushfold.privacy.ledger import Ledger
from hushfold.statistics.gram import gram
from hushfold.statistics.total import total
from hushfold.types import Rows

Layer = Literal["bound", "company", "calibration", "structure", "precision"]


@dataclass(frozen=True, slots=True)
class Control:
    """Something broken, and the layer that must say so."""

    name: str
    layer: Layer
    broken: Any
    """A `contribute` for the layers bound and company, what makes a door for the others."""

    def caught(self) -> bool:
        """Whether its layer notices."""
        return any(not check.passed for check in LAYERS[self.layer](self.broken))


CONTROLS = (
    Control("no clip", "bound", broken_sums.no_clip),
    Control("a clip per block of items", "bound", broken_sums.clip_per_tile),
    Control("no cap: twice the items", "bound", broken_sums.no_cap),
    Control("no dedupe: one pair many times", "bound", broken_sums.no_dedupe),
    Control("clipped, then centred", "bound", broken_sums.clip_then_centre),
    Control("right-hand side without the value bound", "bound", broken_sums.side_without_value_bound),
    Control("the paper's mean: k claimed as sqrt k", "bound", broken_sums.mean_by_the_paper),
    Control("a normaliser over all users", "company", broken_sums.cross_user_normaliser),
    Control("coins keyed by position", "company", broken_sums.position_keyed_coins),
    Control("a factor that depends on the block", "company", broken_sums.batch_dependent_factor),
    Control("a bound taken from the data", "company", broken_sums.bound_from_the_data),
    Control("half the noise", "calibration", broken_doors.less_noise(0.5)),
    Control("noise / sqrt 2", "calibration", broken_doors.less_noise(0.5**0.5)),
    Control("0.95 of the noise", "calibration", broken_doors.less_noise(0.95)),
    Control("no noise on empty items", "structure", broken_doors.noise_where_touched()),
    Control("one key for two releases", "structure", broken_doors.one_noise_for_all()),
    Control("float noise", "precision", broken_doors.FloatNoise),
)

GRAM = Named("gram", lambda rows: (gram(rows, np.zeros((len(rows), 24)), 9.0, 1.0),), 300)
COUNTS = Named("counts", lambda rows: (total(rows, 3.0),), 600)
SMALL_CANARY = Canary(items=50, rank=128)
MULTIPLIER = 50.0  # of the attacked release


def bound_layer(contribute: Callable[..., Any]) -> list[Check]:
    """Exact sensitivity of a contribution, on a hundred hostile pairs."""
    return check_bound(Subject("control", contribute, tight=False), 100)


def company_layer(contribute: Callable[..., Any]) -> list[Check]:
    """Whether a contribution depends on others: block by block and, if it adds up at all, in an engine."""
    subject = Subject("control", contribute, tight=False)
    checks = check_company(subject, users=20)
    described = next(check for check in checks if "description" in check.name)
    return checks + check_departures(subject, 20) if described.passed else checks


def calibration_layer(make_door: MakeDoor) -> list[Check]:
    """The noise of a Gram release, diagonal and off-diagonal cells."""
    return check_noise(GRAM, make_door)


def structure_layer(make_door: MakeDoor) -> list[Check]:
    """Every cell of a release in which one user touches five of 600 items."""
    items = np.arange(5, dtype=np.int32)
    rows = Rows(np.array([0, 5]), items, np.ones(5, np.float32), np.ones(1, np.uint64), COUNTS.items)
    return check_cells(COUNTS, make_door, rows)


def precision_layer(make_door: MakeDoor, runs: int = 40) -> list[Check]:
    """The precision attack on a Gram release."""
    release = attacked(SMALL_CANARY, make_door)
    return check_precision(SMALL_CANARY, release, runs)


def attacked(canary: Canary, make_door: MakeDoor) -> Callable[[bool], Floats]:
    """`release(present)`: the canary's Gram matrices through a fresh door, noise `MULTIPLIER` bounds."""
    price = round(NANO / MULTIPLIER**2)
    engine = LocalEngine(threads=1)
    sums = {world: engine.sum(Users(canary.rows(world)), canary.contribute) for world in (True, False)}

    def release(present: bool) -> Floats:
        with Ledger.throw_away() as ledger:
            door = make_door(ledger.run(method="audit", config={}), Budget(1.0, 1e-6, price))
            (released,) = door.gaussian("canary", sums[present], price)
            return released.value

    return release


LAYERS: dict[Layer, Callable[[Any], list[Check]]] = {
    "bound": bound_layer,
    "company": company_layer,
    "calibration": calibration_layer,
    "structure": structure_layer,
    "precision": precision_layer,
}

HONEST: dict[Layer, Any] = {
    "bound": COUNTS.contribute,
    "company": COUNTS.contribute,
    "calibration": Door,
    "structure": Door,
    "precision": Door,
}
"""What passes each layer: the package's own constructor and its own door."""
