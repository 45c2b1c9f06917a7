"""DPALS: joint-private alternating least squares.    Chien et al., ICML 2021, Algorithm 1.

The released state and every *other* user's results are (epsilon, delta)-DP for adding or removing one user;
proof: `proofs/dpals-round.md`, symbols: `docs/notation.md`. Departures from the paper: the clip of u is
min(1, .); noise is white in isometric coordinates (off-diagonal cells have 1/sqrt(2) of it); the released
matrix alone is projected; user weights are normalised by a public number. The centre, the frequent items and
the bounded sample are Algorithm 3, in `dpals_setup.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.algorithms.dpals_bill import Bill
from hushfold.algorithms.dpals_configs import DpalsConfig
from hushfold.algorithms.dpals_items import (
    noise_edge,
    orthonormal,
    random_start,
    ridges_of,
    shared_matrix,
    solve_items,
)
from hushfold.algorithms.dpals_setup import Declared, Setup, check, own_rows, prepare, training_rows
from hushfold.data.users import Users
from hushfold.engines.base import Engine
from hushfold.errors import ArgumentError
from hushfold.local.design import Design
from hushfold.local.fold_in import fold_in
from hushfold.local.sample import restrict
from hushfold.local.weights import user_ridge
from hushfold.privacy.door import Door
from hushfold.rng import PublicRandom
from hushfold.statistics.base import Contribution
from hushfold.statistics.cross import cross
from hushfold.statistics.gram import gram
from hushfold.statistics.moment import moment
from hushfold.types import Released, Rows, open_released, post

Real = NDArray[np.floating[Any]]
_COINS = PublicRandom(0)


@dataclass(frozen=True, slots=True)
class Dpals:
    """The model, all of it released: what a user needs in order to fold in alone."""

    setup: Setup
    factors: NDArray[np.float32]
    """Of the frequent items, in the order of `setup.items`."""

    def design(self, dtype: Any = np.float32) -> Design:
        """What a user solves their own row against."""
        return user_design(self.factors, self.setup.config, dtype)

    def every_factor(self) -> NDArray[np.float32]:
        """Items x rank over the whole catalogue; zeros for those that were too rare to train on."""
        every = np.zeros((self.setup.declared.catalogue, self.factors.shape[1]), np.float32)
        every[self.setup.items] = self.factors
        return every


@dataclass(frozen=True, slots=True)
class State:
    """What the next step needs: the step reached and the item factors, random and public before the first."""

    t: int
    factors: Released[Real] | Real


def user_design(factors: Real, cfg: DpalsConfig, dtype: Any = np.float32) -> Design:
    """Line 13, the public part: item factors, and what unobserved pairs cost."""
    wide = factors.astype(np.float64)
    background = cfg.unobserved_weight * (wide.T @ wide) if cfg.unobserved_weight else None
    return Design(factors, background=background, dtype=dtype)


def user_step(own: Rows, design: Design, cfg: DpalsConfig) -> Real:
    """Lines 2-3 and 13-14: each user alone, all own ratings, no noise; clipped where it is summed."""
    ridge = cfg.ridge * user_ridge(own, cfg.user_power, cfg.typical_ratings, cfg.most_ratings)
    return fold_in(own, design, ridge)


def item_statistics(rows: Rows, design: Design, setup: Setup, t: int) -> tuple[Contribution, ...]:
    """Lines 5-8: what is summed over users; each statistic clips what it bounds (line 15)."""
    cfg, own = setup.config, own_rows(rows, setup)
    u = user_step(_part(own, setup, t), design, cfg)
    weights, weighted = training_rows(own, setup, t if cfg.resample else None)
    root = math.sqrt(setup.weight_budget)
    return (
        gram(weights, u, setup.weight_budget, cfg.row_clip),
        cross(weighted, u, root * setup.value_bound, cfg.row_clip),
    )


def global_statistic(rows: Rows, design: Design, setup: Setup, t: int) -> tuple[Contribution, ...]:
    """Section 5.2: K, the sum of u u^T over all users, shared by all items."""
    own = own_rows(rows, setup)
    return (moment(user_step(_part(own, setup, t), design, setup.config), setup.config.row_clip),)


def step(
    state: State, users: Users, setup: Released[Setup] | Setup, engine: Engine, door: Door, bill: Bill
) -> State:
    """One round: every user's factors beside the user, then all items' factors from noisy sums."""
    t, public = state.t, open_released(setup)
    cfg: DpalsConfig = public.config
    design = user_design(open_released(state.factors), cfg)
    shared: Any = None
    if cfg.unobserved_weight:  # section 5.2
        sums = engine.sum(users, global_statistic, design, public, t)
        (gram_of_all,) = door.gaussian("global", sums, bill[f"global_gram {t}"], step=t)
        shared = post(shared_matrix, gram_of_all, cfg.unobserved_weight)
    sums = engine.sum(users, item_statistics, design, public, t)  # lines 2-8
    solve = partial(solve_items, projection=cfg.projection, shared=open_released(shared))
    prices = [bill[f"gram {t}"], bill[f"rhs {t}"]]
    edge = noise_edge(bill[f"gram {t}"], public.weight_budget, cfg)
    ridges = ridges_of(public.trained, cfg.ridge, cfg.item_power) + cfg.noise_ridge * edge
    (factors,) = door.gaussian("items", sums, prices, step=t, solve=solve, along=(ridges,))  # lines 7-11
    return State(t + 1, post(_next, factors, cfg.orthonormal, setup, state.factors, shared))  # line 12


def fit(
    users: Users,
    declared: Declared,
    cfg: DpalsConfig,
    engine: Engine,
    door: Door,
    bill: Bill,
    coins: PublicRandom = _COINS,
) -> Released[Dpals]:
    """Algorithm 3, then `cfg.steps` rounds, at the prices of `bill`."""
    check(cfg, declared)
    if not bill:
        raise ArgumentError("steps", "nothing would be released", "Ask for a step, or for counts")
    setup = prepare(users, declared, cfg, engine, door, bill, coins)
    trained = len(open_released(setup).items)
    state = State(0, random_start(trained, cfg, coins.stream("dpals").standard_normal((trained, cfg.rank))))
    for _ in range(cfg.steps):
        state = step(state, users, setup, engine, door, bill)
    return post(Dpals, setup, state.factors)


def _part(own: Rows, setup: Setup, t: int) -> Rows:
    """The ratings a user step may use: all, or with `resample` a fresh part of them for every step."""
    if not setup.config.resample:
        return own
    keys = np.repeat(own.keys, np.diff(own.indptr))
    part = setup.coins.per_entry("step", keys, own.items) % np.uint64(setup.config.steps)
    return restrict(own, part == np.uint64(t))


def _next(factors: Real, orthonormalised: bool, *paid_for_too: object) -> Real:
    """The factors of the next step; they owe to the setup and to the factors before as well."""
    return orthonormal(factors) if orthonormalised else factors
