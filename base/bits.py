"""Bit operations that are one machine instruction in compiled code and plain Python when interpreted.

>>> popcount(np.uint64(0b1011)), lowest_bit(np.uint64(0b1000)), highest_bit(np.uint64(0b1001))
(3, 3, 3)

All take and give unsigned 64-bit words. Write the constants that meet them as `ONE` or `U(2)`: in compiled code a uint64 that meets a
signed number turns into a signed one, and its shifts are arithmetic from there on.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

U = np.uint64
ZERO, ONE = U(0), U(1)
_ALL = (1 << 64) - 1


def popcount(word: Any) -> int:
    """How many bits are set."""
    return (int(word) & _ALL).bit_count()


def lowest_bit(word: Any) -> int:
    """Index of the lowest set bit; 64 where none is set."""
    number = int(word) & _ALL
    return (number & -number).bit_length() - 1 if number else 64


def highest_bit(word: Any) -> int:
    """Index of the highest set bit; -1 where none is set."""
    return (int(word) & _ALL).bit_length() - 1


def wrapping_add(a: Any, b: Any) -> Any:
    """a + b modulo 2^64, of words or (interpreted) arrays of them; numpy's own addition of two words would warn."""
    return np.add(a, b, dtype=np.uint64)


def wrapping_mul(a: Any, b: Any) -> Any:
    """a · b modulo 2^64, likewise."""
    return np.multiply(a, b, dtype=np.uint64)


def _instruction(name: str, has_flag: bool) -> Any:
    """An intrinsic for LLVM's `name` on 64-bit words; `has_flag`: it takes a second operand, "zero is undefined", given as false."""

    @intrinsic  # type: ignore[untyped-decorator]
    def instruction(_typing: Any, _word: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            word = ir.IntType(64)
            operands = [word, ir.IntType(1)] if has_flag else [word]
            function = builder.module.declare_intrinsic(name, (word,), ir.FunctionType(word, operands))
            flag = [ir.Constant(ir.IntType(1), 0)] if has_flag else []
            return builder.call(function, [*arguments, *flag])

        return types.int64(types.uint64), generate

    return instruction


_ctpop = _instruction("llvm.ctpop", has_flag=False)
_cttz = _instruction("llvm.cttz", has_flag=True)
_ctlz = _instruction("llvm.ctlz", has_flag=True)


# Overloads carry no annotations: numba compares them with the implementation's.
@overload(popcount)
def _popcount(word):  # type: ignore[no-untyped-def]
    return lambda word: _ctpop(U(word))


@overload(lowest_bit)
def _lowest_bit(word):  # type: ignore[no-untyped-def]
    return lambda word: _cttz(U(word))


@overload(highest_bit)
def _highest_bit(word):  # type: ignore[no-untyped-def]
    return lambda word: 63 - _ctlz(U(word))


@overload(wrapping_add)
def _wrapping_add(a, b):  # type: ignore[no-untyped-def]
    return lambda a, b: U(a) + U(b)


@overload(wrapping_mul)
def _wrapping_mul(a, b):  # type: ignore[no-untyped-def]
    return lambda a, b: U(a) * U(b)


# ── memory ──


def prefetch(array: Any, index: Any) -> None:
    """Asks the processor to have this entry of a one-dimensional array at hand soon; means nothing else."""


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch_entry(_typing: Any, array: Any, _index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = context.make_array(signature.args[0])(context, builder, arguments[0])
        entry = cgutils.get_item_pointer(context, builder, signature.args[0], values, [arguments[1]])
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", (pointer,), kind)
        read, keep, data = (ir.Constant(number, value) for value in (0, 3, 1))
        builder.call(function, [builder.bitcast(entry, pointer), read, keep, data])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@overload(prefetch)
def _prefetch(array, index):  # type: ignore[no-untyped-def]
    return lambda array, index: _prefetch_entry(array, np.int64(index))
