"""Figure 4 of the DPALS paper, our half: RMSE on the synthetic matrix, by number of users and epsilon.

Rank 5, 1000 items, every entry seen with chance 20 ln(n) / 1000, unit standard deviation (a constant has RMSE
1), delta 1e-5, plain Algorithm 1: no counts, no centring, all items, uniform sample. The settings were chosen
on matrices of other seeds. Run: python reproduce/figure4_dpals.py [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np

from hushfold.algorithms.dpals import fit
from hushfold.algorithms.dpals_bill import bill_of_budget
from hushfold.algorithms.dpals_configs import DpalsConfig, Shares
from hushfold.algorithms.dpals_predict import user_factors
from hushfold.algorithms.dpals_setup import Declared
from hushfold.data.simulate import simulate_ratings
from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.privacy.budget import Budget
from hushfold.privacy.door import Door
from hushfold.privacy.ledger import Ledger
from hushfold.rng import PublicRandom
from hushfold.types import Rows

ITEMS, RANK, DELTA = 1000, 5, 1e-5
USERS = (5_000, 10_000, 20_000, 50_000)
EPSILONS = (1.0, 2.0, 5.0, 10.0, 20.0)
SEED = 20


def settings(epsilon: float) -> DpalsConfig:
    """Two steps, all of a user's ratings, and a value clip that widens as the noise falls."""
    return DpalsConfig(
        rank=RANK,
        steps=2,
        items_per_user=230,
        sample="uniform",
        ridge=0.1,
        item_power=0,
        user_power=0,
        start_scale=0.1,
        value_bound=2.5 if epsilon < 3 else 3.5 if epsilon < 8 else 4.5,
        shares=Shares(counts=0, gram=0.2, rhs=0.8),
    )


def matrix(users: int) -> tuple[Rows, np.ndarray, np.ndarray]:
    """What is observed, and the true factors."""
    chance = 20 * math.log(users) / ITEMS
    drawn = simulate_ratings(users, ITEMS, round(chance * users * ITEMS), SEED, kind="low-rank", rank=RANK)
    indptr = np.r_[0, np.cumsum(np.bincount(drawn.user, minlength=users))].astype(np.int64)
    keys = PublicRandom(SEED).per_user("figure 4", np.arange(users, dtype=np.uint64))
    return Rows(indptr, drawn.item, drawn.rating, keys, ITEMS), drawn.user_taste, drawn.item_taste


def rmse(rows: Rows, truth: tuple[np.ndarray, np.ndarray], epsilon: float) -> tuple[float, float]:
    """Over all entries of the true matrix, and the seconds of the fit."""
    budget, config = Budget.gaussian(epsilon, DELTA), settings(epsilon)
    door = Door(Ledger.throw_away().run(method="dpals", config={}), budget)
    declared = Declared(ITEMS, (-20.0, 20.0), len(rows))
    started = time.perf_counter()
    bill = bill_of_budget(config, budget)
    model = fit(Users(rows), declared, config, LocalEngine(), door, bill).value
    seconds = time.perf_counter() - started
    mine, (left, right) = user_factors(rows, model), truth
    # |U V' - L R'|^2 from r x r products
    a, b, c = mine.T.astype(float) @ mine, left.T.astype(float) @ left, mine.T.astype(float) @ left
    p, q, s = (
        x.T.astype(float) @ y
        for x, y in ((model.factors, model.factors), (right, right), (model.factors, right))
    )
    error = np.sum(a * p) + np.sum(b * q) - 2 * np.sum(c * s)
    return math.sqrt(max(error, 0) / (len(rows) * ITEMS)), seconds


def main() -> None:
    """Print the table; the numbers go to --json."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="two sizes, three epsilons")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    sizes, epsilons = (USERS[:2], (1.0, 5.0, 20.0)) if chosen.quick else (USERS, EPSILONS)
    table = []
    print("RMSE of DPALS (constant: 1)   " + "".join(f"eps {e:<7g}" for e in epsilons))
    for users in sizes:
        rows, *truth = matrix(users)
        row = [rmse(rows, (truth[0], truth[1]), epsilon) for epsilon in epsilons]
        table += [
            {"users": users, "epsilon": e, "rmse": error, "seconds": seconds}
            for e, (error, seconds) in zip(epsilons, row, strict=True)
        ]
        print(f"n = {users:<26,}" + "".join(f"{error:<11.4f}" for error, _ in row), flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps({"figure": "4", "method": "dpals", "rows": table}, indent=2))


if __name__ == "__main__":
    main()
