"""Numbers as people write them in files: `4`, `3.5`, `3,5`, `-1e-3`, ` 4 `. Read without a locale."""

# pyright: basic
from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.data.identity import Column, text_buffers

_EMPTY, _READ, _HARD = 0, 1, 2  # hard: not the plain short form; Python decides
_TENS = 10.0 ** np.arange(23)  # the powers of ten a float64 holds exactly
_BLANKS = "".join(map(chr, range(33)))


@njit(nogil=True, cache=True)
def _read(data: Any, start: int, stop: int) -> Any:
    """`(state, value)`: up to 15 digits with one mark, exactly rounded because both factors are exact."""
    while start < stop and data[start] <= 32:
        start += 1
    while stop > start and data[stop - 1] <= 32:
        stop -= 1
    if start == stop:
        return _EMPTY, np.nan
    negative = data[start] == 45
    first = start + 1 if negative or data[start] == 43 else start
    mantissa, digits, decimals, marked = 0, 0, 0, False
    for i in range(first, stop):
        if data[i] == 46 or data[i] == 44:
            if marked:
                return _HARD, np.nan
            marked = True
        elif 48 <= data[i] <= 57:
            mantissa = mantissa * 10 + (data[i] - 48)
            digits += 1
            decimals += marked
        else:
            return _HARD, np.nan
        if digits > 15:
            return _HARD, np.nan
    if digits == 0:
        return _HARD, np.nan
    value = mantissa / _TENS[decimals]
    return _READ, -value if negative else value


@njit(nogil=True, cache=True)
def _read_all(data: Any, offsets: Any, values: Any, states: Any) -> Any:
    hard = 0
    for i in range(len(values)):
        states[i], values[i] = _read(data, offsets[i], offsets[i + 1])
        hard += states[i] == _HARD
    return hard


def readable_decimal(text: bytes) -> float | None:
    """What a cell means: a float, NaN for an empty one, None for what is no number."""
    cell = text.decode("ascii", "replace").strip(_BLANKS)
    if not cell:
        return float("nan")
    if "_" in cell or cell.count(",") + cell.count(".") > 1:
        return None
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return None


def read_decimals(texts: Column) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
    """Every cell of a large_binary column as float64 (NaN if empty), and which cells hold no number."""
    data, offsets = text_buffers(texts)
    values, states = np.empty(len(texts)), np.empty(len(texts), np.int8)
    if _read_all(data, offsets, values, states) == 0 and not texts.null_count:
        return values, None
    hard = states == _HARD
    if texts.null_count:
        null = texts.is_null().to_numpy(zero_copy_only=False)
        values[null], hard[null] = np.nan, False
    unread = np.zeros(len(texts), bool)
    for i in np.flatnonzero(hard):
        value = readable_decimal(bytes(data[offsets[i] : offsets[i + 1]]))
        values[i], unread[i] = (np.nan, True) if value is None else (value, False)
    return values, unread if unread.any() else None
