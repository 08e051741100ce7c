"""The inner loops of a network as LLVM vector code: what the compiler would not find by itself.

Each function here makes an intrinsic: code that numba puts in place of a call. It works on vectors of 16 float32 numbers, which LLVM
cuts into what the CPU has (one register of AVX-512, two of AVX2, four of NEON). A block of bf16 numbers is half as long in memory.

Sums stay in registers: a tile is some positions of one board row × some blocks of 16 output channels. Per input word there is one
load of weights per block and one broadcast per position, for positions × blocks multiplications.

The arguments of an intrinsic are the arrays `weights` and `scratch`, then places and sizes in words (`program.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from base.content import hashed
from nets.compiled.program import BLOCK

_FLOAT, _INT, _LONG = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_SOURCE = Path(__file__).read_bytes()


class _BFloat(ir.types._BaseFloatType):  # type: ignore[misc]
    """LLVM's bfloat, which llvmlite has no name for."""

    null, intrinsic_name = "0.0", "bf16"

    def __str__(self) -> str:
        return "bfloat"


_BFloat._create_instance()
_VECTOR, _HALVES = ir.VectorType(_FLOAT, BLOCK), ir.VectorType(_BFloat(), BLOCK)
_PAIRS = ir.VectorType(_BFloat(), 2 * BLOCK)
_ZERO = ir.Constant(_VECTOR, [0.0] * BLOCK)


def row(columns: tuple[int, ...], blocks: int, half: bool, only_products: bool = False) -> Any:
    """One board row × `blocks` blocks of output channels of a convolution, added, rectified and stored.

    `columns`: the row cut into positions that are computed together. `half`: source, weights, `added` and target are bf16.
    `only_products`: of fp32, the sums of products as they are, whatever bias, added, relu and full say.
    """

    assert not (half and only_products)

    def emit(
        code: Code,
        weights: Any,  # of the first row of the window that lies on the board: [row][word][16 · blocks]
        bias: Any,
        source: Any,  # its first word
        window_rows: Any,  # how many of them lie on the board
        source_row: Any,
        words: Any,  # of the window's row: columns of the window × source_step
        source_step: Any,
        target: Any,
        target_step: Any,
        added: Any,
        relu: Any,
        full: Any,  # store float32 although the rest is bf16
    ) -> None:
        width = BLOCK * blocks
        first = 0
        for count in columns:
            tile = [(position, block) for position in range(count) for block in range(blocks)]
            sums = {each: code.variable() for each in tile}
            steps = [code.number(first + position) for position in range(count)]
            for block in range(blocks):
                start = _ZERO if only_products else code.load(code.weights, bias, BLOCK * block)
                for position in range(count):
                    code.store_variable(sums[position, block], start)
            with code.loop(window_rows) as window_row, code.loop(words) as word:
                index = code.add(code.multiply(window_row, words), word)
                at = code.add(weights, code.multiply(index, width))
                factors = [code.load(code.weights, at, BLOCK * block) for block in range(blocks)]
                here = code.add(source, code.multiply(window_row, source_row), word)
                for position in range(count):
                    value = code.broadcast(code.add(here, code.multiply(source_step, steps[position])))
                    for block in range(blocks):
                        code.accumulate(sums[position, block], value, factors[block], half)
            for position, block in () if only_products else tile:
                offset = code.multiply(target_step, steps[position])
                with code.when("!=", added, -1):
                    more = code.load_numbers(code.add(added, offset), block, half)
                    code.store_variable(sums[position, block], code.sum(code.read(sums[position, block]), more))
                with code.when("!=", relu, 0):
                    code.store_variable(sums[position, block], code.rectified(code.read(sums[position, block])))
            # Positions in ascending order: they may overlap, the later one counts (`packing.py`).
            for position, block in tile:
                place = code.add(target, code.multiply(target_step, steps[position]))
                code.store_numbers(code.read(sums[position, block]), place, block, half, full)
            first += count

    return intrinsic_of(emit, 12, _SOURCE, "row", columns, blocks, half, only_products)


