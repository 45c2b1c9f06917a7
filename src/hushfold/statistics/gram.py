"""`gram` of sparse weights and dense rows: for every item, sum_i w_ij u_i u_i^T as an upper triangle.

The root of the normalised weight is folded into the dense row, one 15-bit row for each (user, item):

    v_ij = trunc(2^15 sqrt(w_ij / sqrt(B)) u_i / row_clip),    sum_j |v_ij|^4 <= 2^60 for each user

**Lemma.** Adding or removing a user moves the integer sum by v_ij v_ij^T at each item j, whose Frobenius norm
is |v_ij|^2: over the whole catalogue by sqrt(sum_j |v_ij|^4) <= 2^30, so the real sum moves by at most
`sqrt(weight_budget) * row_clip^2`. Replacing v by v' moves it by the root of
sum_j (|v_j|^4 + |v'_j|^4 - 2 (v_j . v'_j)^2) <= 2 * 2^60, a factor sqrt 2. Proof: `proofs/gram.md`.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.errors import HushfoldError
from hushfold.statistics.base import Spec, svec_diagonal, svec_size
from hushfold.statistics.cross import checked_rows
from hushfold.statistics.gram_rows import FoldedRows, fold, fold_reference
from hushfold.statistics.gram_tiles import ItemMajor, join
from hushfold.statistics.quantise import checked_bound
from hushfold.statistics.rows import guard, guard_reference
from hushfold.types import Rows

Real = NDArray[np.floating[Any]]

_joining = threading.Lock()  # one for all, so that an accumulator can be sent to another process


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class GramContribution:
    """The checked weights and dense rows of a block of users."""

    spec: Spec
    rows: FoldedRows

    def accumulator(self) -> GramAccumulator:
        """An empty sum."""
        return GramAccumulator(self.spec)


class GramAccumulator:
    """Keeps the rows of all users, and adds up the 256 items it is asked for.

    Reading the first tile ends the adding: the rows then lie joined and indexed by item.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self._parts: list[FoldedRows] = []
        self._joined: ItemMajor | None = None

    def add(self, contribution: GramContribution) -> None:
        """Take in one block of users."""
        self._still_open()
        self._parts.append(contribution.rows)

    def merge(self, other: GramAccumulator) -> None:
        """Take in the users of another accumulator; they are this one's from now on."""
        self._still_open()
        other._still_open()
        self._parts.extend(other._parts)
        other._parts = []

    def tile(self, tile: int) -> NDArray[np.int64]:
        """The exact sums of one tile of items."""
        with _joining:
            if self._joined is None:
                self._joined = join(
                    self._parts, self.spec.size[0], int(svec_diagonal(self.spec.size[1]).sum())
                )
        return self._joined.tile(tile, self.spec.tile_size(tile))

    def _still_open(self) -> None:
        if self._joined is not None:
            raise HushfoldError("gram: a tile was read already, so no more users can be added")


def gram(rows: Rows, u: Real, weight_budget: float, row_clip: float) -> GramContribution:
    """Sum over users of w_ij u_i u_i^T for every item j, as row-major upper triangles (m x r (r + 1) / 2).

    `rows.values` are the weights, negative ones count as 0, each user's row of them scaled down until
    sum_j w_ij^2 <= `weight_budget`; `u` (users x r) holds the dense rows, clipped to norm `row_clip`. A dense
    row with anything not finite is 0. One user moves the result by at most
    `sqrt(weight_budget) * row_clip^2`.
    """
    checked_rows("u", u, len(rows))
    budget, clip = checked_bound("weight_budget", weight_budget), checked_bound("row_clip", row_clip)
    bound = checked_bound("row_clip", math.sqrt(budget) * clip * clip)
    size = (rows.catalogue, svec_size(u.shape[1]))
    spec = Spec("gram", size, bound, size[0] * size[1], math.sqrt(2), "svec")
    return GramContribution(spec, fold(guard(rows), u, math.sqrt(budget), clip))


def gram_reference(rows: Rows, u: Real, weight_budget: float, row_clip: float) -> NDArray[np.int64]:
    """The integers of `gram`, user after user and item after item."""
    rank = u.shape[1]
    upper = np.triu_indices(rank)
    total = np.zeros((rows.catalogue, svec_size(rank)), np.int64)
    for (items, weights), row in zip(guard_reference(rows).each(), u, strict=True):
        for item, v in zip(
            items, fold_reference(weights, row, math.sqrt(weight_budget), row_clip), strict=True
        ):
            total[item] += np.outer(v, v)[upper]
    return total
