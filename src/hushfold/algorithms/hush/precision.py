"""The precision model of likes: P = (D + B B^T + Q)^-1, with D diagonal, B tall, Q sparse. Never a dense P.

A history is answered by one solve: conjugate gradients, preconditioned by the matrix without its pairs, whose
inverse is exact and cheap (Woodbury). Without pairs that inverse is the answer.
"""

# pyright: basic
from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hushfold.algorithms.hush.model import MomentModel
from hushfold.algorithms.hush.pairs import residual_pairs, shift_of
from hushfold.algorithms.hush.sweeps import Factors

Floats = NDArray[np.float64]

OWN, FLOOR = 0.1, 0.5  # of an item's mass and of the noise, that no factor or pair can explain away
TOLERANCE = 1e-4  # of a residual, relative to the history: ranks do not change below it
MOST_STEPS = 200
NEIGHBOURS = 32


@dataclass(frozen=True, eq=False)
class LikesPrecision:
    """(D + B B^T + Q)^-1 over the items of the head."""

    D: Floats
    B: Floats
    pairs: csr_array

    def __len__(self) -> int:
        return len(self.D)

    def solve(self, x: Floats) -> Floats:
        """P x, for x of h rows and one column a history; every column stops by itself."""
        y = self._without_pairs(x)
        if self.pairs.nnz == 0:
            return y
        enough = TOLERANCE * np.linalg.norm(x, axis=0)
        residual = x - self._times(y)
        lifted = self._without_pairs(residual)
        direction = lifted.copy()
        power = np.einsum("ij,ij->j", residual, lifted)
        for _ in range(MOST_STEPS):
            going = np.linalg.norm(residual, axis=0) > enough
            if not going.any():
                break
            image = self._times(direction)
            curve = np.einsum("ij,ij->j", direction, image)
            step = np.divide(power, curve, out=np.zeros_like(power), where=going & (curve > 0))
            y += step * direction
            residual -= step * image
            lifted = self._without_pairs(residual)
            before, power = power, np.einsum("ij,ij->j", residual, lifted)
            turn = np.divide(power, before, out=np.zeros_like(power), where=going & (before > 0))
            direction = lifted + turn * direction
        return y

    def diagonal(self) -> Floats:
        """P_jj of every item: exact without pairs, else within half a per cent or so on real sets.

        With S = D + Q the answer is the diagonal of S^-1 less a low rank. S^-1 is well conditioned and sparse
        in effect: an entry of its diagonal is found from the item's strongest pairs and those among them.
        """
        sparse = replace(self, B=self.B[:, :0])
        solved = sparse.solve(self.B)
        small = np.linalg.solve(np.eye(self.B.shape[1]) + self.B.T @ solved, solved.T)
        whole = sparse.local_diagonal() - np.einsum("jk,kj->j", solved, small)
        return np.maximum(whole, 1 / (self.D + np.square(self.B).sum(axis=1)))  # no P_jj is less

    def local_diagonal(self) -> Floats:
        """The diagonal of (D + Q)^-1 as far as every item's `NEIGHBOURS` strongest pairs tell it."""
        Q = self.pairs
        indptr, indices = np.asarray(Q.indptr, np.int64), np.asarray(Q.indices, np.int32)
        result = np.empty(len(self))
        _local_diagonal(indptr, indices, np.asarray(Q.data, np.float32), self.D, NEIGHBOURS, result)
        return result

    @cached_property
    def _small(self) -> Floats:
        """(I + B^T D^-1 B)^-1."""
        small = np.eye(self.B.shape[1]) + self.B.T @ (self.B / self.D[:, None])
        return np.linalg.inv(small).astype(np.float64)

    def _without_pairs(self, x: Floats) -> Floats:
        light = x / self.D[:, None]
        return light - (self.B @ (self._small @ (self.B.T @ light))) / self.D[:, None]

    def _times(self, x: Floats) -> Floats:
        return self.D[:, None] * x + self.B @ (self.B.T @ x) + self.pairs @ x


def precision_of(model: MomentModel, fit: Factors, with_pairs: bool) -> LikesPrecision:
    """Factors, perhaps pairs, and what every item has left of its own, safely positive definite."""
    mass = expected_diagonal(model)
    left = np.maximum(mass - np.square(fit.B).sum(axis=1), 0)
    own = left + OWN * mass + fit.V.sum(axis=1) + FLOOR * model.noise
    if not with_pairs:
        return LikesPrecision(own, fit.B, csr_array((len(own), len(own)), dtype=np.float32))
    pairs = residual_pairs(model, fit.B, mass)
    return LikesPrecision(own * shift_of(pairs, own), fit.B, pairs)


def expected_diagonal(model: MomentModel) -> Floats:
    """d_j: the moment's trace, shared out by likes (a diagonal entry by itself is too noisy)."""
    return max(float(model.own.sum()), model.noise) / model.likes.sum() * model.likes


@njit(nogil=True, cache=True)
def _local_diagonal(  # pragma: no cover
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float32],
    D: Floats,
    most: int,
    result: Floats,
) -> None:
    """For item j with neighbours N: `1 / (D_j - Q_jN (D + Q)_NN^-1 Q_Nj)`, by a small Cholesky factor."""
    place = np.full(len(D), -1, np.int64)  # of an item among the neighbours
    lower = np.empty((most, most))
    solved = np.empty(most)
    for item in range(len(D)):
        start, stop = indptr[item], indptr[item + 1]
        strength = np.empty(stop - start)
        for entry in range(start, stop):
            strength[entry - start] = -(values[entry] ** 2) / D[indices[entry]]
        strongest = start + np.argsort(strength)[:most]
        for a in range(len(strongest)):
            place[indices[strongest[a]]] = a
        for a in range(len(strongest)):
            neighbour = indices[strongest[a]]
            lower[a, : a + 1] = 0.0
            lower[a, a] = D[neighbour]
            for entry in range(indptr[neighbour], indptr[neighbour + 1]):
                b = place[indices[entry]]
                if 0 <= b < a:
                    lower[a, b] = values[entry]
        explained = 0.0
        for a in range(len(strongest)):
            for b in range(a):
                lower[a, b] = (lower[a, b] - lower[a, :b] @ lower[b, :b]) / lower[b, b]
            left = lower[a, a] - lower[a, :a] @ lower[a, :a]
            if not left > 0.0:  # rounding alone can do it: no more is known
                break
            lower[a, a] = np.sqrt(left)
            solved[a] = (values[strongest[a]] - lower[a, :a] @ solved[:a]) / lower[a, a]
            explained += solved[a] ** 2
        result[item] = 1 / max(D[item] - explained, 1e-3 * D[item])
        for a in range(len(strongest)):
            place[indices[strongest[a]]] = -1
