"""Contributions broken on purpose, each in a way that a published or shipped system has been broken.

Negative controls: a check that does not notice them would notice nothing. Never used for anything else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.privacy.audit.shapes import user_numbers
from hushfold.statistics.base import LATTICE, TILE, Contribution, SmallAccumulator, Spec
from hushfold.statistics.moment import moment
from hushfold.statistics.quantise import quantise_rows
from hushfold.statistics.rows import guard
from hushfold.statistics.total import total
from hushfold.types import Rows

Contribute = Callable[[Rows], tuple[Contribution, ...]]

CAP = 50  # items per user, where a control claims such a cap
VALUE_BOUND = 5.0


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Loose:
    """A contribution nobody checked: integers go where the entries point, negative or repeated."""

    spec: Spec
    items: NDArray[np.int32]
    integers: NDArray[np.int64]

    def accumulator(self) -> SmallAccumulator:
        """An empty sum."""
        return SmallAccumulator(self.spec)

    def add_to(self, total: NDArray[np.int64]) -> None:
        """Scatter the entries, as numpy's negative indices would have it."""
        inside = (self.items >= -len(total)) & (self.items < len(total))
        np.add.at(total, self.items[inside], self.integers[inside])


def no_clip(rows: Rows) -> tuple[Contribution, ...]:
    """The row is summed as it came."""
    rows = guard(rows)
    return _loose(rows, rows.values)


def clip_per_tile(rows: Rows) -> tuple[Contribution, ...]:
    """Register 33: the norm of each tile's slice is clipped, not that of the row."""
    rows = guard(rows)
    slices = _owner(rows) * (rows.catalogue // TILE + 1) + rows.items // TILE
    cuts = np.flatnonzero(np.diff(slices, prepend=-1))
    indptr = np.r_[cuts, len(slices)].astype(np.int64)
    return _as_quantised(rows, quantise_rows(indptr, rows.values, 1.0))


def no_dedupe(rows: Rows) -> tuple[Contribution, ...]:
    """Register 12: the norm of the list is clipped, whatever it names and however often."""
    values = np.where(np.isfinite(rows.values), rows.values, 0)
    return _as_quantised(rows, quantise_rows(rows.indptr, values, 1.0))


def no_cap(rows: Rows) -> tuple[Contribution, ...]:
    """Twice as many items as the bound allows for, each at its full weight."""
    rows = guard(rows)
    place = np.arange(len(rows.items)) - np.repeat(rows.indptr[:-1], np.diff(rows.indptr))
    return _loose(rows, np.where(place < 2 * CAP, 1 / np.sqrt(CAP), 0.0))


def clip_then_centre(rows: Rows) -> tuple[Contribution, ...]:
    """Register 13: the clip is not the last thing that happens."""
    rows = guard(rows)
    clipped = quantise_rows(rows.indptr, rows.values, 1.0) / LATTICE
    return _loose(rows, clipped - 0.2)


def side_without_value_bound(rows: Rows) -> tuple[Contribution, ...]:
    """A right-hand side of values up to 5 whose bound, and so whose noise, leaves the 5 out."""
    rows = guard(rows)
    lengths = np.repeat(np.sqrt(np.diff(rows.indptr)), np.diff(rows.indptr))
    return _loose(rows, np.clip(rows.values, -VALUE_BOUND, VALUE_BOUND) / np.maximum(lengths, 1))


def mean_by_the_paper(rows: Rows) -> tuple[Contribution, ...]:
    """One global sum of ratings: a user moves it by up to 50 value bounds, and sqrt 50 are claimed."""
    rows = guard(rows)
    place = np.arange(len(rows.items)) - np.repeat(rows.indptr[:-1], np.diff(rows.indptr))
    values = np.where(place < CAP, np.clip(rows.values, -VALUE_BOUND, VALUE_BOUND), 0)
    sums = np.bincount(_owner(rows), values, len(rows)) / (VALUE_BOUND * np.sqrt(CAP))
    spec = Spec("total", (1,), 1.0, 1, 2.0)
    return (Loose(spec, np.zeros(len(rows), np.int32), _integers(sums)),)


def cross_user_normaliser(rows: Rows) -> tuple[Contribution, ...]:
    """Register 16: every user's weight is divided by the block's mean number of ratings."""
    counts = np.diff(rows.indptr)
    return _weighted(rows, counts / max(counts.mean(), 1.0) if len(rows) else counts)


def position_keyed_coins(rows: Rows) -> tuple[Contribution, ...]:
    """Register 16: the sign of a user's row is drawn for the place, not for the user."""
    return _weighted(rows, np.where(np.arange(len(rows)) % 2, 1.0, -1.0))


def batch_dependent_factor(rows: Rows) -> tuple[Contribution, ...]:
    """Register 4: the size of the block reaches the last bits of what its users contribute."""
    return (moment(user_numbers("batch", rows, 4) * (1 + 1e-3 * len(rows)) * 1e-6, 1.0),)


def bound_from_the_data(rows: Rows) -> tuple[Contribution, ...]:
    """Rule 4: the bound is the largest row of the block."""
    rows = guard(rows)
    return (total(rows, max(1.0, float(np.abs(rows.values[:200]).max(initial=0)))),)


def far_below_the_bound(rows: Rows) -> tuple[Contribution, ...]:
    """Private, but with a thousand times the noise it needs."""
    values = np.where(np.isfinite(rows.values), np.clip(rows.values, -1e-6, 1e-6), 0).astype(np.float32)
    return (total(Rows(rows.indptr, rows.items, values, rows.keys, rows.catalogue), 1.0),)


def _spec(rows: Rows) -> Spec:
    return Spec("total", (rows.catalogue,), 1.0, rows.catalogue, 2.0)


def _owner(rows: Rows) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(rows)), np.diff(rows.indptr))


def _integers(values: NDArray[Any]) -> NDArray[np.int64]:
    finite = np.where(np.isfinite(values), values, 0)
    return np.trunc(np.clip(finite, -1e3, 1e3) * LATTICE).astype(np.int64)


def _loose(rows: Rows, values: NDArray[Any]) -> tuple[Contribution, ...]:
    return (Loose(_spec(rows), rows.items, _integers(values)),)


def _as_quantised(rows: Rows, integers: NDArray[np.int32]) -> tuple[Contribution, ...]:
    return (Loose(_spec(rows), rows.items, integers.astype(np.int64)),)


def _weighted(rows: Rows, weights: NDArray[Any]) -> tuple[Contribution, ...]:
    """Small rows, times a factor: within the bound for one user, whatever the factor."""
    rows = guard(rows)
    values = np.nan_to_num(np.clip(rows.values, -5, 5)) / 5
    scaled = values * np.repeat(weights, np.diff(rows.indptr)) * 1e-3
    return (total(Rows(rows.indptr, rows.items, scaled.astype(np.float32), rows.keys, rows.catalogue), 1.0),)
