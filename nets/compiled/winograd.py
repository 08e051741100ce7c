"""3×3 convolutions of float32 numbers with fewer products: Winograd's minimal filtering, F(m×m, 3×3).

The board is cut into tiles of m×m positions. With n = m + 2, for each tile and each pair of channels

    y = Aᵀ [ (G g Gᵀ) ⊙ (Bᵀ d B) ] A        g: the 3×3 weights, d: the n×n inputs around the tile, y: its m×m outputs

so a tile takes n² products instead of 9 m²: 36 instead of 144 for m = 4. G g Gᵀ is computed when the weights are packed. The
products of all tiles with one of the n² numbers of the transformed weights are a small matrix product, done by `vectors.row`.

Inputs lie with zeros all around, so every tile reads n×n positions; only positions on the board are written.

Toom 1963, Cook 1966, Winograd 1980; Lavin and Gray 2016, "Fast algorithms for convolutional neural networks".
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nets.compiled import vectors
from nets.compiled.instructions import Instructions, multiplies_bf16_twice_as_fast
from nets.compiled.program import BLOCK
from nets.compiled.vectors import Code
from nets.folding import Floats

WINDOW = 3
SIDES = (3, 4)
"""m. Larger tiles lose digits: their transforms have larger numbers."""
POINTS = (0, 1, -1, 2, -2)
"""Where polynomials are evaluated, beside infinity: the first n - 1 of them."""
WORTH, WORTH_BF16 = 0.5, 0.37
"""The share of a plain convolution's products that may be left for it to be worth the transforms: against fp32, and against bf16 where
that is twice as fast. Measured: at 0.27 (othello) 2.7 and 1.36 times as fast, at 0.43 (connect four) 1.8 and 0.93 times."""

_SOURCE = Path(__file__).read_bytes()


class Matrices(NamedTuple):
    """Aᵀ, G and Bᵀ, as rows of exact numbers."""

    output: list[list[Fraction]]
    weights: list[list[Fraction]]
    input: list[list[Fraction]]


class Cut(NamedTuple):
    """How a board is cut into tiles."""

    side: int
    """m."""
    rows: int
    """Rows of tiles."""
    columns: int

    @property
    def window(self) -> int:
        """n."""
        return self.side + WINDOW - 1

    @property
    def tiles(self) -> int:
        return self.rows * self.columns

    @property
    def padded_rows(self) -> int:
        """Of the board and the zeros around it."""
        return self.rows * self.side + WINDOW - 1

    @property
    def padded_columns(self) -> int:
        return self.columns * self.side + WINDOW - 1


@functools.cache
def cut_of(rows: int, columns: int, instructions: Instructions) -> Cut | None:
    """The cut with the fewest products; None where they would not be few enough, or for plain loops."""
    found = [Cut(side, -(-rows // side), -(-columns // side)) for side in SIDES]
    best = min(found, key=lambda cut: cut.tiles * cut.window**2)
    return best if not instructions.is_portable and share(best, rows, columns) <= WORTH else None


def share(cut: Cut, rows: int, columns: int) -> float:
    """Of the products of a plain convolution, which leaves out the rows of zeros above and below the board."""
    plain = WINDOW * columns * sum(min(y + 2, rows) - max(y - 1, 0) for y in range(rows))
    return cut.tiles * cut.window**2 / plain


def prefers_bf16(instructions: Instructions, rows: int, columns: int) -> bool:
    """Whether bf16 is faster than fp32 for boards of this size."""
    if instructions.has_tiles:
        return True
    cut = cut_of(rows, columns, instructions)
    return multiplies_bf16_twice_as_fast(instructions) and (cut is None or share(cut, rows, columns) > WORTH_BF16)


@functools.cache
def matrices(side: int) -> Matrices:
    """By Toom and Cook: both factors are polynomials, known by their values at the points."""
    n = side + WINDOW - 1
    points = [Fraction(point) for point in POINTS[: n - 1]]
    output = [[point**i for point in points] + [Fraction(i == side - 1)] for i in range(side)]
    weights, rows = [], []
    for point in points:
        others = [other for other in points if other != point]
        scale = math.prod(point - other for other in others)
        weights.append([point**k / scale for k in range(WINDOW)])
        rows.append([*with_roots(others), Fraction(0)])
    weights.append([Fraction(k == WINDOW - 1) for k in range(WINDOW)])
    rows.append(with_roots(points))
    return Matrices(output, weights, rows)


def with_roots(roots: list[Fraction]) -> list[Fraction]:
    """The coefficients of Π (x - root), the constant first."""
    found = [Fraction(1)]
    for root in roots:
        found = [low - root * high for low, high in zip([Fraction(0), *found], [*found, Fraction(0)], strict=True)]
    return found


def transformed(weight: Floats, side: int) -> Floats:
    """[outputs, inputs, 3, 3] -> G g Gᵀ as [n²][inputs][outputs]."""
    left = np.array(matrices(side).weights, np.float64)
    found: Any = np.einsum("ai,oxij,bj->abxo", left, weight.astype(np.float64), left)
    return found.reshape(-1, weight.shape[1], weight.shape[0]).astype(np.float32)  # type: ignore[no-any-return]


def convolution(cut: Cut, instructions: Instructions) -> Callable[..., None]:
    """The operation, of (weights, scratch, operation)."""
    gather, finish = _gather(cut.side), _finish(cut.side)
    products = [
        vectors.row(instructions.cut(cut.tiles, blocks), blocks, half=False, alone=True)
        for blocks in range(1, len(instructions.positions) + 1)
    ]
    one, two, three = (products * 3)[:3]
    widest, side, tile_rows, tile_columns, tiles = len(products), cut.side, cut.rows, cut.columns, cut.tiles
    count = cut.window**2

    def winograd(weights: Any, scratch: Any, op: Any) -> None:
        step = (op.words + BLOCK - 1) // BLOCK * BLOCK  # from one tile's inputs to the next one's
        corner = op.source - op.source_row - op.source_step
        for y in range(tile_rows):
            for x in range(tile_columns):
                source = corner + side * (y * op.source_row + x * op.source_step)
                target = op.vector + (y * tile_columns + x) * step
                for channel in range(0, step, BLOCK):
                    gather(
                        weights, scratch, source + channel, op.source_row, op.source_step, target + channel,
                        tiles * step,
                    )  # fmt: skip
        block = 0
        while block < op.blocks:  # as `Instructions.tiles` has it
            left = op.blocks - block
            together = left if left <= widest else min(widest, 2)
            width = BLOCK * together
            factors = op.weights + BLOCK * block * count * op.words
            for k in range(count):
                at, source, target = (
                    factors + k * op.words * width,
                    op.vector + k * tiles * step,
                    op.sums + k * tiles * width,
                )
                if together == 3:
                    three(weights, scratch, at, 0, source, 1, 0, op.words, step, target, width, -1, 0, 0)
                elif together == 2:
                    two(weights, scratch, at, 0, source, 1, 0, op.words, step, target, width, -1, 0, 0)
                else:
                    one(weights, scratch, at, 0, source, 1, 0, op.words, step, target, width, -1, 0, 0)
            for y in range(tile_rows):
                for x in range(tile_columns):
                    for i in range(together):
                        offset = side * (y * op.target_row + x * op.target_step) + BLOCK * (block + i)
                        finish(
                            weights, scratch, op.sums + (y * tile_columns + x) * width + BLOCK * i, tiles * width,
                            op.bias + BLOCK * (block + i), op.target + offset, op.target_row, op.target_step,
                            op.rows - side * y, op.columns - side * x, op.added + offset if op.added >= 0 else -1, op.relu,
                        )  # fmt: skip
            block += together

    return winograd


def _gather(side: int) -> Any:
    """Bᵀ d B of one tile and one block of channels, its numbers `apart` words from each other."""
    rows = matrices(side).input
    n = len(rows)

    def emit(code: Code, source: Any, source_row: Any, source_step: Any, target: Any, apart: Any) -> None:
        half = []
        for x in range(n):
            column = []
            for y in range(n):
                here = code.add(source, code.multiply(source_row, y), code.multiply(source_step, x))
                column.append(code.load(code.scratch, here))
            half.append(code.transformed(rows, column))
        for y in range(n):
            for x, number in enumerate(code.transformed(rows, [half[x][y] for x in range(n)])):
                code.store(number, code.add(target, code.multiply(apart, y * n + x)))

    return vectors.intrinsic_of(emit, 5, _SOURCE, "gather", side)


def _finish(side: int) -> Any:
    """Aᵀ M A of one tile and one block of channels; bias and `added` are added, and what lies on the board is stored."""
    rows = matrices(side).output
    n = len(rows[0])

    def emit(
        code: Code, sums: Any, apart: Any, bias: Any, target: Any, target_row: Any, target_step: Any, high: Any, wide: Any,
        added: Any, relu: Any,
    ) -> None:  # fmt: skip
        half = []
        for x in range(n):
            column = [code.load(code.scratch, code.add(sums, code.multiply(apart, y * n + x))) for y in range(n)]
            half.append(code.transformed(rows, column))
        start = code.load(code.weights, bias)
        total = code.variable()
        outputs = [code.transformed(rows, [half[x][y] for x in range(n)]) for y in range(side)]
        for y, x in itertools.product(range(side), range(side)):
            with code.when(">", high, y), code.when(">", wide, x):
                offset = code.add(code.multiply(target_row, y), code.multiply(target_step, x))
                code.store_variable(total, code.sum(outputs[y][x], start))
                with code.when("!=", added, -1):
                    code.store_variable(
                        total, code.sum(code.read(total), code.load(code.scratch, code.add(added, offset)))
                    )
                with code.when("!=", relu, 0):
                    code.store_variable(total, code.rectified(code.read(total)))
                code.store(code.read(total), code.add(target, offset))

    return vectors.intrinsic_of(emit, 10, _SOURCE, "finish", side)
