"""One machine hint for kernels that hop between rows: fetch the next row while this one is being added up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _prefetch(_: Any, array: Any, place: Any) -> Any:  # pragma: no cover

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        hint = cast(Any, cgutils).get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, word, word, word]), "llvm.prefetch.p0"
        )
        read, keep, as_data = (ir.Constant(word, code) for code in (0, 3, 1))
        builder.call(hint, [builder.bitcast(builder.gep(data, [arguments[1]]), byte), read, keep, as_data])
        return context.get_dummy_value()

    return types.void(array, place), generate


prefetch = cast(Callable[[Any, Any], None], intrinsic(_prefetch))
"""`prefetch(array, place)`: ask for the cache line of `array[place]` (one-dimensional, contiguous).

A hint only: it reads nothing, changes nothing, and a place outside the array is harmless.
"""
