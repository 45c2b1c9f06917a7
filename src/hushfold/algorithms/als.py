"""ALS and iALS: alternating least squares.    NOT PRIVATE: the yardstick for the private methods.

The objective is that of the DPALS paper (appendix C, eq. 35), without its noise and clipping:

    sum over observed  w_ij (M_ij - u_i . v_j)^2  +  unobserved_weight * sum over all pairs (u_i . v_j)^2
        +  ridge * sum_i c_i^user_power / Z |u_i|^2  +  ridge * sum_j c_j^item_power / Z' |v_j|^2

with c the exact numbers of entries and Z, Z' the means of their powers. Explicit ratings have w = 1, values
less their mean, and no unobserved weight. Likes have M = 1 and an unobserved weight. Counts of plays may
speak with the `confidence` of Hu, Koren and Volinsky (2008): w = confidence * count.

Each half of a step is a fold-in: of users against items, then of items against users, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.data.plain import plain_rows
from hushfold.data.users import Users, by_item
from hushfold.errors import ArgumentError
from hushfold.local.design import Design
from hushfold.local.fold_in import fold_in
from hushfold.rng import PublicRandom
from hushfold.threads import one_blas_thread, ordered_map, usable_cores
from hushfold.types import Rows, Unprotected

Real = NDArray[np.floating[Any]]

WHY = "alternating least squares on the exact data"
ENTRIES_PER_BLOCK = 1 << 17  # of work handed to a thread at once


@dataclass(frozen=True, slots=True)
class AlsConfig:
    """What is minimised, for how long. The defaults suit star ratings, `likes()` implicit feedback."""

    rank: int = 64
    steps: int = 15
    ridge: float = 10.0
    user_power: float = 0.5
    item_power: float = 1.0
    unobserved_weight: float = 0.0
    confidence: float | None = None
    """Weight of an entry per unit of its value; its target is `(unobserved_weight + w) / w`."""
    dtype: Literal["float32", "float64"] = "float32"

    @staticmethod
    def likes(rank: int = 64, **settings: Any) -> AlsConfig:
        """Defaults for implicit feedback."""
        usual: dict[str, Any] = {"item_power": 0.5, "unobserved_weight": 0.3}
        return AlsConfig(rank, **{**usual, **settings})

    def __post_init__(self) -> None:
        if self.rank < 1 or self.steps < 1:
            raise ArgumentError("rank, steps", "are less than 1", "Pass positive numbers")
        for name in ("ridge", "user_power", "item_power", "unobserved_weight"):
            setting = getattr(self, name)
            if not (math.isfinite(setting) and setting >= 0):
                raise ArgumentError(name, f"{setting} is not a finite number from 0", "Pass e.g. 0.5")
        if self.confidence is not None and not 0 < self.confidence < math.inf:
            raise ArgumentError("confidence", "is not positive", "Pass e.g. 40, or None for plain likes")

    @property
    def implicit(self) -> bool:
        """Whether what was not observed counts."""
        return self.unobserved_weight > 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AlsModel:
    """Item factors, and what a user needs to fold in. Made from exact data: not private."""

    config: AlsConfig
    items: Real
    """Items x rank."""
    centre: float
    ridge_unit: float
    """`ridge / Z`: a user with c entries has the ridge `ridge_unit * c^user_power`."""
    design: Design

    def __repr__(self) -> str:
        return f"<AlsModel, NOT PRIVATE: {len(self.items)} items x {self.items.shape[1]}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Side:
    """One half of the problem: the rows of those who are solved for, centred and weighed."""

    rows: Rows
    weights: Real | None
    ridges: Real
    starts: tuple[int, ...]
    """Where blocks of about equal work begin."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Problem:
    """The data as both halves of a step see it."""

    users: Side
    items: Side
    centre: float
    config: AlsConfig


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class State:
    """Factors after `step` steps."""

    step: int
    users: Real
    items: Real


def fit(
    users: Users,
    config: AlsConfig,
    random: PublicRandom | None = None,
    threads: int | None = None,
    progress: Callable[[State], None] = lambda _: None,
) -> Unprotected[AlsModel]:
    """Minimise the objective from a random start. No guarantee of any kind: see the module's first line."""
    problem = prepare(plain_rows(users).value, config)
    state = start(problem, random or PublicRandom(0))
    while state.step < config.steps:
        state = step(state, problem, threads)
        progress(state)
    return Unprotected(model(state, problem), WHY)


def prepare(rows: Rows, config: AlsConfig) -> Problem:
    """Centre and weigh the rows, and arrange them by item as well."""
    centre = 0.0
    if not config.implicit and config.confidence is None and len(rows.values):
        centre = float(rows.values.mean(dtype=np.float64))
    rows, weights = targets(rows, config, centre)
    turned = by_item(rows)
    keys = np.arange(rows.catalogue, dtype=np.uint64)
    columns = Rows(turned.indptr, turned.owners, rows.values[turned.entries], keys, len(rows))
    turned_weights = None if weights is None else weights[turned.entries]
    return Problem(
        _side(rows, weights, config.ridge, config.user_power, config),
        _side(columns, turned_weights, config.ridge, config.item_power, config),
        centre,
        config,
    )


def targets(rows: Rows, config: AlsConfig, centre: float) -> tuple[Rows, Real | None]:
    """What the factors are to reproduce, and with what weights (None: 1 each)."""
    if config.confidence is None:
        return replace(rows, values=rows.values - np.float32(centre)), None
    weights = config.confidence * np.maximum(rows.values.astype(np.float64), 0)
    meant = np.divide(
        config.unobserved_weight + weights, weights, out=np.zeros_like(weights), where=weights > 0
    )
    return replace(rows, values=meant.astype(np.float32)), weights.astype(config.dtype)


