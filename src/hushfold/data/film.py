"""A world of viewers and films: who is how active, what is how popular, who likes what.

- activity: log-normal above a floor, capped below the catalogue
- popularity: a power law at the top that thins out in the tail; the weights are solved so that the expected
  counts follow it although nobody watches a film twice
- choice: distinct films by popularity and taste; active users run out of popular ones and reach for the rare
- rating: user bias + film bias + low-rank taste + noise of the user's own level, rounded to the scale
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from hushfold.data.draw import alias_table, choose, score
from hushfold.errors import ArgumentError
from hushfold.rng import PublicRandom

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]

BLOCK = 8192  # users simulated together; part of what a seed means
CLASSES = 16  # classes of activity in the solution for the popularity weights
TASTES = 20  # rank of the taste term
FLOOR, SPREAD, CEILING = 20, 1.33, 0.69  # activity: least, log-normal width, most as a share of the catalogue
HEAD, THIN = 0.02, 1.3  # popularity: flattening of the first ranks, thinning of the last
USER_BIAS, USER_MOOD = 0.43, 0.25  # standard deviation; how much lower active users rate
ITEM_BIAS, ITEM_FAME = 0.46, 0.35  # standard deviation; how much higher popular films are rated
TASTE, DECAY = 0.6, 1.2  # standard deviation of the taste score, decay of its spectrum
NOISE, NOISE_SPREAD = 0.63, 0.2  # standard deviation of a rating's noise, log-spread of it over users


@dataclass(frozen=True, slots=True)
class Block:
    """What `BLOCK` users did: rows by user, items increasing, and the truth behind them."""

    first: int  # index of the first user
    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    scores: Floats32
    user_bias: Floats32
    user_taste: Floats32


@dataclass(frozen=True)
class World:
    """A simulated population, generated block by block; the same seed gives the same blocks in any order."""

    activity: NDArray[np.int64]  # ratings per user
    counts: Floats  # expected ratings per item
    drive: float  # how strongly taste decides what is watched
    reserve: float  # how far above the ordinary a film has to be for most people to watch it
    random: PublicRandom

    @property
    def users(self) -> int:
        """How many users there are."""
        return len(self.activity)

    @property
    def items(self) -> int:
        """How many items the catalogue has."""
        return len(self.counts)

    @cached_property
    def fame(self) -> Floats:
        """Normal score of every item's popularity rank."""
        rank = np.argsort(np.argsort(self.counts, kind="stable"), kind="stable")
        return ndtri((rank + 0.5) / self.items)

    @cached_property
    def item_bias(self) -> Floats32:
        """How much better than the mean every item is rated; popular ones are, a little."""
        own = self.random.stream("simulate: item bias").standard_normal(self.items)
        return (ITEM_BIAS * (ITEM_FAME * self.fame + np.sqrt(1 - ITEM_FAME**2) * own)).astype(np.float32)

    @cached_property
    def item_taste(self) -> Floats32:
        """Where every item stands on the axes of taste, in the order of their weight."""
        spectrum = (np.arange(TASTES) + 3.0) ** -DECAY
        axes = self.random.stream("simulate: item taste").standard_normal((self.items, TASTES))
        return (TASTE * np.sqrt(spectrum / spectrum.sum()) * axes).astype(np.float32)

    @cached_property
    def zeal(self) -> Floats:
        """Standardised log activity of every user."""
        log = np.log(self.activity)
        return (log - log.mean()) / max(float(log.std()), 1e-9)

    @cached_property
    def weights(self) -> Floats:
        """Popularity weights, by which films are drawn."""
        edges = np.quantile(self.activity, np.linspace(0, 1, CLASSES + 1)[1:-1])
        of_class = np.searchsorted(edges, self.activity)
        people = np.bincount(of_class, minlength=CLASSES)
        mean = np.bincount(of_class, self.activity, CLASSES) / np.maximum(people, 1)
        return popularity_weights(self.counts, people, mean)

    @cached_property
    def _alias(self) -> tuple[Floats, NDArray[np.int32]]:
        return alias_table(self.weights)

    def block(self, first: int) -> Block:
        """The users `first .. first + BLOCK`; `first` is a multiple of `BLOCK`."""
        users = slice(first, min(first + BLOCK, self.users))
        zeal = self.zeal[users]
        stream = self.random.stream(f"simulate: users from {first}")
        own, noise = stream.standard_normal((2, len(zeal)))
        user_bias = USER_BIAS * (np.sqrt(1 - USER_MOOD**2) * own - USER_MOOD * zeal)
        user_taste = stream.standard_normal((len(zeal), TASTES), np.float32)
        noise = NOISE * np.exp(NOISE_SPREAD * noise - NOISE_SPREAD**2)
        indptr = np.concatenate(([0], np.cumsum(self.activity[users])))
        keys = np.arange(users.start, users.stop, dtype=np.uint64)
        items = choose(
            indptr,
            self.weights,
            *self._alias,
            user_taste,
            self.item_taste,
            self.drive,
            self.reserve,
            self.random.per_user("simulate: choice", keys),
        )
        scores = score(
            indptr,
            items,
            user_bias.astype(np.float32),
            self.item_bias,
            user_taste,
            self.item_taste,
            noise.astype(np.float32),
            self.random.per_user("simulate: noise", keys),
        )
        return Block(first, indptr, items, scores, user_bias.astype(np.float32), user_taste)

    def blocks(self) -> Iterator[Block]:
        """Everybody, `BLOCK` users at a time."""
        return map(self.block, range(0, self.users, BLOCK))