def dense(blocks: int, ways: int, half: bool) -> Any:
    """`blocks` blocks of outputs of a dense layer. Inputs go in turn to `ways` sums: no addition waits for the last one."""

    def emit(code: Code, weights: Any, bias: Any, source: Any, words: Any, target: Any, relu: Any, full: Any) -> None:
        width = BLOCK * blocks
        sums = [[code.variable() for _ in range(blocks)] for _ in range(ways)]
        for way in range(ways):
            for block in range(blocks):
                start = _ZERO if way else code.load(code.weights, bias, BLOCK * block)
                code.store_variable(sums[way][block], start)
        with code.loop(code.divide(words, ways)) as turn:
            for way in range(ways):
                word = code.add(code.multiply(turn, ways), way)
                value = code.broadcast(code.add(source, word))
                at = code.add(weights, code.multiply(word, width))
                for block in range(blocks):
                    factor = code.load(code.weights, at, BLOCK * block)
                    code.accumulate(sums[way][block], value, factor, half)
        for block in range(blocks):
            parts = [code.read(sums[way][block]) for way in range(ways)]
            while len(parts) > 1:
                parts = [code.sum(parts[i], parts[i + 1]) for i in range(0, len(parts), 2)]
            total = code.variable()
            code.store_variable(total, parts[0])
            with code.when("!=", relu, 0):
                code.store_variable(total, code.rectified(code.read(total)))
            code.store_numbers(code.read(total), target, block, half, full)

    return intrinsic_of(emit, 7, _SOURCE, "dense", blocks, ways, half)


def pool(half: bool) -> Any:
    """Mean and maximum of one block of channels over the board, as float32."""

    def emit(code: Code, source: Any, rows: Any, row_step: Any, columns: Any, step: Any, mean: Any, most: Any) -> None:
        total, largest = code.variable(), code.variable()
        code.store_variable(total, _ZERO)
        code.store_variable(largest, code.load_numbers(source, 0, half))
        with code.loop(rows) as y, code.loop(columns) as x:
            here = code.add(source, code.multiply(y, row_step), code.multiply(x, step))
            value = code.load_numbers(here, 0, half)
            code.store_variable(total, code.sum(code.read(total), value))
            code.store_variable(largest, code.larger(code.read(largest), value))
        cells = code.builder.sitofp(code.multiply(rows, columns), _FLOAT)
        code.store(code.builder.fdiv(code.read(total), code.splat(cells)), mean)
        code.store(code.read(largest), most)

    return intrinsic_of(emit, 7, _SOURCE, "pool", half)


def spread(half: bool) -> Any:
    """Add one block of a float32 vector to that block of channels at every position."""

    def emit(code: Code, vector: Any, target: Any, rows: Any, row_step: Any, columns: Any, step: Any) -> None:
        more = code.load(code.scratch, vector)
        with code.loop(rows) as y, code.loop(columns) as x:
            here = code.add(target, code.multiply(y, row_step), code.multiply(x, step))
            value = code.sum(code.load_numbers(here, 0, half), more)
            code.store_numbers(value, here, 0, half, code.number(0))

    return intrinsic_of(emit, 6, _SOURCE, "spread", half)


