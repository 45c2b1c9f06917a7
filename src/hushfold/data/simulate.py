"""Simulated ratings: realistic films, incoherent low-rank matrices, stand-ins built from released counts.

Nothing here reads data about people. A stand-in for a real set may use what was *released* about it, no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushfold.data.draw import choose_evenly
from hushfold.data.film import Block, World, activity, popularity
from hushfold.errors import ArgumentError
from hushfold.rng import PublicRandom

Kind = Literal["film", "low-rank"]
Arrays = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]

HEAD_SHARE, HEAD_OF_LIKES = 0.878, 0.925  # on the most popular fifth of the items, before taste levels it
WATCHES, LIKES = (1.0, 0.0), (5.0, 4.0)  # drive and reserve of taste: what is rated, what is liked
OUTLIER = 10.0  # size of a gross error in a low-rank matrix, in standard deviations


@dataclass(frozen=True, slots=True)
class Scale:
    """A rating scale `low, low + step, .. high`, and the mean and spread that ratings on it should have."""

    low: float = 0.5
    high: float = 5.0
    step: float = 0.5
    mean: float = 3.5
    std: float = 1.06

    def __post_init__(self) -> None:
        if not (self.low < self.mean < self.high and 0 < self.step <= self.high - self.low and self.std > 0):
            raise ArgumentError(
                "scale",
                "it needs low < mean < high and a positive step and spread",
                "Pass e.g. Scale(1, 5, 1, 3.6)",
            )

    def round(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """The nearest step of the scale."""
        steps = np.rint((np.clip(scores, self.low, self.high) - self.low) / self.step)
        return np.minimum(self.low + self.step * steps, self.high).astype(np.float32)


@dataclass(frozen=True, slots=True, repr=False)
class Simulated:
    """Simulated (user, item, rating) rows by user and item, each pair once, and the truth behind them.

    The expected score of a pair is `user_bias[i] + item_bias[j] + user_taste[i] . item_taste[j]`: the rating
    itself (low-rank), or the rating up to one shift and one scale, before rounding (film).
    """

    user: NDArray[np.int32]
    item: NDArray[np.int32]
    rating: NDArray[np.float32]
    users: int
    items: int
    user_bias: NDArray[np.float32]
    item_bias: NDArray[np.float32]
    user_taste: NDArray[np.float32]
    item_taste: NDArray[np.float32]
    outlier: NDArray[np.bool_]
    """Which rows were replaced by a gross error."""

    def __len__(self) -> int:
        return len(self.user)

    def __repr__(self) -> str:
        return f"<Simulated: {self.users} users x {self.items} items, {len(self)} rows>"


def simulate_ratings(
    users: int,
    items: int,
    ratings: int,
    seed: int = 0,
    *,
    kind: Kind = "film",
    implicit: bool = False,
    outliers: float = 0.0,
    scale: Scale | None = None,
    rank: int = 5,
) -> Simulated:
    """`ratings` ratings of `items` items by `users` users; the same arguments give the same rows.

    `film` draws exactly that many rows, popular items, active users and taste as in films (`data/film.py`);
    `implicit` makes every rating 1 and lets taste decide more about what is chosen. `low-rank` is the
    synthetic matrix of the papers: random orthonormal factors of `rank`, unit standard deviation, every entry
    observed with probability `ratings / (users * items)`. A share `outliers` of the rows becomes gross
    errors: the far end of the scale, or `OUTLIER` standard deviations off.
    """
    _check(users, items, ratings, outliers)
    random = PublicRandom(seed)
    if kind == "low-rank":
        if implicit or scale is not None:
            raise ArgumentError("kind", "a low-rank matrix has real values and no scale", "Use kind='film'")
        return _low_rank(users, items, ratings / (users * items), rank, outliers, random)
    world = film_world(users, items, ratings, random, implicit)
    return _collect(world, _Values.of(world, implicit, outliers, scale))


def simulate_blocks(
    users: int,
    items: int,
    ratings: int,
    seed: int = 0,
    *,
    implicit: bool = False,
    outliers: float = 0.0,
    scale: Scale | None = None,
) -> Iterator[Arrays]:
    """The rows of `simulate_ratings(kind="film")`, a block at a time: for files larger than memory."""
    _check(users, items, ratings, outliers)
    world = film_world(users, items, ratings, PublicRandom(seed), implicit)
    values = _Values.of(world, implicit, outliers, scale)
    for block in world.blocks():
        yield _user_of(block), block.items, values.of_block(block)[0]


def simulate_twin(
    counts: ArrayLike,
    users: float,
    ratings: float,
    seed: int = 0,
    *,
    implicit: bool = False,
    scale: Scale | None = None,
) -> Simulated:
    """A stand-in for a real set, from what was released about it: item counts, numbers of users and ratings.

    `scale` may carry a released mean and spread. A negative or non-finite count is taken as nearly nobody.
    Free post-processing: tuning on the stand-in costs no budget. Activity, taste and noise are the film
    world's.
    """
    expected = np.nan_to_num(np.asarray(counts, np.float64), nan=0, posinf=0, neginf=0).clip(0)
    people, rows = max(1, round(users)), round(ratings)
    _check(people, len(expected), rows, 0.0)
    if expected.sum() == 0:
        expected += 1
    random = PublicRandom(seed)
    expected = np.minimum(expected * (rows / expected.sum()), 0.98 * people)
    world = World(activity(people, len(expected), rows, random), expected, *_choice(implicit), random)
    return _collect(world, _Values.of(world, implicit, 0.0, scale))


def film_world(users: int, items: int, ratings: int, random: PublicRandom, implicit: bool) -> World:
    """The world `simulate_ratings` draws from."""
    head = HEAD_OF_LIKES if implicit else HEAD_SHARE
    counts = popularity(users, items, ratings, head, random)
    return World(activity(users, items, ratings, random), counts, *_choice(implicit), random)


def _choice(implicit: bool) -> tuple[float, float]:
    return LIKES if implicit else WATCHES


@dataclass(frozen=True, slots=True)
class _Values:
    """How scores become ratings: a shift and scale found on the first users, rounding, gross errors."""

    world: World
    scale: Scale | None  # None: implicit
    outliers: float
    shift: float
    stretch: float

    @classmethod
    def of(cls, world: World, implicit: bool, outliers: float, scale: Scale | None) -> _Values:
        if implicit:
            return cls(world, None, 0.0, 0.0, 1.0)
        scale = scale or Scale()
        scores = world.block(0).scores
        middle = float(scores.mean())
        shift, stretch = scale.mean, scale.std / max(float(scores.std()), 1e-6)
        for _ in range(12):  # rounding and the ends of the scale move mean and spread
            rounded = scale.round(shift + stretch * (scores - middle)).astype(np.float64)
            shift += scale.mean - rounded.mean()
            stretch *= scale.std / max(rounded.std(), scale.std / 4)
        return cls(world, scale, outliers, shift - stretch * middle, stretch)

    def of_block(self, block: Block) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Ratings of a block, and which of them are gross errors."""
        if self.scale is None:
            return np.ones(len(block.items), np.float32), np.zeros(len(block.items), bool)
        ratings = self.scale.round(self.shift + self.stretch * block.scores)
        wrong = _coins(self.world.random, "simulate: outliers", _user_of(block), block.items) < self.outliers
        middle = (self.scale.low + self.scale.high) / 2
        far = np.where(ratings > middle, self.scale.low, self.scale.high).astype(np.float32)
        return np.where(wrong, far, ratings), wrong


