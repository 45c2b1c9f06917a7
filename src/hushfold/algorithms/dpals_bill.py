"""What a DPALS fit releases, what every release costs, and what all of them guarantee together.

The bill is fixed before anything is released: whole nano-units of mu^2 for every statistic of every step. It
is cut from a budget by the shares of a config, or follows from multipliers somebody published.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from hushfold.algorithms.dpals_configs import DpalsConfig, Published
from hushfold.errors import ArgumentError
from hushfold.privacy.accountant import (
    DpalsRound,
    Gaussian,
    Statement,
    account,
    lattice_gap,
    paper_dpals_epsilon,
    paper_dpals_rho2,
)
from hushfold.privacy.budget import Budget, multiplier, units_for

Bill = dict[str, int]
"""Nano-units of mu^2 by statistic: "counts", "recounts", "centre 0", then "gram 0", "rhs 0", "gram 1", ..."""


def statistics(cfg: DpalsConfig) -> dict[str, str]:
    """Every statistic of a fit, in the order of its releases, and the share that pays for it."""
    named: dict[str, str] = {}
    if cfg.shares.counts:
        named["counts"] = "counts"
    if cfg.shares.centre:
        named |= {f"centre {part}": "centre" for part in range({"means": 1, "ratings": 2}.get(cfg.centre, 0))}
    if cfg.shares.recounts:
        named["recounts"] = "recounts"
    for t in range(cfg.steps):
        if cfg.unobserved_weight:
            named[f"global_gram {t}"] = "global_gram"
        named |= {f"gram {t}": "gram", f"rhs {t}": "rhs"}
    return named


def bill_of_budget(cfg: DpalsConfig, budget: Budget) -> Bill:
    """The whole budget in integer parts, in proportion to the config's shares."""
    parts = {name: getattr(cfg.shares, share) for name, share in statistics(cfg).items()}
    if not parts:
        raise ArgumentError("steps", "nothing would be released", "Ask for a step, or for counts")
    return {share.name: share.units for share in budget.split(parts)}


def bill_of_multipliers(cfg: DpalsConfig, multipliers: Mapping[str, float]) -> Bill:
    """The price of noise somebody else has chosen, by share: noise std over the stated bound."""
    return {name: units_for(multipliers[share]) for name, share in statistics(cfg).items()}


def bill_of_published(published: Published) -> Bill:
    """The bill behind a column of Table 4, as it ought to have been written."""
    return bill_of_multipliers(published.config, published.multipliers)


def statement(bill: Bill, cfg: DpalsConfig, trained: int, delta: float) -> Statement:
    """What the bill guarantees; `trained` is the number of items that have factors.

    For one user replaced by another a step has a formula of its own (`proofs/replace-one.md`).
    """
    once = {"counts": math.sqrt(2), "recounts": math.sqrt(2), "centre 0": 2.0, "centre 1": 1.0}
    events: list[Gaussian | DpalsRound] = [
        Gaussian(multiplier(units), replace=once[name]) for name, units in bill.items() if name in once
    ]
    listed = trained if cfg.sample == "weights" else min(cfg.items_per_user, trained)
    for t in range(cfg.steps):
        shared = bill.get(f"global_gram {t}")
        events.append(
            DpalsRound(
                multiplier(bill[f"gram {t}"]),
                multiplier(bill[f"rhs {t}"]),
                multiplier(shared) if shared else None,
                gap=lattice_gap(cfg.rank, listed),
            )
        )
    return account(events, delta)


def paper_epsilon(published: Published) -> float:
    """REPRODUCTION ONLY: what the paper's own bill and conversion make of a column. Not a guarantee."""
    cfg = published.config
    rho2 = paper_dpals_rho2(
        cfg.steps, cfg.items_per_user, published.sigma_gram, published.sigma_rhs, published.sigma_pre
    )
    if cfg.centre != "ratings":  # two counts, no mean
        rho2 -= 1 / published.sigma_pre**2
    return paper_dpals_epsilon(rho2, published.delta)