def pair() -> Any:
    """`pair(weights, scratch, word, low, high)`: two numbers rounded to bf16, in one word."""

    @intrinsic  # type: ignore[untyped-decorator]
    def store_pair(_typing: Any, weights: Any, scratch: Any, _word: Any, _low: Any, _high: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = Code(context, builder, signature, arguments)
            both = ir.Constant(ir.VectorType(_FLOAT, 2), ir.Undefined)
            for lane, number in enumerate(arguments[3:]):
                both = builder.insert_element(both, number, ir.Constant(_INT, lane))
            halves = builder.fptrunc(both, ir.VectorType(_BFloat(), 2))
            builder.store(halves, code.place(code.scratch, arguments[2], halves.type), align=4)
            return context.get_dummy_value()

        return types.void(weights, scratch, types.int64, types.float32, types.float32), generate

    store_pair.content_key = hashed(_SOURCE, "pair")
    return store_pair


def intrinsic_of(emit: Callable[..., None], numbers: int, source: bytes, *parameters: object) -> Any:
    """The intrinsic whose code `emit` writes, of two arrays and so many numbers. `source` and the parameters determine that code;
    `base.content` reads `content_key`."""

    def written(_typing: Any, weights: Any, scratch: Any, *_numbers: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            emit(Code(context, builder, signature, arguments), *arguments[2:])
            return context.get_dummy_value()

        return types.void(weights, scratch, *[types.int64] * numbers), generate

    # numba reads the number of arguments off the signature
    names = ["typing", "weights", "scratch", *(f"number{i}" for i in range(numbers))]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    written.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
    found = intrinsic(written)
    found.content_key = hashed(_SOURCE, source, parameters)
    return found


class Code:
    """What intrinsics are written with: arithmetic on places, loops, vectors."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.builder = builder
        self.weights, self.scratch = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(signature.args[:2], arguments[:2], strict=True)
        )

    # ── whole numbers ──

    def number(self, value: Any) -> Any:
        return ir.Constant(_LONG, value) if isinstance(value, int) else value

    def add(self, first: Any, *more: Any) -> Any:
        for each in more:
            first = self.builder.add(self.number(first), self.number(each))
        return self.number(first)

    def multiply(self, a: Any, b: Any) -> Any:
        return self.builder.mul(self.number(a), self.number(b))

    def divide(self, a: Any, b: int) -> Any:
        return self.builder.udiv(self.number(a), self.number(b))

    @contextmanager
    def loop(self, count: Any) -> Iterator[Any]:
        with cgutils.for_range(self.builder, count) as loop:
            yield loop.index

    def when(self, comparison: str, a: Any, b: int) -> Any:
        return self.builder.if_then(self.builder.icmp_signed(comparison, a, self.number(b)))

    # ── memory ──

    def place(self, array: Any, index: Any, kind: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(array, [index]), kind.as_pointer())

    def load(self, array: Any, index: Any, more: int = 0) -> Any:
        return self.builder.load(self.place(array, self.add(index, more), _VECTOR), align=4)

    def store(self, vector: Any, index: Any) -> None:
        self.builder.store(vector, self.place(self.scratch, index, vector.type), align=4)

    def load_numbers(self, index: Any, block: int, half: bool) -> Any:
        """One block of activations as float32."""
        if not half:
            return self.load(self.scratch, index, BLOCK * block)
        place = self.place(self.scratch, self.add(index, BLOCK // 2 * block), _HALVES)
        return self.builder.fpext(self.builder.load(place, align=4), _VECTOR)

    def store_numbers(self, vector: Any, index: Any, block: int, half: bool, full: Any) -> None:
        """One block of activations, as bf16 where `half` and not `full`."""
        if not half:
            self.store(vector, self.add(index, BLOCK * block))
            return
        with self.builder.if_else(self.builder.icmp_signed("!=", full, self.number(0))) as (then, otherwise):
            with then:
                self.store(vector, self.add(index, BLOCK * block))
            with otherwise:
                self.store(self.builder.fptrunc(vector, _HALVES), self.add(index, BLOCK // 2 * block))

    # ── vectors ──

    def variable(self) -> Any:
        return cgutils.alloca_once(self.builder, _VECTOR)

    def read(self, variable: Any) -> Any:
        return self.builder.load(variable)

    def store_variable(self, variable: Any, vector: Any) -> None:
        self.builder.store(vector, variable)

    def splat(self, number: Any) -> Any:
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = self.builder.insert_element(undefined, number, ir.Constant(_INT, 0))
        return self.builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_INT, BLOCK), [0] * BLOCK))

    def broadcast(self, index: Any) -> Any:
        """One word of scratch, 16 times."""
        return self.splat(self.builder.load(self.builder.gep(self.scratch, [index]), align=4))

    def accumulate(self, variable: Any, a: Any, b: Any, half: bool) -> None:
        """variable += a · b; of halves, the sum of both products."""
        total = self.read(variable)
        if half:
            operands = [total, self.builder.bitcast(a, _PAIRS), self.builder.bitcast(b, _PAIRS)]
            self.store_variable(variable, self._call("llvm.x86.avx512bf16.dpbf16ps.512", operands))
        else:
            self.store_variable(variable, self.multiply_add(a, b, total))

    def multiply_add(self, a: Any, b: Any, total: Any) -> Any:
        """a · b + total"""
        return self._call("llvm.fmuladd.v16f32", [a, b, total])

    def _call(self, name: str, operands: list[Any]) -> Any:
        function = ir.FunctionType(_VECTOR, [each.type for each in operands])
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, function, name), operands)

    def all(self, number: float) -> Any:
        """The number 16 times."""
        return ir.Constant(_VECTOR, [number] * BLOCK)

    def sum(self, a: Any, b: Any) -> Any:
        return self.builder.fadd(a, b)

    def difference(self, a: Any, b: Any) -> Any:
        return self.builder.fsub(a, b)

    def larger(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered(">", b, a), b, a)

    def rectified(self, vector: Any) -> Any:
        """Not a number stays what it is: a fault must be seen."""
        return self.builder.select(self.builder.fcmp_ordered("<", vector, _ZERO), _ZERO, vector)
