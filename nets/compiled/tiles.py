"""Convolutions of bf16 numbers by AMX: matrix products in tile registers of 16 rows of 64 bytes.

Positions of the board are numbered row by row, one column of zeros behind each row, with zeros before the first row and behind the last
one: so a window's neighbour is at the same distance from every position, and 16 positions in a row are the rows of a tile, whatever
the width of the board. A product multiplies 16 positions × 32 input channels by 32 input channels × 16 outputs.

    sums        tiles 0-3: positions × outputs, float32, at the start the bias
    positions   tiles 4-6, in turn
    weights     tile 7

The tile registers are set up per thread. Other code in the same thread may use them too (torch does), so what was set up before is
restored behind a network (`configure`, `restore`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from nets.compiled.program import BLOCK
from nets.compiled.vectors import Code, intrinsic_of

MOST = 4
"""Tiles of positions that are computed together."""
TILE = 16 * BLOCK
"""Words of a tile."""

_SOURCE = Path(__file__).read_bytes()
_BYTE, _INT, _LONG, _VOID = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.VoidType()
_POINTER = _BYTE.as_pointer()
_ROW = 64  # bytes
_POSITIONS, _WEIGHTS = (4, 5, 6), 7


def _configuration() -> ir.Constant:
    """All eight tiles of 16 rows of 64 bytes: palette, then bytes of a row from byte 16, rows from byte 48."""
    bytes_ = [0] * 64
    bytes_[0] = 1
    for tile in range(8):
        bytes_[16 + 2 * tile] = _ROW
        bytes_[48 + tile] = 16
    return ir.Constant(ir.VectorType(_BYTE, 64), [ir.Constant(_BYTE, each) for each in bytes_])


def configure() -> Any:
    """`configure(weights, scratch, saved)`: what was set up goes to 16 words at `saved`."""

    def emit(code: Code, saved: Any) -> None:
        call(code, "sttilecfg", _at(code, code.scratch, saved))
        value = _configuration()
        place = cgutils.alloca_once(code.builder, value.type)
        place.align = 64
        code.builder.store(value, place)
        call(code, "ldtilecfg", code.builder.bitcast(place, _POINTER))

    return intrinsic_of(emit, 1, _SOURCE, "configure")


def restore() -> Any:
    def emit(code: Code, saved: Any) -> None:
        call(code, "ldtilecfg", _at(code, code.scratch, saved))

    return intrinsic_of(emit, 1, _SOURCE, "restore")


def products(count: int) -> Any:
    """`count` tiles of positions × one block of outputs, with the bias, as float32 at `sums`."""

    def emit(
        code: Code,
        weights: Any,  # [window row][window column][chunk]: tiles
        bias: Any,
        source: Any,  # the first word that the first position's window covers
        window_rows: Any,
        source_row: Any,
        window_columns: Any,
        source_step: Any,
        chunks: Any,  # of 32 input channels
        sums: Any,
    ) -> None:
        stride = code.multiply(source_step, 4)
        for i in range(count):
            _load(code, i, _at(code, code.weights, bias), code.number(0))
        with code.loop(window_rows) as row, code.loop(window_columns) as column, code.loop(chunks) as chunk:
            index = code.add(code.multiply(code.add(code.multiply(row, window_columns), column), chunks), chunk)
            _load(
                code,
                _WEIGHTS,
                _at(code, code.weights, code.add(weights, code.multiply(index, TILE))),
                code.number(_ROW),
            )
            here = code.add(
                source, code.multiply(row, source_row), code.multiply(column, source_step), code.multiply(chunk, BLOCK)
            )
            for i in range(count):
                tile = _POSITIONS[i % len(_POSITIONS)]
                _load(code, tile, _at(code, code.scratch, code.add(here, code.multiply(source_step, 16 * i))), stride)
                call(code, "tdpbf16ps", *(ir.Constant(_BYTE, each) for each in (i, tile, _WEIGHTS)))
        for i in range(count):
            place = _at(code, code.scratch, code.add(sums, TILE * i))
            call(code, "tilestored64", ir.Constant(_BYTE, i), place, code.number(_ROW))

    return intrinsic_of(emit, 9, _SOURCE, "products", count)


def finish() -> Any:
    """`count` positions of a board row × one block: their sums, `added` (-1: nothing), rectified and stored."""

    def emit(
        code: Code, sums: Any, target: Any, target_step: Any, count: Any, added: Any, relu: Any, full: Any
    ) -> None:
        total = code.variable()
        with code.loop(count) as position:
            offset = code.multiply(position, target_step)
            code.store_variable(total, code.load(code.scratch, code.add(sums, code.multiply(position, BLOCK))))
            with code.when("!=", added, -1):
                more = code.load_numbers(code.add(added, offset), 0, True)
                code.store_variable(total, code.sum(code.read(total), more))
            with code.when("!=", relu, 0):
                code.store_variable(total, code.rectified(code.read(total)))
            code.store_numbers(code.read(total), code.add(target, offset), 0, True, full)

    return intrinsic_of(emit, 7, _SOURCE, "finish")


def _at(code: Code, array: Any, index: Any) -> Any:
    return code.place(array, index, _BYTE)


def _load(code: Code, tile: int, place: Any, stride: Any) -> None:
    call(code, "tileloadd64", ir.Constant(_BYTE, tile), place, stride)


def call(code: Code, name: str, *arguments: Any) -> None:
    function = ir.FunctionType(_VOID, [each.type for each in arguments])
    code.builder.call(cgutils.get_or_insert_function(code.builder.module, function, f"llvm.x86.{name}"), arguments)
