"""P-04 and P-05 at the engine: when somebody leaves, nobody else's contribution or result may change a bit.

The integer sum of everybody must be the sum without the leaving user plus what that user contributes alone,
whatever the size of the blocks and the number of threads; and what `each` gives back to the others must be
the same bytes. The bound on one user sees none of this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.privacy.audit.calibration import Check
from hushfold.privacy.audit.hostile import UserRow, hostile_rows, pack, with_row, without
from hushfold.privacy.audit.sensitivity import Subject
from hushfold.rng import PublicRandom
from hushfold.statistics.base import tiles_of
from hushfold.types import Rows, unseal

Step = Callable[..., NDArray[Any]]
"""`(rows, *public) -> one row per user`."""

Integers = list[list[NDArray[np.int64]]]

ONE_ENGINE = (LocalEngine(threads=2, users_per_block=17),)


def check_departures(
    subject: Subject,
    users: int = 50,
    engines: Sequence[LocalEngine] = ONE_ENGINE,
    leaving: Sequence[int] | None = None,
    heavy: int = 0,
    seed: int = 0,
) -> list[Check]:
    """Drop users one at a time (all of them, unless some are named) and turn each into a heavy one.

    `heavy` is the number of ratings such a user has; with 0 nobody is turned into one.
    """
    rows = people(subject.name, users, subject.catalogue, seed)
    differing = 0
    for engine in engines:
        everybody = add_up(engine, subject, rows)
        for user in range(users) if leaving is None else leaving:
            others = add_up(engine, subject, without(rows, user))
            alone = add_up(engine, subject, rows.slice(user, user + 1))
            differing += not _add_up_to(everybody, others, alone)
            if heavy:
                changed = with_row(rows, user, heavy_row(heavy, subject.catalogue))
                alone = add_up(engine, subject, changed.slice(user, user + 1))
                differing += not _add_up_to(add_up(engine, subject, changed), others, alone)
    name = f"{subject.name}: contributions that change when somebody else leaves"
    return [Check(name, not differing, differing, 0)]


def check_results(
    name: str,
    step: Step,
    public: tuple[Any, ...],
    rows: Rows,
    leaving: Sequence[int],
    engines: Sequence[LocalEngine] = ONE_ENGINE,
) -> list[Check]:
    """Whether what `engine.each` gives back to the others is bitwise the same without each of `leaving`."""
    differing = 0
    for engine in engines:
        everybody = unseal(engine.each(Users(rows), step, *public))
        for user in leaving:
            others = unseal(engine.each(Users(without(rows, user)), step, *public))
            same = others.tobytes() == np.delete(everybody, user, axis=0).tobytes()
            differing += not same
    return [Check(f"{name}: results that change when somebody else leaves", not differing, differing, 0)]


def people(name: str, users: int, catalogue: int, seed: int = 0) -> Rows:
    """Hostile rows, the same for the same name."""
    return hostile_rows(PublicRandom(seed).stream(f"departures {name}"), users, catalogue)


def heavy_row(ratings: int, catalogue: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Somebody who rated everything, and then again, out of order."""
    items = (np.arange(ratings, dtype=np.int64) * 7919 % catalogue).astype(np.int32)
    return items, np.linspace(-1e3, 1e3, ratings, dtype=np.float32)


def light_rows(users: int, catalogue: int, seed: int = 0) -> Rows:
    """Many users with a handful of ratings each, as most people have."""
    coins = PublicRandom(seed).stream("light rows")
    own: list[UserRow] = []
    for size in coins.integers(0, 12, users).tolist():
        items = coins.permutation(catalogue)[: int(size)]
        own.append((np.sort(items).astype(np.int32), coins.normal(3, 1, len(items)).astype(np.float32)))
    return pack(own, coins.permutation(users).astype(np.uint64), catalogue)


def add_up(engine: LocalEngine, subject: Subject, rows: Rows) -> Integers:
    """The integers of every tile of every statistic."""
    sums = unseal(engine.sum(Users(rows), subject.contribute, *subject.public))()
    return [[total.tile(tile) for tile in tiles_of(total.spec)] for total in sums]


def _add_up_to(whole: Integers, *parts: Integers) -> bool:
    return all(
        np.array_equal(tiles[0], sum(tiles[1:]))
        for statistic in zip(whole, *parts, strict=True)
        for tiles in zip(*statistic, strict=True)
    )
