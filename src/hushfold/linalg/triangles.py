"""More machine words: a tile on the diagonal is factorised, and the tiles beside it are solved, in registers.

A triangular system of ROWS equations is a chain in which each step waits for the last; unrolled and without
going through memory it is as fast as that chain. Arguments are not checked; arrays are flat and of one type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import llvmlite.ir
from numba import types
from numba.extending import intrinsic

from hushfold.linalg.microkernel import FUSED, ROWS, Registers

_ir = cast(Any, llvmlite.ir)


def _factor(offset: int) -> Any:
    def typed(_: Any, system: Any, at: Any, width: Any, inverse: Any, place: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            system, at, width, inverse, place = arguments
            words = Registers(context, builder, signature.args[0])
            root = builder.module.declare_intrinsic("llvm.sqrt", [words.scalar])
            rows = [words.load(system, words.place(at, width, a, 0)) for a in range(ROWS)]
            for k in range(ROWS):
                pivot = words.lane(rows[k], offset + k)
                one = builder.fdiv(_ir.Constant(words.scalar, 1.0), builder.call(root, [pivot]))
                words.store(one, inverse, builder.add(place, words.number(k)))
                rows[k] = builder.fmul(rows[k], words.everywhere(one))
                for a in range(k + 1, ROWS):
                    product = builder.fmul(words.spread_lane(rows[k], offset + a), rows[k], flags=FUSED)
                    rows[a] = builder.fsub(rows[a], product, flags=FUSED)
            for a in range(ROWS):
                words.store(rows[a], system, words.place(at, width, a, 0))
            return context.get_dummy_value()

        return types.void(system, types.int64, types.int64, system, types.int64), generate

    return cast(Callable[[Any, int, int, Any, int], None], intrinsic(typed))


def _solve(blocks: int, upward: bool) -> Any:
    def typed(_: Any, system: Any, at: Any, width: Any, corner: Any, inverse: Any, place: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            system, at, width, corner, inverse, place = arguments
            words = Registers(context, builder, signature.args[0])
            cells = [(a, b) for a in range(ROWS) for b in range(blocks)]
            x = {(a, b): words.load(system, words.place(at, width, a, b * words.lanes)) for a, b in cells}
            for k in reversed(range(ROWS)) if upward else range(ROWS):
                one = words.spread(inverse, builder.add(place, words.number(k)))
                for b in range(blocks):
                    x[k, b] = builder.fmul(x[k, b], one)
                for a in range(k) if upward else range(k + 1, ROWS):
                    cell = words.place(corner, width, *((a, k) if upward else (k, a)))
                    factor = words.spread(system, cell)
                    for b in range(blocks):
                        product = builder.fmul(factor, x[k, b], flags=FUSED)
                        x[a, b] = builder.fsub(x[a, b], product, flags=FUSED)
            for a, b in cells:
                words.store(x[a, b], system, words.place(at, width, a, b * words.lanes))
            return context.get_dummy_value()

        place_kind = types.int64
        return types.void(system, place_kind, place_kind, place_kind, system, place_kind), generate

    return cast(Callable[[Any, int, int, int, Any, int], None], intrinsic(typed))


factor_low, factor_high = _factor(0), _factor(ROWS)
"""`factor_low(system, at, width, inverse, place)`: the register-wide tile at `at`, whose diagonal begins
with its first column (`factor_high`: with column ROWS), becomes rows of R with A = R^T R, the columns right
of the diagonal R^-T of what they were; `inverse` from `place` on becomes 1 / diag R. Where A is not positive
definite that is not positive and finite.
"""

down_1, down_2, down_3 = (_solve(blocks, upward=False) for blocks in (1, 2, 3))
up_1, up_2, up_3 = (_solve(blocks, upward=True) for blocks in (1, 2, 3))
"""`down_2(system, at, width, corner, inverse, place)`: the tile of two registers at `at` becomes R^-T times
it, with R the triangle at `corner`; `up_2`: R^-1 times it.
"""
