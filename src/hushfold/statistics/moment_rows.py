"""`moment` of sparse rows over a head of items: sum_i w_i w_i^T, h x h, summed 256 rows at a time.

**Lemma.** A user's row over the head is quantised to integers with |w|^2 <= 2^30, so adding or removing the
user moves the integer sum by w w^T, whose Frobenius norm is |w|^2 <= 2^30: the real sum by at most
`bound^2`. Replacing w by v moves it by |ww^T - vv^T|_F^2 = |w|^4 + |v|^4 - 2 (w . v)^2 <= 2 * 2^60, a factor
sqrt 2. Proof: `proofs/moment-rows.md`.

No h x h array of integers ever exists: the accumulator keeps the rows, 4 bytes an entry, and a tile adds up
the pairs of its own 256 items.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.errors import ArgumentError, HushfoldError
from hushfold.statistics.base import Spec
from hushfold.statistics.moment_tiles import JoinedRows, QuantisedRows, join
from hushfold.statistics.quantise import TWO_FACTORS, checked_bound, quantise_reference, quantise_rows
from hushfold.statistics.rows import guard, guard_reference
from hushfold.types import Rows

MOST_ITEMS = 2**16 - 1  # an entry keeps its item's place in the head in 16 bits

_joining = threading.Lock()  # one for all, so that an accumulator can be sent to another process


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class MomentRows:
    """The quantised rows of a block of users over the head."""

    spec: Spec
    rows: QuantisedRows

    def accumulator(self) -> MomentRowsAccumulator:
        """An empty sum."""
        return MomentRowsAccumulator(self.spec)


class MomentRowsAccumulator:
    """Keeps the quantised rows of all users, and adds up the tile it is asked for.

    Reading the first tile ends the adding: the rows then lie joined and indexed.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self._parts: list[QuantisedRows] = []
        self._joined: JoinedRows | None = None

    def add(self, contribution: MomentRows) -> None:
        """Take in one block of users."""
        self._still_open()
        self._parts.append(contribution.rows)

    def merge(self, other: MomentRowsAccumulator) -> None:
        """Take in the users of another accumulator; they are this one's from now on."""
        self._still_open()
        other._still_open()
        self._parts.extend(other._parts)
        other._parts = []

    def tile(self, tile: int) -> NDArray[np.int64]:
        """The exact sum of one panel of the upper triangle."""
        with _joining:
            if self._joined is None:
                self._joined = join(self._parts, self.spec.size[0])
        return self._joined.tile(tile, self.spec.tile_size(tile))

    def _still_open(self) -> None:
        if self._joined is not None:
            raise HushfoldError("moment: a tile was read already, so no more users can be added")


def moment_rows(rows: Rows, head: NDArray[np.integer], bound: float) -> MomentRows:
    """Sum of w_i w_i^T over the items of `head`, each user's row over the head clipped to norm `bound`.

    `head` holds increasing indices into the catalogue and is public; `rows.values` are the weights. Released
    as a symmetric h x h matrix in the order of `head`; one user moves it by at most `bound^2` (Frobenius).
    """
    places = _places(head, rows.catalogue)
    rows = guard(rows)
    indptr, kept, values = _restrict(rows.indptr, rows.items, rows.values, places)
    integers = quantise_rows(indptr, values, bound, TWO_FACTORS)
    size = len(head)
    spec = Spec(
        "moment",
        (size, size),
        checked_bound("bound", bound * bound),
        size * (size + 1) // 2,
        math.sqrt(2),
        "triangle",
    )
    # 2^15 is the one integer that 16 bits do not hold: it turns into -2^15. A row with either is zero
    # elsewhere, as its norm is used up, so only its square enters the sum, and that is the same.
    quantised = QuantisedRows(indptr, kept, integers.astype(np.int16), _is_level(indptr, integers))
    return MomentRows(spec, quantised)


def moment_rows_reference(rows: Rows, head: NDArray[np.integer], bound: float) -> NDArray[np.int64]:
    """The upper triangle of `moment_rows`, zero below, user after user in plain Python."""
    place_of = {item: place for place, item in enumerate(head.tolist())}
    total = np.zeros((len(head), len(head)), np.int64)
    for items, values in guard_reference(rows).each():
        own = [(place_of[j], w) for j, w in zip(items.tolist(), values, strict=True) if j in place_of]
        integers = quantise_reference([w for _, w in own], bound, TWO_FACTORS)
        row = np.zeros(len(head), np.int64)
        for (place, _), q in zip(own, integers, strict=True):
            row[place] = q
        total += np.triu(np.outer(row, row))
    return total


def _places(head: NDArray[np.integer], catalogue: int) -> NDArray[np.int32]:
    """Where in the head each item of the catalogue stands, or -1."""
    if head.ndim != 1 or not np.issubdtype(head.dtype, np.integer):
        raise ArgumentError("head", "is not a list of item indices", "Pass increasing catalogue indices")
    if not 0 < len(head) <= MOST_ITEMS:
        raise ArgumentError("head", f"has {len(head)} items", f"Pass between 1 and {MOST_ITEMS} items")
    if head[0] < 0 or head[-1] >= catalogue or not (head[1:] > head[:-1]).all():
        raise ArgumentError("head", "does not increase within the catalogue", "Sort it and drop what repeats")
    places = np.full(catalogue, -1, np.int32)
    places[head] = np.arange(len(head), dtype=np.int32)
    return places


@njit(nogil=True, cache=True)
def _restrict(  # pragma: no cover
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    values: NDArray[np.float32],
    places: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.float32]]:
    """The rows over the head; a sorted head keeps them increasing."""
    users = len(indptr) - 1
    kept = 0
    for entry in range(len(items)):
        kept += places[items[entry]] >= 0
    new_indptr = np.zeros(users + 1, np.int64)
    new_places = np.empty(kept, np.uint16)
    new_values = np.empty(kept, values.dtype)
    next_entry = 0
    for user in range(users):
        for entry in range(indptr[user], indptr[user + 1]):
            place = places[items[entry]]
            if place >= 0:
                new_places[next_entry] = place
                new_values[next_entry] = values[entry]
                next_entry += 1
        new_indptr[user + 1] = next_entry
    return new_indptr, new_places, new_values


@njit(nogil=True, cache=True)
def _is_level(indptr: NDArray[np.int64], integers: NDArray[np.int32]) -> bool:  # pragma: no cover
    for user in range(len(indptr) - 1):
        for entry in range(indptr[user] + 1, indptr[user + 1]):
            if integers[entry] != integers[entry - 1]:
                return False
    return True
