"""Small data sets and doors for the tests of DPALS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hushfold.algorithms.dpals import Dpals, fit
from hushfold.algorithms.dpals_bill import Bill, bill_of_budget
from hushfold.algorithms.dpals_configs import DpalsConfig
from hushfold.algorithms.dpals_setup import Declared
from hushfold.data.simulate import simulate_ratings
from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.privacy.budget import Budget
from hushfold.privacy.door import Door
from hushfold.privacy.ledger import Ledger
from hushfold.privacy.noise import Key
from hushfold.rng import PublicRandom
from hushfold.types import Rows

STARS = (0.5, 5.0)


def film_rows(users: int = 300, items: int = 60, ratings: int = 9000, seed: int = 0) -> Rows:
    """Simulated stars as one block of rows."""
    drawn = simulate_ratings(users, items, ratings, seed)
    indptr = np.r_[0, np.cumsum(np.bincount(drawn.user, minlength=users))].astype(np.int64)
    keys = PublicRandom(seed).per_user("test", np.arange(users, dtype=np.uint64))
    return Rows(indptr, drawn.item, drawn.rating, keys, items)


def fitted(
    rows: Rows,
    cfg: DpalsConfig,
    *,
    epsilon: float = 4.0,
    declared: Declared | None = None,
    bill: Bill | None = None,
    threads: int = 1,
    new_key: Callable[[], Key] = Key,
    seed: int = 0,
) -> tuple[Dpals, list[dict[str, Any]]]:
    """A model and the rows of its ledger; with a `bill`, whatever that costs."""
    budget = Budget.gaussian(epsilon, 1e-5)
    if bill is not None:
        budget = Budget(epsilon, 1e-5, sum(bill.values()))
    door = Door(Ledger.throw_away().run(method="dpals", config={}), budget, threads, new_key=new_key)
    declared = declared or Declared(rows.catalogue, STARS)
    released = fit(
        Users(rows),
        declared,
        cfg,
        LocalEngine(threads, 64),
        door,
        bill or bill_of_budget(cfg, budget),
        PublicRandom(seed),
    )
    return released.value, door.run.rows()
