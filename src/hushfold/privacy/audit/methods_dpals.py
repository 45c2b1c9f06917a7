"""The local steps of DPALS as the audit runs them: every release, under public states of several kinds."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushfold.algorithms.dpals import global_statistic, item_statistics, user_design
from hushfold.algorithms.dpals_configs import DpalsConfig
from hushfold.algorithms.dpals_setup import (
    Declared,
    Setup,
    count_sample,
    count_training,
    mean_of_means,
    mean_of_ratings,
)
from hushfold.privacy.audit.layouts import Named
from hushfold.privacy.audit.sensitivity import Subject
from hushfold.rng import PublicRandom
from hushfold.statistics.base import Contribution
from hushfold.types import Rows

_COINS = PublicRandom(7)
_LIGHT = DpalsConfig(rank=4, items_per_user=9, ridge=0.01, row_clip=0.5)


def _setup(items: int, trained: int, **settings: Any) -> Setup:
    """A catalogue of `items`, of which the first `trained` have factors, with counts to choose by."""
    config = _LIGHT.model_copy(update=settings)
    counts = _COINS.stream("counts").integers(1, 1000, trained).astype(np.float64)
    declared = Declared(items, (-5.0, 5.0))
    centre = None if config.centre == "own" else 0.25
    return Setup(declared, np.arange(trained), counts, counts, centre, 100.0, config, _COINS)


def _round(name: str, **settings: Any) -> Subject:
    setup = _setup(600, 550, **settings)
    return Subject(f"dpals {name}", item_statistics, (_design(setup), setup, 0))


def _design(setup: Setup) -> Any:
    factors = 0.1 * _COINS.stream("factors").standard_normal((len(setup.items), setup.config.rank))
    return user_design(factors, setup.config)


_PLAIN, _WEIGHTED = _setup(600, 550), _setup(600, 550, sample="weights", weight_budget=5.0, weight_cap=1.5)

DPALS_SUBJECTS = (
    Subject("dpals counts", count_sample, (_LIGHT, _COINS, True)),
    Subject("dpals training weights", count_training, (_WEIGHTED,)),
    Subject("dpals mean of means", mean_of_means, (_PLAIN,)),
    Subject("dpals mean of ratings", mean_of_ratings, (_PLAIN,)),
    _round("round"),
    _round("weighted round, own centres", sample="weights", weight_budget=5.0, weight_cap=1.5, centre="own"),
    Subject("dpals global", global_statistic, (_design(_PLAIN), _PLAIN, 0)),
)
"""For the exact checks: hostile neighbours, and the company a user keeps."""


def _part(number: int, items: int, rank: int) -> Any:
    """One of the two statistics of a round, on a catalogue of which all is trained on."""
    setup = _setup(items, items, rank=rank)
    design = _design(setup)

    def contribute(rows: Rows) -> tuple[Contribution, ...]:
        return (item_statistics(rows, design, setup, 0)[number],)

    return contribute


def _global(items: int, rank: int) -> Any:
    setup = _setup(items, items, rank=rank)
    design = _design(setup)

    def contribute(rows: Rows) -> tuple[Contribution, ...]:
        return global_statistic(rows, design, setup, 0)

    return contribute


DPALS_RELEASES = (
    Named("dpals counts", lambda rows: count_sample(rows, _LIGHT, _COINS, True), 3000),
    Named("dpals Grams", _part(0, 300, 24), 300),
    Named("dpals right-hand sides", _part(1, 700, 24), 700),
    Named("dpals global Gram", _global(300, 280), 300),
)
"""For calibration: nobody's statistics, so that what is released is noise."""
