"""Machine words that numba has no name for: a small product whose sums stay in the registers, a scaled copy.

They are what forming one user's equations spends its time on, for matrices far too small for a linear algebra
library to do well. No threads and no packing: the sums of a tile are added up in the order of `count`, one
fused multiply-add after the other, so the bits depend on the numbers alone.

Arguments are not checked: whoever calls sees to it that all places lie within the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import llvmlite.ir
import numba.core.cgutils
from numba import types
from numba.core.registry import cpu_target
from numba.extending import intrinsic

_ir, _cg = cast(Any, llvmlite.ir), cast(Any, numba.core.cgutils)
_wide = "+avx512f" in str(cast(Any, cpu_target).target_context.codegen().magic_tuple()[2])

REGISTER = 64 if _wide else 32
"""Bytes of a register: `REGISTER // itemsize` numbers are worked on at once."""

ROWS = 8 if _wide else 4
"""Rows of a tile: as many as leave room for three registers of sums each."""

_WORD, _INT32 = _ir.IntType(64), _ir.IntType(32)
FUSED = ("contract",)


class Registers:
    """Writes the machine words: whole registers in and out of one flat array of float32 or float64."""

    def __init__(self, context: Any, builder: Any, kind: Any) -> None:
        self._context, self._builder, self._kind = context, builder, kind
        self._align = kind.dtype.bitwidth // 8
        self.lanes = REGISTER // self._align
        self.scalar = _ir.FloatType() if self._align == 4 else _ir.DoubleType()
        self.vector = _ir.VectorType(self.scalar, self.lanes)
        self._nothing = _ir.Constant(self.vector, _ir.Undefined)

    def number(self, value: int) -> Any:
        """An index."""
        return _ir.Constant(_WORD, value)

    def place(self, at: Any, width: Any, row: int, column: int) -> Any:
        """`at + row * width + column`."""
        return self._builder.add(
            self._builder.add(at, self._builder.mul(width, self.number(row))), self.number(column)
        )

    def load(self, array: Any, place: Any) -> Any:
        """A register from there on."""
        return self._loaded(array, place, self.vector)

    def spread(self, array: Any, place: Any) -> Any:
        """The one number there, in every lane."""
        return self.everywhere(self._loaded(array, place, self.scalar))

    def everywhere(self, number: Any) -> Any:
        """A number in every lane."""
        return self.spread_lane(
            self._builder.insert_element(self._nothing, number, _ir.Constant(_INT32, 0)), 0
        )

    def lane(self, vector: Any, lane: int) -> Any:
        """The number in one lane."""
        return self._builder.extract_element(vector, _ir.Constant(_INT32, lane % self.lanes))

    def spread_lane(self, vector: Any, lane: int) -> Any:
        """The number in one lane, in every lane."""
        mask = _ir.Constant(_ir.VectorType(_INT32, self.lanes), [lane % self.lanes] * self.lanes)
        return self._builder.shuffle_vector(vector, self._nothing, mask)

    def store(self, value: Any, array: Any, place: Any) -> None:
        """A register, or one number, from there on."""
        self._builder.store(value, self._pointer(array, place, value.type)).align = self._align

    def _loaded(self, array: Any, place: Any, to: Any) -> Any:
        loaded = self._builder.load(self._pointer(array, place, to))
        loaded.align = self._align
        return loaded

    def _pointer(self, array: Any, place: Any, to: Any) -> Any:
        data = self._context.make_array(self._kind)(self._context, self._builder, array).data
        return self._builder.bitcast(self._builder.gep(data, [place]), to.as_pointer())


def _tile(blocks: int, subtract: bool) -> Any:
    def typed(
        _: Any,
        sums: Any,
        at: Any,
        width: Any,
        left: Any,
        left_at: Any,
        left_step: Any,
        left_row: Any,
        right: Any,
        right_at: Any,
        right_step: Any,
        count: Any,
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            sums, at, width, left, left_at, left_step, left_row, right, right_at, right_step, count = (
                arguments
            )
            words = Registers(context, builder, signature.args[0])
            apart = [b * words.lanes for b in range(blocks)]
            cells = [(a, b) for a in range(ROWS) for b in range(blocks)]
            running = {cell: _cg.alloca_once(builder, words.vector) for cell in cells}  # become registers
            for a, b in cells:
                builder.store(words.load(sums, words.place(at, width, a, apart[b])), running[a, b])
            with _cg.for_range(builder, count, intp=_WORD) as loop:
                row = builder.add(right_at, builder.mul(loop.index, right_step))
                columns = [words.load(right, builder.add(row, words.number(each))) for each in apart]
                row = builder.add(left_at, builder.mul(loop.index, left_step))
                for a in range(ROWS):
                    ones = words.spread(left, words.place(row, left_row, a, 0))
                    for b in range(blocks):
                        product = builder.fmul(ones, columns[b], flags=FUSED)
                        add = builder.fsub if subtract else builder.fadd
                        builder.store(add(builder.load(running[a, b]), product, flags=FUSED), running[a, b])
            for a, b in cells:
                words.store(builder.load(running[a, b]), sums, words.place(at, width, a, apart[b]))
            return context.get_dummy_value()

        place = types.int64
        kinds = (sums, place, place, sums, place, place, place, sums, place, place, place)
        return types.void(*kinds), generate

    return cast(_Tile, intrinsic(typed))


def _take_in(
    _: Any, rows: Any, place: Any, scale: Any, target: Any, out: Any, at: Any, sums: Any, width: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, place, scale, target, out, at, sums, width = arguments
        words = Registers(context, builder, signature.args[0])
        scales, targets = words.everywhere(scale), words.everywhere(target)
        count = builder.udiv(width, words.number(words.lanes))
        with _cg.for_range(builder, count, intp=_WORD) as loop:
            column = builder.mul(loop.index, words.number(words.lanes))
            scaled = builder.fmul(scales, words.load(rows, builder.add(place, column)))
            words.store(scaled, out, builder.add(at, column))
            product = builder.fmul(targets, scaled, flags=FUSED)
            total = builder.fadd(words.load(sums, column), product, flags=FUSED)
            words.store(total, sums, column)
        return context.get_dummy_value()

    index, number = types.int64, rows.dtype
    return types.void(rows, index, number, number, rows, index, rows, index), generate


_Tile = Callable[[Any, int, int, Any, int, int, int, Any, int, int, int], None]

add_1, add_2, add_3 = (_tile(blocks, subtract=False) for blocks in (1, 2, 3))
take_1, take_2, take_3 = (_tile(blocks, subtract=True) for blocks in (1, 2, 3))
"""`add_2(sums, at, width, left, left_at, left_step, left_row, right, right_at, right_step, count)`: for ROWS
rows a of `sums`, which are `width` apart, and for the two registers of columns c from `at` on,

    sums[at + a width + c] += sum over s < count of
        left[left_at + s left_step + a left_row] * right[right_at + s right_step + c].

`take_` subtracts. `left` and `right` may be `sums` itself where no place that is
written is read. All three are flat, and of one type.
"""

take_in = cast(Callable[[Any, int, float, float, Any, int, Any, int], None], intrinsic(_take_in))
"""`take_in(rows, place, scale, target, out, at, sums, width)`: for each of `width` columns c, in whole
registers, `out[at + c] = scale * rows[place + c]`, and `target` times that is added to `sums[c]`.
"""
