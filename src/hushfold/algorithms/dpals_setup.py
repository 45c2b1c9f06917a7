"""What DPALS does before its first step: Algorithm 3 of the paper, with its mean and its order put right.

    1  a uniform sample of at most k items per user, and its noisy counts with the number of users
    2  the frequent items, by released counts: only these are trained on
    3  the sample that is trained on: the k items of lowest released count, or adaptive weights
    4  its noisy counts
    5  a centre: public, each user's own, or a released mean

Clipping comes after centring (the paper has it before), or a centred value may exceed the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.algorithms.dpals_bill import Bill
from hushfold.algorithms.dpals_configs import DpalsConfig
from hushfold.data.users import Users
from hushfold.engines.base import Engine
from hushfold.errors import ArgumentError
from hushfold.local.preprocess import centre_and_clip, frequent_items, only_items, user_means
from hushfold.local.sample import public_lookup, tail_sample, uniform_sample
from hushfold.local.weights import adaptive_weights
from hushfold.privacy.door import Door
from hushfold.rng import PublicRandom
from hushfold.statistics.base import Contribution
from hushfold.statistics.dense import dense
from hushfold.statistics.rows import guard
from hushfold.statistics.total import total
from hushfold.types import Released, Rows, open_released, post

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Declared:
    """What is public before anything is released."""

    catalogue: int
    range: tuple[float, float] | None
    """None for likes."""
    users: int | None = None

    @property
    def middle(self) -> float:
        """The public centre: the middle of the range; 0 for likes."""
        return 0.0 if self.range is None else (self.range[0] + self.range[1]) / 2

    @property
    def half_width(self) -> float:
        """How far a value may lie from the middle; 1 for likes."""
        return 1.0 if self.range is None else (self.range[1] - self.range[0]) / 2


@dataclass(frozen=True, slots=True)
class Setup:
    """What all steps share; all of it public or released."""

    declared: Declared
    items: NDArray[np.int64]
    """The frequent items, increasing: only these have factors."""
    counts: Floats
    """Released counts of the frequent items, which choose the sample; 1 each if none were released."""
    trained: Floats
    """Their counts in the sample that is trained on, where released; else the same as `counts`."""
    centre: float | None
    """What is taken off every value; None: each user's own mean."""
    users: float | None
    """The declared or the released number of users."""
    config: DpalsConfig
    coins: PublicRandom

    @property
    def cap(self) -> int:
        """At most so many items of a user enter an item step."""
        return min(self.config.items_per_user, len(self.items))

    @property
    def weight_budget(self) -> float:
        """The bound on a user's sum of squared weights."""
        return self.config.budget_of_weights if self.config.sample == "weights" else float(self.cap)

    @property
    def value_bound(self) -> float:
        """The bound on a centred value."""
        given, declared = self.config.value_bound, self.declared
        usual = 1.0 if declared.range is None else declared.half_width / 1.5
        return usual if given is None else given


def prepare(
    users: Users,
    declared: Declared,
    config: DpalsConfig,
    engine: Engine,
    door: Door,
    bill: Bill,
    coins: PublicRandom,
) -> Released[Setup] | Setup:
    """Algorithm 3: the releases that `bill` pays for, and what follows from them."""
    setup: Any = _setup(np.ones(declared.catalogue), declared, config, coins, with_users=False)
    if "counts" in bill:
        with_users = counts_users(config, declared)
        sums = engine.sum(users, count_sample, config, coins, with_users)
        (row,) = door.gaussian("counts", sums, bill["counts"])
        setup = post(_setup, row, declared, config, coins, with_users=with_users)
    if "centre 0" in bill:
        sums = engine.sum(users, _CENTRES[config.centre], open_released(setup))
        prices = [bill[f"centre {part}"] for part in range(len(sums.specs))]
        setup = post(_centred, setup, *door.gaussian("centre", sums, prices))
    if "recounts" in bill:
        sums = engine.sum(users, count_training, open_released(setup))
        (again,) = door.gaussian("recounts", sums, bill["recounts"])
        setup = post(_recounted, setup, again)
    return setup


def counts_users(config: DpalsConfig, declared: Declared) -> bool:
    """Whether the number of users is one more coordinate of the counts: where nobody declared it."""
    return declared.users is None and config.centre != "ratings"


def count_sample(
    rows: Rows, config: DpalsConfig, coins: PublicRandom, with_users: bool
) -> tuple[Contribution, ...]:
    """Lines 1-3: at most k of each user's items, any k, and the user as one more count."""
    rows = guard(rows)
    most = min(config.items_per_user, max(rows.catalogue, 1))
    sample = uniform_sample(rows, most, coins, "counts")
    ones = replace(sample, values=np.ones(len(sample.items), np.float32))
    present = np.ones((len(rows), 1)) if with_users else None
    return (total(ones, math.sqrt(most + with_users), present, nonnegative=True),)


