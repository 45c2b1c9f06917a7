"""`Users`: everybody's bounded rows, sealed. Engines open it block by block; nobody else does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        raise NotImplementedError  # the data room fills this in

    def blocks(self, users_per_block: int = USERS_PER_BLOCK) -> Iterator[Rows]:
        """The rows, a block of users at a time."""
        rows: Rows = unseal(self)
        for start in range(0, len(rows), users_per_block):
            yield rows.slice(start, min(start + users_per_block, len(rows)))
