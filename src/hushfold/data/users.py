"""`Users`: everybody's bounded rows, sealed. Engines open it block by block; nobody else does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushfold.data.identity import keys_of_numbers, keys_of_texts, text_buffers
from hushfold.types import Rows, Sealed, unseal

USERS_PER_BLOCK = 4096


class Users(Sealed):
    """Rows of all users, each user in exactly one block; `catalogue` (the number of items) is public."""

    __slots__ = ("catalogue",)

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        self.catalogue = rows.catalogue

    @staticmethod
    def from_arrays(users: Any, items: Any, values: Any, catalogue: int) -> Users:
        """Group (user id, item index, value) triplets by user; the last of a repeated pair wins.

        Rows outside the catalogue or not finite are dropped, whoever's they are.
        """
        users, items, values = np.asarray(users), np.asarray(items), np.asarray(values, np.float64)
        kept = np.isfinite(values) & (items >= 0) & (items < catalogue)
        users, items, values = users[kept], items[kept].astype(np.int64), values[kept]
        ids, codes = np.unique(users, return_inverse=True)
        keys = _keys(ids)
        order = np.argsort(keys, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        pair = rank[codes] * catalogue + items
        rows = np.argsort(pair, kind="stable")
        last = np.r_[np.diff(pair[rows]) != 0, True][: len(rows)]
        rows = rows[last]
        indptr = np.r_[0, np.cumsum(np.bincount(rank[codes][rows], minlength=len(ids)))].astype(np.int64)
        largest = np.finfo(np.float32).max
        bounded = np.clip(values[rows], -largest, largest).astype(np.float32)
        return Users(Rows(indptr, items[rows].astype(np.int32), bounded, keys[order], catalogue))

    def blocks(self, users_per_block: int = USERS_PER_BLOCK) -> Iterator[Rows]:
        """The rows, a block of users at a time."""
        rows: Rows = unseal(self)
        for start in range(0, len(rows), users_per_block):
            yield rows.slice(start, min(start + users_per_block, len(rows)))


def _keys(ids: NDArray[Any]) -> NDArray[np.uint64]:
    if ids.dtype.kind in "iub":
        return keys_of_numbers(ids.astype(np.int64))
    return keys_of_texts(*text_buffers(pa.array(ids.tolist(), pa.large_string())))
