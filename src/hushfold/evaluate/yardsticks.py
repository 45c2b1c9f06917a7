"""What private methods are measured against: the constant, and what one does without privacy. NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushfold.algorithms import als, ease
from hushfold.data.split import Triplets
from hushfold.evaluate.judge import Judged
from hushfold.linalg.topk import Top, topk_of_scores
from hushfold.types import Rows

Range = tuple[float, float] | None
ALS_RANK = 32


@dataclass(frozen=True, slots=True)
class Yardstick:
    """A method without any guarantee."""

    name: str
    explicit: bool
    fit: Callable[[Triplets, Range], Judged]


def yardsticks(explicit: bool) -> list[Yardstick]:
    """Those for ratings, or for likes."""
    return [each for each in ALL if each.explicit == explicit]


def _als(train: Triplets, scale: Range) -> Judged:
    """Alternating least squares at its usual settings."""
    rank = min(ALS_RANK, train.catalogue)
    config = als.AlsConfig(rank) if scale else als.AlsConfig.likes(rank)
    model = als.fit(train.handle(), config).value

    def predict(shown: Rows, wanted: Rows) -> NDArray[np.float64]:
        return np.clip(als.predict(shown, wanted, model), *(scale or (-np.inf, np.inf)))

    return Judged(_best_of(lambda rows: als.scores(rows, model)), predict if scale else None)


def _ease(train: Triplets, scale: Range) -> Judged:
    """The closed-form item-item model."""
    model = ease.fit(train.handle()).value
    return Judged(_best_of(lambda rows: ease.scores(rows, model)))


def _best_of(scores: Callable[[Rows], ArrayLike]) -> Callable[[Rows, int], Top]:
    def recommend(rows: Rows, k: int) -> Top:
        return topk_of_scores(scores(rows), k, (rows.indptr, rows.items))

    return recommend


def _constant(train: Triplets, scale: Range) -> Judged:
    """The mean of the training rows, for everything."""
    mean = float(train.value.mean()) if len(train) else 0.0
    return Judged(_nothing, lambda shown, wanted: np.full(len(wanted.items), mean))


def _popularity(train: Triplets, scale: Range) -> Judged:
    """Exact counts of the training rows, for everybody."""
    counts = np.bincount(train.item, minlength=train.catalogue).astype(np.float32)

    def recommend(rows: Rows, k: int) -> Top:
        return topk_of_scores(np.tile(counts, (len(rows), 1)), k, (rows.indptr, rows.items))

    return Judged(recommend)


def _nothing(rows: Rows, k: int) -> Top:
    return Top(np.full((len(rows), k), -1, np.int32), np.full((len(rows), k), -np.inf, np.float32))


ALL = (
    Yardstick("constant", True, _constant),
    Yardstick("als", True, _als),
    Yardstick("popularity", False, _popularity),
    Yardstick("als", False, _als),
    Yardstick("ease", False, _ease),
)
