"""The precision model of likes: P = (D + B B^T + Q)^-1, with D diagonal, B tall, Q sparse. Never a dense P.

A history is answered by one solve: conjugate gradients, preconditioned by the matrix without its pairs, whose
inverse is exact and cheap (Woodbury). Without pairs that inverse is the answer.
"""

# pyright: basic
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]

TOLERANCE = 1e-4  # of a residual, relative to the history: ranks do not change below it
MOST_STEPS = 200


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
        """P_jj of every item."""
        if self.pairs.nnz == 0:
            light = self.B / self.D[:, None]
            return 1 / self.D - np.einsum("jk,kl,jl->j", light, self._small, light)
        dense = self.pairs.toarray().astype(np.float64) + self.B @ self.B.T + np.diag(self.D)
        return np.linalg.inv(dense).diagonal().copy()

    @cached_property
    def _small(self) -> Floats:
        """(I + B^T D^-1 B)^-1."""
        count = self.B.shape[1]
        return np.linalg.solve(np.eye(count) + self.B.T @ (self.B / self.D[:, None]), np.eye(count))

    def _without_pairs(self, x: Floats) -> Floats:
        light = x / self.D[:, None]
        return light - (self.B @ (self._small @ (self.B.T @ light))) / self.D[:, None]

    def _times(self, x: Floats) -> Floats:
        return self.D[:, None] * x + self.B @ (self.B.T @ x) + self.pairs @ x
