"""What is public about a fold-in: the items' rows, the noise of each item, what a user is beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hushfold.errors import ArgumentError
from hushfold.linalg.small_solve import padded_width

Real = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Design:
    """A linear model of one user's values: `value_j ~ N(intercept + factors_j . u, noise_j)`.

    Public state: build it once, hand it to every user. A user's unknowns are `(intercept, u)`, or `u` without
    an intercept; the prior of `u` has precision `background + ridge * I`, where `ridge` comes with the user.
    """

    factors: Real
    """Items x rank."""
    noise: Real | None = None
    """Noise variance of each item's values, positive; None: 1 for all."""
    background: Real | None = None
    """rank x rank, symmetric, no negative eigenvalue: e.g. `unobserved_weight * sum_j V_j V_j^T`."""
    intercept_variance: float | None = None
    """Prior variance of a user's own intercept (`math.inf`: not penalised); None: no intercept."""
    dtype: DTypeLike = np.float32
    """What the users compute in: float32, or float64."""

    table: Real = field(init=False)
    """The items' rows in the coordinates of `rotation`, padded to whole registers."""
    roots: Real = field(init=False)
    """One over the noise std of each item."""
    fixed: Real = field(init=False)
    """Prior precision of each (rotated) coordinate; 1 where padded."""
    ridged: Real = field(init=False)
    """1 for the coordinates that the user's ridge is added to."""
    rotation: Real | None = field(init=False)
    """What turns rotated factors into those of `factors`: in between, every user's prior is diagonal."""

    def __post_init__(self) -> None:
        dtype = np.dtype(self.dtype)
        if dtype.name not in ("float32", "float64"):
            raise ArgumentError("dtype", f"{dtype} is not float32 or float64", "Pass one of the two")
        factors = np.asarray(self.factors, np.float64)
        if factors.ndim != 2:
            raise ArgumentError("factors", "is not a matrix", "Pass one row per item of the catalogue")
        items, rank = factors.shape
        start = self.start
        unknowns = rank + start
        fixed, rotation = np.zeros(rank), None
        if self.background is not None:
            fixed, rotation = _principal_axes(self.background, rank)
            factors = factors @ rotation
        table = np.zeros((items, padded_width(max(unknowns, 1), dtype.itemsize)), dtype)
        table[:, start:unknowns] = factors
        precisions, ridged = np.ones(table.shape[1]), np.zeros(table.shape[1])
        precisions[start:unknowns], ridged[start:unknowns] = fixed, 1
        if self.intercept_variance is not None:
            if not self.intercept_variance > 0:
                raise ArgumentError("intercept_variance", "is not positive", "Pass a variance, or math.inf")
            table[:, 0], precisions[0] = 1, 1 / self.intercept_variance
        prepared: dict[str, Any] = {
            "table": table,
            "roots": self._roots(items).astype(dtype),
            "fixed": precisions.astype(dtype),
            "ridged": ridged.astype(dtype),
            "rotation": None if rotation is None else rotation.astype(dtype),
        }
        for name, value in prepared.items():
            object.__setattr__(self, name, value)

    @property
    def start(self) -> int:
        """The first column of a user's unknowns that belongs to the factors: 1 with an intercept, else 0."""
        return int(self.intercept_variance is not None)

    @property
    def unknowns(self) -> int:
        """How many numbers a user computes."""
        return self.factors.shape[1] + self.start

    def __repr__(self) -> str:
        return f"<Design: {len(self.factors)} items x {self.unknowns} unknowns>"

    def _roots(self, items: int) -> NDArray[np.float64]:
        if self.noise is None:
            return np.ones(items)
        noise = np.asarray(self.noise, np.float64)
        if noise.shape != (items,) or not (noise > 0).all():
            raise ArgumentError("noise", "is not one positive variance per item", "Pass psi as it was fitted")
        return 1 / np.sqrt(noise)


def _principal_axes(background: Real, rank: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    matrix = np.asarray(background, np.float64)
    if matrix.shape != (rank, rank) or not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
        raise ArgumentError("background", f"is not a symmetric {rank} x {rank} matrix", "Pass e.g. V^T V")
    values, axes = np.linalg.eigh(matrix)
    if values.min(initial=0) < -1e-6 * max(values.max(initial=0), math.ulp(0)):
        raise ArgumentError("background", "has negative eigenvalues", "Project it first (linalg.psd)")
    return np.maximum(values, 0), axes
