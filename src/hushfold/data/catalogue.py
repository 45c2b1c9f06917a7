"""`Catalogue`: the public list of items, in its public order. Position j is column j of every item matrix."""

# pyright: basic
from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushfold.data import columns
from hushfold.data.assemble import order_of_items
from hushfold.data.frames import arrow_column
from hushfold.data.identity import Column
from hushfold.data.lookup import UNKNOWN
from hushfold.data.vocabulary import Vocabulary
from hushfold.errors import ArgumentError

_REMEDY = "Pass the published list of items, each once"


class Catalogue:
    """Item ids and the position of each; ids of any type are found by what they say (7, 7.0 and "7" are
    one).
    """

    __slots__ = ("_vocabulary",)

    def __init__(self, ids: Any) -> None:
        """`ids`: a list, an array, a series or an Arrow array, without repeats or missing ids."""
        column = columns.ids(arrow_column(ids), "catalogue")
        self._vocabulary = Vocabulary()
        codes = self._vocabulary.codes(column, grow=True)
        if (codes < 0).any():
            raise ArgumentError("catalogue", "holds missing or blank ids", _REMEDY)
        if len(self._vocabulary) < len(codes):
            raise ArgumentError("catalogue", "lists an item twice", _REMEDY)

    @staticmethod
    def of_data(items: Vocabulary) -> Catalogue:
        """The items met in data, in ascending order: no trace of who brought them first."""
        order = np.argsort(order_of_items(items))
        return Catalogue(items.ids().take(pa.array(order)))

    @property
    def vocabulary(self) -> Vocabulary:
        """The closed vocabulary that readers look items up in."""
        return self._vocabulary

    @property
    def ids(self) -> Column:
        """The ids in the order of the catalogue: int64, large_string, or large_binary if some are no text."""
        return self._vocabulary.ids()

    def index(self, ids: Any) -> NDArray[np.int32]:
        """The position of each id; negative for one that is not in the catalogue."""
        codes = self._vocabulary.codes(columns.ids(arrow_column(ids), "item"))
        return np.where(codes < 0, np.int32(UNKNOWN), codes)

    def __len__(self) -> int:
        return len(self._vocabulary)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Catalogue) or len(other) != len(self):
            return False
        return bool((self.index(other.ids) == np.arange(len(self))).all())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Catalogue of {len(self)} items>"
