"""`moment` of dense rows: sum_i u_i u_i^T, r x r, as an upper triangle.

**Lemma.** A user's row is quantised to integers with |u|^2 <= 2^30, so adding or removing the user moves the
integer sum by u u^T, whose Frobenius norm is |u|^2 <= 2^30: the real sum by at most `bound^2`. Replacing u
by v moves it by |uu^T - vv^T|_F^2 = |u|^4 + |v|^4 - 2 (u . v)^2 <= 2 * 2^60, a factor sqrt 2. Proof:
`proofs/moment.md`.

The sum of sparse rows over a head of items is in `moment_rows`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushfold.errors import ArgumentError
from hushfold.statistics.base import SmallAccumulator, Spec, svec_size
from hushfold.statistics.quantise import TWO_FACTORS, checked_bound, quantise_dense, quantise_reference

EXACT_USERS = (
    2**22
)  # of norm^2 <= 2^30 each: below 2^52 every partial sum of a float64 product is a whole number


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class MomentContribution:
    """The quantised rows of a block of users."""

    spec: Spec
    integers: NDArray[np.int32]  # users x r

    def accumulator(self) -> SmallAccumulator:
        """An empty sum."""
        return SmallAccumulator(self.spec)

    def add_to(self, total: NDArray[np.int64]) -> None:
        """Add the upper triangle of the product of the rows with themselves, exact in float64."""
        triangle = np.triu_indices(self.integers.shape[1])
        for start in range(0, len(self.integers), EXACT_USERS):
            rows = self.integers[start : start + EXACT_USERS].astype(np.float64)
            total[0] += (rows.T @ rows)[triangle].astype(np.int64)


def moment(u: NDArray[np.floating], bound: float) -> MomentContribution:
    """Sum of u_i u_i^T over the rows of `u` (users x r), each clipped to norm `bound`.

    Released as one row of r (r + 1) / 2 coordinates, the row-major upper triangle; one user moves it by at
    most `bound^2`. A row with anything not finite is 0.
    """
    if u.ndim != 2:
        raise ArgumentError("u", "is not a row per user", "Pass an array users x r")
    checked_bound("bound", bound)
    size = svec_size(u.shape[1])
    spec = Spec("moment", (1, size), checked_bound("bound", bound * bound), size, math.sqrt(2), "svec")
    return MomentContribution(spec, quantise_dense(u, bound, TWO_FACTORS))


def moment_reference(u: NDArray[np.floating], bound: float) -> NDArray[np.int64]:
    """The integers of `moment`, flat, in plain Python."""
    rank = u.shape[1]
    total = np.zeros((rank, rank), np.int64)
    for row in u:
        own = quantise_reference(row, bound, TWO_FACTORS)
        for a in range(rank):
            for b in range(a, rank):
                total[a, b] += own[a] * own[b]
    return total[np.triu_indices(rank)]
