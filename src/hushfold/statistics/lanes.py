"""Machine words that numba has no name for: `prefetch`, `fold_lanes`, `multiply_*` and `weigh_*`.

They work on `LANES` numbers at once: as many float64 as the registers of this machine hold, at least 4. All
are exact on whole numbers, so that the number of lanes cannot change a result. None checks its arguments:
what they are given lies within the arrays (except for `prefetch`, to which it does not matter).
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
_features = str(cast(Any, cpu_target).target_context.codegen().magic_tuple()[2])

LANES = 8 if "+avx512f" in _features else 4

_WORD, _INT32, _SHORT = _ir.IntType(64), _ir.IntType(32), _ir.IntType(16)
_FLOAT, _DOUBLE = _ir.FloatType(), _ir.DoubleType()
_FLOATS, _INTS, _DOUBLES, _WORDS = (_ir.VectorType(kind, LANES) for kind in (_FLOAT, _INT32, _DOUBLE, _WORD))


def _pointer(context: Any, builder: Any, kind: Any, array: Any, place: Any, lanes: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), lanes.as_pointer())


def _load(builder: Any, pointer: Any, align: int) -> Any:
    loaded = builder.load(pointer)
    loaded.align = align
    return loaded


def _store(builder: Any, value: Any, pointer: Any) -> None:
    builder.store(value, pointer).align = 8


def _spread(builder: Any, number: Any, lanes: Any) -> Any:
    nothing = _ir.Constant(lanes, _ir.Undefined)
    first = builder.insert_element(nothing, number, _ir.Constant(_INT32, 0))
    return builder.shuffle_vector(first, nothing, _ir.Constant(_INTS, [0] * LANES))


def _prefetch(_: Any, array: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte = _ir.IntType(8)
        kind = _ir.FunctionType(_ir.VoidType(), [byte.as_pointer(), _INT32, _INT32, _INT32])
        hint = _cg.get_or_insert_function(builder.module, kind, "llvm.prefetch")
        pointer = _pointer(context, builder, signature.args[0], arguments[0], arguments[1], byte)
        read, keep, data = (_ir.Constant(_INT32, code) for code in (0, 3, 1))
        builder.call(hint, [pointer, read, keep, data])
        return context.get_dummy_value()

    return types.void(array, place), generate


def _fold(_: Any, source: Any, place: Any, factor: Any, target: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, place, factor, target, at = arguments
        values = _load(builder, _pointer(context, builder, signature.args[0], source, place, _FLOATS), 4)
        whole = builder.fptosi(builder.fmul(values, _spread(builder, factor, _FLOATS)), _INTS)
        pointer = _pointer(context, builder, signature.args[3], target, at, _DOUBLES)
        _store(builder, builder.sitofp(whole, _DOUBLES), pointer)
        return context.get_dummy_value()

    return types.void(source, types.int64, types.float32, target, types.int64), generate


def _multiply(blocks: int) -> Any:
    def typed(
        _: Any, rows: Any, left: Any, right: Any, apart: Any, count: Any, sums: Any, at: Any, width: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            rows, left, right, apart, count, sums, at, width = arguments
            fused = ("contract",)
            cells = [(a, b) for a in range(LANES) for b in range(blocks)]
            running = {cell: _cg.alloca_once(builder, _DOUBLES) for cell in cells}  # become registers

            def number(value: int) -> Any:
                return _ir.Constant(_WORD, value)

            def rows_at(place: Any, kind: Any) -> Any:
                return _load(builder, _pointer(context, builder, signature.args[0], rows, place, kind), 8)

            def sums_at(a: int, b: int) -> Any:
                place = builder.add(builder.add(at, builder.mul(width, number(a))), number(b * LANES))
                return _pointer(context, builder, signature.args[5], sums, place, _DOUBLES)

            for cell in cells:
                builder.store(_load(builder, sums_at(*cell), 8), running[cell])
            with _cg.for_range(builder, count, intp=_WORD) as loop:
                step = builder.mul(loop.index, number(LANES))
                columns = [
                    rows_at(builder.add(builder.add(right, step), builder.mul(apart, number(b))), _DOUBLES)
                    for b in range(blocks)
                ]
                for a in range(LANES):
                    one = rows_at(builder.add(builder.add(left, step), number(a)), _DOUBLE)
                    ones = _spread(builder, one, _DOUBLES)
                    for b in range(blocks):
                        product = builder.fmul(ones, columns[b], flags=fused)
                        total = builder.fadd(builder.load(running[a, b]), product, flags=fused)
                        builder.store(total, running[a, b])
            for cell in cells:
                _store(builder, builder.load(running[cell]), sums_at(*cell))
            return context.get_dummy_value()

        place = types.int64
        return types.void(rows, place, place, place, place, sums, place, place), generate

    return intrinsic(typed)


def _weigh(blocks: int) -> Any:
    def typed(
        _: Any, rows: Any, width: Any, column: Any, users: Any, weights: Any, start: Any, stop: Any, sums: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            rows, width, column, users, weights, start, stop, sums = arguments
            running = [_cg.alloca_once(builder, _WORDS) for _ in range(blocks)]  # become registers

            def at(kind: int, array: Any, place: Any, lanes: Any) -> Any:
                return _pointer(context, builder, signature.args[kind], array, place, lanes)

            def shifted(place: Any, block: int) -> Any:
                return builder.add(place, _ir.Constant(_WORD, block * LANES))

            for block in range(blocks):
                sum_at = at(7, sums, shifted(column, block), _WORDS)
                builder.store(_load(builder, sum_at, 8), running[block])
            step = _ir.Constant(_WORD, 1)
            with _cg.for_range_slice(builder, start, stop, step, intp=_WORD) as (entry, _count):
                user = builder.zext(_load(builder, at(3, users, entry, _SHORT), 2), _WORD)
                weight = builder.sext(_load(builder, at(4, weights, entry, _INT32), 4), _WORD)
                spread = _spread(builder, weight, _WORDS)
                row = builder.add(builder.mul(user, width), column)
                for block in range(blocks):
                    numbers = _load(builder, at(0, rows, shifted(row, block), _INTS), 4)
                    product = builder.mul(builder.sext(numbers, _WORDS), spread)
                    builder.store(builder.add(builder.load(running[block]), product), running[block])
            for block in range(blocks):
                sum_at = at(7, sums, shifted(column, block), _WORDS)
                _store(builder, builder.load(running[block]), sum_at)
            return context.get_dummy_value()

        place = types.int64
        return types.void(rows, place, place, users, weights, place, place, sums), generate

    return intrinsic(typed)


prefetch = cast(Callable[[Any, Any], None], intrinsic(_prefetch))
"""`prefetch(array, place)`: a hint that `array[place]` will be read soon; reads and changes nothing."""

fold_lanes = cast(Callable[[Any, int, Any, Any, int], None], intrinsic(_fold))
"""`fold_lanes(source, place, factor, target, at)`: for LANES numbers from there on,
`target[at] = float64(trunc(source[place] * factor))`, the product being rounded to float32 first.
"""

_Multiply = Callable[[Any, int, int, int, int, Any, int, int], None]
multiply_one, multiply_two, multiply_three = (cast(_Multiply, _multiply(blocks)) for blocks in (1, 2, 3))
"""`multiply_two(rows, left, right, apart, count, sums, at, width)`: for LANES rows a of `sums`, which is
`width` wide, and for two blocks of LANES columns c from `at` on,
`sums[a, c] += sum over s < count of rows[left + LANES s + a] * rows[right + LANES s + c]`,
where the second block's columns lie `apart` from the first's in `rows`. Exact while all sums are whole and
below 2^53: then a fused product rounds like an unfused one, that is, not at all.
"""

_Weigh = Callable[[Any, int, int, Any, Any, int, int, Any], None]
weigh_one, weigh_two, weigh_four, weigh_eight = (cast(_Weigh, _weigh(blocks)) for blocks in (1, 2, 4, 8))
"""`weigh_two(rows, width, column, users, weights, start, stop, sums)`: for two blocks of LANES columns c from
`column` on, `sums[c] += sum over start <= e < stop of weights[e] * rows[users[e] * width + c]`, in int64.
`users` are uint16, `weights` and `rows` int32.
"""