def _collect(world: World, values: _Values) -> Simulated:
    blocks = list(world.blocks())
    ratings, outlier = zip(*map(values.of_block, blocks), strict=True)
    return Simulated(
        np.concatenate([_user_of(b) for b in blocks]),
        np.concatenate([b.items for b in blocks]),
        np.concatenate(ratings),
        world.users,
        world.items,
        np.concatenate([b.user_bias for b in blocks]),
        world.item_bias,
        np.concatenate([b.user_taste for b in blocks]),
        world.item_taste,
        np.concatenate(outlier),
    )


def _low_rank(
    users: int, items: int, probability: float, rank: int, outliers: float, random: PublicRandom
) -> Simulated:
    if not 1 <= rank <= min(users, items):
        raise ArgumentError("rank", f"{rank} is outside 1 .. {min(users, items)}", "Ask for fewer factors")
    left = np.linalg.qr(random.stream("simulate: U").standard_normal((users, rank)))[0]
    right = np.linalg.qr(random.stream("simulate: V").standard_normal((items, rank)))[0]
    left = (left * np.sqrt(users * items / rank)).astype(np.float32)  # |U V^T|_F^2 = users * items
    right = right.astype(np.float32)
    keys = np.arange(users, dtype=np.uint64)
    indptr, item = choose_evenly(users, items, probability, random.per_user("simulate: choice", keys))
    user = np.repeat(np.arange(users, dtype=np.int32), np.diff(indptr))
    wrong = _coins(random, "simulate: outliers", user, item) < outliers
    sign = np.sign(_coins(random, "simulate: sign", user, item) - 0.5)
    values = np.einsum("er,er->e", left[user], right[item]) + OUTLIER * wrong * sign
    none = np.zeros
    return Simulated(
        user,
        item,
        values.astype(np.float32),
        users,
        items,
        none(users, np.float32),
        none(items, np.float32),
        left,
        right,
        wrong,
    )


def _user_of(block: Block) -> NDArray[np.int32]:
    numbers = np.arange(block.first, block.first + len(block.indptr) - 1, dtype=np.int32)
    return np.repeat(numbers, np.diff(block.indptr))


def _coins(
    random: PublicRandom, name: str, user: NDArray[np.int32], item: NDArray[np.int32]
) -> NDArray[np.float64]:
    """A uniform number in [0, 1) for every row."""
    return (random.per_entry(name, user.astype(np.uint64), item) >> np.uint64(11)) * np.float64(2.0**-53)


def _check(users: int, items: int, ratings: int, outliers: float) -> None:
    for name, value in (("users", users), ("items", items), ("ratings", ratings)):
        if value < 1:
            raise ArgumentError(name, f"{value} is less than 1", "Pass a positive number")
    if ratings > users * items:
        raise ArgumentError("ratings", "more than users x items", "Ask for fewer: every pair occurs once")
    if not 0 <= outliers < 1:
        raise ArgumentError("outliers", f"{outliers} is not a share", "Pass a number from 0 up to 1")
