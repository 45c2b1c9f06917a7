"""How well the best k items meet what a user did: per user, NaN where there was nothing to meet.

A user's items are distinct. `hits` is computed once; every metric reads it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from hushfold.errors import ArgumentError
from hushfold.linalg.topk import Lists

PerUser = NDArray[np.float64]


class Hits(NamedTuple):
    """Which of a user's recommendations, best first, are targets, and how many targets there are."""

    hit: NDArray[np.bool_]
    targets: NDArray[np.int64]


def hits(items: ArrayLike, targets: Lists) -> Hits:
    """Compare recommended items (n x k, best first, -1 for none) with the increasing targets of each user."""
    ranked = np.asarray(items, np.int32)
    indptr, wanted = targets
    if ranked.ndim != 2 or len(indptr) != len(ranked) + 1:
        raise ArgumentError("targets", "has not one list per user", "Pass as many lists as users")
    hit = np.zeros(ranked.shape, np.bool_)
    _find(ranked, np.asarray(indptr, np.int64), np.asarray(wanted, np.int32), hit)
    return Hits(hit, np.diff(indptr))


def recall(found: Hits, k: int) -> PerUser:
    """Hits among the best k over `min(k, targets)`: 1 is the best any recommender could do."""
    return _of_targets(found, _first(found, k).sum(axis=1) / np.maximum(np.minimum(k, found.targets), 1))


def ndcg(found: Hits, k: int) -> PerUser:
    """Hits discounted by `1 / log2(rank + 1)`, over those of the best possible order of the targets."""
    discount = 1 / np.log2(np.arange(2, k + 2))
    best = np.concatenate(([1.0], np.cumsum(discount))).take(np.minimum(k, found.targets))
    first = _first(found, k)
    return _of_targets(found, (first * discount).sum(axis=1) / best)


def mrr(found: Hits, k: int) -> PerUser:
    """1 / rank of the first hit among the best k; 0 without one."""
    first = _first(found, k)
    return _of_targets(found, first.any(axis=1) / (first.argmax(axis=1) + 1))


def hit_rate(found: Hits, k: int) -> PerUser:
    """1 if there is a hit among the best k."""
    return _of_targets(found, np.asarray(_first(found, k).any(axis=1), np.float64))


def mean_and_error(values: PerUser) -> tuple[float, float]:
    """Mean over the users who had something to meet, and its standard error."""
    known = values[~np.isnan(values)]
    if len(known) == 0:
        return float("nan"), float("nan")
    error = known.std(ddof=1) / np.sqrt(len(known)) if len(known) > 1 else np.nan
    return float(known.mean()), float(error)


def _first(found: Hits, k: int) -> NDArray[np.bool_]:
    if not 1 <= k <= found.hit.shape[1]:
        raise ArgumentError(
            "k", f"{k} is outside 1 .. {found.hit.shape[1]}", "Recommend as many items as are judged"
        )
    return found.hit[:, :k]


def _of_targets(found: Hits, values: NDArray[np.float64]) -> PerUser:
    return np.where(found.targets > 0, values, np.nan)


@njit(nogil=True, cache=True)
def _find(  # pragma: no cover
    ranked: NDArray[np.int32],
    indptr: NDArray[np.int64],
    wanted: NDArray[np.int32],
    hit: NDArray[np.bool_],
) -> None:
    for user in range(len(ranked)):
        own = wanted[indptr[user] : indptr[user + 1]]
        for place in range(ranked.shape[1]):
            item: np.int32 = ranked[user, place]
            spot = np.searchsorted(own, item)
            hit[user, place] = spot < len(own) and own[spot] == item
