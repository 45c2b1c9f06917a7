"""`Vocabulary`: distinct ids in order of first appearance, and the code (position) of each.

Whole numbers are looked up in a direct table while their range is narrow and in a hash table when it is not;
one id that is no whole number turns the vocabulary into texts, codes unchanged. Ids are compared byte by
byte: distinct code points stay distinct, and two ids with one key stay two ids.
"""

# pyright: basic
from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushfold.data.identity import Column, keys_of_numbers, keys_of_texts, text_buffers
from hushfold.data.lookup import (
    MISSING,
    direct_codes,
    fill_not_blank,
    fill_table,
    hashed_codes,
    read_numbers,
    text_codes,
)

_NOT_YET = -3
_NARROW = 1 << 22  # a direct table of this many numbers is always worth its memory
_TEXTLESS = np.zeros(0, np.uint8)


class Vocabulary:
    """Grows while `grow` is asked for; otherwise an id that is not there has the code `UNKNOWN`."""

    __slots__ = ("_arena", "_base", "_direct", "_numbers", "_offsets", "_seen", "_size", "_table", "_twin")

    def __init__(self) -> None:
        self._size = 0
        self._base = 0
        self._direct = True
        self._table: NDArray[Any] = np.zeros(0, np.int32)  # by number - base, or by key (`fill_table`)
        self._numbers: NDArray[np.int64] | None = np.zeros(0, np.int64)
        self._arena, self._offsets = _TEXTLESS, np.zeros(1, np.int64)
        self._seen: tuple[Column, NDArray[np.int32], int] | None = None  # the last dictionary, its codes
        self._twin: Vocabulary | None = None  # the same ids as texts, for a closed vocabulary of numbers

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return "<Vocabulary>"

    def ids(self) -> Column:
        """The ids by code: an int64 Arrow array, or large_string (large_binary if not all are UTF-8)."""
        if self._numbers is not None:
            return pa.array(self._numbers[: self._size])
        texts = _texts(self._arena[: self._offsets[self._size]], self._offsets[: self._size + 1])
        try:
            return texts.cast(pa.large_string())
        except pa.ArrowInvalid:
            return texts

    def keys(self) -> NDArray[np.uint64]:
        """The public key of each id, by code."""
        if self._numbers is not None:
            return keys_of_numbers(self._numbers[: self._size])
        return keys_of_texts(self._arena, self._offsets[: self._size + 1])

    def codes(
        self, ids: Column, grow: bool = False, wanted: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int32]:
        """The code of every id of a canonical column (see `columns.ids`); rows not `wanted` are `MISSING`."""
        if pa.types.is_dictionary(ids.type):
            return self._codes_of_dictionary(ids, grow, wanted)
        present = _present(ids, wanted)
        if pa.types.is_integer(ids.type):
            numbers = ids.fill_null(0).to_numpy(zero_copy_only=False)
            if self._numbers is not None:
                return self._codes_of_numbers(numbers, present, grow)
            ids = texts_of(ids)
        data, offsets = text_buffers(ids)
        if self._numbers is not None:
            numbers = np.empty(len(ids), np.int64)
            present = _not_blank(data, offsets, present)
            if read_numbers(data, offsets, present, numbers):
                return self._codes_of_numbers(numbers, present, grow)
            if not grow:  # a closed vocabulary stays as it is, whatever is looked up
                return self._as_texts()._codes_of_texts(data, offsets, present, False)
            self._become_texts()
        return self._codes_of_texts(data, offsets, present, grow)

    def _codes_of_dictionary(
        self, ids: Column, grow: bool, wanted: NDArray[np.bool_] | None
    ) -> NDArray[np.int32]:
        """Only entries that occur are looked up, and only once while batches have one dictionary."""
        present = _present(ids, wanted)
        indices = ids.indices.fill_null(0).to_numpy(zero_copy_only=False)
        entries = ids.dictionary
        if not len(entries):
            return np.full(len(ids), MISSING, np.int32)
        seen, state = self._seen, -1 if grow else self._size  # what is unknown now may be known later
        if seen is None or seen[2] != state or not _same(entries, seen[0]):
            self._seen = seen = entries, np.full(len(entries), _NOT_YET, np.int32), state
        known = seen[1]
        used = np.zeros(len(entries), bool)
        used[indices if present is None else indices[present]] = True
        used &= known == _NOT_YET
        if used.any():
            known[used] = self.codes(entries, grow, used)[used]
        codes = known[indices]
        if present is not None:
            codes[~present] = MISSING
        return codes

    def _codes_of_numbers(
        self, numbers: NDArray[Any], present: NDArray[np.bool_] | None, grow: bool
    ) -> NDArray[np.int32]:
        codes = np.empty(len(numbers), np.int32)
        if not len(numbers):
            return codes
        everyone = present is None
        present = np.ones(1, bool) if present is None else present
        if grow and self._direct:
            self._widen(numbers if everyone else numbers[present])
        done = 0
        while True:
            if self._direct:
                done, self._size = direct_codes(
                    numbers,
                    present,
                    everyone,
                    grow,
                    self._base,
                    self._table,
                    self._numbers,
                    self._size,
                    codes,
                    done,
                )
            else:
                done, self._size = hashed_codes(
                    numbers, present, everyone, grow, self._table, self._numbers, self._size, codes, done
                )
            if done == len(numbers):
                return codes
            self._enlarge()

    def _codes_of_texts(
        self,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        present: NDArray[np.bool_] | None,
        grow: bool,
    ) -> NDArray[np.int32]:
        codes = np.empty(len(offsets) - 1, np.int32)
        everyone = present is None
        present = np.ones(1, bool) if present is None else present
        keys, done = keys_of_texts(data, offsets), 0
        while True:
            done, self._size = text_codes(
                data,
                offsets,
                keys,
                present,
                everyone,
                grow,
                self._table,
                self._arena,
                self._offsets,
                self._size,
                codes,
                done,
            )
            if done == len(codes):
                return codes
            self._enlarge(int(offsets[done + 1] - offsets[done]))

    def _widen(self, numbers: NDArray[Any]) -> None:
        """Make the direct table cover these numbers, or give it up when their range is too wide."""
        if not len(numbers):
            return
        low, high = int(numbers.min()), int(numbers.max())
        if len(self._table):
            low, high = min(low, self._base), max(high, self._base + len(self._table) - 1)
        if high - low + 1 == len(self._table):
            return
        if high - low >= max(_NARROW, 4 * self._size):
            self._direct = False
            self._rehash(max(1024, 4 * self._size))
            return
        spare = (high - low) // 2  # so that a growing range is not copied at every batch
        low = max(low - spare, -(2**63)) if low < self._base and len(self._table) else low
        high = high + spare if len(self._table) else high
        table = np.full(high - low + 1, -1, np.int32)
        start = self._base - low if len(self._table) else 0
        table[start : start + len(self._table)] = self._table
        self._base, self._table = low, table

    def _as_texts(self) -> Vocabulary:
        twin = self._twin
        if twin is None or len(twin) != self._size:
            twin = Vocabulary()
            twin._become_texts()
            twin.codes(texts_of(self.ids()), grow=True)
            self._twin = twin  # only now: another thread may be looking things up
        return twin

    def _become_texts(self) -> None:
        data, offsets = text_buffers(texts_of(self.ids()))
        self._numbers, self._direct = None, False
        self._arena, self._offsets = data[: offsets[-1]].copy(), offsets.copy()
        self._rehash(max(1024, 4 * self._size))

    def _enlarge(self, text: int = 0) -> None:
        """Room for as many ids again, and for a text of this length."""
        room = max(1024, 2 * self._size)
        if self._numbers is not None:
            self._numbers = np.concatenate(
                [self._numbers[: self._size], np.empty(room - self._size, np.int64)]
            )
        else:
            used = self._offsets[self._size]
            arena = np.empty(max(2 * used, used + text, 1 << 16), np.uint8)
            arena[:used] = self._arena[:used]
            offsets = np.empty(room + 1, np.int64)
            offsets[: self._size + 1] = self._offsets[: self._size + 1]
            self._arena, self._offsets = arena, offsets
        if not self._direct:
            self._rehash(2 * room)

    def _rehash(self, slots: int) -> None:
        self._table = np.zeros(1 << (slots - 1).bit_length(), np.uint64)
        fill_table(self._table, self.keys())


def texts_of(numbers: Column) -> Column:
    """Whole numbers as the texts they are ids by."""
    return numbers.cast(pa.large_string()).cast(pa.large_binary())


def _texts(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Column:
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def _same(one: Column, other: Column) -> bool:
    """Whether two dictionaries are equal; at once if they are the same memory."""
    if (one.type, one.offset, len(one)) != (other.type, other.offset, len(other)):
        return False
    pairs = zip(one.buffers(), other.buffers(), strict=True)
    return all(a is b is None or (a and b and a.address == b.address) for a, b in pairs) or one.equals(other)


def _present(ids: Column, wanted: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Which rows have an id and are wanted; None if all are."""
    if not ids.null_count:
        return None if wanted is None or wanted.all() else wanted
    valid = ids.is_valid().to_numpy(zero_copy_only=False)
    return valid if wanted is None else valid & wanted


def _not_blank(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], present: NDArray[np.bool_] | None
) -> NDArray[np.bool_] | None:
    filled = np.empty(len(offsets) - 1, bool)
    fill_not_blank(data, offsets, filled)
    return filled if present is None else filled & present
