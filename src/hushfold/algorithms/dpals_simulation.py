"""DPALS on simulated people: how well would it do at these sizes, and which settings would do best?

Nothing here reads data about people: sizes are declared, or counts were released. So both are free.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushfold.algorithms.dpals import fit
from hushfold.algorithms.dpals_bill import bill_of_budget
from hushfold.algorithms.dpals_configs import DpalsConfig
from hushfold.algorithms.dpals_predict import predict, scores
from hushfold.algorithms.dpals_setup import Declared
from hushfold.data.simulate import Simulated, simulate_ratings, simulate_twin
from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.linalg.topk import topk_of_scores
from hushfold.local.preprocess import user_means
from hushfold.privacy.budget import Budget
from hushfold.privacy.door import Door
from hushfold.privacy.ledger import Ledger
from hushfold.rng import PublicRandom
from hushfold.types import Rows

STARS = (0.5, 5.0)
MOST = 400_000  # interactions that are simulated; larger sets are scaled down, users and items alike
TOP = 20


@dataclass(frozen=True, slots=True)
class Quality:
    """A figure of a simulation, beside that of the rival that needs no factors."""

    metric: str
    value: float
    rival: str
    without: float
    scale: float
    """The simulated part of the declared users and items."""


def simulated_quality(
    users: int, items: int, interactions: int, config: DpalsConfig, budget: Budget, likes: bool, seed: int = 0
) -> Quality:
    """DPALS with lattice noise on simulated films of these sizes, scaled down where they are large.

    Scaling keeps the ratings per user and per item, so the signal of an item and its noise.
    """
    scale = min(1.0, MOST / interactions)
    fewer_items = max(
        math.ceil(items * scale), math.ceil(min(1.6 * interactions / users, items)), config.rank
    )
    people = max(1, round(users * scale))
    rows = min(max(people, round(interactions * scale)), people * fewer_items)
    drawn = simulate_ratings(people, fewer_items, rows, seed, implicit=likes)
    return quality_of(drawn, config, budget, likes, scale)


def tune_on_twin(
    counts: ArrayLike,
    users: float,
    ratings: float,
    candidates: Sequence[DpalsConfig],
    budget: Budget,
    likes: bool = False,
    seed: int = 0,
) -> DpalsConfig:
    """The candidate that does best on a stand-in built from released counts: a search that costs nothing."""
    drawn = simulate_twin(counts, users, ratings, seed, implicit=likes)
    figures = [quality_of(drawn, config, budget, likes).value for config in candidates]
    return candidates[int(np.argmax(figures) if likes else np.argmin(figures))]


def quality_of(
    drawn: Simulated, config: DpalsConfig, budget: Budget, likes: bool, scale: float = 1.0
) -> Quality:
    """Hold out a tenth of the simulated rows, fit the rest, and look."""
    keys = PublicRandom(0).per_user("simulated", np.arange(drawn.users, dtype=np.uint64))
    coins = PublicRandom(1).per_entry("held out", keys[drawn.user], drawn.item)
    held_out = coins % np.uint64(10) == 0
    train, test = (_rows(drawn, kept, keys) for kept in (~held_out, held_out))
    declared = Declared(drawn.items, None if likes else STARS, drawn.users)
    door = Door(Ledger.throw_away().run(method="simulation", config={}), budget)
    model = fit(Users(train), declared, config, LocalEngine(), door, bill_of_budget(config, budget)).value
    if likes:
        popular = np.bincount(train.items, minlength=drawn.items).astype(np.float32)
        first = train.slice(0, min(2000, len(train)))
        found = _recall(scores(first, model), first, test)
        rival = _recall(np.tile(popular, (len(first), 1)), first, test)
        return Quality(f"recall@{TOP}", found, "popularity", rival, scale)
    means = np.repeat(user_means(train, declared.middle), np.diff(test.indptr))
    return Quality(
        "rmse", _rmse(predict(train, test, model), test), "users' own means", _rmse(means, test), scale
    )


def _rows(drawn: Simulated, kept: NDArray[np.bool_], keys: NDArray[np.uint64]) -> Rows:
    lengths = np.bincount(drawn.user[kept], minlength=drawn.users)
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return Rows(indptr, drawn.item[kept], drawn.rating[kept], keys, drawn.items)


def _rmse(predicted: NDArray[np.float64], test: Rows) -> float:
    return float(np.sqrt(np.mean((predicted - test.values) ** 2)))


def _recall(every: NDArray[np.float32], history: Rows, test: Rows) -> float:
    """Of each user's held-out items, the share among the best; of users who have any."""
    best = topk_of_scores(every, TOP, (history.indptr, history.items)).items
    shares = [
        np.isin(own, best[user]).sum() / min(TOP, len(own))
        for user, (own, _) in enumerate(test.slice(0, len(history)).each())
        if len(own)
    ]
    return float(np.mean(shares)) if shares else 0.0
