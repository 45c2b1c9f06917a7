"""From any Arrow column to the three kinds the rest of the room knows: ids, values, times.

Every cast is total over the rows (a cell that makes no sense becomes a missing one) and partial over the
types (a list is no id: a typed error that names the column and its type, never a cell).
"""

# pyright: basic
from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from hushfold.data.decimal import read_decimals
from hushfold.data.identity import Column
from hushfold.errors import InputError

pc: Any = pyarrow.compute  # untyped
_WHOLE = 2.0**63  # floats from here on do not fit in 64 signed bits
MISSING_TIME = np.iinfo(np.int64).min


def ids(column: Column, name: str) -> Column:
    """The column as canonical ids: int32, int64, large_binary or a dictionary of them; null if missing."""
    column = _plain(column)
    kind = column.type
    if pa.types.is_dictionary(kind):
        values = ids(column.dictionary, name)
        return pa.DictionaryArray.from_arrays(column.indices, values, safe=False)
    if pa.types.is_null(kind):
        return pa.nulls(len(column), pa.int64())
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return _whole_ids(column)
    if pa.types.is_floating(kind):
        return _float_ids(column)
    if pa.types.is_decimal(kind):
        return _decimal_ids(column)
    if _is_text(kind) or pa.types.is_fixed_size_binary(kind):
        return column.cast(pa.large_binary())
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return column.cast(pa.large_string()).cast(pa.large_binary())
    raise _unfit(name, kind, "ids are whole numbers or texts")


def numbers(column: Column, name: str) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
    """The column as float64, NaN where missing; and which cells could not be read (None: all could)."""
    column = _plain(column)
    kind = column.type
    if pa.types.is_dictionary(kind):
        values, unread = numbers(column.dictionary, name)
        indices = column.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
        bad = None if unread is None else np.append(unread, False)[indices]
        return np.append(values, np.nan)[indices], bad
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan), None
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        if pa.types.is_boolean(kind):
            column = column.cast(pa.int8())
        return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), None
    if pa.types.is_decimal(kind):
        return column.cast(pa.float64()).to_numpy(zero_copy_only=False), None
    if _is_text(kind):
        return read_decimals(column.cast(pa.large_binary()))
    raise _unfit(name, kind, "values are numbers")


def times(column: Column, name: str) -> NDArray[np.int64]:
    """The column as whole numbers that order like its times; `MISSING_TIME` if missing or unreadable."""
    column = _plain(column)
    if pa.types.is_dictionary(column.type):
        column = _plain(column.dictionary_decode())
    kind = column.type
    if _is_text(kind):
        return _text_times(column)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        column = column.cast(
            pa.timestamp("us", tz=kind.tz if pa.types.is_timestamp(kind) else None), safe=False
        )
        return column.cast(pa.int64()).fill_null(MISSING_TIME).to_numpy(zero_copy_only=False)
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        raise _unfit(name, kind, "times are timestamps, dates or numbers")
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return column.cast(pa.int64()).fill_null(MISSING_TIME).to_numpy(zero_copy_only=False)
    return _ordered(numbers(column, name)[0])


def _plain(column: Column) -> Column:
    """One array without extension, run-end or view encoding."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # zero or several chunks that cannot be one array
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _uuids(column) if kind.extension_name == "arrow.uuid" else _plain(column.storage)
    if pa.types.is_run_end_encoded(kind):
        return _plain(pc.run_end_decode(column))
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return column.cast(pa.large_binary())
    if pa.types.is_float16(kind):
        return column.cast(pa.float32())
    return column


def _is_text(kind: Any) -> bool:
    return (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def _unfit(name: str, kind: Any, wanted: str) -> InputError:
    return InputError(
        f"column {name!r} has the type {kind}; {wanted}. Name another column, or convert this one"
    )


def _whole_ids(column: Column) -> Column:
    if pa.types.is_uint64(column.type) and len(column) and (pc.max(column).as_py() or 0) >= 2**63:
        return column.cast(pa.large_string()).cast(pa.large_binary())
    return column if pa.types.is_int32(column.type) else column.cast(pa.int64())


def _float_ids(column: Column) -> Column:
    """7.0 is 7; what is not a whole number is its shortest text, and NaN is missing."""
    values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    missing = np.isnan(values)
    whole = (np.abs(values) < _WHOLE) & (values == np.trunc(values))
    if (whole | missing).all():
        return pa.array(np.where(whole, values, 0).astype(np.int64), mask=missing)
    texts = [
        None if np.isnan(v) else str(int(v)) if w else repr(float(v))
        for v, w in zip(values, whole, strict=True)
    ]
    return pa.array(texts, pa.large_string()).cast(pa.large_binary())


def _decimal_ids(column: Column) -> Column:
    """7.00 is 7; what is not a whole 64-bit number is its text."""
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        cells = column.to_pylist()
    texts = [
        None if c is None else str(int(c)) if c == c.to_integral_value() else str(c.normalize())
        for c in cells
    ]
    return pa.array(texts, pa.large_string()).cast(pa.large_binary())


def _uuids(column: Column) -> Column:
    """UUIDs as the 36 characters they are written with."""
    hexes = [None if cell is None else str(cell) for cell in column.to_pylist()]
    return pa.array(hexes, pa.large_string()).cast(pa.large_binary())


def _text_times(column: Column) -> NDArray[np.int64]:
    """Each cell by the first rule that reads it: a number, or ISO 8601 to the second, or to the day."""
    values, _ = read_decimals(column.cast(pa.large_binary()))
    found = _ordered(values)
    if (found != MISSING_TIME).all():
        return found
    try:
        texts = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
    except pa.ArrowInvalid:
        return found
    for pattern, length in (("%Y-%m-%dT%H:%M:%S", 19), ("%Y-%m-%d %H:%M:%S", 19), ("%Y-%m-%d", 10)):
        cut = pc.utf8_slice_codeunits(texts, 0, length)
        read = pc.strptime(cut, format=pattern, unit="us", error_is_null=True).cast(pa.int64())
        moments = read.fill_null(MISSING_TIME).to_numpy(zero_copy_only=False)
        found = np.where(found == MISSING_TIME, moments, found)
    return found


def _ordered(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole numbers in the order of the floats; NaN first."""
    bits = (values + 0.0).view(np.int64)
    ordered = np.where(bits < 0, np.int64(MISSING_TIME) - bits, bits)
    return np.where(np.isnan(values), MISSING_TIME, ordered)
