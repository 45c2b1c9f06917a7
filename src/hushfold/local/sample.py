"""Which of their own rows a user contributes: at most k, chosen by that user alone.

Coins are a keyed hash of the user's id, the order of the tail is public: when somebody leaves, nobody else's
sample changes. A sample holds entries of the user's own row, each at most once, items still increasing.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TypeVar

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from hushfold.errors import ArgumentError
from hushfold.rng import PublicRandom
from hushfold.types import Rows

Word = TypeVar("Word", bound=np.generic)


def uniform_sample(rows: Rows, k: int, coins: PublicRandom, name: str = "uniform sample") -> Rows:
    """At most `k` of every user's entries, all subsets equally likely. `name` tells samples apart."""
    keys = np.repeat(rows.keys, np.diff(rows.indptr))
    return restrict(rows, smallest(rows.indptr, coins.per_entry(name, keys, rows.items), k))


def tail_sample(rows: Rows, k: int, counts: ArrayLike) -> Rows:
    """Every user's at most `k` items of lowest released count, ties by item index; NaN is the highest."""
    order = np.argsort(checked_counts(counts, rows.catalogue), kind="stable")
    place = np.empty(len(order), np.uint64)
    place[order] = np.arange(len(order), dtype=np.uint64)
    return restrict(rows, smallest(rows.indptr, public_lookup(place, rows.items), k))


def restrict(rows: Rows, kept: NDArray[np.bool_]) -> Rows:
    """The entries that are `kept`, of the same users in the same order."""
    before = np.concatenate(([0], np.cumsum(kept)))
    return Rows(before[rows.indptr], rows.items[kept], rows.values[kept], rows.keys, rows.catalogue)


def smallest(indptr: NDArray[np.int64], ranks: NDArray[np.uint64], k: int) -> NDArray[np.bool_]:
    """Which entries are among the `k` smallest of their own row; of equal ones, the first."""
    if k < 1:
        raise ArgumentError("items_per_user", f"{k} is less than 1", "Let every user contribute something")
    kept = np.ones(len(ranks), np.bool_)
    _keep_smallest(indptr, ranks, k, kept)
    return kept


def smallest_reference(indptr: NDArray[np.int64], ranks: NDArray[np.uint64], k: int) -> NDArray[np.bool_]:
    """The readable twin of `smallest`."""
    kept = np.zeros(len(ranks), np.bool_)
    for start, stop in pairwise(indptr.tolist()):
        kept[start + np.argsort(ranks[start:stop], kind="stable")[:k]] = True
    return kept


def checked_counts(counts: ArrayLike, catalogue: int) -> NDArray[np.float64]:
    """Released counts, one per item of the catalogue; whatever they hold is an answer, not an error."""
    released = np.asarray(counts, np.float64)
    if released.shape != (catalogue,):
        raise ArgumentError(
            "counts", "has not one entry per item", "Pass the released counts of the catalogue"
        )
    return released


def public_lookup(table: NDArray[Word], items: NDArray[np.int32]) -> NDArray[Word]:
    """`table[items]`, where an index outside the catalogue finds its nearest end instead of an exception."""
    return table.take(items, mode="clip")


@njit(nogil=True, cache=True)
def _keep_smallest(  # pragma: no cover
    indptr: NDArray[np.int64], ranks: NDArray[np.uint64], k: int, kept: NDArray[np.bool_]
) -> None:
    for user in range(len(indptr) - 1):
        start, stop = indptr[user], indptr[user + 1]
        if stop - start <= k:
            continue
        last = np.partition(ranks[start:stop], k - 1)[k - 1]
        ties = k
        for entry in range(start, stop):
            ties -= ranks[entry] < last
        for entry in range(start, stop):
            if ranks[entry] == last and ties > 0:
                ties -= 1
            elif ranks[entry] >= last:
                kept[entry] = False
