"""A fitted model: released state that answers. It holds nothing about any user and learns nothing when asked.

A history belongs to the user who asks: it is folded in beside the model; what comes back is for that user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.algorithms.methods import Method, recommend, similar
from hushfold.data.catalogue import Catalogue
from hushfold.errors import ArgumentError
from hushfold.linalg.topk import Top
from hushfold.types import Rows

History = Mapping[Any, float] | Iterable[Any]
"""One user's: item ids, or (where values matter) a mapping of item id to value."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Model:
    """What a private fit returns and an artefact stores. All of it may be published."""

    method: Method
    state: Any
    catalogue: Catalogue
    range: tuple[float, float] | None
    columns: dict[str, str | None]
    """The names of the columns it was fitted from, to read histories by."""
    card: dict[str, Any]

    @property
    def protected(self) -> bool:
        """Whether the guarantee of the card may be relied upon: nothing in it is stamped."""
        return not self.card["stamps"]

    @property
    def popularity(self) -> NDArray[np.float64] | None:
        """Released counts of the catalogue, if the method releases any."""
        return None if self.method.popularity is None else self.method.popularity(self.state)

    def recommend(self, history: History, n: int = 20) -> list[tuple[Any, float]]:
        """The `n` best items for the user with this history, best first, without the history's own."""
        return self.named(self.recommend_rows(self.rows(history), n))[0]

    def predict(self, history: History, items: Iterable[Any]) -> NDArray[np.float64]:
        """What the user with this history would rate `items`; NaN for one that is not in the catalogue."""
        if self.method.predict is None:
            raise ArgumentError("method", f"{self.method.name} predicts no values", "Ask it to recommend")
        places = self.catalogue.index(list(items))
        known, where = np.unique(places[places >= 0], return_inverse=True)
        wanted = _one_user(known.astype(np.int32), np.zeros(len(known)), len(self.catalogue))
        values = np.full(len(places), np.nan)
        values[places >= 0] = self.method.predict(self.state, self.rows(history), wanted)[where]
        return values

    def similar_items(self, item: Any, n: int = 20) -> list[tuple[Any, float]]:
        """The `n` items nearest to `item`, and how near."""
        (place,) = self.catalogue.index([item])
        if place < 0:
            raise ArgumentError("item", "is not in the catalogue", "Name an item the model was fitted with")
        found = similar(self.method, self.state, int(place), n, len(self.catalogue))
        names = self.ids(np.array([other for other, _ in found], np.int64))
        return [(name, score) for name, (_, score) in zip(names, found, strict=True)]

    def recommend_rows(self, rows: Rows, n: int) -> Top:
        """The same for a block of users' rows, as positions in the catalogue: a local step."""
        if n < 1:
            raise ArgumentError("n", f"{n} is not a number of items", "Ask for at least one")
        return recommend(self.method, self.state, rows, n)

    def named(self, top: Top) -> list[list[tuple[Any, float]]]:
        """Recommendations by item id instead of position."""
        answer: list[list[tuple[Any, float]]] = []
        for items, scores in zip(top.items, top.scores, strict=True):
            kept = items >= 0
            names = self.ids(items[kept])
            answer.append(list(zip(names, scores[kept].astype(float).tolist(), strict=True)))
        return answer

    def ids(self, places: NDArray[np.integer[Any]]) -> list[Any]:
        """Item ids of positions in the catalogue."""
        return self.catalogue.ids.take(np.asarray(places, np.int64)).to_pylist()

    def rows(self, history: History) -> Rows:
        """One user's history; items outside the catalogue and values that are not finite are dropped."""
        ids = list(history)
        values = np.array(
            [history[each] for each in ids] if isinstance(history, Mapping) else [1.0] * len(ids)
        )
        if self.range is not None:
            if ids and not isinstance(history, Mapping):
                raise ArgumentError("history", "has no values", "Pass a mapping of item to rating")
            values = np.clip(values.astype(float), *self.range)
        places = self.catalogue.index(ids) if ids else np.zeros(0, np.int32)
        last = {int(place): value for place, value in zip(places, values, strict=True) if place >= 0}
        order = sorted(place for place, value in last.items() if np.isfinite(value))
        return _one_user(
            np.array(order, np.int32), np.array([last[each] for each in order]), len(self.catalogue)
        )

    def __repr__(self) -> str:
        stamp = "" if self.protected else ", NOT PRIVATE"
        said = self.card["guarantee"]["sentence"]
        return f"<{self.method.name} over {len(self.catalogue)} items: {said}{stamp}>"


def _one_user(items: NDArray[np.int32], values: NDArray[np.floating[Any]], catalogue: int) -> Rows:
    indptr = np.array([0, len(items)], np.int64)
    return Rows(indptr, items, values.astype(np.float32), np.zeros(1, np.uint64), catalogue)
