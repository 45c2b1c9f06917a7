"""Settings of DPALS: what each means, and the published ones.

All of it is public. A bound that is not given follows from the declared range, never from the data.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[float, Field(gt=0)]
Least0 = Annotated[float, Field(ge=0)]
Power = Annotated[float, Field(ge=0, le=4)]
Count = Annotated[int, Field(ge=1)]

Sample = Literal["tail", "uniform", "weights"]
Centre = Literal["range", "means", "ratings", "own"]
Projection = Literal["gram", "paper", "off"]


class _Public(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Shares(_Public):
    """How mu^2 is divided, in any unit: each preprocessing release once, each release of a round every round.

    0 leaves a preprocessing release out.
    """

    counts: Least0 = 0.1
    """Item counts of a uniform sample, with the number of users in the same row."""
    recounts: Least0 = 0.0
    """Item counts again, of what is trained on."""
    centre: Least0 = 0.0
    """The mean, where it is released."""
    gram: Positive = 0.2
    rhs: Positive = 0.7
    global_gram: Positive = 0.05
    """Only where pairs nobody observed have a weight."""


class DpalsConfig(_Public):
    """Public settings of one fit."""

    rank: Count = 8
    steps: Annotated[int, Field(ge=0, le=1000)] = 2
    items_per_user: Count = 50
    """k: the most items a user puts into an item step, and into the counts."""
    sample: Sample = "tail"
    """Which: those of lowest released count, any k, or all of them with adaptive weights."""
    weight_power: Power = 0.25
    weight_budget: Positive | None = None
    """B, the bound on a user's sum of squared weights; k if not given."""
    weight_cap: Positive = 1.0
    frequent_fraction: Annotated[float, Field(gt=0, le=1)] = 1.0
    """The share of the items that is trained on: those of largest released count."""
    row_clip: Positive = 1.0
    value_bound: Positive | None = None
    """Bound on a centred value; a third of the width of the range if not given, 1 for likes."""
    ridge: Least0 = 1.0
    """How strongly factors are drawn to 0, users' and, with the weights of `item_power`, items'."""
    noise_ridge: Least0 = 3.0
    """What items' ridges have on top, in multiples of the largest eigenvalue that the noise of a Gram has."""
    unobserved_weight: Least0 = 0.0
    item_power: Power = 0.5
    user_power: Power = 1.0
    typical_ratings: Positive = 50.0
    """A public number of ratings whose user is regularised by exactly `ridge`."""
    most_ratings: Positive = 1000.0
    centre: Centre = "range"
    """What is taken off the values: the middle of the range, the released mean of users' means or of ratings
    (the paper's, dear), or every user's own mean."""
    start_scale: Positive = 1.0
    """Root mean square of the random start's entries."""
    resample: bool = False
    orthonormal: bool = False
    projection: Projection = "gram"
    """What is made positive semi-definite: the released Gram, the whole sum as the paper prints it, or
    nothing, which shows why something must be."""
    shares: Shares = Shares()

    @property
    def budget_of_weights(self) -> float:
        """B of the accounting: k, or the budget of the adaptive weights."""
        given = self.weight_budget
        return float(self.items_per_user) if self.sample != "weights" or given is None else given


class Published(_Public):
    """A column of Table 4: settings and noise (the paper's sigmas, relative to the clips alone)."""

    config: DpalsConfig
    sigma_gram: Positive
    sigma_rhs: Positive
    sigma_pre: Positive
    claimed: Positive
    """The epsilon the paper prints."""
    delta: Positive = 1e-5
    sigma_global: Positive | None = None

    @property
    def multipliers(self) -> dict[str, float]:
        """Noise std over the stated bound of every share; the mean as it is, k times the paper's bill."""
        root = math.sqrt(self.config.items_per_user)
        own = dict.fromkeys(("counts", "recounts", "centre"), self.sigma_pre / root)
        own |= {"gram": self.sigma_gram / root, "rhs": self.sigma_rhs / root}
        return own | {"global_gram": self.sigma_global or self.sigma_gram}

    def with_shares(self) -> Published:
        """The same, its config dividing any budget in the proportions of this column."""
        shares = {name: 1 / noise**2 for name, noise in self.multipliers.items()}
        if self.config.centre != "ratings":
            shares["centre"] = 0.0
        config = self.config.model_copy(update={"shares": Shares(**shares)})
        return self.model_copy(update={"config": config})


