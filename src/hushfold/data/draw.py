"""Drawing distinct items by popularity and taste: the kernels of the simulation.

Every user has a counter-based sequence of coins of their own (`words`), so a user's draw depends neither on
the block it is computed in nor on who else is simulated.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

RACE_SHARE = 0.05
"""Users who take more than this share of the catalogue race all items; the others draw and reject."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_UNIT = 2.0**-53
_S11, _S27, _S30, _S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)


@njit(nogil=True, cache=True)
def _coin(state: np.uint64) -> float:
    """A uniform number in (0, 1) from one state of splitmix64."""
    word = (state ^ (state >> _S30)) * _FIRST
    word = (word ^ (word >> _S27)) * _SECOND
    word = word ^ (word >> _S31)
    return (np.float64(word >> _S11) + 0.5) * _UNIT


@njit(nogil=True, cache=True)
def taste_score(user: NDArray[np.float32], item: NDArray[np.float32]) -> float:
    """Inner product in four fixed lanes: fast, and the same wherever it is called from."""
    a = b = c = d = np.float32(0)
    whole = len(user) // 4 * 4
    for k in range(0, whole, 4):
        a += user[k] * item[k]
        b += user[k + 1] * item[k + 1]
        c += user[k + 2] * item[k + 2]
        d += user[k + 3] * item[k + 3]
    for k in range(whole, len(user)):
        a += user[k] * item[k]
    return np.float64((a + b) + (c + d))


@njit(nogil=True, cache=True)
def alias_table(weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Walker's alias table: cell j gives j with probability `keep[j]`, else `other[j]`."""
    size = len(weights)
    keep = weights * (size / weights.sum())
    other = np.arange(size).astype(np.int32)
    small, large = np.empty(size, np.int32), np.empty(size, np.int32)
    smalls = larges = 0
    for j in range(size):
        if keep[j] < 1:
            small[smalls] = j
            smalls += 1
        else:
            large[larges] = j
            larges += 1
    while smalls > 0 and larges > 0:
        smalls -= 1
        poor, rich = small[smalls], large[larges - 1]
        other[poor] = rich
        keep[rich] -= 1 - keep[poor]
        if keep[rich] < 1:
            larges -= 1
            small[smalls] = rich
            smalls += 1
    for j in small[:smalls]:
        keep[j] = 1
    return keep, other


@njit(nogil=True, cache=True)
def choose(
    indptr: NDArray[np.int64],
    weights: NDArray[np.float64],
    keep: NDArray[np.float64],
    other: NDArray[np.int32],
    user_taste: NDArray[np.float32],
    item_taste: NDArray[np.float32],
    drive: float,
    reserve: float,
    words: NDArray[np.uint64],
) -> NDArray[np.int32]:
    """`indptr[u+1] - indptr[u]` distinct items for each user u, increasing; drawn one by one, not put back.

    Item j is drawn with weight `weights[j] / (1 + exp(reserve - drive x_uj))`, x the taste score. Light users
    draw from the alias table and reject; heavy ones let all items race with exponential clocks. The two have
    the same law.
    """
    catalogue = len(weights)
    items = np.empty(indptr[-1], np.int32)
    taken = np.zeros(catalogue, np.bool_)
    for u in range(len(indptr) - 1):
        start, wanted = indptr[u], indptr[u + 1] - indptr[u]
        state, found = words[u], 0
        if wanted <= RACE_SHARE * catalogue:
            for _ in range(64 * wanted + 1024):
                if found == wanted:
                    break
                spot = _coin(state + _GOLDEN) * catalogue
                cell = np.int64(spot)
                item = cell if spot - cell < keep[cell] else other[cell]
                state += _GOLDEN
                if taken[item]:
                    continue
                state += _GOLDEN
                pull = drive * taste_score(user_taste[u], item_taste[item])
                if _coin(state) * (1 + np.exp(reserve - pull)) < 1:
                    taken[item] = True
                    items[start + found] = item
                    found += 1
            for e in range(start, start + found):
                taken[items[e]] = False
            items[start : start + found].sort()
        if found < wanted:
            own = items[start : start + wanted]
            _race(own, weights, user_taste[u], item_taste, drive, reserve, state + _GOLDEN)
    return items


@njit(nogil=True, cache=True)
def _race(
    items: NDArray[np.int32],
    weights: NDArray[np.float64],
    user_taste: NDArray[np.float32],
    item_taste: NDArray[np.float32],
    drive: float,
    reserve: float,
    state: np.uint64,
) -> None:
    """The first `len(items)` of independent exponential clocks, one per item, at the rate of its weight."""
    clocks = np.empty(len(weights), np.float64)
    for j in range(len(weights)):
        state += _GOLDEN
        pull = drive * taste_score(user_taste, item_taste[j])
        slowness = (1 + np.exp(reserve - pull)) / weights[j]
        clocks[j] = -np.log(_coin(state)) * slowness
    last = np.partition(clocks, len(items) - 1)[len(items) - 1]
    found = 0
    for j in range(len(weights)):
        if clocks[j] <= last and found < len(items):
            items[found] = j
            found += 1


@njit(nogil=True, cache=True)
def choose_evenly(
    users: int, catalogue: int, probability: float, words: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Every (user, item) independently with `probability`: row pointers and items, by geometric gaps."""
    indptr = np.zeros(users + 1, np.int64)
    items = np.empty(np.int64(users * catalogue * probability * 1.1) + 1024, np.int32)
    rate = np.log1p(-probability) if probability < 1 else -np.inf
    found = 0
    for u in range(users):
        state, item = words[u], -1
        while True:
            state += _GOLDEN
            item += 1 + np.int64(min(np.log(_coin(state)) / rate, catalogue))
            if item >= catalogue:
                break
            if found == len(items):
                items = np.append(items, np.empty(len(items), np.int32))
            items[found] = item
            found += 1
        indptr[u + 1] = found
    return indptr, items[:found]


@njit(nogil=True, cache=True)
def score(
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    user_bias: NDArray[np.float32],
    item_bias: NDArray[np.float32],
    user_taste: NDArray[np.float32],
    item_taste: NDArray[np.float32],
    level: NDArray[np.float32],
    words: NDArray[np.uint64],
) -> NDArray[np.float32]:
    """Bias of the user + bias of the item + taste + Gaussian noise of the user's own level."""
    scores = np.empty(len(items), np.float32)
    for u in range(len(indptr) - 1):
        state = words[u]
        for e in range(indptr[u], indptr[u + 1]):
            state += _GOLDEN
            radius = np.sqrt(-2 * np.log(_coin(state)))
            state += _GOLDEN
            noise = level[u] * radius * np.cos(2 * np.pi * _coin(state))
            taste = taste_score(user_taste[u], item_taste[items[e]])
            scores[e] = user_bias[u] + item_bias[items[e]] + taste + noise
    return scores
