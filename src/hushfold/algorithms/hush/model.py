"""The law of a released moment: what its entries are if items have factors, and how noisy each one is.

    G_jk = sc t_j t_k F_j . F_k + N(0, s^2 / 2 + k2 t_j t_k),  j != k,   prior F_jq ~ N(0, T_q)

With fit weights q and B_j = h_j F_j this is A = q G q = B B^T + noise of about the same variance everywhere.
The diagonal carries every item's own noise and is left out. Public mathematics only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.errors import ArgumentError
from hushfold.linalg.panels import SymmetricPanels
from hushfold.threads import usable_cores

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class MomentModel:
    """A released moment over h items, by decreasing likes, and the known law of its noise."""

    moment: SymmetricPanels
    likes: Floats
    """t_j, above 0."""
    weights: Floats
    """q_j."""
    strength: Floats
    """h_j = sqrt(sc) t_j q_j: B_j = h_j F_j."""
    noise: float
    """s, the standard deviation of the noise on the moment's diagonal."""
    own: Floats
    """The diagonal of A, which no factor may see."""

    @staticmethod
    def of(
        moment: SymmetricPanels, likes: Floats, scale: float, noise: float, sampling: float
    ) -> MomentModel:
        """`noise` is s, the diagonal's standard deviation; `scale` is sc, `sampling` k2.

        `likes` must be above 0 and not increase: the head blocks in which factors are looked for are leading
        blocks (`SymmetricPanels.reorder` brings a moment into that order).
        """
        likes = np.asarray(likes, np.float64)
        if likes.shape != (len(moment),) or not (likes > 0).all() or (np.diff(likes) > 0).any():
            problem = "are not one positive number an item, decreasing"
            raise ArgumentError("likes", problem, "Floor the released counts, and reorder items by them")
        for name, value in {"scale": scale, "noise": noise}.items():
            if not 0 < value < np.inf:
                raise ArgumentError(name, f"{value} is not a finite positive number", "There are no factors")
        weights = 1 / np.sqrt(1 + np.sqrt(2 * sampling) / noise * likes)
        own = moment.diagonal() * weights**2
        return MomentModel(moment, likes, weights, np.sqrt(scale) * likes * weights, noise, own)

    @property
    def variance(self) -> float:
        """nu, of an entry of A off the diagonal."""
        return self.noise**2 / 2

    def __len__(self) -> int:
        return len(self.likes)

    def times(self, right: NDArray[Any], size: int | None = None) -> Floats:
        """A without its diagonal, or its leading block of `size` items, times `right`.

        Float32 products, the panels shared among all cores.
        """
        size = len(self) if size is None else size
        weights = self.weights[:size, None]
        product = self.moment.leading(size).matmul(weights * right, usable_cores())
        return weights * product - self.own[:size, None] * right
