"""The precision attack: do the fine bits of a released number tell whether anything was added to an exact 0?

With floats they do. Where the sum is x and the noise brings the result y below |x| / 2, the addition was
exact and both operands were multiples of half an ulp of x, so y is one as well. Where the sum is 0, y is the
noise itself, whose small values have finer bits. One such y proves that the canary is absent, with no doubt
left for any epsilon. On a lattice whose noise law does not depend on the data, the event says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.privacy.audit.calibration import Check
from hushfold.statistics.base import Contribution, Spec
from hushfold.statistics.gram import gram
from hushfold.types import Rows

Floats = NDArray[np.float64]

ALLOWED = 0.02  # advantage beyond what sampling explains
_DEVIATIONS = 4.9  # of a normal, exceeded with probability 1e-6


def finer_than(released: Floats, value: float) -> NDArray[np.bool_]:
    """Which numbers lie below |value| / 2 and are no multiple of half an ulp of `value`.

    `value` plus noise, computed in floats, is never one of them; noise alone often is.
    """
    event = np.abs(released) < abs(value) / 2
    event[event] = np.fmod(released[event], np.spacing(abs(value)) / 2) != 0
    return event


def float_control(values: NDArray[np.floating[Any]], noise: Floats) -> NDArray[np.floating[Any]]:
    """The mechanism under attack: real values plus float noise, added as a processor adds."""
    return values + noise


def on_lattice(released: Floats, step: float) -> bool:
    """Whether every number is the image of a whole number of steps, bit for bit."""
    return bool((np.rint(released / step) * step == released).all())


@dataclass(frozen=True)
class Canary:
    """One user on items nobody else touched, all Gram cells at the same value.

    `row_clip` makes that value a little above a power of two, where the attack is strongest, and the
    statistic's step no power of two, so that released numbers have fine bits at all.
    """

    items: int = 50
    rank: int = 128
    row_clip: float = 1.01

    def contribute(self, rows: Rows) -> tuple[Contribution, ...]:
        """The canary's Gram matrices, at every bound."""
        row = np.full((len(rows), self.rank), self.row_clip / math.sqrt(self.rank))
        return (gram(rows, row, float(self.items), self.row_clip),)

    def rows(self, present: bool) -> Rows:
        """The data set: the canary, or nobody."""
        users = int(present)
        items = np.tile(np.arange(self.items, dtype=np.int32), users)
        ones = np.ones(len(items), np.float32)
        return Rows(np.arange(users + 1) * self.items, items, ones, np.ones(users, np.uint64), self.items)

    @cached_property
    def spec(self) -> Spec:
        """Of the released statistic."""
        (contribution,) = self.contribute(Rows.empty(self.items))
        return contribution.spec

    @cached_property
    def value(self) -> float:
        """What the canary adds to every cell, in real units; the cells of a uniform row are equal."""
        (contribution,) = self.contribute(self.rows(True))
        summed = contribution.accumulator()
        summed.add(contribution)
        return float(summed.tile(0).max() * self.spec.step)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How often the event was seen in the two worlds."""

    runs: int
    present: float
    absent: float

    @property
    def advantage(self) -> float:
        """Of somebody who decides by the event."""
        return abs(self.absent - self.present)

    @property
    def bound(self) -> float:
        """`ALLOWED`, and what so few runs may show by chance (once in a million)."""
        pooled = (self.present + self.absent + 1 / self.runs) / (2 + 2 / self.runs)
        return ALLOWED + _DEVIATIONS * math.sqrt(2 * pooled * (1 - pooled) / self.runs)


def attack(canary: Canary, release: Callable[[bool], Floats], runs: int) -> Outcome:
    """Decide `runs` times in each world whether the canary is there. `release(present)` is a fresh one."""

    def seen(present: bool) -> float:
        return sum(bool(finer_than(release(present), canary.value).any()) for _ in range(runs)) / runs

    return Outcome(runs, seen(True), seen(False))


def check_precision(canary: Canary, release: Callable[[bool], Any], runs: int) -> list[Check]:
    """Whether fine bits give the canary away, and whether there are any but the lattice's."""
    seen = attack(canary, release, runs)
    off = not on_lattice(release(True), canary.spec.step)
    return [
        Check("precision attack: advantage", seen.advantage <= seen.bound, seen.advantage, seen.bound),
        Check("precision attack: numbers off the lattice", not off, float(off), 0.0),
    ]
