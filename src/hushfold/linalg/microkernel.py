"""One machine word that numba has no name for: a small product whose sums stay in the registers.

It is what solving one user's equations spends its time on, for matrices far too small for a linear algebra
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
_FUSED = ("contract",)


def _pointer(context: Any, builder: Any, kind: Any, array: Any, place: Any, to: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), to.as_pointer())


def _tile(rows: int, blocks: int, subtract: bool) -> Any:
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
        bytes_each = sums.dtype.bitwidth // 8
        lanes = REGISTER // bytes_each
        scalar = _ir.FloatType() if bytes_each == 4 else _ir.DoubleType()
        vector = _ir.VectorType(scalar, lanes)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            sums, at, width, left, left_at, left_step, left_row, right, right_at, right_step, count = (
                arguments
            )
            cells = [(a, b) for a in range(rows) for b in range(blocks)]
            running = {cell: _cg.alloca_once(builder, vector) for cell in cells}  # become registers
            nothing = _ir.Constant(vector, _ir.Undefined)
            everywhere = _ir.Constant(_ir.VectorType(_INT32, lanes), [0] * lanes)

            def number(value: int) -> Any:
                return _ir.Constant(_WORD, value)

            def load(pointer: Any) -> Any:
                loaded = builder.load(pointer)
                loaded.align = bytes_each
                return loaded

            def sums_at(a: int, b: int) -> Any:
                place = builder.add(builder.add(at, builder.mul(width, number(a))), number(b * lanes))
                return _pointer(context, builder, signature.args[0], sums, place, vector)

            for cell in cells:
                builder.store(load(sums_at(*cell)), running[cell])
            with _cg.for_range(builder, count, intp=_WORD) as loop:
                row = builder.add(right_at, builder.mul(loop.index, right_step))
                columns = [
                    load(
                        _pointer(
                            context,
                            builder,
                            signature.args[7],
                            right,
                            builder.add(row, number(b * lanes)),
                            vector,
                        )
                    )
                    for b in range(blocks)
                ]
                row = builder.add(left_at, builder.mul(loop.index, left_step))
                for a in range(rows):
                    place = builder.add(row, builder.mul(left_row, number(a)))
                    one = load(_pointer(context, builder, signature.args[3], left, place, scalar))
                    first = builder.insert_element(nothing, one, _ir.Constant(_INT32, 0))
                    ones = builder.shuffle_vector(first, nothing, everywhere)
                    for b in range(blocks):
                        product = builder.fmul(ones, columns[b], flags=_FUSED)
                        add = builder.fsub if subtract else builder.fadd
                        builder.store(add(builder.load(running[a, b]), product, flags=_FUSED), running[a, b])
            for cell in cells:
                builder.store(builder.load(running[cell]), sums_at(*cell)).align = bytes_each
            return context.get_dummy_value()

        place = types.int64
        kinds = (sums, place, place, left, place, place, place, right, place, place, place)
        return types.void(*kinds), generate

    return cast(_Tile, intrinsic(typed))


_Tile = Callable[[Any, int, int, Any, int, int, int, Any, int, int, int], None]

add_1, add_2, add_3 = (_tile(ROWS, blocks, subtract=False) for blocks in (1, 2, 3))
take_1, take_2, take_3 = (_tile(ROWS, blocks, subtract=True) for blocks in (1, 2, 3))
take_row_1, take_row_2, take_row_4 = (_tile(1, blocks, subtract=True) for blocks in (1, 2, 4))
"""`add_2(sums, at, width, left, left_at, left_step, left_row, right, right_at, right_step, count)`: for ROWS
rows a of `sums`, which are `width` apart, and for the two registers of columns c from `at` on,

    sums[at + a width + c] += sum over s < count of
        left[left_at + s left_step + a left_row] * right[right_at + s right_step + c].

`take_` subtracts, `take_row_` has one row. `left` and `right` may be `sums` itself where no place that is
written is read. All three are flat.
"""