def count_training(rows: Rows, setup: Setup) -> tuple[Contribution, ...]:
    """The counts of what is trained on: of adaptive weights, their sums."""
    weights, _ = training_rows(own_rows(rows, setup), setup)
    return (total(weights, math.sqrt(setup.weight_budget), nonnegative=True),)


def mean_of_means(rows: Rows, setup: Setup) -> tuple[Contribution, ...]:
    """Each user's own mean once: one user moves the sum by half the range, however many ratings there are."""
    half = setup.declared.half_width
    means = user_means(guard(rows), setup.declared.middle) - setup.declared.middle
    return (dense(np.clip(means, -half, half)[:, None], half),)


def mean_of_ratings(rows: Rows, setup: Setup) -> tuple[Contribution, ...]:
    """The paper's mean, at what it costs: k ratings of one user move the sum by k bounds, the number by k."""
    half, most = setup.declared.half_width, setup.cap
    sample = uniform_sample(own_rows(rows, setup), most, setup.coins, "centre")
    number = np.diff(sample.indptr)
    sums = np.bincount(np.repeat(np.arange(len(sample)), number), sample.values, minlength=len(sample))
    return (
        dense(sums.astype(np.float64)[:, None], most * min(half, setup.value_bound)),
        dense(number.astype(np.float64)[:, None], float(most), nonnegative=True),
    )


_CENTRES = {"means": mean_of_means, "ratings": mean_of_ratings}


def own_rows(rows: Rows, setup: Setup) -> Rows:
    """A user's rows as every step sees them: on frequent items, renumbered, centred, and clipped last."""
    rows = guard(rows)
    middle = setup.declared.middle
    centre = user_means(rows, middle) if setup.centre is None else setup.centre
    wanted = np.zeros(rows.catalogue, bool)
    wanted[setup.items] = True
    kept = only_items(centre_and_clip(rows, centre, setup.value_bound), wanted)
    place = np.zeros(rows.catalogue, np.int32)
    place[setup.items] = np.arange(len(setup.items), dtype=np.int32)
    return replace(kept, items=public_lookup(place, kept.items), catalogue=len(setup.items))


def training_rows(own: Rows, setup: Setup, step: int | None = None) -> tuple[Rows, Rows]:
    """What enters an item step: weights, and weights times values, within the weight budget.

    With a `step` the sample is a fresh one (`resample`).
    """
    config = setup.config
    if config.sample == "weights":
        weights = adaptive_weights(
            own, setup.counts, config.weight_power, setup.weight_budget, config.weight_cap
        )
    else:
        name = "training" if step is None else f"training {step}"
        fresh = config.sample == "uniform" or step is not None
        own = (
            uniform_sample(own, setup.cap, setup.coins, name)
            if fresh
            else tail_sample(own, setup.cap, setup.counts)
        )
        weights = np.ones(len(own.items))
    return (
        replace(own, values=weights.astype(np.float32)),
        replace(own, values=(weights * own.values).astype(np.float32)),
    )


def _setup(
    row: Floats, declared: Declared, config: DpalsConfig, coins: PublicRandom, with_users: bool
) -> Setup:
    """Line 4: the frequent items, by released counts."""
    counts = row[: declared.catalogue]
    users = max(1.0, float(row[-1])) if with_users else declared.users
    items = np.flatnonzero(frequent_items(counts, config.frequent_fraction))
    centre = None if config.centre == "own" else declared.middle
    return Setup(declared, items, counts[items], counts[items], centre, users, config, coins)


def _recounted(setup: Setup, counts: Floats) -> Setup:
    return replace(setup, trained=counts)


def _centred(setup: Setup, numerator: Floats, denominator: Floats | None = None) -> Setup:
    """The released mean; the middle of the range where it would lie outside, or nothing divides it."""
    number = setup.users if denominator is None else float(denominator[0])
    shift = float(numerator[0]) / number if number and number > 0 else 0.0
    inside = math.isfinite(shift) and abs(shift) <= setup.declared.half_width
    return replace(setup, centre=setup.declared.middle + (shift if inside else 0.0))


def check(config: DpalsConfig, declared: Declared) -> None:
    """Refuse, by public facts alone, what cannot be fitted."""
    trained = math.ceil(config.frequent_fraction * declared.catalogue)
    if config.rank > trained:
        raise ArgumentError(
            "rank", f"{config.rank} is more than the {trained} items trained on", "Ask for fewer factors"
        )
    if declared.range is None and config.centre != "range":
        raise ArgumentError("centre", "likes have no mean", "Leave it at 'range'")
