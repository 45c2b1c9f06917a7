"""What a method would release and how well it would do, from declared sizes alone, before any data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from hushfold.algorithms import also_like, bias
from hushfold.algorithms.bias_posterior import Counts
from hushfold.algorithms.dpals_bill import bill_of_budget
from hushfold.algorithms.dpals_configs import DpalsConfig, default_config
from hushfold.algorithms.dpals_simulation import Quality, simulated_quality
from hushfold.algorithms.hush.plan import FAINT, plan_explicit
from hushfold.data.film import activity, popularity
from hushfold.errors import ArgumentError
from hushfold.privacy.budget import Budget, multiplier
from hushfold.rng import PublicRandom

MethodName = Literal["hush", "bias", "also-like", "dpals"]
METHODS: tuple[MethodName, ...] = ("hush", "bias", "also-like", "dpals")
STARS = (0.5, 5.0)  # the range that explicit figures are stated on
VISIBLE = 10.0  # stds of noise above zero: an item's count is then known to a tenth
FEW = 0.98  # of the error of users' own means: a model that gains less is not worth its noise


@dataclass(frozen=True, slots=True)
class Sizes:
    """Declared by whoever plans; nothing here comes from data."""

    users: int
    items: int
    interactions: int
    skew: float = 0.878
    """Share of the interactions on the most popular fifth of the items."""
    implicit: bool = False

    def __post_init__(self) -> None:
        for name in ("users", "items", "interactions"):
            if getattr(self, name) < 1:
                raise ArgumentError(name, "is less than 1", "Declare the size of the data to come")
        if not 0.2 <= self.skew < 1:
            raise ArgumentError("skew", f"{self.skew} is not from 0.2 to 1", "0.2 is even, films have 0.88")
        if not self.users <= self.interactions <= self.users * self.items:
            problem = f"{self.users} users and {self.items} items do not hold them"
            raise ArgumentError("interactions", problem, "Declare between users and users x items")


@dataclass(frozen=True, slots=True)
class MethodPlan:
    """Shares of the budget by release, what one user moves each by, and what to expect."""

    shares: dict[str, float]
    sensitivities: dict[str, float]
    warnings: list[str] = field(default_factory=list[str])
    figures: dict[str, float] = field(default_factory=dict[str, float])
    simulated: Quality | None = None
    theory: dict[str, float | bool | str] | None = None


def plan_method(method: str, sizes: Sizes, budget: Budget) -> MethodPlan:
    """The plan of one method at declared sizes; `warnings` say where the users are too few for the budget."""
    counts = expected_counts(sizes)
    match method:
        case "dpals":
            return _dpals(sizes, budget)
        case "bias" if not sizes.implicit:
            return _named(bias.SHARES, _bias_bounds(), _visible(counts, budget, bias.SHARES["counts"]))
        case "hush" if not sizes.implicit:
            return _hush(counts, budget)
        case "bias":
            return _named({"counts": 1.0}, {}, _visible(counts, budget, 1.0))
        case "hush" | "also-like":
            visible = _visible(counts, budget, also_like.SHARES["pairs"])
            return _named(also_like.SHARES, {}, visible)
        case _:
            raise ArgumentError("method", f"{method!r} has no plan", f"Choose one of {', '.join(METHODS)}")


def expected_counts(sizes: Sizes) -> Counts:
    """What release 1 is expected to tell, every user's row at unit length."""
    random = PublicRandom(0)
    people = activity(sizes.users, sizes.items, sizes.interactions, random)
    popular = popularity(sizes.users, sizes.items, sizes.interactions, sizes.skew, random)
    t = popular * (np.sqrt(people).sum() / sizes.interactions)
    return Counts(*STARS, t, 1e-9, float(sizes.users), float(sizes.interactions), 0.0)


def _bias_bounds() -> dict[str, float]:
    width = STARS[1] - STARS[0]
    clip = bias.BIAS_CLIP * width
    return {"bias": clip, "second": clip, "scale": width / 2}


