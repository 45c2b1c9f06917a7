"""From ratings to an open door: whose budget, which ledger, which run. Every private fit begins here."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from hushfold.data.ratings import Ratings
from hushfold.data.users import Users
from hushfold.privacy.budget import Budget
from hushfold.privacy.door import Door, Progress
from hushfold.privacy.ledger import Ledger, Total


@contextmanager
def open_door(
    ratings: Ratings,
    budget: Budget,
    *,
    method: str,
    config: Mapping[str, Any],
    resume: str | None = None,
    total: Budget | None = None,
    progress: Progress | None = None,
) -> Generator[Door]:
    """A door for one run on the ratings' population; the ledger is closed with the block.

    `total` is the population's whole budget, by default that of its first fit; once stated it is only raised
    on the record. With `resume`, a name for this fit, a run of that name that was interrupted goes on, or is
    refused (`ResumeError`) if the data or `config` are not the ones it began with.
    """
    whole = total or budget
    stated = Total.of(whole)
    if ratings.ledger == "throw-away":
        ledger = Ledger.throw_away(ratings.population, stated)
    else:
        ledger = Ledger.open(
            ratings.ledger,
            population=ratings.population,
            total=stated if total else None,
            default_total=stated,
        )
    with ledger:
        run = ledger.run(
            resume and _unfinished(ledger, resume),
            method=method,
            config={**config, "epsilon": budget.epsilon, "delta": budget.delta},
            data_digest=digest(ratings.users),
            claim=budget.claim,
        )
        yield Door(run, budget, progress=progress)


def _unfinished(ledger: Ledger, name: str) -> str:
    """The run of this name that is open or still to be begun: finished ones are `name`, `name-2`, ..."""
    runs = ledger.books().runs
    names = (name if number == 1 else f"{name}-{number}" for number in itertools.count(1))
    return next(each for each in names if each not in runs or not runs[each].closed)


def digest(users: Users) -> bytes:
    """Tells one set of rows from another. Never written as it is: the ledger keys it with a secret."""
    running = hashlib.blake2b(digest_size=32)
    for rows in users.blocks():
        for array in (rows.keys, rows.indptr, rows.items, rows.values):
            running.update(array.data)
    return running.digest()