def _film(set_name: str, **settings: object) -> DpalsConfig:
    """What the paper's two explicit sets share; a typical user is the published mean."""
    typical = {"top400": 64.4, "ml-10m": 143.1}[set_name]
    return DpalsConfig.model_validate(
        {
            "value_bound": 5.0,
            "item_power": 0.5,
            "user_power": 1.0,
            "steps": 2,
            "centre": "ratings",
            "noise_ridge": 0.0,
        }
        | {"typical_ratings": typical, "most_ratings": 10_000.0}
        | settings
    )


def _likes(**settings: object) -> DpalsConfig:
    """ML-20M, stars of at least 4: no centring, no powers."""
    return DpalsConfig.model_validate(
        {
            "value_bound": 1.0,
            "item_power": 0.0,
            "user_power": 0.0,
            "typical_ratings": 73.1,
            "noise_ridge": 0.0,
        }
        | settings
    )


def _published() -> dict[str, Published]:
    """Table 4 of the paper. Its bill leaves the global Gram out; here it has the noise of the item Grams."""
    named: dict[str, Published] = {}
    for eps, ridge, k, gram, rhs, pre in (
        (0.8, 90, 40, 126.9, 63.4, 200),
        (4, 90, 50, 29.0, 14.5, 200),
        (8, 80, 50, 11.3, 11.3, 20),
        (16, 80, 50, 5.86, 5.86, 20),
    ):
        config = _film("top400", rank=50, ridge=ridge, items_per_user=k)
        named[f"ml-10m-top400 eps {eps:g}"] = Published(
            config=config, sigma_gram=gram, sigma_rhs=rhs, sigma_pre=pre, claimed=eps
        )
    for eps, rank, ridge, gram, rhs, beta, pre in (
        (1, 32, 120, 125.9, 63.0, 0.05, 100),
        (5, 128, 80, 27.8, 13.9, 0.4, 20),
        (10, 128, 70, 15.5, 7.7, 0.5, 10),
        (20, 128, 60, 7.5, 3.8, 0.6, 10),
    ):
        config = _film("ml-10m", rank=rank, ridge=ridge, frequent_fraction=beta)
        named[f"ml-10m eps {eps:g}"] = Published(
            config=config, sigma_gram=gram, sigma_rhs=rhs, sigma_pre=pre, claimed=eps
        )
    for eps, rank, ridge, unobserved, steps, k, sigma, beta in (
        (1, 32, 0.5, 2, 1, 60, 64, 0.05),
        (5, 32, 0.5, 0.6, 3, 60, 20.2, 0.1),
        (10, 32, 0.1, 0.4, 3, 100, 14, 0.05),
        (20, 128, 50, 0.4, 1, 60, 3.5, 0.05),
    ):
        config = _likes(
            rank=rank,
            ridge=ridge,
            unobserved_weight=unobserved,
            steps=steps,
            items_per_user=k,
            frequent_fraction=beta,
        )
        named[f"ml-20m eps {eps:g}"] = Published(
            config=config,
            sigma_gram=sigma,
            sigma_rhs=sigma,
            sigma_pre=100,
            sigma_global=sigma,
            claimed=eps,
            delta=1 / 136_677,
        )
    return {name: published.with_shares() for name, published in named.items()}


PUBLISHED = _published()
"""Table 4, by set and claimed epsilon: `PUBLISHED["ml-10m eps 5"]`."""

PUBLISHED_ALS = {
    "ml-10m-top400": _film("top400", rank=50, ridge=70, item_power=1.0, steps=15),
    "ml-10m": _film("ml-10m", rank=128, ridge=70, item_power=1.0, steps=15),
    "ml-20m": _likes(
        rank=128, ridge=30, unobserved_weight=0.1, item_power=1.0, user_power=1.0, steps=15, most_ratings=1e4
    ),
}
"""Table 4, the columns without privacy: settings of `als`."""


def default_config(items: int, likes: bool) -> DpalsConfig:
    """Settings for a set nobody published any for, by public facts alone.

    Chosen on simulated sets (`docs/decisions/0006-dpals-defaults.md`), the same at every epsilon.
    """
    fraction = 0.5 if items > 200 else 1.0
    trained = max(1, math.ceil(fraction * items))
    common = {"sample": "weights", "start_scale": 0.1, "ridge": 0.5, "frequent_fraction": fraction}
    if likes:
        own = {"rank": min(16, trained), "steps": 2, "unobserved_weight": 0.1}
    else:
        own = {"rank": min(4, trained), "steps": 3, "centre": "own"}
    return DpalsConfig.model_validate(common | own)
