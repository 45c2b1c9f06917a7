"""`dense`: sum_i G_i of arrays of any shape; also symmetric, also as sparse item rows j -> g_ij.

**Lemma.** The whole array of a user is quantised to integers with sum g^2 <= 2^60, off-diagonal cells of a
symmetric array counted twice (they stand once in the stored triangle but twice in the Frobenius norm), so
adding or removing the user moves the integer sum by at most 2^30 in that norm, the real one by at most
`bound`, and replacing a user by at most two bounds. What the array was computed from plays no part. Where
all cells are promised, and clipped, to be non-negative, replacing costs sqrt 2; a single non-negative cell
costs 1. Proof page: `proofs/dense.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.errors import ArgumentError
from hushfold.statistics.base import SmallAccumulator, Spec, svec_diagonal, svec_size
from hushfold.statistics.quantise import (
    ONE_FACTOR,
    checked_bound,
    quantise_dense,
    quantise_reference,
    quantise_rows,
)
from hushfold.statistics.rows import repair
from hushfold.types import Rows

Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class DenseContribution:
    """One flat row of integers per user."""

    spec: Spec
    integers: NDArray[np.int32]

    def accumulator(self) -> SmallAccumulator:
        """An empty sum."""
        return SmallAccumulator(self.spec)

    def add_to(self, total: NDArray[np.int64]) -> None:
        """Add the column sums."""
        total += self.integers.sum(axis=0, dtype=np.int64).reshape(total.shape)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class DenseRowsContribution:
    """One block of integers per entry."""

    spec: Spec
    items: NDArray[np.int32]
    integers: NDArray[np.int32]  # entries x k

    def accumulator(self) -> SmallAccumulator:
        """An empty sum."""
        return SmallAccumulator(self.spec)

    def add_to(self, total: NDArray[np.int64]) -> None:
        """Scatter every block onto its item's row."""
        _scatter_blocks(self.items, self.integers, total)


def dense(
    values: Floats, bound: float, symmetric: bool = False, *, nonnegative: bool = False
) -> DenseContribution:
    """Sum of one array per user, `values[i]`, each clipped to Frobenius norm `bound`.

    `values` is users x any shape (users alone: one scalar each, released as one coordinate). With `symmetric`
    (users x r x r) only the upper triangles are read and released, as one row `svec` of r (r + 1) / 2
    coordinates; a scalar that shares the clip is one more diagonal cell. `nonnegative` clips at 0.
    """
    bound = checked_bound("bound", bound)
    users = len(values)
    shape = values.shape[1:] or (1,)
    if not symmetric:
        weights, flat, size = None, values.reshape(users, math.prod(shape)), shape
    elif len(shape) == 2 and shape[0] == shape[1]:
        flat = values[:, *np.triu_indices(shape[0])]
        weights, size = svec_weights(svec_size(shape[0])), (1, svec_size(shape[0]))
    else:
        raise ArgumentError("values", "is not one square array per user", "Pass an array users x r x r")
    flat = np.maximum(flat, 0) if nonnegative else flat
    replace = _replace(flat.shape[1], nonnegative)
    spec = Spec("dense", size, bound, flat.shape[1], replace, "svec" if symmetric else "dense")
    return DenseContribution(spec, quantise_dense(flat, bound, ONE_FACTOR, weights=weights))


def dense_rows(rows: Rows, blocks: Floats, bound: float) -> DenseRowsContribution:
    """Sum of sparse item rows, m x k: `blocks[e]` (k numbers) belongs to the item of entry e of `rows`.

    The blocks of a user are clipped together to Frobenius norm `bound`. The values of `rows` play no part.
    Where a row is repaired the blocks of dropped entries go with them.
    """
    bound = checked_bound("bound", bound)
    if blocks.ndim != 2 or len(blocks) != len(rows.items):
        raise ArgumentError("blocks", "is not a block per entry of the rows", "Pass an array entries x k")
    rows, kept = repair(rows)
    blocks = blocks if kept is None else blocks[kept]
    width = blocks.shape[1]
    integers = quantise_rows(rows.indptr * width, np.ascontiguousarray(blocks).reshape(-1), bound, ONE_FACTOR)
    spec = Spec("dense", (rows.catalogue, width), bound, rows.catalogue * width, 2.0)
    return DenseRowsContribution(spec, rows.items, integers.reshape(-1, width))


def dense_reference(values: Floats, bound: float, symmetric: bool = False) -> NDArray[np.int64]:
    """The integers of `dense`, user after user in plain Python; a triangle is flat."""
    width = math.prod(values.shape[1:])
    flat = values[:, *np.triu_indices(values.shape[1])] if symmetric else values.reshape(-1, width)
    weights = svec_weights(flat.shape[1]) if symmetric else None
    total = np.zeros(flat.shape[1], np.int64)
    for row in flat:
        total += quantise_reference(row, bound, weights=weights)
    return total


def svec_weights(size: int) -> NDArray[np.int64]:
    """How often a stored cell of an upper triangle counts in the Frobenius norm: 1 on the diagonal, else
    2.
    """
    return np.where(svec_diagonal(size), 1, 2).astype(np.int64)


def _replace(coordinates: int, nonnegative: bool) -> float:
    if not nonnegative:
        return 2.0
    return math.sqrt(2) if coordinates > 1 else 1.0


@njit(nogil=True, cache=True)
def _scatter_blocks(  # pragma: no cover
    items: NDArray[np.int32], integers: NDArray[np.int32], total: NDArray[np.int64]
) -> None:
    for entry in range(len(items)):
        for column in range(integers.shape[1]):
            total[items[entry], column] += integers[entry, column]
