"""The row guard: what every statistic of sparse rows passes before it computes a norm.

A sum per item is bounded by the norm of the user's row only if the row names every item at most once and no
item outside the catalogue: k copies of one rating move the item's sum by k but the norm by sqrt(k), and a
negative index would land on the last items. So a row that is not strictly increasing within the catalogue
is put right, and only that row: what a user's rows become depends on nobody else's.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.types import Rows


def guard(rows: Rows) -> Rows:
    """Rows whose item indices strictly increase within the catalogue and whose values are finite.

    Sound rows come back untouched. In any other row the entries are sorted by item, the last of repeated
    items is kept, items outside the catalogue are dropped; values that are not finite become 0. A user
    whose piece of `indptr` does not lie within the arrays has an empty row. Never raises, whatever the rows
    hold.
    """
    return repair(rows)[0]


def repair(rows: Rows) -> tuple[Rows, NDArray[np.int64] | None]:
    """As `guard`, and the position each kept entry had before; None says that all stayed in place.

    For statistics with more than one number per entry, which must follow their entry.
    """
    if _is_plain(rows) and _sound(rows.indptr, rows.items, rows.values, rows.catalogue):
        return rows, None
    indptr = np.zeros(len(rows) + 1, np.int64)  # users without a piece have empty rows
    given = np.asarray(rows.indptr, np.int64)[: len(indptr)]
    indptr[: len(given)] = given
    indptr[len(given) :] = given[-1] if len(given) else 0
    entries = min(len(rows.items), len(rows.values))
    items = np.asarray(rows.items, np.int64)[:entries]
    kept_indptr, kept = _repair(indptr, items, rows.catalogue)
    values = rows.values[kept]
    values = np.where(np.isfinite(values), values, 0).astype(values.dtype)
    return Rows(kept_indptr, items[kept].astype(np.int32), values, rows.keys, rows.catalogue), kept


def guard_reference(rows: Rows) -> Rows:
    """`guard`, as one would explain it. Expects a consistent `indptr`."""
    indptr: list[int] = [0]
    items: list[int] = []
    values: list[float] = []
    for own_items, own_values in rows.each():
        last: dict[int, float] = {}
        for item, value in zip(own_items.tolist(), own_values.tolist(), strict=True):
            if 0 <= item < rows.catalogue:
                last[item] = value if math.isfinite(value) else 0.0
        for item in sorted(last):
            items.append(item)
            values.append(last[item])
        indptr.append(len(items))
    return Rows(
        np.array(indptr, np.int64),
        np.array(items, np.int32),
        np.array(values, rows.values.dtype),
        rows.keys,
        rows.catalogue,
    )


def _is_plain(rows: Rows) -> bool:
    return (
        len(rows.indptr) == len(rows) + 1
        and rows.indptr.dtype == np.int64
        and rows.items.dtype == np.int32
        and len(rows.items) == len(rows.values)
    )


@njit(nogil=True, cache=True)
def _sound(  # pragma: no cover
    indptr: NDArray[np.int64], items: NDArray[np.int32], values: NDArray[np.float32], catalogue: int
) -> bool:
    """Whether there is nothing to repair. The two long loops have no branch: they run at memory speed."""
    entries = len(items)
    if indptr[0] != 0 or indptr[-1] != entries:
        return False
    starts = 0  # places where the index may fall, because another user begins
    for user in range(len(indptr) - 1):
        start, stop = indptr[user], indptr[user + 1]
        if stop < start or stop > entries:
            return False
        if stop > start:
            if items[start] < 0 or items[stop - 1] >= catalogue:
                return False
            if start > 0 and items[start] <= items[start - 1]:
                starts += 1
    falls = 0
    for entry in range(1, entries):
        falls += items[entry] <= items[entry - 1]
    wild = 0
    for entry in range(entries):
        wild += values[entry] - values[entry] != 0
    return falls == starts and wild == 0


@njit(nogil=True, cache=True)
def _repair(  # pragma: no cover
    indptr: NDArray[np.int64], items: NDArray[np.int64], catalogue: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which entries are kept, row by row, in order of their item."""
    entries = len(items)
    users = len(indptr) - 1
    room = 0
    for user in range(users):
        if 0 <= indptr[user] <= indptr[user + 1] <= entries:
            room += indptr[user + 1] - indptr[user]
    kept = np.empty(room, np.int64)
    kept_indptr = np.zeros(users + 1, np.int64)
    count = 0
    for user in range(users):
        start, stop = indptr[user], indptr[user + 1]
        if 0 <= start <= stop <= entries:
            order = start + np.argsort(items[start:stop], kind="mergesort")
            for place in range(len(order)):
                item = items[order[place]]
                repeated = place + 1 < len(order) and items[order[place + 1]] == item
                if 0 <= item < catalogue and not repeated:
                    kept[count] = order[place]
                    count += 1
        kept_indptr[user + 1] = count
    return kept_indptr, kept[:count]
