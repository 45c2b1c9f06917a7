"""The loops that turn rows in any order into one sorted row per user, in place.

Readable twin of all three together: `settled_by_dictionary`. They agree exactly, but for a mean, which the
twin computes in the same order and precision.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numba import njit

Repeats = Literal["last", "mean", "sum"]
MODES: dict[Repeats, int] = {"last": 0, "mean": 1, "sum": 2}
_LARGEST = np.float64(np.finfo(np.float32).max)

# What `place` counts, by position in its tally.
MISSING_ITEM, UNREADABLE, NOT_FINITE, UNKNOWN_ITEM, PLACED = range(5)


@njit(nogil=True, cache=True)
def count_rows(codes: Any, group: int, rows: Any, first: Any, last: Any) -> Any:
    """Count the rows of each user, note their first and last group; returns how many have no user."""
    missing = 0
    for i in range(len(codes)):
        code = codes[i]
        if code < 0:
            missing += 1
            continue
        rows[code] += 1
        if first[code] < 0:
            first[code] = group
        last[code] = group
    return missing


@njit(nogil=True, cache=True)
def _single(value: Any) -> Any:
    """The nearest finite float32. Adding 0 turns -0 into 0: equal values have equal bits."""
    return np.float32(min(max(value, -_LARGEST), _LARGEST)) + np.float32(0)


@njit(nogil=True, cache=True)
def place(
    users: Any, items: Any, values: Any, unread: Any, cursor: Any, row_items: Any, row_values: Any, tally: Any
) -> None:
    """Put each good row where its user's rows stand; `cursor[user]` moves on (-1: left out)."""
    for i in range(len(users)):
        user = users[i]
        if user < 0 or cursor[user] < 0:
            continue
        item = items[i]
        if len(unread) and unread[i]:
            tally[UNREADABLE] += 1
        elif len(values) and not np.isfinite(values[i]):
            tally[NOT_FINITE] += 1
        elif item == -1:
            tally[MISSING_ITEM] += 1
        elif item < 0:
            tally[UNKNOWN_ITEM] += 1
        else:
            at = cursor[user]
            row_items[at] = item
            row_values[at] = _single(values[i]) if len(values) else 1.0
            cursor[user] = at + 1
            tally[PLACED] += 1


@njit(nogil=True, cache=True)
def rename(starts: Any, ends: Any, items: Any, rank: Any) -> None:
    """Replace every item code by its rank."""
    for k in range(len(starts)):
        for i in range(starts[k], ends[k]):
            items[i] = rank[items[i]]


@njit(nogil=True, cache=True)
def _ordered_bits(value: Any, words: Any, floats: Any) -> Any:
    """32 bits in the order of float32; `words` and `floats` are two views of one cell. -0 counts as 0."""
    floats[0] = value + np.float32(0)
    bits = words[0]
    return bits ^ np.uint32(0x80000000) if bits < 0x80000000 else ~bits


@njit(nogil=True, cache=True)
def _value_of(word: Any, words: Any, floats: Any) -> Any:
    """The float32 whose ordered bits are the low half of `word`."""
    low = np.uint32(word & np.uint64(0xFFFFFFFF))
    words[0] = low ^ np.uint32(0x80000000) if low >= 0x80000000 else ~low
    return np.float64(floats[0])


