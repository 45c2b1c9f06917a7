"""Symmetric matrices as row-major upper triangles, the way statistics are summed, noised and stored.

The entries are the matrix's own, unscaled: what makes the noise on a triangle isometric is that an off-
diagonal entry is drawn once, with 1 / sqrt2 of the diagonal's standard deviation (`proofs/gram.md`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.errors import ArgumentError

Real = NDArray[np.floating[Any]]


def rank_of(size: int) -> int:
    """The rank r whose upper triangle has `size` = r (r + 1) / 2 entries."""
    rank = (math.isqrt(8 * size + 1) - 1) // 2
    if rank * (rank + 1) // 2 != size:
        raise ArgumentError("size", f"{size} is no number of entries of a triangle", "Pass r (r + 1) / 2")
    return rank


def unpack(triangles: Real) -> Real:
    """(.., r (r + 1) / 2) to (.., r, r), both halves filled."""
    rank = rank_of(triangles.shape[-1])
    place = np.zeros((rank, rank), np.intp)
    place[np.triu_indices(rank)] = np.arange(triangles.shape[-1])
    return triangles[..., np.maximum(place, place.T)]


def pack(matrices: Real) -> Real:
    """(.., r, r) to (.., r (r + 1) / 2); what is below the diagonal is not read."""
    if matrices.ndim < 2 or matrices.shape[-1] != matrices.shape[-2]:
        raise ArgumentError("matrices", f"have shape {matrices.shape}", "Pass square matrices")
    upper, right = np.triu_indices(matrices.shape[-1])
    return matrices[..., upper, right]
