"""The best k items of every user, exactly, without ever holding users x items scores.

Items stand in panels by decreasing norm. A block of users meets a panel in one product whose result fits a
core's cache; a compiled pass then offers the scores to each user's heap, reading 128 at a time and looking
closer only where one of them reaches the user's k-th best. A user for whom |user| |item| can reach it no more
is done: of a trained model's items most are never scored. Of equal scores the lower item index comes first.

A score is one sum in the order of the factors, so nobody's list depends on who shares the batch. Public
maths: what goes in is released or the user's own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from hushfold.errors import ArgumentError
from hushfold.linalg.microkernel import REGISTER, ROWS, add_3
from hushfold.threads import ordered_map, usable_cores

Floats = NDArray[np.float32]
Lists = tuple[NDArray[np.int64], NDArray[np.int32]]
"""One list of items per user: where each begins and ends, and the items, increasing within a user."""

BLOCK = 512  # users at a time
PANEL = 384  # items at a time: whole glances, and whole tiles of the product
_GLANCE = 128  # scores compared at once
_TILE = 3 * REGISTER // 4  # columns of the product at once
_TOP_BIT = np.uint32(1 << 31)
_LOW_WORD = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)
_LEAST = np.uint32(0x00800000)  # the least finite score, as the upper half of a key


class Top(NamedTuple):
    """Best items per user, best first, and their scores; -1 and -inf where a user has fewer than k."""

    items: NDArray[np.int32]
    scores: Floats


def topk(
    users: ArrayLike,
    items: ArrayLike | Panels,
    k: int,
    exclude: Lists | None = None,
    threads: int | None = None,
) -> Top:
    """The `k` items j with the largest `users[i] . items[j]` for every i, without those in the list of i.

    Float32 arithmetic. A score that is not finite is never among the best. `items` are factors, or `Panels`
    of them for many calls. `threads` share the users (default: as many as there are cores).
    """
    left = np.ascontiguousarray(users, np.float32)
    panels = items if isinstance(items, Panels) else Panels.of(items)
    if left.ndim != 2 or left.shape[1] != panels.factors.shape[1]:
        problem = "users and items differ in their number of factors"
        raise ArgumentError("items", problem, "Pass n x r and m x r")
    indptr, hidden = _checked(k, exclude, len(left))
    best = Top(np.empty((len(left), k), np.int32), np.empty((len(left), k), np.float32))

    def of_block(start: int) -> None:
        block = slice(start, min(start + BLOCK, len(left)))
        own = indptr[start : block.stop + 1]
        heaps = panels.search(left[block], k, own - own[0], hidden[own[0] : own[-1]])
        best.items[block], best.scores[block] = _unpack(heaps)

    for _ in ordered_map(of_block, range(0, len(left), BLOCK), threads or usable_cores()):
        pass
    return best


def topk_of_scores(scores: ArrayLike, k: int, exclude: Lists | None = None) -> Top:
    """The same for scores that are there already: n users x m items, read as float32."""
    whole = np.asarray(scores, np.float32)
    indptr, hidden = _checked(k, exclude, len(whole))
    heaps = np.zeros((len(whole), k), np.uint64)
    panel = np.empty((len(whole), PANEL), np.float32)
    everybody = np.arange(len(whole))
    for first in range(0, whole.shape[1], PANEL):
        names = np.arange(first, min(first + PANEL, whole.shape[1]), dtype=np.int32)
        panel[:, : len(names)], panel[:, len(names) :] = whole[:, names], -np.inf
        _hide(panel, first, everybody, indptr, hidden)
        _offer_panel(panel, names, everybody, heaps)
    return Top(*_unpack(heaps))


def topk_reference(scores: ArrayLike, k: int, exclude: Lists | None = None) -> Top:
    """The readable twin of `topk_of_scores`."""
    whole = np.array(scores, np.float32)
    indptr, hidden = exclude or (np.zeros(len(whole) + 1, np.int64), np.empty(0, np.int32))
    best = Top(np.full((len(whole), k), -1, np.int32), np.full((len(whole), k), -np.inf, np.float32))
    for i, row in enumerate(whole):
        row[hidden[indptr[i] : indptr[i + 1]]] = -np.inf
        row[~np.isfinite(row)] = -np.inf
        order = np.argsort(-row, kind="stable")[:k]
        order = order[row[order] > -np.inf]
        best.items[i, : len(order)], best.scores[i, : len(order)] = order, row[order]
    return best


class Panels(NamedTuple):
    """Items by decreasing norm, `PANEL` at a time: prepared once, asked often."""

    factors: Floats  # panel x factor x item, padded with zeros
    names: NDArray[np.int32]  # item index at every place
    places: NDArray[np.int32]  # and back
    reach: NDArray[np.float64]  # the largest norm in a panel, and what rounding may add to a score

    @classmethod
    def of(cls, factors: ArrayLike) -> Panels:
        """Arrange item factors (m x r)."""
        items = np.asarray(factors, np.float32)
        if items.ndim != 2:
            raise ArgumentError("items", "is not a table", "Pass one row of factors per item")
        norms = np.linalg.norm(items.astype(np.float64), axis=1)
        names = np.argsort(-norms, kind="stable").astype(np.int32)
        count = max(1, -(-len(items) // PANEL))
        padded = np.zeros((count * PANEL, items.shape[1]), np.float32)
        padded[: len(items)] = items[names]
        places = np.empty_like(names)
        places[names] = np.arange(len(names), dtype=np.int32)
        reach = np.append(norms[names], 0.0)[: count * PANEL : PANEL] * (1 + items.shape[1] * 2.0**-22)
        reach = np.nan_to_num(reach, nan=np.inf, posinf=np.inf)
        panels = padded.reshape(count, PANEL, items.shape[1]).transpose(0, 2, 1)
        return cls(np.ascontiguousarray(panels), names, places, reach)

    def search(
        self, users: Floats, k: int, indptr: NDArray[np.int64], hidden: NDArray[np.int32]
    ) -> NDArray[np.uint64]:
        """The heaps of a block of users, each of whom leaves once no further panel can change theirs."""
        hidden = self.places[hidden]
        _sort_lists(indptr, hidden)
        norms = np.linalg.norm(users.astype(np.float64), axis=1)
        heaps = np.zeros((len(users), k), np.uint64)
        searching = np.arange(len(users))
        block = _padded(users)
        room = np.empty((len(block), PANEL), np.float32)
        for panel, reach in enumerate(self.reach):
            with np.errstate(invalid="ignore"):
                able = ~(norms[searching] * reach < _score_of(heaps[searching, 0]))  # what is NaN stays
            if 2 * able.sum() <= len(searching):
                searching = searching[able]
                block = _padded(users[searching])
            if len(searching) == 0:
                break
            scores = room[: len(block)]
            _multiply(block, self.factors[panel], scores)
            first = panel * PANEL
            names = self.names[first : first + PANEL]
            scores[:, len(names) :] = -np.inf
            _hide(scores, first, searching, indptr, hidden)
            _offer_panel(scores, names, searching, heaps)
        return heaps


def _checked(k: int, exclude: Lists | None, users: int) -> Lists:
    if k < 1:
        raise ArgumentError("k", f"{k} is less than 1", "Ask for at least one item")
    if exclude is None:
        return np.zeros(users + 1, np.int64), np.empty(0, np.int32)
    if len(exclude[0]) != users + 1:
        raise ArgumentError("exclude", "has not one list per user", "Pass as many lists as users")
    return exclude


def _padded(users: Floats) -> Floats:
    """With rows of zeros up to a whole tile."""
    rows = -(-len(users) // ROWS) * ROWS
    return np.concatenate((users, np.zeros((rows - len(users), users.shape[1]), np.float32)))


def _unpack(heaps: NDArray[np.uint64]) -> tuple[NDArray[np.int32], Floats]:
    """Items and scores, best first, of heaps of keys."""
    keys = np.sort(heaps, axis=1)[:, ::-1]
    items, scores = (~keys & _LOW_WORD).astype(np.uint32).view(np.int32), _score_of(keys)
    return np.where(keys == 0, np.int32(-1), items), np.where(keys == 0, np.float32(-np.inf), scores)


def _score_of(keys: NDArray[np.uint64]) -> Floats:
    """The score in a key: its bits, made to sort like the score, above the complement of the item index.

    An empty place holds 0 and reads as the least finite score.
    """
    word = np.where(keys == 0, _LEAST, (keys >> _WORD).astype(np.uint32))
    return np.where(word & _TOP_BIT, word ^ _TOP_BIT, ~word).view(np.float32)


def _offer_panel(
    scores: Floats, names: NDArray[np.int32], users: NDArray[np.int64], heaps: NDArray[np.uint64]
) -> None:
    glances = scores.reshape(len(scores), -1, _GLANCE)
    limits = _score_of(heaps[users, 0])
    _offer(glances, glances.view(np.uint32), names, users, heaps, limits, limits.view(np.uint32))


@njit(nogil=True, cache=True)
def _multiply(users: Floats, panel: Floats, scores: Floats) -> None:  # pragma: no cover
    """`scores = users @ panel`, every cell summed in the order of the factors."""
    rank, width = panel.shape
    left, right, flat = users.reshape(-1), panel.reshape(-1), scores.reshape(-1)
    flat[:] = 0
    for column in range(0, width, _TILE):
        for row in range(0, len(users), ROWS):
            at = row * width + column
            add_3(flat, at, width, left, row * rank, 1, rank, right, column, width, rank)


@njit(nogil=True, cache=True)
def _sort_lists(indptr: NDArray[np.int64], items: NDArray[np.int32]) -> None:  # pragma: no cover
    for user in range(len(indptr) - 1):
        items[indptr[user] : indptr[user + 1]].sort()


@njit(nogil=True, cache=True)
def _hide(  # pragma: no cover
    scores: Floats,
    first: int,
    users: NDArray[np.int64],
    indptr: NDArray[np.int64],
    hidden: NDArray[np.int32],
) -> None:
    """Set what every user excludes to -inf in the panel that begins at place `first`."""
    for row in range(len(users)):
        own = hidden[indptr[users[row]] : indptr[users[row] + 1]]
        entry = np.searchsorted(own, first)
        while entry < len(own) and own[entry] < first + scores.shape[1]:
            scores[row, own[entry] - first] = -np.inf
            entry += 1


@njit(nogil=True, cache=True)
def _offer(  # pragma: no cover
    scores: Floats,
    bits: NDArray[np.uint32],
    names: NDArray[np.int32],
    users: NDArray[np.int64],
    heaps: NDArray[np.uint64],
    limits: Floats,
    limit_bits: NDArray[np.uint32],
) -> None:
    """Offer a panel (users x glances x scores) to the heaps; `bits` are the same floats as integers."""
    for row in range(len(users)):
        heap = heaps[users[row]]
        for glance in range(scores.shape[1]):
            limit = limits[row]
            good = False
            for spot in range(_GLANCE):
                good |= scores[row, glance, spot] >= limit
            if not good:
                continue
            for spot in range(_GLANCE):
                if limits[row] <= scores[row, glance, spot] < np.inf:
                    word = bits[row, glance, spot]
                    if word == _TOP_BIT:  # -0 is 0
                        word = np.uint32(0)
                    word = ~word if word & _TOP_BIT else word | _TOP_BIT
                    name = np.uint64(names[glance * _GLANCE + spot])
                    key = (np.uint64(word) << _WORD) | (~name & _LOW_WORD)
                    if key > heap[0]:
                        _replace_least(heap, key)
                    if heap[0] > 0:
                        word = np.uint32(heap[0] >> _WORD)
                        limit_bits[row] = word ^ _TOP_BIT if word & _TOP_BIT else ~word


@njit(nogil=True, cache=True)
def _replace_least(heap: NDArray[np.uint64], key: np.uint64) -> None:  # pragma: no cover
    """Put `key` in the place of the heap's least."""
    place = 0
    while True:
        child = 2 * place + 1
        if child >= len(heap):
            break
        if child + 1 < len(heap) and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = key
