"""Hush for likes, clicks and purchases: two releases, then a precision model fitted in public.

    1. likes   how much every item is liked, every user's row at unit length        .08 of mu^2
    2. pairs   the item-item moment over the head of items that 1 shows visible     .92

The same two questions as in `also_like`; what is new is what is made of the answers: Bayesian factors, sparse
residual pairs, and for every user a prediction from own history by one solve. Guarantee: the model is
(epsilon, delta)-DP for adding or removing one user, a user's own recommendations are jointly DP with it.
Proof: `proofs/hush.md`.
"""

# pyright: basic
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hushfold.algorithms.also_like import SHARES, choose_head, count_likes, count_pairs
from hushfold.algorithms.hush.factors import QUICK, fit_model
from hushfold.algorithms.hush.model import MomentModel
from hushfold.algorithms.hush.precision import LikesPrecision, precision_of
from hushfold.algorithms.hush.worth import pairs_are_worth_it
from hushfold.data.users import Users
from hushfold.engines.base import Engine
from hushfold.linalg.panels import SymmetricPanels
from hushfold.linalg.topk import topk_of_scores
from hushfold.privacy.budget import multiplier
from hushfold.privacy.door import Door
from hushfold.threads import one_blas_thread
from hushfold.types import Released, Rows, post

Floats = NDArray[np.float64]
USERS_AT_ONCE = 256


@dataclass(frozen=True, slots=True, eq=False)
class LikesModel:
    """All of it public. The head stands by decreasing likes."""

    likes: Floats
    """Released counts of the whole catalogue."""
    head: NDArray[np.int64]
    B: Floats
    D: Floats
    pairs: csr_array
    own: Floats
    """diag P."""

    @property
    def precision(self) -> LikesPrecision:
        """P, as solves."""
        return LikesPrecision(self.D, self.B, self.pairs)


def fit(users: Users, engine: Engine, door: Door) -> Released[LikesModel]:
    """Both releases, for the door's whole budget, and the fit."""
    likes_share, pairs_share = door.budget.split(SHARES)
    noise = multiplier(pairs_share.units)
    (likes,) = door.gaussian("likes", engine.sum(users, count_likes), likes_share.units)
    head = post(choose_head, likes, noise)
    (moment,) = door.gaussian("pairs", engine.sum(users, count_pairs, head.value), pairs_share.units)
    return post(learn, likes, head, moment, noise, multiplier(likes_share.units))


def learn(
    likes: Floats, head: NDArray[np.int64], moment: SymmetricPanels, noise: float, likes_noise: float
) -> LikesModel:
    """The model, from released values alone. `noise` is the standard deviation on the moment's diagonal,
    `likes_noise` that of a count.
    """
    floored = np.maximum(likes, likes_noise / 2)
    order = np.argsort(-floored[head], kind="stable")
    moment, head = moment.reorder(order), head[order]
    model = MomentModel.of(moment, floored[head], 1.0, noise, 0.0)
    factors = fit_model(model, QUICK)
    with one_blas_thread():
        precision = precision_of(model, factors, pairs_are_worth_it(model))
        own = precision.diagonal()
    return LikesModel(likes, head, precision.B, precision.D, precision.pairs, own)


def recommend(rows: Rows, model: LikesModel, k: int) -> NDArray[np.int32]:
    """The `k` best items for each user, best first, without own ones; -1 where there are no more.

    A local step: own row and the public model. What lies outside the head comes behind it, by likes.
    """
    tail = np.setdiff1d(np.argsort(-model.likes, kind="stable"), model.head, assume_unique=True)
    places = np.full(rows.catalogue, -1, np.int64)
    places[model.head] = np.arange(len(model.head))
    best = np.full((len(rows), k), -1, np.int32)
    for start in range(0, len(rows), USERS_AT_ONCE):
        block = rows.slice(start, min(start + USERS_AT_ONCE, len(rows)))
        best[start : start + USERS_AT_ONCE] = _best_of_block(block, model, k, places, tail)
    return best


def scores(rows: Rows, model: LikesModel, places: NDArray[np.int64]) -> tuple[Floats, csr_array]:
    """`-(x P)_j / P_jj` for each user and item of the head, and the histories x over the head."""
    place = places[rows.items]
    inside = place >= 0
    user = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))[inside]
    shape = (len(rows), len(model.head))
    histories = csr_array((np.ones(len(user)), (user, place[inside])), shape=shape)
    histories.sort_indices()
    solved = model.precision.solve(histories.toarray().T)
    return -(solved / model.own[:, None]).T, histories


def _best_of_block(
    rows: Rows, model: LikesModel, k: int, places: NDArray[np.int64], tail: NDArray[np.int64]
) -> NDArray[np.int32]:
    values, histories = scores(rows, model, places)
    lists = (histories.indptr.astype(np.int64), histories.indices.astype(np.int32))
    top = topk_of_scores(values, k, lists).items
    best = np.where(top >= 0, model.head[top], -1).astype(np.int32)
    for user, (own, _) in enumerate(rows.each()):
        missing = int((best[user] < 0).sum())
        if missing:
            more = tail[: missing + len(own)]
            more = more[~np.isin(more, own)][:missing]
            best[user, k - missing : k - missing + len(more)] = more
    return best
