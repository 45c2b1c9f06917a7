"""The loops under `Vocabulary`: look ids up, or take them in, one after the other.

The growing ones stop where there is no room and say how far they came; the caller makes room and resumes.
Their readable twin is a Python dictionary: `codes_by_dictionary`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import njit

from hushfold.data.identity import number_key, whole_number
from hushfold.data.words import prefetch, same_bytes

_BLANKS = "".join(map(chr, range(1, 33)))  # NUL is a code point like any other
MISSING, UNKNOWN = -1, -2  # codes of an id that is absent or blank, and of one a closed vocabulary lacks
_FREE, _CODE, _TAG = np.uint64(0), np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFF00000000)
_HALF = np.uint64(32)


def codes_by_dictionary(known: dict[str, int], ids: Iterable[str | None], grow: bool) -> list[int]:
    """What all of the lookups below mean: ids as texts, absent or blank ones `MISSING`."""
    codes: list[int] = []
    for identity in ids:
        if identity is None or not identity.strip(_BLANKS):
            codes.append(MISSING)
        elif grow:
            codes.append(known.setdefault(identity, len(known)))
        else:
            codes.append(known.get(identity, UNKNOWN))
    return codes


@njit(nogil=True, cache=True)
def _blank(data: Any, start: int, stop: int) -> Any:
    for i in range(start, stop):  # noqa: SIM110 (a generator does not compile)
        if data[i] > 32 or data[i] == 0:  # NUL is a code point like any other
            return False
    return True


@njit(nogil=True, cache=True)
def fill_not_blank(data: Any, offsets: Any, filled: Any) -> None:
    """Which texts hold more than blanks."""
    for i in range(len(filled)):
        filled[i] = not _blank(data, offsets[i], offsets[i + 1])


@njit(nogil=True, cache=True)
def read_numbers(data: Any, offsets: Any, present: Any, numbers: Any) -> Any:
    """Read every present text as a whole number; False at the first that is not one."""
    for i in range(len(numbers)):
        if not present[i]:
            numbers[i] = 0
            continue
        whole, numbers[i] = whole_number(data, offsets[i], offsets[i + 1])
        if not whole:
            return False
    return True


@njit(nogil=True, cache=True)
def direct_codes(
    numbers: Any,
    present: Any,
    everyone: Any,
    grow: Any,
    base: int,
    table: Any,
    known: Any,
    size: int,
    codes: Any,
    done: int,
) -> Any:
    """Codes of whole numbers through a table indexed by `number - base`, which covers a growing batch."""
    for i in range(done, len(numbers)):
        if not (everyone or present[i]):
            codes[i] = MISSING
            continue
        number = np.int64(numbers[i])
        slot = number - base
        if number < base or slot >= len(table) or slot < 0:
            codes[i] = UNKNOWN  # only when closed: a growing table covers the batch
            continue
        code = table[slot]
        if code < 0:
            if not grow:
                codes[i] = UNKNOWN
                continue
            if size == len(known):
                return i, size
            known[size], table[slot], code = number, size, size
            size += 1
        codes[i] = code
    return len(numbers), size


@njit(nogil=True, cache=True)
def hashed_codes(
    numbers: Any,
    present: Any,
    everyone: Any,
    grow: Any,
    table: Any,
    known: Any,
    size: int,
    codes: Any,
    done: int,
) -> Any:
    """Codes of whole numbers through an open-addressing table (see `fill_table`) kept at most half full."""
    mask = np.uint64(len(table) - 1)
    for i in range(done, len(numbers)):
        if not (everyone or present[i]):
            codes[i] = MISSING
            continue
        number = np.int64(numbers[i])
        key = number_key(number)
        slot = key & mask
        code = UNKNOWN
        while table[slot] != _FREE:
            if _TAG & (table[slot] ^ key) == _FREE and known[np.int64(_CODE & table[slot]) - 1] == number:
                code = np.int64(_CODE & table[slot]) - 1
                break
            slot = (slot + np.uint64(1)) & mask
        if code < 0 and grow:
            if size == len(known) or 2 * size >= len(table):
                return i, size
            known[size], code = number, size
            size += 1
            table[slot] = (key & _TAG) | np.uint64(size)
        codes[i] = code
    return len(numbers), size


@njit(nogil=True, cache=True)
def text_codes(
    data: Any,
    offsets: Any,
    keys: Any,
    present: Any,
    everyone: Any,
    grow: Any,
    table: Any,
    arena: Any,
    known: Any,
    size: int,
    codes: Any,
    done: int,
) -> Any:
    """Codes of texts through an open-addressing table kept at most half full; texts are kept end to end.

    A table of many users is in no cache, so what the next texts will ask for is fetched ahead: that is what
    the keys come ready made for. A hint that turns out wrong costs nothing.
    """
    mask = np.uint64(len(table) - 1)
    for i in range(done, len(codes)):
        if i + 16 < len(codes):
            prefetch(table, np.int64(keys[i + 16] & mask))
            prefetch(known, np.int64(table[keys[i + 8] & mask] & _CODE))
            prefetch(arena, known[np.int64(table[keys[i + 4] & mask] & _CODE)])  # where the text ends
        start, length = offsets[i], offsets[i + 1] - offsets[i]
        if not (everyone or present[i]) or _blank(data, start, start + length):
            codes[i] = MISSING
            continue
        slot, tag = keys[i] & mask, keys[i] >> _HALF
        code = UNKNOWN
        while True:
            entry = table[slot]
            if entry == _FREE:
                break
            if entry >> _HALF == tag:
                candidate = np.int64(entry & _CODE) - 1
                first = known[candidate]
                if known[candidate + 1] - first == length and same_bytes(data, start, arena, first, length):
                    code = candidate
                    break
            slot = (slot + np.uint64(1)) & mask
        if code < 0 and grow:
            first = known[size]
            if size + 1 == len(known) or 2 * size >= len(table) or first + length > len(arena):
                return i, size
            for j in range(length):
                arena[first + j] = data[start + j]
            known[size + 1] = first + length
            code = size
            size += 1
            table[slot] = (tag << _HALF) | np.uint64(size)
        codes[i] = code
    return len(codes), size


@njit(nogil=True, cache=True)
def fill_table(table: Any, keys: Any) -> None:
    """Put the codes 0, 1, ... into an empty table: half of the key, to tell most apart, and code + 1."""
    mask = np.uint64(len(table) - 1)
    for code in range(len(keys)):
        slot = keys[code] & mask
        while table[slot] != _FREE:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = (keys[code] & _TAG) | np.uint64(code + 1)
