"""People who liked X also like Y: two releases, the smallest complete private method, and the pattern of all.

    1. `total`   how much every item is liked, every user's row at unit length
    2. `moment`  which items are liked together, over the head of items that release 1 shows to be visible

Everything else is public arithmetic on what was released. Guarantee: the released state and all answers are
(epsilon, delta)-DP for adding or removing one user. Proofs: `total.md`, `moment-rows.md`, `door.md`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.data.users import Users
from hushfold.engines.base import Engine
from hushfold.linalg.panels import SymmetricPanels
from hushfold.local.preprocess import only_items
from hushfold.local.weights import unit_weights
from hushfold.privacy.budget import multiplier
from hushfold.privacy.door import Door
from hushfold.statistics.base import Contribution
from hushfold.statistics.moment_rows import moment_rows
from hushfold.statistics.total import total
from hushfold.types import Released, Rows, post

SHARES = {"likes": 0.08, "pairs": 0.92}
VISIBLE = 10.0  # an item is in the head when its likes stand this many noise stds of the moment above zero
SMALLEST_HEAD, LARGEST_HEAD = 50, 10_000


@dataclass(frozen=True, slots=True)
class AlsoLike:
    """All of it public: what everybody likes, the head of items, and what the head's items share."""

    likes: NDArray[np.float64]
    head: NDArray[np.int64]
    pairs: SymmetricPanels
    noise: float
    """Standard deviation of the noise on a diagonal cell of `pairs`."""


def count_likes(rows: Rows) -> tuple[Contribution, ...]:
    """Release 1: each user's items, at unit length."""
    return (total(replace(rows, values=unit_weights(rows)), 1.0, nonnegative=True),)


def count_pairs(rows: Rows, head: NDArray[np.int64]) -> tuple[Contribution, ...]:
    """Release 2: each user's items of the head, at unit length within it."""
    wanted = np.zeros(rows.catalogue, bool)
    wanted[head] = True
    own = only_items(rows, wanted)
    return (moment_rows(replace(own, values=unit_weights(own)), head, 1.0),)


def choose_head(likes: NDArray[np.float64], noise: float, visible: float = VISIBLE) -> NDArray[np.int64]:
    """The items that the moment can see, by released numbers alone, in catalogue order."""
    seen = int((likes >= visible * noise).sum())
    size = min(max(seen, SMALLEST_HEAD), LARGEST_HEAD, len(likes))
    return np.sort(np.argsort(-likes, kind="stable")[:size])


def fit(users: Users, engine: Engine, door: Door) -> Released[AlsoLike]:
    """Both releases, for the door's whole budget."""
    likes_share, pairs_share = door.budget.split(SHARES)
    noise = multiplier(pairs_share.units)
    (likes,) = door.gaussian("likes", engine.sum(users, count_likes), likes_share.units)
    head = post(choose_head, likes, noise)
    (pairs,) = door.gaussian("pairs", engine.sum(users, count_pairs, head.value), pairs_share.units)
    return post(AlsoLike, likes, head, pairs, noise)


def similar(state: AlsoLike, item: int, n: int = 10) -> list[tuple[int, float]]:
    """The `n` items most liked by those who like `item`: cosine of the released moment, shrunk by its noise.

    Items whose own mass is mostly noise are pulled towards zero instead of to the top. Nothing is known about
    items outside the head; for those the list is empty.
    """
    place = np.searchsorted(state.head, item)
    if place == len(state.head) or state.head[place] != item:
        return []
    panel, row = divmod(int(place), 256)
    together = _row(state.pairs, panel, row)
    mass = np.maximum(state.pairs.diagonal().astype(np.float64), 0) + VISIBLE * state.noise
    score = together / np.sqrt(mass * mass[place])
    score[place] = -np.inf
    best = np.argsort(-score, kind="stable")[:n]
    return [(int(state.head[other]), float(score[other])) for other in best if score[other] > 0]


def _row(pairs: SymmetricPanels, panel: int, row: int) -> NDArray[Any]:
    """One row of the symmetric matrix; what lies left of its panel stands in the panels above."""
    left = [above[:, (panel - k) * 256 + row] for k, above in enumerate(pairs.panels[:panel])]
    return np.concatenate([*left, pairs.panels[panel][row]]).astype(np.float64)
