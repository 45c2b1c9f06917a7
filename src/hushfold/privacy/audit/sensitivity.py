"""Exact sensitivity: do the integers of neighbouring data sets ever differ by more than they may?

No noise, no statistics, no tolerance: the integer sums of two neighbours are computed over several blocks
of users and several tiles of items, and the norm of the difference *of the whole sum* is compared in Python
integers with the bound of 2^30 lattice steps. A second check asks that some pair comes within 0.1 % of it,
so that the test can't go vacuous. A third asks what no bound on one user can show: that nobody's
contribution changes with the company it is computed in. An algorithm joins with one `Subject`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.privacy.audit.calibration import Check
from hushfold.privacy.audit.hostile import (
    Neighbours,
    hostile_rows,
    take,
    users_removed,
    users_replaced,
    with_row,
    without,
)
from hushfold.rng import Coins, PublicRandom
from hushfold.statistics.base import LATTICE, Contribution, Spec, svec_diagonal, tiles_of
from hushfold.types import Rows

TIGHT = 0.999  # of the bound: some neighbour must come this close
BLOCKS = 3  # of users, over which every sum is taken
_SQUARES_FIT = 2**43  # below this, squares of halves of 20 bits add up within int64


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that sums over users, with the neighbours its bound speaks of."""

    name: str
    contribute: Callable[..., tuple[Contribution, ...]]
    """`(rows, *public) -> contributions`, as an engine calls it."""
    public: tuple[Any, ...] = ()
    catalogue: int = 600
    """More than two tiles, so that a bound which holds per tile only is seen to break."""
    neighbours: Callable[[Coins, int], Neighbours] = users_removed
    replaced: Callable[[Coins, int], Neighbours] | None = users_replaced
    """Pairs for the replace-one factor; None where the relation is not about users."""
    tight: bool = True
    """Whether some hostile neighbour is expected to attain the bound."""


Sums = list[tuple[Spec, list[NDArray[np.int64]]]]
"""Per statistic: its description and the integers of its tiles."""


