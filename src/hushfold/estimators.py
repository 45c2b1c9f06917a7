"""The private methods as estimators: settings in the constructor, `fit` on `Ratings`, answers from the model.

`fit` spends budget, so an estimator has no hidden refits: every `fit` is a run of its own in the ledger of
the ratings' population, and is refused when that budget is spent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold import artifact
from hushfold.algorithms.methods import Method, method
from hushfold.card import card_of
from hushfold.data.ratings import Ratings
from hushfold.engines.base import Engine
from hushfold.engines.local import LocalEngine
from hushfold.errors import ArgumentError
from hushfold.model import History, Model
from hushfold.privacy.budget import Budget, check_delta
from hushfold.privacy.opening import open_door

Progress = Callable[[str, int, int], None]


def fit_private(
    how: Method,
    ratings: Ratings,
    budget: Budget,
    *,
    total: Budget | None = None,
    engine: Engine | None = None,
    resume: str | None = None,
    progress: Progress | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Model:
    """Fit within the ratings' ledger; with `out` the model is saved before the run is closed.

    With `resume`, a name for this fit, the same call goes on where an interrupted one of that name stopped:
    what was committed is read, not drawn.
    """
    check_delta(budget.delta, ratings.declared_users)
    opened = open_door(
        ratings,
        budget,
        method=how.name,
        config={"kind": ratings.kind, "range": ratings.range, "items": len(ratings.catalogue)},
        resume=resume,
        total=total,
        progress=progress,
    )
    with opened as door:
        released = how.fit(ratings, engine or LocalEngine(), door)
        ledger = door.run.ledger
        card = card_of(how, ratings, door, ledger.head, ledger.is_throw_away)
        columns = asdict(ratings.columns) if ratings.columns else {}
        model = Model(how, released.value, ratings.catalogue, ratings.range, columns, card)
        if out is not None:
            artifact.save(model, out)
        door.run.close()
    return model


class PrivateEstimator:
    """Constructor stores, `fit` learns `model_`; the answers are the model's own."""

    method: str

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        total: Budget | None = None,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> None:
        """`total` is the population's whole budget, by default that of its first fit."""
        self.epsilon, self.delta, self.total = epsilon, delta, total
        self.engine, self.progress = engine, progress

    def fit(self, ratings: Ratings) -> PrivateEstimator:
        """Fit, at the price of `epsilon` at `delta`, charged to the ratings' population."""
        self.model_ = fit_private(
            method(self.method, ratings.kind),
            ratings,
            Budget.gaussian(self.epsilon, self.delta),
            total=self.total,
            engine=self.engine,
            progress=self.progress,
        )
        return self

    def recommend(self, history: History, n: int = 20) -> list[tuple[Any, float]]:
        """The `n` best items for the user with this history."""
        return self._fitted().recommend(history, n)

    def predict(self, history: History, items: Iterable[Any]) -> NDArray[np.float64]:
        """What the user with this history would rate `items`."""
        return self._fitted().predict(history, items)

    def similar_items(self, item: Any, n: int = 20) -> list[tuple[Any, float]]:
        """The `n` items nearest to `item`."""
        return self._fitted().similar_items(item, n)

    def card(self) -> dict[str, Any]:
        """What may be said about the guarantee."""
        return self._fitted().card

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the model's folder."""
        return artifact.save(self._fitted(), path)

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            raise ArgumentError("model", "nothing was fitted yet", "Call fit(ratings) first")
        return self.model_

    def __repr__(self) -> str:
        return f"{type(self).__name__}(epsilon={self.epsilon:g}, delta={self.delta:g})"


class Hush(PrivateEstimator):
    """The default of everything: ratings or clicks, nothing to tune (`algorithms/hush/`)."""

    method = "hush"


class DPALS(PrivateEstimator):
    """Joint-private alternating least squares (`algorithms/dpals.py`)."""

    method = "dpals"


class BiasModel(PrivateEstimator):
    """Centre, item bias, user bias; popularity for clicks: what no other method may lose to."""

    method = "bias"