def activity(users: int, items: int, ratings: int, random: PublicRandom) -> NDArray[np.int64]:
    """Ratings per user with the sum `ratings` exactly, each between 1 and `items`."""
    mean = ratings / users
    if not 1 <= mean <= items:
        raise ArgumentError(
            "ratings",
            f"{users} users and {items} items hold {users} to {users * items} ratings",
            "Ask for a number in between",
        )
    low = min(FLOOR, max(1, int(mean / 2)))
    high = max(low, int(CEILING * items)) if mean < CEILING * items / 2 else items
    shape = np.exp(SPREAD * random.stream("simulate: activity").standard_normal(users))

    def spread(scale: float) -> Floats:
        return np.minimum(low + scale * shape, high)

    small, large = 0.0, float(high / shape.min())
    for _ in range(100):
        middle = (small + large) / 2
        small, large = (middle, large) if spread(middle).mean() < mean else (small, middle)
    ends = np.rint(np.cumsum(spread(large))).astype(np.int64)
    ends[-1] = ratings
    return np.diff(ends, prepend=0)


def popularity(users: int, items: int, ratings: int, head_share: float, random: PublicRandom) -> Floats:
    """Expected ratings per item, in random order: the top fifth of the items holds `head_share` of them.

    No item is expected to reach more than half the users, unless the matrix is dense.
    """
    rank = (np.arange(items) + 0.5) / items
    fifth = max(1, items // 5)
    ceiling = max(users / 2, 4 * ratings / items)

    def law(power: float) -> Floats:
        curve = (1 - rank) ** THIN * (rank + HEAD) ** -power
        capped = curve = curve * (ratings / curve.sum())
        for _ in range(30):  # a soft ceiling, at the same total
            capped = curve / (1 + curve / ceiling)
            curve = curve * (ratings / capped.sum())
        return capped

    small, large = 0.0, 8.0
    for _ in range(40):
        middle = (small + large) / 2
        curve = law(middle)
        small, large = (middle, large) if curve[:fifth].sum() < head_share * curve.sum() else (small, middle)
    return random.stream("simulate: popularity").permutation(law(large))


def popularity_weights(counts: Floats, people: NDArray[np.int64], activity: Floats) -> Floats:
    """Weights, adding up to 1, at which drawing without replacement is expected to give about `counts`.

    A class of n people with d items each includes item j with probability 1 - exp(-rate w_j), the rate such
    that these add up to d. The weights follow by repeated correction.
    """
    counts = np.maximum(counts, 1e-3 * counts.mean())
    weights = counts / counts.sum()
    rate = activity.astype(float)[:, None]
    for _ in range(40):
        for _ in range(3):
            missed = np.exp(-rate * weights)
            short = activity[:, None] - (1 - missed).sum(axis=1, keepdims=True)
            slope = np.maximum((weights * missed).sum(axis=1, keepdims=True), 1e-9)
            rate = (rate + short / slope).clip(rate / 2, 1e6 * len(counts))
        expected = people @ (1 - np.exp(-rate * weights))
        weights = weights * (counts * (expected.sum() / counts.sum()) / expected) ** 0.7
        weights = np.maximum(weights / weights.sum(), 1e-12 / len(counts))
    return weights
