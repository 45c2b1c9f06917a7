"""How well does a model do on rows it did not see? Exact, so NOT PRIVATE: for the operator.

Ratings are judged by RMSE over the held-out rows, likes by recall of the held-out items among the best
recommended; every user shows a history, which is folded in as it would be when served.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushfold.data.plain import rows_of
from hushfold.data.split import Part, Triplets
from hushfold.evaluate.figures import Figures, ranking_figures, rating_figures
from hushfold.evaluate.metrics.slices import by_activity, by_popularity
from hushfold.linalg.topk import Top
from hushfold.types import Rows

DEEPEST = 100  # items are ranked so far: for NDCG@100
USERS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class Judged:
    """What is judged: local steps over histories. A method that predicts no values is judged by rankings."""

    recommend: Callable[[Rows, int], Top]
    predict: Callable[[Rows, Rows], NDArray[np.float64]] | None = None


def judge(
    model: Judged,
    triplets: Triplets,
    part: Part,
    *,
    explicit: bool,
    scale: tuple[float, float] | None = None,
    popularity: NDArray[np.floating] | None = None,
) -> Figures:
    """Figures of `model` on a part of a split; `popularity`, released counts, cuts the slices."""
    people = np.unique(triplets.user[part.target])
    shown, wanted = rows_of(triplets, part.query, people), rows_of(triplets, part.target, people)
    slices = None if popularity is None else by_popularity(popularity)
    if explicit and model.predict is not None:
        values = [model.predict(h, w) for h, w in _blocks(shown, wanted)]
        predicted = np.concatenate(values) if values else np.zeros(0)
        cut = {} if slices is None else {"popularity": (slices, wanted.items)}
        return rating_figures(predicted, wanted.values, scale=scale, slices=cut)
    k = min(DEEPEST, triplets.catalogue)
    best = [model.recommend(history, k).items for history, _ in _blocks(shown, wanted)]
    items = np.concatenate(best) if best else np.zeros((0, k), np.int32)
    return ranking_figures(
        items,
        (wanted.indptr, wanted.items),
        catalogue=triplets.catalogue,
        popularity=slices,
        activity=by_activity(np.diff(shown.indptr)),
    )


def _blocks(shown: Rows, wanted: Rows) -> list[tuple[Rows, Rows]]:
    starts = range(0, len(shown), USERS_AT_ONCE)
    cuts = [(start, min(start + USERS_AT_ONCE, len(shown))) for start in starts]
    return [(shown.slice(*cut), wanted.slice(*cut)) for cut in cuts]
