"""The operations of a network for CPUs with vector instructions: loops over tiles, whose insides are in `vectors.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from nets.compiled import portable, tiles, vectors
from nets.compiled.instructions import Instructions, together
from nets.compiled.program import BLOCK


class Layers(NamedTuple):
    """One function per kind of operation, each of (weights, scratch, operation); `planes` and `vector` have the observation as well."""

    planes: Callable[..., None]
    vector: Callable[..., None]
    convolution: Callable[..., None]
    dense: Callable[..., None]
    pool: Callable[..., None]
    spread: Callable[..., None]


def layers(columns: int, instructions: Instructions, half: bool) -> Layers:
    """For boards of so many columns. `half`: activations and most weights are bf16."""
    planes, vector = _input(half)
    pool, spread = _pooling(half)
    return Layers(planes, vector, _convolution(columns, instructions, half), _dense(instructions, half), pool, spread)


def _convolution(columns: int, instructions: Instructions, half: bool) -> Callable[..., None]:
    widest = len(instructions.positions)

    def kernel(blocks: int) -> Callable[..., None]:
        """One row of the board × `blocks` blocks of output channels."""
        inside = vectors.row(instructions.cut(columns, blocks), blocks, half)

        def row(weights: Any, scratch: Any, op: Any, block: int, y: int) -> None:
            above, words = op.window_rows // 2, op.window_columns * op.source_step
            first = max(above - y, 0)  # rows of the window that lie on the board
            last = min(op.window_rows, op.rows + above - y)
            factors = op.weights + BLOCK * words * (block * op.window_rows + blocks * first)
            source = op.source + (y + first - above) * op.source_row - op.window_columns // 2 * op.source_step
            offset = y * op.target_row + block * (BLOCK if op.is_full or not half else BLOCK // 2)
            added = op.added + offset if op.added >= 0 else -1
            inside(
                weights, scratch, factors, op.bias + BLOCK * block, source, last - first, op.source_row, words,
                op.source_step, op.target + offset, op.target_step, added, op.relu, op.is_full,
            )  # fmt: skip

        return row

    if widest == 1:
        narrow = kernel(1)

        def convolution_by_one(weights: Any, scratch: Any, op: Any) -> None:
            for block in range(op.blocks):
                for y in range(op.rows):
                    narrow(weights, scratch, op, block, y)

        return convolution_by_one

    one, two, three = kernel(1), kernel(2), kernel(3)

    def convolution(weights: Any, scratch: Any, op: Any) -> None:
        block = 0
        while block < op.blocks:
            blocks = together(op.blocks - block, widest)
            for y in range(op.rows):
                if blocks == 3:
                    three(weights, scratch, op, block, y)
                elif blocks == 2:
                    two(weights, scratch, op, block, y)
                else:
                    one(weights, scratch, op, block, y)
            block += blocks

    return convolution


class TiledLayers(NamedTuple):
    """The operations of AMX, each of (weights, scratch, operation)."""

    convolution: Callable[..., None]
    configure: Callable[..., None]
    restore: Callable[..., None]


def tiled_layers() -> TiledLayers:
    one, two, three, four = (tiles.products(count + 1) for count in range(tiles.MOST))
    finish, set_up, put_back = tiles.finish(), tiles.configure(), tiles.restore()

    def convolution(weights: Any, scratch: Any, op: Any) -> None:
        pitch = op.source_row // op.source_step  # positions from one row to the next
        all_tiles = (op.rows * pitch + 15) // 16
        groups = (all_tiles + tiles.MOST - 1) // tiles.MOST
        chunks = op.source_step // BLOCK
        corner = op.source - op.window_rows // 2 * op.source_row - op.window_columns // 2 * op.source_step
        for block in range(op.blocks):
            factors = op.weights + block * op.window_rows * op.window_columns * chunks * tiles.TILE
            bias, first = op.bias + BLOCK * block, 0
            for group in range(groups):
                count = (all_tiles - first) // (groups - group)  # groups as equal as can be
                source = corner + 16 * first * op.source_step
                if count == 1:
                    one(weights, scratch, factors, bias, source, op.window_rows, op.source_row,
                        op.window_columns, op.source_step, chunks, op.vector)  # fmt: skip
                elif count == 2:
                    two(weights, scratch, factors, bias, source, op.window_rows, op.source_row,
                        op.window_columns, op.source_step, chunks, op.vector)  # fmt: skip
                elif count == 3:
                    three(weights, scratch, factors, bias, source, op.window_rows, op.source_row,
                          op.window_columns, op.source_step, chunks, op.vector)  # fmt: skip
                else:
                    four(weights, scratch, factors, bias, source, op.window_rows, op.source_row,
                         op.window_columns, op.source_step, chunks, op.vector)  # fmt: skip
                store(weights, scratch, op, block, pitch, 16 * first, 16 * (first + count))
                first += count

    def store(weights: Any, scratch: Any, op: Any, block: int, pitch: int, start: int, end: int) -> None:
        """The positions from `start` to `end` that lie on the board."""
        into = block * (BLOCK if op.is_full else BLOCK // 2)
        for y in range(start // pitch, min(op.rows, (end - 1) // pitch + 1)):
            x = max(0, start - y * pitch)
            count = min(op.columns, end - y * pitch) - x
            offset = y * op.target_row + x * op.target_step + into
            added = op.added + offset if op.added >= 0 else -1
            sums = op.vector + (y * pitch + x - start) * BLOCK
            if count > 0:
                finish(weights, scratch, sums, op.target + offset, op.target_step, count, added, op.relu, op.is_full)

    def configure(weights: Any, scratch: Any, op: Any) -> None:
        set_up(weights, scratch, op.target)

    def restore(weights: Any, scratch: Any, op: Any) -> None:
        put_back(weights, scratch, op.source)

    return TiledLayers(convolution, configure, restore)


def _dense(instructions: Instructions, half: bool) -> Callable[..., None]:
    full = _dense_of(instructions.dense, False)
    if not half:
        return full
    halves = _dense_of(instructions.dense, True)

    def dense(weights: Any, scratch: Any, op: Any) -> None:
        if op.is_half:
            halves(weights, scratch, op)
        else:
            full(weights, scratch, op)

    return dense


def _dense_of(together: int, half: bool) -> Callable[..., None]:
    """For inputs and weights in bf16 (`half`) or float32."""
    wide, single = vectors.dense(together, 2, half), vectors.dense(1, 4, half)

    def dense(weights: Any, scratch: Any, op: Any) -> None:
        block = 0
        while block < op.blocks:
            factors, bias = op.weights + BLOCK * op.words * block, op.bias + BLOCK * block
            target = op.target + block * (BLOCK if op.is_full or not half else BLOCK // 2)
            if op.blocks - block >= together:
                wide(weights, scratch, factors, bias, op.source, op.words, target, op.relu, op.is_full)
                block += together
            else:
                single(weights, scratch, factors, bias, op.source, op.words, target, op.relu, op.is_full)
                block += 1

    return dense


def _pooling(half: bool) -> tuple[Callable[..., None], Callable[..., None]]:
    pool_block, spread_block = vectors.pool(half), vectors.spread(half)
    words = BLOCK // 2 if half else BLOCK

    def pool(weights: Any, scratch: Any, op: Any) -> None:
        for block in range(op.blocks):
            mean = op.target + BLOCK * block
            pool_block(
                weights, scratch, op.source + words * block, op.rows, op.source_row, op.columns, op.source_step,
                mean, mean + BLOCK * op.blocks,
            )  # fmt: skip

    def spread(weights: Any, scratch: Any, op: Any) -> None:
        for block in range(op.blocks):
            spread_block(
                weights, scratch, op.vector + BLOCK * block, op.target + words * block,
                op.rows, op.target_row, op.columns, op.target_step,
            )  # fmt: skip

    return pool, spread


def _input(half: bool) -> tuple[Callable[..., None], Callable[..., None]]:
    if not half:
        return portable.planes, portable.vector
    pair = vectors.pair()

    def planes(weights: Any, scratch: Any, op: Any, observation: Any) -> None:
        for channel in range(0, op.channels - 1, 2):
            for y in range(op.rows):
                for x in range(op.columns):
                    word = op.target + y * op.target_row + x * op.target_step + channel // 2
                    pair(weights, scratch, word, observation[channel, y, x], observation[channel + 1, y, x])
        if op.channels % 2:
            last = op.channels - 1
            for y in range(op.rows):
                for x in range(op.columns):
                    word = op.target + y * op.target_row + x * op.target_step + last // 2
                    pair(weights, scratch, word, observation[last, y, x], 0.0)

    def vector(weights: Any, scratch: Any, op: Any, observation: Any) -> None:
        numbers = observation.reshape(-1)
        for i in range(0, op.channels - 1, 2):
            pair(weights, scratch, op.target + i // 2, numbers[i], numbers[i + 1])
        if op.channels % 2:
            pair(weights, scratch, op.target + op.channels // 2, numbers[op.channels - 1], 0.0)

    return planes, vector
