"""What a user of a DPALS model computes alone: own factors from the released model, and predictions.

The last user step of Algorithm 1, unclipped: its result goes back to that user only. An item that is too rare
to have factors is predicted by the user's own mean (ratings), and never recommended (likes).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.algorithms.dpals import Dpals, user_step
from hushfold.algorithms.dpals_setup import own_rows
from hushfold.errors import ArgumentError
from hushfold.local.design import Design
from hushfold.local.preprocess import user_means
from hushfold.types import Rows

Real = NDArray[np.floating[Any]]


def user_factors(rows: Rows, model: Dpals, design: Design | None = None) -> Real:
    """Every user's own factors (users x rank), from all their rows."""
    return user_step(own_rows(rows, model.setup), design or model.design(), model.setup.config)


def predict(rows: Rows, wanted: Rows, model: Dpals, design: Design | None = None) -> NDArray[np.float64]:
    """A prediction for every entry of `wanted`, whose users are those of `rows`; clipped to the range."""
    if len(rows) != len(wanted):
        raise ArgumentError("wanted", "has other users than the history", "Pass one row per user of `rows`")
    setup = model.setup
    u = user_factors(rows, model, design)
    means = user_means(rows, setup.declared.middle)
    owner = np.repeat(np.arange(len(wanted)), np.diff(wanted.indptr))
    place = np.full(setup.declared.catalogue, -1)
    place[setup.items] = np.arange(len(setup.items))
    where = place[wanted.items]
    centre = means[owner] if setup.centre is None else setup.centre
    fitted = centre + np.einsum("er,er->e", u[owner], model.factors[where])
    predicted = np.where(where >= 0, fitted, means[owner])
    if setup.declared.range is None:
        return np.where(where >= 0, fitted, 0.0)
    return np.clip(predicted, *setup.declared.range)


def scores(rows: Rows, model: Dpals, design: Design | None = None) -> NDArray[np.float32]:
    """Scores of all items for every user (users x catalogue); minus infinity where there are no factors."""
    every = np.full((len(rows), model.setup.declared.catalogue), -np.inf, np.float32)
    every[:, model.setup.items] = user_factors(rows, model, design) @ model.factors.T
    return every
