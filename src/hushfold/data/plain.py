"""Users' rows in plain sight, for what is not private anyway: operator's tools, non-private yardsticks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hushfold.data.ratings import Ratings
from hushfold.data.split import Triplets
from hushfold.data.users import Users
from hushfold.errors import ArgumentError
from hushfold.types import Rows, Unprotected

WHY = "users' rows as they are"


def plain_rows(users: Users) -> Unprotected[Rows]:
    """All rows in one block. Whatever is made of them carries no guarantee."""
    blocks = [Rows.empty(users.catalogue), *users.blocks()]
    lengths = np.concatenate([np.diff(block.indptr) for block in blocks])
    whole = Rows(
        np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        np.concatenate([block.items for block in blocks]),
        np.concatenate([block.values for block in blocks]),
        np.concatenate([block.keys for block in blocks]),
        users.catalogue,
    )
    return Unprotected(whole, WHY)


def plain_triplets(users: Users) -> Unprotected[Triplets]:
    """The same as rows to be split, user after user."""
    rows = plain_rows(users).value
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
    return Unprotected(Triplets(owner, rows.items, rows.values, rows.keys, rows.catalogue), WHY)


def rows_of(triplets: Triplets, index: np.ndarray, people: np.ndarray) -> Rows:
    """Some triplets as rows of `people` (increasing user codes), one after the other, items increasing."""
    order = index[np.lexsort((triplets.item[index], triplets.user[index]))]
    order = order[np.isin(triplets.user[order], people)]
    lengths = np.bincount(np.searchsorted(people, triplets.user[order]), minlength=len(people))
    return Rows(
        np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        triplets.item[order],
        triplets.value[order],
        triplets.keys[people],
        triplets.catalogue,
    )


def at_least(ratings: Ratings, least: float) -> Ratings:
    """The rows rated at least so, as likes."""
    rows = plain_triplets(ratings.users).value
    liked = rows.take(np.flatnonzero(rows.value >= least))
    users = replace(liked, value=np.ones(len(liked), np.float32)).handle()
    return replace(ratings, users=users, kind="implicit", range=None)


def within_its_values(ratings: Ratings) -> Ratings:
    """The same with the lowest and highest value for a range: for an operator's tool that was told none."""
    values = plain_rows(ratings.users).value.values
    if not len(values) or values.min() == values.max():
        raise ArgumentError("range", "cannot be guessed from these values", "Pass --range LO HI")
    return replace(ratings, range=(float(values.min()), float(values.max())))
