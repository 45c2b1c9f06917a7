"""What a user of an ALS model computes: own factors from own rows, predictions, scores.    NOT PRIVATE."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.algorithms.als import AlsModel, products, targets
from hushfold.errors import ArgumentError
from hushfold.local.fold_in import fold_in
from hushfold.types import Rows

Real = NDArray[np.floating[Any]]


def user_factors(rows: Rows, model: AlsModel) -> Real:
    """Every user's factors, from own rows (values as they were given to `fit`)."""
    own, weights = targets(rows, model.config, model.centre)
    ridges = model.ridge_unit * np.diff(rows.indptr).astype(np.float64) ** model.config.user_power
    return fold_in(own, model.design, ridges, weights)


def predict(rows: Rows, wanted: Rows, model: AlsModel) -> NDArray[np.float64]:
    """A prediction for every entry of `wanted`, whose users are those of `rows`. Not clipped to any range."""
    if len(rows) != len(wanted):
        raise ArgumentError("wanted", "has other users than the history", "Pass one row per user of `rows`")
    return model.centre + products(wanted, user_factors(rows, model), model.items)


def scores(rows: Rows, model: AlsModel) -> Real:
    """Scores of all items for every user (users x catalogue)."""
    return user_factors(rows, model) @ model.items.T
