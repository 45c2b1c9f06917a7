"""What private methods are measured against: the constant, and what one does without privacy. NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hushfold.data.split import Triplets
from hushfold.evaluate.judge import Judged
from hushfold.linalg.topk import Top, topk_of_scores
from hushfold.types import Rows

Range = tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Yardstick:
    """A method without any guarantee."""

    name: str
    explicit: bool
    fit: Callable[[Triplets, Range], Judged]


def yardsticks(explicit: bool) -> list[Yardstick]:
    """Those for ratings, or for likes."""
    return [each for each in ALL if each.explicit == explicit]


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
    Yardstick("popularity", False, _popularity),
)
