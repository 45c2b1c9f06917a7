"""How much each of a user's own entries weighs: from the own row, released counts and public numbers.

No normaliser is taken over users: a mean over everybody inside one user's step would tie every contribution
to every user, without noise (`docs/guarantee.md`, register 16).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from hushfold.errors import ArgumentError
from hushfold.local.sample import checked_counts, public_lookup
from hushfold.types import Rows

Floats = NDArray[np.float64]

_DOWNWARD = 2.0**-40
_ULP = 2.0**-52
_STEEPEST = 140.0  # a rarity's logarithm: squares and their sums stay finite and above 0


def adaptive_weights(
    rows: Rows, counts: ArrayLike, power: float, budget: float, cap: float = math.inf, floor: float = 1.0
) -> Floats:
    """A weight for every entry, `min(cap, a c_j^-power)`: rare items weigh more, users within the budget.

    c_j is the released count, at least `floor` (NaN: that). a is the user's own: the largest
    with `sum_j w_j^2 <= budget`, where all weights are `cap` if that is affordable. Rounded downward, so that
    the sum of squares in exact arithmetic stays within the budget whatever the row and the counts.
    """
    _positive(budget=budget, floor=floor)
    if not cap > 0:
        raise ArgumentError("cap", f"{cap} is not positive", "Pass the most that one entry may weigh, or inf")
    if not 0 <= power <= 4:
        raise ArgumentError("power", f"{power} is outside 0 .. 4", "A quarter to a third serves most sets")
    weights = public_lookup(rarity(counts, rows.catalogue, power, floor), rows.items)
    _scale(rows.indptr, weights, budget, cap)
    return weights


def adaptive_weights_reference(rarities: Floats, budget: float, cap: float) -> Floats:
    """The weights of one user with these `rarities`: the readable twin, equal bit by bit."""
    slack = _DOWNWARD + len(rarities) * _ULP
    if len(rarities) == 0 or cap * cap * len(rarities) * (1.0 + slack) <= budget:
        return np.full(len(rarities), cap)
    capped = np.zeros(len(rarities), bool)
    while True:
        left = max(budget - cap * cap * int(capped.sum()) if capped.any() else budget, 0.0)
        norm = 0.0
        for rarity in rarities[~capped]:
            norm += rarity * rarity
        scale = math.sqrt(left / norm) if norm > 0 else 0.0
        above = ~capped & (rarities * scale > cap)
        if not above.any():
            break
        capped |= above
    weights = np.where(capped, cap, rarities * scale)
    total = 0.0
    for weight in weights:
        total += weight * weight
    return weights * (math.sqrt(min(1.0, budget / total)) * (1.0 - slack))


def rarity(counts: ArrayLike, catalogue: int, power: float, floor: float = 1.0) -> Floats:
    """`max(c_j, floor)^-power` for every item of the catalogue: public maths on released counts."""
    released = np.nan_to_num(checked_counts(counts, catalogue), nan=floor, posinf=np.finfo(float).max)
    return np.exp(np.clip(-power * np.log(np.maximum(released, floor)), -_STEEPEST, _STEEPEST))


def unit_weights(rows: Rows) -> Floats:
    """`1 / sqrt(c_i)` for each of a user's c_i entries: as a row, every user weighs 1."""
    own = np.diff(rows.indptr)
    return np.repeat(1 / np.sqrt(np.maximum(own, 1)), own)


def user_ridge(rows: Rows, power: float, typical: float, most: float) -> Floats:
    """`min(c_i, most)^power / typical^power` per user: how strongly each is regularised.

    `typical` and `most` are public numbers of entries, never a mean or a maximum of the data.
    """
    _positive(typical=typical, most=most)
    if not 0 <= power <= 4:
        raise ArgumentError("user_power", f"{power} is outside 0 .. 4", "0, 0.5 and 1 are usual")
    return (np.minimum(np.diff(rows.indptr), most) / typical) ** power


def _positive(**settings: float) -> None:
    for name, value in settings.items():
        if not (math.isfinite(value) and value > 0):
            raise ArgumentError(name, f"{value} is not a finite positive number", "State a public bound")


@njit(nogil=True, cache=True)
def _scale(  # pragma: no cover
    indptr: NDArray[np.int64], weights: Floats, budget: float, cap: float
) -> None:
    """Turn the rarities in `weights` into weights, in place. What has reached the cap stays there."""
    for user in range(len(indptr) - 1):
        own = weights[indptr[user] : indptr[user + 1]]
        slack = _DOWNWARD + len(own) * _ULP
        if len(own) == 0 or cap * cap * len(own) * (1.0 + slack) <= budget:
            own[:] = cap
            continue
        capped = np.zeros(len(own), np.bool_)
        at_cap, scale = 0, 0.0
        while True:
            left = max(budget - cap * cap * at_cap if at_cap > 0 else budget, 0.0)
            norm = 0.0
            for entry in range(len(own)):
                if not capped[entry]:
                    norm += own[entry] * own[entry]
            scale = math.sqrt(left / norm) if norm > 0 else 0.0
            before = at_cap
            for entry in range(len(own)):
                if not capped[entry] and own[entry] * scale > cap:
                    capped[entry] = True
                    at_cap += 1
            if at_cap == before:
                break
        total = 0.0
        for entry in range(len(own)):
            own[entry] = cap if capped[entry] else own[entry] * scale
            total += own[entry] * own[entry]
        own *= math.sqrt(min(1.0, budget / total)) * (1.0 - slack)
