"""EASE: an item-item model in closed form (Steck, 2019).    NOT PRIVATE: the yardstick for likes.

    P = (X^T X + ridge I)^-1,    B = -P / diag P off the diagonal, 0 on it,    scores of a history x: x B.

B minimises |X - X B|^2 + ridge |B|^2 among the matrices in which no item speaks for itself. X is users x
items, its entries the values (1 for likes). On a large catalogue it is fitted on the most popular items
alone: with h of them it needs 8 h^2 bytes while it is fitted (800 MB at 10,000 items), and keeps 4 h^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import lapack

from hushfold.data.plain import plain_rows
from hushfold.data.users import Users
from hushfold.errors import ArgumentError, HushfoldError
from hushfold.types import Rows, Unprotected

WHY = "item-item weights from exact counts"
LARGEST_HEAD = 10_000
ITEMS_TOGETHER = 512  # columns of X^T X computed at once

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EaseModel:
    """Weights between the items of the head. Made from exact data: not private."""

    head: NDArray[np.int64]
    """The items it knows, increasing."""
    weights: Floats
    """h x h: how much item a in the history speaks for item b."""
    catalogue: int

    def __repr__(self) -> str:
        return f"<EaseModel, NOT PRIVATE: {len(self.head)} of {self.catalogue} items>"


def fit(users: Users, ridge: float = 100.0, head: int = LARGEST_HEAD) -> Unprotected[EaseModel]:
    """Fit on the `head` most popular items (ties by item index). No guarantee of any kind."""
    if not (math.isfinite(ridge) and ridge > 0):
        raise ArgumentError("ridge", f"{ridge} is not a finite positive number", "Pass e.g. 100")
    if head < 1:
        raise ArgumentError("head", f"{head} is less than 1", "Pass how many items to fit, e.g. 10000")
    rows = plain_rows(users).value
    popular = np.argsort(-np.bincount(rows.items, minlength=rows.catalogue), kind="stable")[:head]
    known = np.sort(popular)
    return Unprotected(EaseModel(known, item_weights(_matrix(rows)[:, known], ridge), rows.catalogue), WHY)


def item_weights(x: Any, ridge: float) -> Floats:
    """B for the columns of the sparse matrix `x`."""
    library: Any = lapack
    inverse, failed = library.dpotrf(_moment(x, ridge), lower=0, clean=0, overwrite_a=1)
    if not failed:
        inverse, failed = library.dpotri(inverse, lower=0, overwrite_c=1)
    if failed:
        raise HushfoldError("the item-item matrix cannot be inverted. Raise the ridge")
    weights = np.empty((x.shape[1],) * 2, np.float32)
    diagonal = inverse.diagonal().copy()
    for start in range(0, len(weights), ITEMS_TOGETHER):
        rows = slice(start, start + ITEMS_TOGETHER)
        whole: NDArray[np.float64] = np.triu(inverse[rows], start) + np.tril(inverse[:, rows].T, start - 1)
        weights[rows] = -whole / diagonal
    np.fill_diagonal(weights, 0)
    return weights


def item_weights_reference(x: NDArray[np.float64], ridge: float) -> NDArray[np.float64]:
    """The readable twin, for a dense matrix."""
    inverse = np.linalg.inv(x.T @ x + ridge * np.eye(x.shape[1]))
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0)
    return weights


def scores(rows: Rows, model: EaseModel) -> Floats:
    """Scores of all items for every user (users x catalogue); minus infinity outside the head."""
    every = np.full((len(rows), model.catalogue), -np.inf, np.float32)
    every[:, model.head] = _matrix(rows)[:, model.head] @ model.weights
    return every


def _matrix(rows: Rows) -> Any:
    return sp.csr_array((rows.values, rows.items, rows.indptr), (len(rows), rows.catalogue))


def _moment(x: Any, ridge: float) -> NDArray[np.float64]:
    """X^T X + ridge I, in the order of columns that LAPACK overwrites without a copy."""
    columns = x.astype(np.float64).tocsc()
    moment = np.empty((x.shape[1],) * 2, order="F")
    for start in range(0, x.shape[1], ITEMS_TOGETHER):
        block = slice(start, start + ITEMS_TOGETHER)
        moment[:, block] = (columns[:, block].T @ columns).toarray().T
    moment.flat[:: len(moment) + 1] += ridge
    return moment
