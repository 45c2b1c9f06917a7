"""What an id *is*: a whole number or a text; and the public 64-bit key made of it.

The number 7 is the same user in a column of int8, uint64, float64 or decimals, and the text "7" is that user
too: files change types more often than people change ids. "07", "7 " and "7.0" are other texts, so other ids.
The key is a function of the id alone, so that a user's coins survive any file, order, platform and neighbour.
It is public and hides nothing: anybody who knows an id knows its key.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.data.words import word_at

Column = Any  # an Arrow array (pyarrow ships no types)

_GOLDEN = 0x9E3779B97F4A7C15
_TEXT = 0x6A09E667F3BCC909  # start of a text's chain, so that "" is not the number 0
_WORD = 0xFFFFFFFFFFFFFFFF
_SMALLEST, _QUOTIENT = -(2**63), 2**63 // 10


@njit(nogil=True, cache=True)
def _mix(word: Any) -> Any:
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@njit(nogil=True, cache=True)
def number_key(number: Any) -> Any:
    """Key of a whole number that fits in 64 signed bits: a bijection, so two numbers never share a key."""
    return _mix(np.uint64(number) + np.uint64(_GOLDEN))


@njit(nogil=True, cache=True)
def text_key(data: Any, start: int, stop: int) -> Any:
    """Key of the text `data[start:stop]` (UTF-8 bytes): eight bytes at a time, its length first."""
    key = _mix(np.uint64(_TEXT) ^ np.uint64(stop - start))
    position = start
    while position + 8 <= stop:
        key = _mix((key ^ word_at(data, position)) + np.uint64(_GOLDEN))
        position += 8
    if position < stop:
        word, shift = np.uint64(0), np.uint64(0)
        while position < stop:
            word |= np.uint64(data[position]) << shift
            shift += np.uint64(8)
            position += 1
        key = _mix((key ^ word) + np.uint64(_GOLDEN))
    return key


@njit(nogil=True, cache=True)
def whole_number(data: Any, start: int, stop: int) -> Any:
    """`(True, n)` if the text is how the whole number n is written and n fits in 64 signed bits."""
    negative = start < stop and data[start] == 45  # "-"
    first = start + 1 if negative else start
    digits = stop - first
    if digits < 1 or digits > 19 or (data[first] == 48 and (digits > 1 or negative)):
        return False, np.int64(0)
    number = np.int64(0)  # kept negative: the smallest number has no positive counterpart
    for i in range(first, stop):
        digit = np.int64(data[i]) - 48
        if digit < 0 or digit > 9 or number < -_QUOTIENT or (number == -_QUOTIENT and digit > 8):
            return False, np.int64(0)
        number = number * 10 - digit
    if negative:
        return True, number
    return number != _SMALLEST, -number


@njit(nogil=True, cache=True)
def _number_keys(numbers: Any, keys: Any) -> None:
    for i in range(len(numbers)):
        keys[i] = number_key(numbers[i])


@njit(nogil=True, cache=True)
def _text_keys(data: Any, offsets: Any, keys: Any) -> None:
    for i in range(len(offsets) - 1):
        whole, number = whole_number(data, offsets[i], offsets[i + 1])
        keys[i] = number_key(number) if whole else text_key(data, offsets[i], offsets[i + 1])


def keys_of_numbers(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Keys of whole numbers."""
    keys = np.empty(len(numbers), np.uint64)
    _number_keys(np.ascontiguousarray(numbers, np.int64), keys)
    return keys


def keys_of_texts(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Keys of texts laid end to end; a text that is a whole number gets that number's key."""
    keys = np.empty(len(offsets) - 1, np.uint64)
    _text_keys(data, offsets, keys)
    return keys


def text_buffers(texts: Column) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes and offsets of a large_string or large_binary array, without a copy."""
    _, offsets, data = texts.buffers()
    if not len(texts) or offsets is None:
        return np.zeros(0, np.uint8), np.zeros(1, np.int64)
    positions = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return (np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8)), positions


def readable_key(identity: int | str | bytes) -> int:
    """The key of one id, written to be read; the kernels above agree with it exactly."""
    text = str(identity) if isinstance(identity, int) else identity
    raw = text if isinstance(text, bytes) else text.encode()
    if raw.isdigit() or (raw[:1] == b"-" and raw[1:].isdigit()):
        number = int(raw)
        if str(number).encode() == raw and _SMALLEST <= number < -_SMALLEST:
            return _readable_mix((number + _GOLDEN) & _WORD)
    key = _readable_mix(_TEXT ^ len(raw))
    for start in range(0, len(raw), 8):
        key = _readable_mix(((key ^ int.from_bytes(raw[start : start + 8], "little")) + _GOLDEN) & _WORD)
    return key


def _readable_mix(word: int) -> int:
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & _WORD
    return word ^ (word >> 31)
