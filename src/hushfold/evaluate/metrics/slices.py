"""Where a model is good: by how popular an item is, by how much a user has shown.

Popularity is cut by *released* counts, so that the cut itself says nothing new about anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushfold.errors import ArgumentError


class Slices(NamedTuple):
    """Names, and for every item (or user) the number of its slice."""

    names: tuple[str, ...]
    of: NDArray[np.int64]


def by_popularity(counts: ArrayLike, shares: Sequence[float] = (0.05, 0.2)) -> Slices:
    """Items cut at shares of the catalogue by decreasing released count: head, middle, tail by default.

    Ties by item index; a count that is no number is the lowest.
    """
    released = np.nan_to_num(np.asarray(counts, np.float64), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    cuts = [0.0, *shares, 1.0]
    if any(low >= high for low, high in pairwise(cuts)):
        raise ArgumentError("shares", "do not increase between 0 and 1", "Pass for example (0.05, 0.2)")
    place = np.empty(len(released), np.int64)
    place[np.argsort(-released, kind="stable")] = np.arange(len(released))
    ends = np.ceil(np.array(shares) * len(released))
    names = [f"top {100 * share:g} % of items" for share in shares[:1]]
    names += [f"next, to {100 * share:g} %" for share in shares[1:]]
    return Slices((*names, "all other items"), np.searchsorted(ends, place, side="right"))


def by_activity(shown: ArrayLike, edges: Sequence[int] = (5, 20, 100)) -> Slices:
    """Users cut by how many rows they have shown."""
    if any(low >= high for low, high in pairwise(edges)) or not edges:
        raise ArgumentError("edges", "do not increase", "Pass for example (5, 20, 100)")
    names = [f"{low} - {high - 1} rows" for low, high in zip((0, *edges), edges, strict=False)]
    return Slices((*names, f"{edges[-1]} rows or more"), np.searchsorted(edges, shown, side="right"))
