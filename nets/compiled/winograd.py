"""3×3 convolutions of float32 numbers with fewer products: Winograd's minimal filtering, F(m×m, 3×3).

The board is cut into tiles of m×m positions. With n = m + 2, for each tile and each pair of channels

    y = Aᵀ [ (G g Gᵀ) ⊙ (Bᵀ d B) ] A        g: the 3×3 weights, d: the n×n inputs around the tile, y: its m×m outputs

so a tile takes n² products instead of 9 m²: 36 instead of 144 for m = 4. G g Gᵀ is computed when the weights are packed. The
products of all tiles with one of the n² numbers of the transformed weights are a small matrix product, done by `vectors.row`.

Zeros surround the inputs, one row and column before the board and as many behind it as the last tiles read; only positions on the
board are written.

Toom 1963, Cook 1966, Winograd 1980; Lavin and Gray 2016, "Fast algorithms for convolutional neural networks".
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nets.compiled import vectors
from nets.compiled.instructions import Instructions, multiplies_bf16_twice_as_fast, together
from nets.compiled.program import BLOCK
from nets.compiled.vectors import Code
from nets.folding import Floats

WINDOW = 3
SIDES = (3, 4)
"""m. Larger tiles lose digits: their transforms have larger numbers."""
POINTS = (0, 1, -1, 2, -2)
"""Where polynomials are evaluated, beside infinity: the first n - 1 of them."""
WORTH = 0.5
"""It is used where it takes at most this share of the products of a plain convolution. Measured with 48 channels: 2.7 times as fast at
0.27 (othello), 1.8 times at 0.43 (connect four)."""
WORTH_BF16 = 0.34
"""The same against bf16, where that is twice as fast as fp32: 1.36 times as fast at 0.27, 1.16 times at 0.33 (go 9×9), 0.93 times at
0.43. With 128 channels and more it gains less: the transformed weights are up to four times as many, and come from slower memory."""

_SOURCE = Path(__file__).read_bytes()


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

    def share(self, rows: int, columns: int) -> float:
        """Of the products of a plain convolution of that board, which leaves out the zeros above and below."""
        plain = WINDOW * columns * sum(min(y + 2, rows) - max(y - 1, 0) for y in range(rows))
        return self.tiles * self.window**2 / plain


@functools.cache
def cut_of(rows: int, columns: int, instructions: Instructions) -> Cut | None:
    """The cut with the fewest products; None where they are too many, for plain loops, and for a single tile: it waits for weights."""
    found = [Cut(side, -(-rows // side), -(-columns // side)) for side in SIDES]
    best = min(found, key=lambda cut: cut.tiles * cut.window**2)
    is_worth = best.tiles > 1 and best.share(rows, columns) <= WORTH
    return best if is_worth and not instructions.is_portable else None


def prefers_bf16(instructions: Instructions, cut: Cut | None, rows: int, columns: int) -> bool:
    """Whether bf16 is faster than fp32 for a network on this board; `cut` as its convolutions have it."""
    if instructions.has_tiles:
        return True
    return multiplies_bf16_twice_as_fast(instructions) and (cut is None or cut.share(rows, columns) > WORTH_BF16)


# ── the matrices ──


class Matrices(NamedTuple):
    """Aᵀ, G and Bᵀ, as rows of exact numbers."""

    output: list[list[Fraction]]
    weights: list[list[Fraction]]
    input: list[list[Fraction]]


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
    found: Any = (left @ weight.astype(np.float64) @ left.T).transpose(2, 3, 1, 0)
    return found.reshape(-1, *found.shape[2:]).astype(np.float32)  # type: ignore[no-any-return]


# ── the operation ──


def operation(cut: Cut, instructions: Instructions) -> Callable[..., None]:
    """WINOGRAD, of (weights, scratch, operation)."""
    gather, finish = _gather(cut.side), _finish(cut.side)
    kernels = [
        vectors.row(instructions.cut(cut.tiles, blocks), blocks, half=False, only_products=True)
        for blocks in range(1, len(instructions.positions) + 1)
    ]
    one, two, three = (*kernels, *[kernels[-1]] * 2)[:3]  # the last ones are never called where there are fewer
    widest, side, tile_rows, tile_columns, tiles = len(kernels), cut.side, cut.rows, cut.columns, cut.tiles
    count = cut.window**2

    def multiply(
        weights: Any, scratch: Any, blocks: int, factors: int, source: int, words: int, step: int, target: int
    ) -> None:
        """All tiles × `blocks` blocks of outputs, for one of the n² numbers: as one board row under a window of one position."""
        window_rows, none, width = 1, 0, BLOCK * blocks
        if blocks == 3:
            three(
                weights, scratch, factors, none, source, window_rows, none, words, step, target, width, -1, none, none
            )
        elif blocks == 2:
            two(weights, scratch, factors, none, source, window_rows, none, words, step, target, width, -1, none, none)
        else:
            one(weights, scratch, factors, none, source, window_rows, none, words, step, target, width, -1, none, none)

    def winograd(weights: Any, scratch: Any, op: Any) -> None:
        step = (op.channels + BLOCK - 1) // BLOCK * BLOCK  # from one tile's inputs to the next one's
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
        while block < op.blocks:
            blocks = together(op.blocks - block, widest)
            width = BLOCK * blocks
            factors = op.weights + BLOCK * block * count * op.channels
            for k in range(count):
                multiply(
                    weights, scratch, blocks, factors + k * op.channels * width, op.vector + k * tiles * step, op.channels,
                    step, op.products + k * tiles * width,
                )  # fmt: skip
            for y in range(tile_rows):
                for x in range(tile_columns):
                    for i in range(block, block + blocks):
                        offset = side * (y * op.target_row + x * op.target_step) + BLOCK * i
                        finish(
                            weights, scratch, op.products + (y * tile_columns + x) * width + BLOCK * (i - block),
                            tiles * width, op.bias + BLOCK * i, op.target + offset, op.target_row, op.target_step,
                            op.rows - side * y, op.columns - side * x, op.added + offset if op.added >= 0 else -1, op.relu,
                        )  # fmt: skip
            block += blocks

    return winograd


def _gather(side: int) -> Any:
    """Bᵀ d B of one tile and one block of channels, its numbers `apart` words from each other."""
    rows = matrices(side).input
    n = len(rows)

    def emit(code: Code, source: Any, source_row: Any, source_step: Any, target: Any, apart: Any) -> None:
        half = []
        for x in range(n):
            places = [code.add(source, code.multiply(source_row, y), code.multiply(source_step, x)) for y in range(n)]
            half.append(_times(code, rows, [code.load(code.scratch, place) for place in places]))
        for y in range(n):
            for x, number in enumerate(_times(code, rows, [half[x][y] for x in range(n)])):
                code.store(number, code.add(target, code.multiply(apart, y * n + x)))

    return vectors.intrinsic_of(emit, 5, _SOURCE, "gather", side)


def _finish(side: int) -> Any:
    """Aᵀ M A of one tile and one block of channels; bias and `added` are added, and what lies on the board is stored."""
    rows = matrices(side).output
    n = len(rows[0])

    def emit(
        code: Code, products: Any, apart: Any, bias: Any, target: Any, target_row: Any, target_step: Any, high: Any, wide: Any,
        added: Any, relu: Any,
    ) -> None:  # fmt: skip
        half = []
        for x in range(n):
            places = [code.add(products, code.multiply(apart, y * n + x)) for y in range(n)]
            half.append(_times(code, rows, [code.load(code.scratch, place) for place in places]))
        start = code.load(code.weights, bias)
        total = code.variable()
        outputs = [_times(code, rows, [half[x][y] for x in range(n)]) for y in range(side)]
        for y, x in itertools.product(range(side), range(side)):
            with code.when(">", high, y), code.when(">", wide, x):
                offset = code.add(code.multiply(target_row, y), code.multiply(target_step, x))
                code.store_variable(total, code.sum(outputs[y][x], start))
                with code.when("!=", added, -1):
                    more = code.load(code.scratch, code.add(added, offset))
                    code.store_variable(total, code.sum(code.read(total), more))
                with code.when("!=", relu, 0):
                    code.store_variable(total, code.rectified(code.read(total)))
                code.store(code.read(total), code.add(target, offset))

    return vectors.intrinsic_of(emit, 10, _SOURCE, "finish", side)


def _times(code: Code, matrix: Sequence[Sequence[Fraction]], column: Sequence[Any]) -> list[Any]:
    """The matrix times a column of vectors. Two rows that differ in some signs alone share their work: they are the sum and the
    difference of what they have in common and of the rest."""
    found: list[Any] = []
    while len(found) < len(matrix):
        row, following = matrix[len(found)], matrix[min(len(found) + 1, len(matrix) - 1)]
        pairs = list(zip(row, following, strict=True))
        if row != following and all(abs(a) == abs(b) for a, b in pairs):
            same = _combined(code, [a if a == b else Fraction(0) for a, b in pairs], column)
            rest = _combined(code, [a if a != b else Fraction(0) for a, b in pairs], column)
            found += [code.sum(same, rest), code.difference(same, rest)]
        else:
            found.append(_combined(code, row, column))
    return found


def _combined(code: Code, factors: Sequence[Fraction], column: Sequence[Any]) -> Any:
    """Σ factor · vector, begun with a factor of 1 where there is one."""
    total: Any = None
    for _, _, i in sorted((factor != 1, abs(factor) != 1, i) for i, factor in enumerate(factors) if factor):
        if total is None:
            total = column[i] if factors[i] == 1 else code.builder.fmul(column[i], code.all(float(factors[i])))
        elif abs(factors[i]) == 1:
            total = code.sum(total, column[i]) if factors[i] > 0 else code.difference(total, column[i])
        else:
            total = code.multiply_add(column[i], code.all(float(factors[i])), total)
    return total
