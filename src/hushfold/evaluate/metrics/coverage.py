"""How much of the catalogue the recommendations reach."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hushfold.errors import ArgumentError


def coverage(items: ArrayLike, k: int, catalogue: int) -> float:
    """Share of the catalogue that is among somebody's best k (n x k or wider, best first, -1 for none)."""
    if catalogue < 1:
        raise ArgumentError("catalogue", f"{catalogue} is less than 1", "Pass the number of items")
    seen = np.unique(np.asarray(items, np.int64)[:, :k])
    return float((seen >= 0).sum() / catalogue)