def check_subject(subject: Subject, pairs: int = 2000, seed: int = 0) -> list[Check]:
    """Everything this file can ask about one subject."""
    checks = check_bound(subject, pairs, seed)
    if subject.replaced is not None:
        checks += check_replacement(subject, pairs // 4, seed)
    return checks + check_company(subject, seed)


def check_bound(subject: Subject, pairs: int = 2000, seed: int = 0) -> list[Check]:
    """Whether any neighbour moves a statistic by more than its bound, and whether one comes close."""
    specs, worst = _worst(subject, subject.neighbours, pairs, seed)
    checks: list[Check] = []
    for number, (spec, most) in enumerate(zip(specs, worst, strict=True)):
        name = f"{subject.name}: {spec.shape}" + (f" {number + 1}" if len(specs) > 1 else "")
        figure = _share(spec, most)
        limit = LATTICE if spec.norm == "l1" else LATTICE**2
        checks.append(Check(f"{name} moves by at most its bound", most <= limit, figure, 1.0))
        if subject.tight:
            checks.append(Check(f"{name} attains its bound", figure >= TIGHT, figure, TIGHT))
    return checks


def check_replacement(subject: Subject, pairs: int = 500, seed: int = 0) -> list[Check]:
    """Whether replacing a user ever moves a statistic by more than its stated multiple of the bound."""
    if subject.replaced is None:
        return []
    specs, worst = _worst(subject, subject.replaced, pairs, seed)
    return [
        Check(
            f"{subject.name}: {spec.shape} moves by at most its replace-one factor",
            _share(spec, most) <= spec.replace * (1 + 2.0**-40),
            _share(spec, most),
            spec.replace,
        )
        for spec, most in zip(specs, worst, strict=True)
    ]


def check_company(subject: Subject, seed: int = 0, users: int = 40) -> list[Check]:
    """Whether any user's integers depend on who shares the block, on its size or on the place in it.

    Every block must add up to what its users contribute alone: all blocks of several sizes, with the first
    user gone, with users at the edges of blocks gone or turned into somebody else, and in another order.
    """
    coins = PublicRandom(seed).stream(f"company {subject.name}")
    rows = hostile_rows(coins, users, subject.catalogue)
    stranger = next(hostile_rows(coins, 1, subject.catalogue).each())
    heavy = np.arange(subject.catalogue, dtype=np.int32), np.full(subject.catalogue, 1e5, np.float32)
    companies = [rows, take(rows, coins.permutation(users))]
    for user in (0, 1, 6, 7, 16, users - 1):
        companies += [without(rows, user), with_row(rows, user, stranger), with_row(rows, user, heavy)]
    blocks = [block for company in companies for block in _blocks(company, (1, 2, 7, 17, users))]
    specs = _specs(subject, Rows.empty(subject.catalogue))
    described = sum(_specs(subject, block) != specs for block in blocks)
    checks = [Check(f"{subject.name}: no description depends on the data", not described, described, 0)]
    if described:  # sums of different statistics can't be compared
        return checks
    differing = 0
    alone: dict[bytes, Sums] = {}
    for block in blocks:
        apart = add_up(subject, Rows.empty(subject.catalogue), 1)
        for single in _blocks(block, (1,)):
            own = _identity(single)
            if own not in alone:
                alone[own] = add_up(subject, single, 1)
            apart = _plus(apart, alone[own])
        differing += not _equal(add_up(subject, block, max(1, len(block))), apart)
    name = f"{subject.name}: nobody's contribution depends on company"
    return [*checks, Check(name, not differing, differing, 0)]


def add_up(subject: Subject, rows: Rows, users_per_block: int) -> Sums:
    """The integer sums of a data set, through two accumulators that are merged in the end."""
    nobody = subject.contribute(Rows.empty(subject.catalogue), *subject.public)
    halves = [[contribution.accumulator() for contribution in nobody] for _ in range(2)]
    for number, block in enumerate(_blocks(rows, (users_per_block,))):
        for total, part in zip(halves[number % 2], subject.contribute(block, *subject.public), strict=True):
            total.add(part)
    for total, other in zip(*halves, strict=True):
        total.merge(other)
    return [(total.spec, [total.tile(tile) for tile in tiles_of(total.spec)]) for total in halves[0]]


def movement(spec: Spec, tiles: list[NDArray[np.int64]], others: list[NDArray[np.int64]]) -> int:
    """How far two sums are apart over all tiles: the exact 1-norm, or the exact *square* of the 2-norm.

    Off-diagonal coordinates of a stored triangle count twice, as they do in the Frobenius norm.
    """
    total = 0
    for tile, other in zip(tiles, others, strict=True):
        difference = tile - other
        if spec.norm == "l1":
            total += sum(abs(int(change)) for change in difference[difference != 0])
        else:
            diagonal = _diagonal(spec, difference.shape)
            everything = _squares(difference)
            total += everything if diagonal is None else 2 * everything - _squares(difference[..., diagonal])
    return total


def _diagonal(spec: Spec, shape: tuple[int, ...]) -> Any:
    """An index of the coordinates that stand once in the whole matrix; None if all do."""
    if spec.layout == "svec":
        return svec_diagonal(shape[-1])
    return np.eye(*shape, dtype=bool) if spec.layout == "triangle" else None


def _squares(difference: NDArray[np.int64]) -> int:
    """The exact sum of squares of an array of any size."""
    moved = difference[difference != 0]
    if len(moved) and max(int(moved.max()), -int(moved.min())) >= _SQUARES_FIT:
        return sum(int(change) ** 2 for change in moved)
    high, low = moved >> 20, moved & (2**20 - 1)
    return (int(high @ high) << 40) + (int(high @ low) << 21) + int(low @ low)


def _share(spec: Spec, most: int) -> float:
    """A movement as a multiple of the bound."""
    return most / LATTICE if spec.norm == "l1" else math.sqrt(most / LATTICE**2)


def _worst(
    subject: Subject, neighbours: Callable[[Coins, int], Neighbours], pairs: int, seed: int
) -> tuple[list[Spec], list[int]]:
    """The largest movement of every statistic over at least so many pairs, in three to five blocks of
    users.
    """
    coins = PublicRandom(seed).stream(f"neighbours {subject.name}")
    specs = _specs(subject, Rows.empty(subject.catalogue))
    worst, seen = [0] * len(specs), 0
    while seen < pairs:
        rows, others = neighbours(coins, subject.catalogue)
        size = max(1, -(-len(rows) // BLOCKS))
        here = add_up(subject, rows, size)
        for other in others:
            there = add_up(subject, other, size)
            for place, ((spec, ours), (_, theirs)) in enumerate(zip(here, there, strict=True)):
                worst[place] = max(worst[place], movement(spec, ours, theirs))
        seen += len(others)
    return specs, worst


def _specs(subject: Subject, rows: Rows) -> list[Spec]:
    return [contribution.spec for contribution in subject.contribute(rows, *subject.public)]


def _blocks(rows: Rows, sizes: tuple[int, ...]) -> Iterator[Rows]:
    for size in sizes:
        for start in range(0, len(rows), size):
            yield rows.slice(start, min(start + size, len(rows)))


def _identity(single: Rows) -> bytes:
    return single.keys.tobytes() + single.items.tobytes() + single.values.tobytes()


def _plus(sums: Sums, more: Sums) -> Sums:
    return [
        (spec, [a + b for a, b in zip(tiles, others, strict=True)])
        for (spec, tiles), (_, others) in zip(sums, more, strict=True)
    ]


def _equal(sums: Sums, others: Sums) -> bool:
    return all(
        all(np.array_equal(a, b) for a, b in zip(tiles, theirs, strict=True))
        for (_, tiles), (_, theirs) in zip(sums, others, strict=True)
    )