def _visible(counts: Counts, budget: Budget, share: float) -> tuple[int, int]:
    noise = multiplier(max(1, int(budget.units * share)))
    return int((counts.items >= VISIBLE * noise).sum()), len(counts.items)


def _named(shares: dict[str, float], bounds: dict[str, float], visible: tuple[int, int]) -> MethodPlan:
    """A plan that is judged by how many items will stand clear of the noise."""
    seen, items = visible
    few = seen < min(10, items)
    warning = (
        f"too few users for this epsilon: {seen} of {items} items are expected to stand clear of the noise"
    )
    known = {name: bound for name, bound in bounds.items() if name in shares}
    return MethodPlan(dict(shares), known, [warning] if few else [], {"visible_items": float(seen)})


def _hush(counts: Counts, budget: Budget) -> MethodPlan:
    planned = plan_explicit(counts, budget.units)
    own = _named(planned.shares, _bias_bounds(), _visible(counts, budget, planned.shares["counts"]))
    warnings = list(own.warnings)
    if planned.visibility < FAINT:
        warnings.append(
            "too few users for this epsilon to see any factor: hush will be the bias model, "
            f"the strongest factor is expected at {planned.visibility:.2f} of the noise"
        )
    return MethodPlan(
        own.shares, own.sensitivities, warnings, own.figures | {"visibility": planned.visibility}
    )


def _dpals(sizes: Sizes, budget: Budget) -> MethodPlan:
    config = default_config(sizes.items, sizes.implicit)
    shares = {name: units / budget.units for name, units in bill_of_budget(config, budget).items()}
    quality = simulated_quality(sizes.users, sizes.items, sizes.interactions, config, budget, sizes.implicit)
    better = quality.value < FEW * quality.without if not sizes.implicit else quality.value > quality.without
    warning = (
        f"too few users for this epsilon: on a simulation of these sizes {quality.metric} is "
        f"{quality.value:.4f}, and {quality.without:.4f} by {quality.rival}, which needs no factors"
    )
    theory = theory_of(sizes, budget)
    return MethodPlan(shares, dpals_bounds(config, sizes), [] if better else [warning], {}, quality, theory)


def dpals_bounds(config: DpalsConfig, sizes: Sizes) -> dict[str, float]:
    """What one user moves every statistic by, on stars of .5 to 5 or on likes."""
    trained = math.ceil(config.frequent_fraction * sizes.items)
    budget = config.budget_of_weights if config.sample == "weights" else min(config.items_per_user, trained)
    value = config.value_bound or (1.0 if sizes.implicit else (STARS[1] - STARS[0]) / 3)
    bounds = {"counts": math.sqrt(min(config.items_per_user, sizes.items))}
    for t in range(config.steps):
        bounds[f"gram {t}"] = math.sqrt(budget) * config.row_clip**2
        bounds[f"rhs {t}"] = math.sqrt(budget) * config.row_clip * value
        if config.unobserved_weight:
            bounds[f"global_gram {t}"] = config.row_clip**2
    return bounds


def theory_of(sizes: Sizes, budget: Budget, rank: int = 5) -> dict[str, float | bool | str]:
    """The paper's Theorem 2 with all constants 1, for an incoherent, well conditioned matrix of this rank."""
    n, m, epsilon = sizes.users, sizes.items, budget.epsilon
    density = sizes.interactions / (n * m)
    root = math.sqrt(math.log(1 / budget.delta))
    gamma = rank**2 * math.sqrt(m) * math.log(n) ** 2
    return {
        "label": "order of magnitude, constants unspecified",
        "relative_error": math.sqrt(m) * root / (epsilon * n) * gamma / math.sqrt(density),
        "dense_enough": density >= rank**6 * math.log(n) ** 3 / m,
        "users_enough": math.sqrt(density) * n >= gamma * root / epsilon,
        "frank_wolfe_error": (m**1.25 / (n * epsilon)) ** 0.2,
        "users_for_a_tenth": m**1.5 / (0.1 * epsilon) + m,
    }
