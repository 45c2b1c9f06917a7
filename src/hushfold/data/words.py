"""Bytes eight at a time inside compiled loops: what turns 150 ns a text into 20."""

from __future__ import annotations

import sys
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic


def _word_at(context: Any, data: Any, at: Any) -> Any:
    """The eight bytes `data[at : at + 8]` as a little-endian word; the caller sees to it that they are
    there.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        where = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(64).as_pointer())
        word = builder.load(where)
        word.align = 1
        return word if sys.byteorder == "little" else builder.bswap(word)

    return types.uint64(data, at), emit


word_at: Any = intrinsic(_word_at)


def _prefetch(context: Any, data: Any, at: Any) -> Any:
    """`prefetch(data, at)`: a hint that `data[at]` will be read soon; where it is wrong it does no harm."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        where = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [where.type, number, number, number])
        hint = builder.module.declare_intrinsic("llvm.prefetch", (where.type,), kind)
        builder.call(hint, [where, number(0), number(3), number(1)])  # for reading, into all caches, data
        return context.get_dummy_value()

    return types.void(data, at), emit


prefetch: Any = intrinsic(_prefetch)


@njit(nogil=True, cache=True)
def same_bytes(left: Any, a: Any, right: Any, b: Any, length: Any) -> Any:
    """Whether `left[a : a + length]` equals `right[b : b + length]`."""
    stop = a + length
    while a + 8 <= stop:
        if word_at(left, a) != word_at(right, b):
            return False
        a += 8
        b += 8
    while a < stop:
        if left[a] != right[b]:
            return False
        a += 1
        b += 1
    return True
