"""All methods by name: how each is fitted, and how its released state answers. A new algorithm joins here.

Answers are local steps: own rows of some users and public state in, that user's own results out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.algorithms import bias, dpals, dpals_predict
from hushfold.algorithms.bias_posterior import BiasModel
from hushfold.algorithms.dpals import Dpals
from hushfold.algorithms.dpals_bill import bill_of_budget
from hushfold.algorithms.dpals_configs import default_config
from hushfold.algorithms.dpals_setup import Declared
from hushfold.algorithms.hush import explicit, implicit
from hushfold.data.ratings import Ratings
from hushfold.engines.base import Engine
from hushfold.errors import ArgumentError
from hushfold.linalg.topk import Top, topk_of_scores
from hushfold.privacy.door import Door
from hushfold.types import Released, Rows, post

Floats = NDArray[np.float64]
CELLS_AT_ONCE = 2**22  # of users x items, while rankings are computed

JOINT = "The published model and all other users' results satisfy ({epsilon}, {delta}) joint DP"


@dataclass(frozen=True, slots=True)
class Method:
    """A private method for one kind of data."""

    name: str
    explicit: bool
    state: type[Any]
    fit: Callable[[Ratings, Engine, Door], Released[Any]]
    scores: Callable[[Any, Rows], Floats]
    """`(state, own rows) -> users x items`: the higher, the more recommended."""
    predict: Callable[[Any, Rows, Rows], Floats] | None = None
    """`(state, own rows, wanted) -> values`, one for each wanted entry."""
    vectors: Callable[[Any], Floats] | None = None
    """Items x k, if the method has item vectors."""
    popularity: Callable[[Any], Floats] | None = None
    """Released counts by item."""
    sentence: str = JOINT


@dataclass(frozen=True, slots=True)
class Popularity:
    """Released counts: what everybody likes."""

    likes: Floats


def method(name: str, kind: str) -> Method:
    """The method of this name for `explicit` or `implicit` data; counts of plays are implicit."""
    wanted = kind == "explicit"
    for each in METHODS:
        if each.name == name and each.explicit == wanted:
            return each
    names = sorted({each.name for each in METHODS if each.explicit == wanted})
    known = any(each.name == name for each in METHODS)
    problem = f"{name} does not fit {kind} data" if known else f"{name!r} is unknown"
    raise ArgumentError("method", problem, f"Choose one of {', '.join(names)}")


def recommend(how: Method, state: Any, rows: Rows, k: int) -> Top:
    """The `k` best items of each user and their scores, without own ones; -1 where there are no more."""
    users = max(1, CELLS_AT_ONCE // max(1, rows.catalogue))
    best = Top(np.full((len(rows), k), -1, np.int32), np.full((len(rows), k), -np.inf, np.float32))
    for start in range(0, len(rows), users):
        block = rows.slice(start, min(start + users, len(rows)))
        top = topk_of_scores(how.scores(state, block), k, (block.indptr, block.items))
        best.items[start : start + users], best.scores[start : start + users] = top
    return best


def similar(how: Method, state: Any, item: int, k: int, catalogue: int) -> list[tuple[int, float]]:
    """The `k` nearest items: by cosine of item vectors, or what is recommended to who has just this item."""
    if how.vectors is None and how.explicit:
        raise ArgumentError("method", f"{how.name} has no item vectors", "Fit hush or dpals")
    if how.vectors is not None:
        vectors = how.vectors(state)
        lengths = np.linalg.norm(vectors, axis=1)
        cosines = vectors @ vectors[item] / np.maximum(lengths * lengths[item], np.finfo(float).tiny)
        top = topk_of_scores(cosines[None], k, _only(item))
    else:
        row = Rows(*_only(item), np.ones(1, np.float32), np.zeros(1, np.uint64), catalogue)
        top = recommend(how, state, row, k)
    found = zip(top.items[0].tolist(), top.scores[0].tolist(), strict=True)
    return [(other, score) for other, score in found if other >= 0]


def _only(item: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    return np.array([0, 1], np.int64), np.array([item], np.int32)


def _bounds(ratings: Ratings) -> tuple[float, float]:
    if ratings.range is None:
        raise ArgumentError("range", "is not declared", "Read the ratings with range=(LO, HI)")
    return ratings.range


def _fit_popularity(ratings: Ratings, engine: Engine, door: Door) -> Released[Popularity]:
    return post(Popularity, bias.fit_popularity(ratings.users, engine, door))


def _fit_dpals(ratings: Ratings, engine: Engine, door: Door) -> Released[Dpals]:
    public = Declared(len(ratings.catalogue), ratings.range, ratings.declared_users)
    config = default_config(len(ratings.catalogue), ratings.range is None)
    return dpals.fit(ratings.users, public, config, engine, door, bill_of_budget(config, door.budget))


def _dpals_vectors(state: Dpals) -> Floats:
    """Of the whole catalogue: zero for the items that were not trained on."""
    vectors = np.zeros((state.setup.declared.catalogue, state.factors.shape[1]))
    vectors[state.setup.items] = state.factors
    return vectors


def _likes_scores(state: implicit.LikesModel, rows: Rows) -> Floats:
    """Scores of the head; what lies outside comes behind it, by released likes."""
    places = np.full(rows.catalogue, -1, np.int64)
    places[state.head] = np.arange(len(state.head))
    head, _ = implicit.scores(rows, state, places)
    behind = state.likes / max(float(np.abs(state.likes).max()), 1.0) - 1
    everything = head.min(axis=1, keepdims=True, initial=0.0) + behind - 1
    everything[:, state.head] = head
    return everything


METHODS = (
    Method(
        "hush",
        True,
        explicit.RatingsModel,
        lambda ratings, engine, door: explicit.fit(ratings.users, engine, door, *_bounds(ratings)),
        explicit.scores,
        explicit.predict,
        lambda state: state.factors,
        lambda state: state.bias.counts.items,
    ),
    Method(
        "hush",
        False,
        implicit.LikesModel,
        lambda ratings, engine, door: implicit.fit(ratings.users, engine, door),
        _likes_scores,
        popularity=lambda state: state.likes,
    ),
    Method(
        "bias",
        True,
        BiasModel,
        lambda ratings, engine, door: bias.fit(ratings.users, engine, door, *_bounds(ratings)),
        bias.scores,
        bias.predict,
        popularity=lambda state: state.counts.items,
    ),
    Method(
        "bias",
        False,
        Popularity,
        _fit_popularity,
        lambda state, rows: np.tile(state.likes, (len(rows), 1)),
        popularity=lambda state: state.likes,
    ),
    *(
        Method(
            "dpals",
            ratings,
            Dpals,
            _fit_dpals,
            lambda state, rows: dpals_predict.scores(rows, state),
            (lambda state, rows, wanted: dpals_predict.predict(rows, wanted, state)) if ratings else None,
            _dpals_vectors,
            sentence="Item vectors and all other users' results satisfy ({epsilon}, {delta}) joint DP",
        )
        for ratings in (True, False)
    ),
)
