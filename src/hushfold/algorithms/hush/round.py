"""The refinement round of Hush on ratings: ratings meet their user's factors, estimated without them.

A moment knows the head of the catalogue; the round reaches every item. With z_ij the factors of user i
estimated from all ratings but the one of item j, and r_ij that rating's residual after the intercept so
estimated, `E[r z] = E[z z^T] F_j` under the model. Three sums are released:

    cross      g_j = sum_i w_i r_ij z_ij, w_i = 1 / root(c_i)     a user's whole block clipped together
    z-moment   sum_i omega_i (mean_j z_ij z_ij^T / L^2, 1) / root 2            at most 1 by construction
    second     sum_i w_i (r_ij - z_ij . F_j)                              clipped as the residuals before

and with them g is one more Gaussian observation of all factors, the second sums one more of all biases.
Proofs: `hush.md`, `dense.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.algorithms.bias import without_biases
from hushfold.algorithms.bias_posterior import Draft
from hushfold.algorithms.hush.sweeps import Observation
from hushfold.local.design import Design
from hushfold.local.leave_one_out import leave_one_out
from hushfold.local.weights import unit_weights
from hushfold.statistics.base import Contribution
from hushfold.statistics.dense import dense, dense_rows
from hushfold.statistics.total import total
from hushfold.types import Rows

Floats = NDArray[np.float64]

LONGEST = 0.8  # times root k: the longest z
BLOCK_CLIP = 0.5  # times root k and the draft's clip: the largest block of a user
FULL_WEIGHT = 200.0  # ratings from which on a user counts in full in the z-moment
SAMPLING = 0.1  # how much g varies beyond the noise drawn
LEAST = 1e-3  # eigenvalue of the moment of z


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What users are told before the round."""

    draft: Draft
    design: Design

    @property
    def rank(self) -> int:
        """Number of factors."""
        return self.design.factors.shape[1]

    @property
    def longest(self) -> float:
        """L."""
        return LONGEST * math.sqrt(self.rank)

    @property
    def block_clip(self) -> float:
        """Lc."""
        return self.draft.clip * BLOCK_CLIP * math.sqrt(self.rank)


def sum_round(rows: Rows, question: Question) -> tuple[Contribution, ...]:
    """Release 5: cross, z-moment and second bias sums."""
    draft, factors = question.draft, np.asarray(question.design.factors, np.float64)
    left = without_biases(rows, draft.counts, draft.biases)
    z, r = (part.astype(np.float64) for part in leave_one_out(left, question.design, question.longest))
    moments, explained = np.zeros((len(left), question.rank + 1, question.rank + 1)), np.zeros(len(r))
    _own_moments(left.indptr, left.items, z, factors, question.longest, moments, explained)
    weights = unit_weights(left)
    return (
        dense_rows(left, (weights * r)[:, None] * z, question.block_clip),
        dense(moments, 1.0, symmetric=True),
        total(replace(left, values=weights * (r - explained)), draft.clip),
    )


def observation_of(question: Question, cross: Floats, moments: Floats, cross_noise: float) -> Observation:
    """What the round says about every item's factors; `cross_noise` is the standard deviation on `cross`."""
    draft = question.draft
    design = moment_of_z(moments, question.longest)
    sampling = SAMPLING * draft.scale**2 * float(np.trace(design)) / question.rank
    return Observation(cross, design, draft.counts.items, cross_noise**2 + sampling * draft.counts.items)


def moment_of_z(released: Floats, longest: float) -> Floats:
    """E[z z^T]: the ratio of the two sums that the z-moment carries, with positive eigenvalues."""
    size = int((math.sqrt(8 * released.size + 1) - 1) // 2)
    square = np.zeros((size, size))
    square[np.triu_indices(size)] = released.reshape(-1) * math.sqrt(2)
    square += np.triu(square, 1).T
    mean = square[:-1, :-1] * (longest**2 / max(float(square[-1, -1]), 1.0))
    values, vectors = np.linalg.eigh(mean)
    return (vectors * np.maximum(values, LEAST)) @ vectors.T


@njit(nogil=True, cache=True)
def _own_moments(  # pragma: no cover
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    z: Floats,
    factors: Floats,
    longest: float,
    moments: Floats,
    explained: Floats,
) -> None:
    """Each user's weighted mean of z z^T, the weight behind it (upper triangles); z . F of each entry."""
    rank = z.shape[1]
    for user in range(len(moments)):
        start, stop = indptr[user], indptr[user + 1]
        if start == stop:
            continue
        weight = min(1.0, math.sqrt((stop - start) / FULL_WEIGHT)) / math.sqrt(2.0)
        share = weight / ((stop - start) * longest * longest)
        own = moments[user]
        own[rank, rank] = weight
        for entry in range(start, stop):
            for a in range(rank):
                explained[entry] += z[entry, a] * factors[items[entry], a]
                scaled = share * z[entry, a]
                for b in range(a, rank):
                    own[a, b] += scaled * z[entry, b]
