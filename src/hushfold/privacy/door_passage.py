"""The order in which anything passes the door: reserve, draw, commit, publish.

* **Reserve** first: the ledger takes the spend, or refuses, before anything is added up.
* **Draw** white noise on the lattice from a fresh key, for every coordinate of every tile.
* **Commit**: one transaction writes the public result and the mark. What was drawn before a crash nobody saw,
  so it is drawn again under the same reservation; what was committed is read, never computed again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.errors import AlreadyCommitted, ArgumentError
from hushfold.privacy.budget import NANO, Budget
from hushfold.privacy.mechanisms import Mechanism, facts
from hushfold.privacy.noise import GRADE, Key, Slack, slack
from hushfold.privacy.run import Reservation, Run

Real = NDArray[np.floating[Any]]
Tiles = list[list[Real]]
"""Noisy tiles, by statistic and in order."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What a release costs and what stands in the ledger about it."""

    units: int
    """Nano-units of mu^2 or epsilon; 0 only for what an earlier release of the run has paid for."""
    touched: int
    """The most coordinates one user can move in it."""
    mechanisms: Sequence[Mechanism]
    covered_by: str | None = None
    """The release that has paid for this one."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One run's way through the door, held to the run's own budget."""

    run: Run
    budget: Budget
    new_key: Callable[[], Key] = Key

    @property
    def mu(self) -> float:
        """The run's whole budget as the mu of a Gaussian; 0 for a pure one."""
        return math.sqrt(self.budget.units / NANO) if self.budget.claim == "gaussian" else 0.0

    def slack(self) -> Slack | None:
        """What the sampler adds to this run's epsilon and delta so far; nothing for a pure budget."""
        return self._slack(sum(row["touched"] for row in self.run.rows()))

    def through(self, name: str, step: int, charge: Charge, draw: Callable[[], Tiles]) -> tuple[str, Tiles]:
        """The id of the release and its noisy tiles: drawn now, or committed before and read."""
        self._hold_to_budget(name, step, charge)
        reservation = self.run.reserve(
            name,
            step,
            charge.units,
            {
                "kind": charge.mechanisms[0].kind,
                "grade": GRADE if self.new_key is Key else "fixed key: NOT PRIVATE",
                "touched": charge.touched,
                "parts": [facts(mechanism) for mechanism in charge.mechanisms],
            },
            covered_by=charge.covered_by,
        )
        if reservation.state == "RESERVED":
            tiles = draw()
            named = {f"{q}.{k}": rows for q, drawn in enumerate(tiles) for k, rows in enumerate(drawn)}
            try:
                self.run.commit(reservation, named)
            except AlreadyCommitted:
                tiles = self._committed(reservation)
        else:
            tiles = self._committed(reservation)
        self.run.publish(reservation)
        return reservation.id, tiles

    def _committed(self, reservation: Reservation) -> Tiles:
        """What the one commit of this release wrote, whoever made it."""
        tiles: dict[str, list[Real]] = {}
        for part, rows in self.run.stream(reservation):
            tiles.setdefault(part.partition(".")[0], []).append(rows)
        return list(tiles.values())

    def _hold_to_budget(self, name: str, step: int, charge: Charge) -> None:
        """Refuse more than the run's budget, and a slack that would show in the stated delta (Lemma 3)."""
        if any(mechanism.claim != self.budget.claim for mechanism in charge.mechanisms):
            raise ArgumentError(
                "budget", f"is a {self.budget.claim} one", "Use the mechanism this claim is about"
            )
        others = [row for row in self.run.rows() if (row["name"], row["step"]) != (name, step)]
        left = self.budget.units - sum(row["units"] for row in others)
        if charge.units > left:
            raise ArgumentError(
                "units", f"{charge.units} asked, {left} left in this run's budget", "Split it again"
            )
        self._slack(charge.touched + sum(row["touched"] for row in others))

    def _slack(self, touched: int) -> Slack | None:
        return slack(touched, self.mu, self.budget.delta) if self.budget.claim == "gaussian" else None