def start(problem: Problem, random: PublicRandom) -> State:
    """Random items, short enough that the first users' step sees mostly its ridge."""
    config, coins = problem.config, random.stream("als: start")
    items = coins.standard_normal((len(problem.items.rows), config.rank)) * (0.1 / math.sqrt(config.rank))
    users = np.zeros((len(problem.users.rows), config.rank), config.dtype)
    return State(0, users, items.astype(config.dtype))


def step(state: State, problem: Problem, threads: int | None = None) -> State:
    """Users against items, then items against those users."""
    users = solve_side(problem.users, state.items, problem.config, threads)
    items = solve_side(problem.items, users, problem.config, threads)
    return State(state.step + 1, users, items)


def solve_side(side: Side, others: Real, config: AlsConfig, threads: int | None = None) -> Real:
    """Everybody on one side, exactly, given the factors of the other."""
    solved = np.empty((len(side.rows), config.rank), config.dtype)
    with one_blas_thread():
        design = _design(others, config)

        def block(number: int) -> None:
            first, last = side.starts[number], side.starts[number + 1]
            rows = side.rows.slice(first, last)
            entries = slice(int(side.rows.indptr[first]), int(side.rows.indptr[last]))
            weights = None if side.weights is None else side.weights[entries]
            solved[first:last] = fold_in(rows, design, side.ridges[first:last], weights)

        for _ in ordered_map(block, range(len(side.starts) - 1), threads or usable_cores()):
            pass
    return solved


def model(state: State, problem: Problem) -> AlsModel:
    """What is kept of a fit: the items. Users fold in."""
    lengths = np.diff(problem.users.rows.indptr)
    unit = problem.config.ridge / _mean_power(lengths, problem.config.user_power)
    design = _design(state.items, problem.config)
    return AlsModel(problem.config, state.items, problem.centre, unit, design)


def user_factors(rows: Rows, model: AlsModel) -> Real:
    """Every user's factors, from own rows (values as they were given to `fit`)."""
    own, weights = targets(rows, model.config, model.centre)
    lengths = np.diff(rows.indptr).astype(np.float64)
    return fold_in(own, model.design, model.ridge_unit * lengths**model.config.user_power, weights)


def scores(rows: Rows, model: AlsModel) -> Real:
    """Every user's prediction for every item."""
    return model.centre + user_factors(rows, model) @ model.items.T


def predict(rows: Rows, wanted: Rows, model: AlsModel) -> NDArray[np.float64]:
    """A prediction for every entry of `wanted`, whose users are those of `rows`. Not clipped to any range."""
    if len(rows) != len(wanted):
        raise ArgumentError("wanted", "has other users than the history", "Pass one row per user of `rows`")
    return model.centre + products(wanted, user_factors(rows, model), model.items)


def loss(state: State, problem: Problem) -> float:
    """The objective, in float64."""
    users, items = state.users.astype(np.float64), state.items.astype(np.float64)
    rows = problem.users.rows
    error = rows.values - products(rows, users, items)
    weights = 1.0 if problem.users.weights is None else problem.users.weights.astype(np.float64)
    everything = ((users.T @ users) * (items.T @ items)).sum()
    ridges = sum(
        float((side.ridges.astype(np.float64) * (factors * factors).sum(axis=1)).sum())
        for side, factors in ((problem.users, users), (problem.items, items))
    )
    return float((weights * error * error).sum() + problem.config.unobserved_weight * everything) + ridges


def products(rows: Rows, users: Real, items: Real) -> NDArray[np.float64]:
    """`u_i . v_j` for every entry."""
    out = np.empty(len(rows.items))
    _products(rows.indptr, rows.items, users.astype(np.float64), items.astype(np.float64), out)
    return out


def _design(others: Real, config: AlsConfig) -> Design:
    background = None
    if config.implicit:
        wide = others.astype(np.float64)
        background = config.unobserved_weight * (wide.T @ wide)
    return Design(others, background=background, dtype=config.dtype)


def _side(rows: Rows, weights: Real | None, ridge: float, power: float, config: AlsConfig) -> Side:
    lengths = np.diff(rows.indptr).astype(np.float64)
    ridges = ridge * lengths**power / _mean_power(lengths, power)
    blocks = max(1, -(-len(rows.items) // ENTRIES_PER_BLOCK))
    ends = np.searchsorted(rows.indptr, np.arange(1, blocks) * ENTRIES_PER_BLOCK)
    starts = np.unique(np.concatenate([[0], ends, [len(rows)]]))
    return Side(rows, weights, ridges.astype(config.dtype), tuple(starts.tolist()))


def _mean_power(lengths: NDArray[Any], power: float) -> float:
    return float(np.mean(lengths.astype(np.float64) ** power)) if len(lengths) and lengths.any() else 1.0


@njit(nogil=True, cache=True)
def _products(  # pragma: no cover
    indptr: NDArray[np.int64], items: NDArray[np.int32], left: Real, right: Real, out: Real
) -> None:
    for user in range(len(indptr) - 1):
        for entry in range(indptr[user], indptr[user + 1]):
            total = 0.0
            for c in range(left.shape[1]):
                total += left[user, c] * right[items[entry], c]
            out[entry] = total
