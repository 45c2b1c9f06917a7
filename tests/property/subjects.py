"""What the sensitivity tests run on: the shapes of the package, and mechanisms broken on purpose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushfold.privacy.audit.sensitivity import Subject
from hushfold.privacy.audit.shapes import SHAPES, user_numbers
from hushfold.statistics.base import LATTICE, TILE, SmallAccumulator, Spec
from hushfold.statistics.moment import moment
from hushfold.statistics.quantise import quantise_rows
from hushfold.statistics.rows import guard
from hushfold.statistics.total import total
from hushfold.types import Rows

# An estimator joins by one line: Subject("name", contribute, public).
SUBJECTS: tuple[Subject, ...] = SHAPES


@dataclass(frozen=True)
class Loose:
    """A contribution nobody checked: integers go where the entries point, negative or repeated."""

    spec: Spec
    items: NDArray[np.int32]
    integers: NDArray[np.int64]

    def accumulator(self):
        return SmallAccumulator(self.spec)

    def add_to(self, total):
        inside = (self.items >= -len(total)) & (self.items < len(total))
        np.add.at(total, self.items[inside], self.integers[inside])


def _spec(rows):
    return Spec("total", (rows.catalogue,), 1.0, rows.catalogue, 2.0)


def _loose(rows, values):
    finite = np.where(np.isfinite(values), values, 0)
    integers = np.trunc(np.clip(finite, -1e3, 1e3) * LATTICE).astype(np.int64)
    return (Loose(_spec(rows), rows.items, integers),)


def no_clip(rows):
    return _loose(guard(rows), guard(rows).values)


def clip_per_tile(rows):
    """Register 33: the norm of each tile's slice is clipped, not that of the row."""
    rows = guard(rows)
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
    slices = owner * (rows.catalogue // TILE + 1) + rows.items // TILE
    cuts = np.flatnonzero(np.diff(slices, prepend=-1))
    indptr = np.r_[cuts, len(slices)].astype(np.int64)
    return (Loose(_spec(rows), rows.items, quantise_rows(indptr, rows.values, 1.0).astype(np.int64)),)


def no_dedupe(rows):
    """Register 12: the norm of the list is clipped, whatever it names and however often."""
    values = np.where(np.isfinite(rows.values), rows.values, 0)
    return (Loose(_spec(rows), rows.items, quantise_rows(rows.indptr, values, 1.0).astype(np.int64)),)


def clip_then_centre(rows):
    """Register 13: the clip is not the last thing that happens."""
    rows = guard(rows)
    clipped = quantise_rows(rows.indptr, rows.values, 1.0) / LATTICE
    return _loose(rows, clipped - 0.2)


def _weighted(rows, weights):
    """A row of at most half the bound, times a factor: within the bound for one user, whatever the factor."""
    rows = guard(rows)
    values = np.nan_to_num(np.clip(rows.values, -5, 5)) / 5
    scaled = values * np.repeat(weights, np.diff(rows.indptr)) * 1e-3
    return (total(Rows(rows.indptr, rows.items, scaled.astype(np.float32), rows.keys, rows.catalogue), 1.0),)


def cross_user_normaliser(rows):
    """Register 16: every user's weight is divided by the block's mean number of ratings."""
    counts = np.diff(rows.indptr)
    return _weighted(rows, counts / max(counts.mean(), 1.0) if len(rows) else counts)


def position_keyed_coins(rows):
    """Register 16: the sign of a user's row is drawn for the place, not for the user."""
    return _weighted(rows, np.where(np.arange(len(rows)) % 2, 1.0, -1.0))


def batch_dependent_factor(rows):
    """Register 4: the size of the block reaches the last bits of what its users contribute."""
    return (moment(user_numbers("batch", rows, 4) * (1 + 1e-3 * len(rows)) * 1e-6, 1.0),)


def bound_from_the_data(rows):
    """Rule 4: the bound is the largest row of the block."""
    rows = guard(rows)
    return (total(rows, max(1.0, float(np.abs(rows.values[:200]).max(initial=0)))),)


def far_below_the_bound(rows):
    """Private, but with a thousand times the noise it needs."""
    values = np.where(np.isfinite(rows.values), np.clip(rows.values, -1e-6, 1e-6), 0).astype(np.float32)
    return (total(Rows(rows.indptr, rows.items, values, rows.keys, rows.catalogue), 1.0),)


OVERWEIGHT = (no_clip, clip_per_tile, no_dedupe, clip_then_centre)
"""Caught by the bound: one user moves the sum too far."""
SWAYED = (cross_user_normaliser, position_keyed_coins, batch_dependent_factor)
"""Caught by the company a user keeps: every single user stays within the bound."""
