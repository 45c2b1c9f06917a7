"""Relations between matrices of whole numbers, and how large a public factor may be under them.

Truncation never lengthens a vector, but it lengthens *differences*: a million cells at real l1 distance
1e-6 were measured 30 lattice steps apart. So these relations are stated on whole numbers only. Proofs:
`proofs/linear.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hushfold.errors import ArgumentError
from hushfold.statistics.base import LATTICE
from hushfold.statistics.quantise import Norm

Kind = Literal["entry", "distance", "pair", "spectral", "user"]

_TEXT: dict[Kind, str] = {
    "entry": "one cell changed by at most {} lattice steps",
    "distance": "cells changed by at most {} lattice steps in all",
    "pair": "one cell and its mirror image changed by at most {} lattice steps each",
    "spectral": "a change of spectral norm at most {} lattice steps",
    "user": "one user added or removed, the row clipped to {} lattice steps in all",
}
_MAX_STEPS = 2**22


@dataclass(frozen=True, slots=True)
class Relation:
    """What two neighbouring matrices of whole numbers may differ in.

    `entry`: one cell, by at most `steps`. `distance`: integer l1 distance at most `steps`. `pair`: a
    symmetric matrix, one cell and its mirror image. `spectral`: any change of spectral norm at most `steps`
    (l2 only). `user`: a whole row, clipped here to l1 norm `steps`. Only `user` protects a person; the
    others protect what they name.
    """

    kind: Kind
    steps: int

    def __post_init__(self) -> None:
        if self.kind not in _TEXT:
            raise ArgumentError("relation", f"{self.kind} is unknown", f"Pass one of {', '.join(_TEXT)}")
        if not 1 <= self.steps <= _MAX_STEPS:
            raise ArgumentError("relation", f"{self.steps} steps are outside 1 .. 2^22", "Change value_step")

    @property
    def text(self) -> str:
        """For the privacy card."""
        return _TEXT[self.kind].format(self.steps)

    @property
    def cells(self) -> int:
        """The most cells that may differ; 0 if there is no such number."""
        return {"entry": 1, "distance": self.steps, "pair": 2, "spectral": 0, "user": self.steps}[self.kind]

    @property
    def replace(self) -> float:
        """Replacing a user is two steps of `user`; the other relations are about changes already."""
        return 2.0 if self.kind == "user" else 1.0

    def require(self, norm: Norm) -> None:
        """Refuse a norm for which no sensitivity is known."""
        if self.kind == "spectral" and norm == "l1":
            raise ArgumentError("norm", "is l1 for a spectral relation", "Use Gaussian noise (l2)")

    def require_cells(self) -> None:
        """Refuse relations that tie several users together, where every user has a left vector."""
        if self.kind in ("pair", "spectral"):
            raise ArgumentError("relation", f"{self.kind} needs declared rows", "Pass left=Declared(rows)")

    def reach(self, norms: NDArray[np.int64]) -> int:
        """Norm of the image of one unit of change (l2: its square), from the norms of the right matrix'
        rows.
        """
        return sum(map(int, np.sort(norms)[-self.rows_reached(len(norms)) :]))

    def rows_reached(self, rows: int) -> int:
        """Of how many rows of the right matrix the norms add up in the worst case."""
        return {"pair": min(2, rows), "spectral": rows}.get(self.kind, 1)


def fill_lattice(
    right: NDArray[np.floating] | None, catalogue: int, relation: Relation, left_lattice: int, norm: Norm
) -> tuple[NDArray[np.int64], float]:
    """The right factor in integers, as large as the relation lets it be, and the real value of its unit.

    No factor (None) stands for the identity and gives the integer that multiplies it.
    """
    if right is None:
        return _identity(catalogue, relation, left_lattice, norm)
    if right.ndim != 2 or len(right) != catalogue or not np.isfinite(right).all() or not right.any():
        raise ArgumentError("right", "is not a finite, non-zero catalogue x p matrix", "Pass a public matrix")
    unit = float(np.abs(right).max())
    shares = right.astype(np.float64) / unit
    sizes = np.abs(shares).sum(axis=1) if norm == "l1" else np.square(shares).sum(axis=1)
    worst = np.sort(sizes)[-relation.rows_reached(catalogue) :].sum()
    scale = LATTICE / (relation.steps * left_lattice) / (worst if norm == "l1" else np.sqrt(worst))
    while True:
        whole = np.trunc(shares * scale).astype(np.int64)
        if _fits(whole, relation, left_lattice, norm):
            return whole, unit / scale
        scale *= 1 - 2.0**-20


def _identity(
    catalogue: int, relation: Relation, left_lattice: int, norm: Norm
) -> tuple[NDArray[np.int64], float]:
    reach, unit = relation.reach(np.ones(catalogue, np.int64)), relation.steps * left_lattice
    multiple = LATTICE // (reach * unit) if norm == "l1" else math.isqrt(LATTICE**2 // (reach * unit**2))
    return np.array(multiple, np.int64), 1 / multiple


def _fits(whole: NDArray[np.int64], relation: Relation, left_lattice: int, norm: Norm) -> bool:
    unit = relation.steps * left_lattice
    if norm == "l1":
        return relation.reach(np.abs(whole).sum(axis=1)) * unit <= LATTICE
    return relation.reach((whole * whole).sum(axis=1)) * unit**2 <= LATTICE**2