@njit(nogil=True, cache=True)
def settle(starts: Any, ends: Any, items: Any, values: Any, mode: int, indptr: Any, repeated: Any) -> Any:
    """Sort every user's rows by item, merge repeats, close the gaps; returns how many rows that cost.

    `indptr` is filled; `repeated`, if it has room, says of which rows the data held several.
    """
    longest = 0
    for k in range(len(starts)):
        longest = max(longest, ends[k] - starts[k])
    words, old = np.empty(longest, np.uint64), np.empty(longest, np.float32)
    cell = np.zeros(1, np.float32)
    bits = cell.view(np.uint32)
    write, merged = 0, 0
    for k in range(len(starts)):
        start, length = starts[k], ends[k] - starts[k]
        sorted_already = True
        for i in range(start + 1, start + length):
            if items[i] <= items[i - 1]:
                sorted_already = False
                break
        if sorted_already:
            for i in range(length):
                items[write + i], values[write + i] = items[start + i], values[start + i]
            write += length
            indptr[k + 1] = write
            continue
        for i in range(length):
            old[i] = values[start + i]
            low = np.uint64(i) if mode == 0 else np.uint64(_ordered_bits(old[i], bits, cell))
            words[i] = (np.uint64(items[start + i]) << np.uint64(32)) | low
        words[:length].sort()
        i = 0
        while i < length:
            item = words[i] >> np.uint64(32)
            stop = i + 1
            while stop < length and words[stop] >> np.uint64(32) == item:
                stop += 1
            if mode == 0:
                value = np.float64(old[words[stop - 1] & np.uint64(0xFFFFFFFF)])
            else:
                value = 0.0
                for j in range(i, stop):
                    value += _value_of(words[j], bits, cell)
                if mode == 1:
                    value /= stop - i
            items[write] = item
            values[write] = _single(value)
            if len(repeated):
                repeated[write] = stop - i > 1
            merged += stop - i - 1
            write += 1
            i = stop
        indptr[k + 1] = write
    return merged


@njit(nogil=True, cache=True)
def keep_latest(
    users: Any,
    items: Any,
    values: Any,
    times: Any,
    indptr: Any,
    row_items: Any,
    row_values: Any,
    several: Any,
    latest: Any,
) -> None:
    """Of the rows of a repeated pair keep the latest, among equally late ones the largest value.

    `users` are positions in `indptr` (negative: left out), `several` the rows that were repeated, in order,
    and `latest` their times so far; their values start at minus infinity.
    """
    for i in range(len(users)):
        user = users[i]
        if user < 0 or items[i] < 0 or not np.isfinite(values[i]):
            continue
        row = _find(row_items, items[i], indptr[user], indptr[user + 1])
        at = _find(several, row, 0, len(several))
        if at == len(several) or several[at] != row:
            continue
        value = _single(values[i])
        if times[i] > latest[at] or (times[i] == latest[at] and value > row_values[row]):
            latest[at], row_values[row] = times[i], value


@njit(nogil=True, cache=True)
def _find(ascending: Any, wanted: Any, start: int, stop: int) -> Any:
    while start < stop:
        middle = (start + stop) // 2
        if ascending[middle] < wanted:
            start = middle + 1
        else:
            stop = middle
    return start


@njit(nogil=True, cache=True)
def bound(values: Any, low: Any, high: Any) -> Any:
    """Clip in place; returns how many values were outside."""
    outside = 0
    for i in range(len(values)):
        if values[i] < low:
            values[i] = low
            outside += 1
        elif values[i] > high:
            values[i] = high
            outside += 1
    return outside


def settled_by_dictionary(
    rows: Iterable[tuple[int, int, float]], repeats: Repeats, times: Iterable[int] | None = None
) -> dict[int, dict[int, float]]:
    """What the loops above mean: user -> item -> value, from good rows in the order of the file."""
    heard: dict[tuple[int, int], list[tuple[int, np.float32]]] = {}
    triplets = list(rows)
    stamps = range(len(triplets)) if times is None else times
    for (user, item, value), time in zip(triplets, stamps, strict=True):
        heard.setdefault((user, item), []).append((time, _single(value)))
    settled: dict[int, dict[int, float]] = {}
    for (user, item), cells in sorted(heard.items()):
        total = sum(float(value) for value in sorted(value for _, value in cells))
        value = max(cells)[1] if repeats == "last" else total / len(cells) if repeats == "mean" else total
        settled.setdefault(user, {})[item] = float(_single(value))
    return settled
