"""From the weights of a network to its compiled form's data: operations, packed weights, places in scratch.

Normalization is folded into the layers before it. The weights of a convolution are [tile][window row][window column × input][output],
by Winograd's way [tile][transformed number][input][output], those of a dense layer [tile][input][output]; a tile is what the
instruction set computes together (`instructions.py`), and of bf16 numbers two inputs stand side by side in one word.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from base.errors import UserError
from games import Rules
from nets.compiled.instructions import Instructions
from nets.compiled.program import (
    BLOCK,
    CONFIGURE,
    CONVOLUTION,
    DENSE,
    LOGITS,
    OPERATION,
    PLANES,
    POOL,
    RESTORE,
    SPREAD,
    TILED,
    UTILITIES,
    VECTOR,
    WINOGRAD,
    PackedWeights,
    aligned,
)
from nets.compiled.tiles import MOST, TILE
from nets.compiled.winograd import WINDOW, Cut, transformed
from nets.folding import Floats, Weights
from nets.outcome import OutcomeLayout

_WAYS = 4  # a dense layer's inputs are padded to a multiple of it (`vectors.dense`)


@dataclass(frozen=True)
class Place:
    """Planes or a vector (one position) in scratch; all counts but channels in words."""

    at: int
    row: int
    step: int
    rows: int
    columns: int
    channels: int
    half: bool
    padded: bool = False
    """There is a column of zeros at either end of each row, or zeros on all sides for Winograd's tiles."""
    pooled: bool = False
    """A vector of means, then from the next whole block on maxima."""
    tiled: bool = False
    """Padded for AMX: one column of zeros behind each row, zeros before and behind, channels padded to 32."""

    @property
    def words(self) -> int:
        """From the first number to the last one, in words, padded."""
        if self.pooled:
            return 2 * _whole_blocks(self.channels // 2)
        last = (self.rows - 1) * self.row + (self.columns - 1) * self.step + -(-self.channels // self.per_word)
        return -(-last // _WAYS) * _WAYS

    @property
    def per_word(self) -> int:
        return 2 if self.half else 1

    def indices(self) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Where each number is, in the order of torch ([channel][row][column]), counted from the first one."""
        if self.pooled:
            half = np.arange(self.channels // 2)
            return np.concatenate([half, _whole_blocks(self.channels // 2) + half])
        channel, y, x = np.indices((self.channels, self.rows, self.columns))
        return np.asarray((y * self.row + x * self.step) * self.per_word + channel, np.intp).reshape(-1)


class Packer:
    """`form.FormLayers` that writes a program. `packed()` is the result, `scratch` how many words it needs."""

    def __init__(
        self,
        weights: Weights,
        rules: Rules,
        outcome: OutcomeLayout,
        instructions: Instructions,
        half: bool,
        cut: Cut | None,
    ) -> None:
        """`cut`: 3×3 convolutions are taken by Winograd's products."""
        self._weights, self._outcome, self._instructions, self._half = weights, outcome, instructions, half
        self._observation, self._actions = rules.observation, rules.actions
        self._program: list[dict[str, int]] = []
        self._packed: list[Floats] = []
        self._words = 0
        self._free: list[Place] = []
        self._summing: list[dict[str, int]] = []
        self._tiled: list[dict[str, int]] = []
        self._winograd: list[dict[str, int]] = []
        self._has_tiles = half and instructions.has_tiles
        self._cut = cut
        self.scratch = 0
        if self._has_tiles:
            self._saved = self._reserve(BLOCK)
            self._write(CONFIGURE, target=self._saved)

    def packed(self) -> PackedWeights:
        self._weights.finish()
        if self._has_tiles:
            self._write(RESTORE, source=self._saved)
            room = self._reserve(MOST * TILE)
            for op in self._tiled:
                op["vector"] = room
        if self._winograd and self._cut is not None:
            each = self._cut.window**2 * self._cut.tiles
            inputs = self._reserve(each * max(_whole_blocks(op["channels"]) for op in self._winograd))
            products = self._reserve(each * BLOCK * len(self._instructions.positions))
            for op in self._winograd:
                op["vector"], op["products"] = inputs, products
        widest = max((op["blocks"] for op in self._summing), default=0)
        room = self._reserve(BLOCK * widest)
        for op in self._summing:
            op["vector"] = room
        program = np.zeros(len(self._program), OPERATION)
        for i, op in enumerate(self._program):
            for name, value in op.items():
                program[i][name] = value
        numbers = aligned(self._words)
        numbers[:] = np.concatenate(self._packed)
        return PackedWeights(program, numbers)

    # ── layers ──

    def has(self, name: str) -> bool:
        return self._weights.has(name)

    def observation(self, flat: bool = False) -> Place:
        channels, rows, columns = self._observation
        if flat:
            numbers = channels * rows * columns
            place = self._vector(numbers, self._half)
            self._write(VECTOR, target=place.at, channels=numbers)
            return place
        place = self._planes(rows, columns, channels, -(-channels // (2 if self._half else 1)), self._half, padded=True)
        self._write(PLANES, **_target(place), rows=rows, columns=columns, channels=channels)
        return place

    def normed(self, name: str, x: Place, add: Place | None = None, exact: bool = False) -> Place:
        weight, bias = self._weights.folded(name)
        return self._layer(name, x, weight, bias, add, relu=True, exact=exact)

    def linear(self, name: str, x: Place) -> Place:
        weight, bias = self._weights.plain(name)
        return self._layer(name, x, weight, bias, None, relu=False, exact=True)

    def pooled(self, x: Place, channels: int | None = None) -> Place:
        channels = x.channels if channels is None else channels
        target = Place(self._reserve(2 * _whole_blocks(channels)), 0, 0, 1, 1, 2 * channels, half=False, pooled=True)
        self._write(POOL, **_source(x), target=target.at, blocks=_blocks(channels), is_half=x.half)
        return target

    def spread(self, x: Place, vector: Place) -> Place:
        assert not vector.half and vector.channels == x.channels
        rows, columns = x.rows, x.columns
        self._write(
            SPREAD,
            **_target(x),
            vector=vector.at,
            rows=rows,
            columns=columns,
            blocks=_blocks(x.channels),
            is_half=x.half,
        )
        return x

    def policy(self, x: Place, rest: Place | None = None) -> None:
        start = 0
        for each in filter(None, (x, rest)):
            assert not each.half and each.row == each.columns * each.step
            cells = each.rows * each.columns
            self._write(LOGITS, source=each.at, source_step=each.step, rows=cells, channels=each.channels, target=start)
            start += cells * each.channels
        if start != self._actions:
            raise UserError(f"weights: expected {self._actions} logits, got {start}")

    def value(self, x: Place) -> None:
        outcome = self._outcome
        if x.channels != outcome.size:
            raise UserError(f"weights: expected {outcome.size} outputs of the value head, got {x.channels}")
        values = self._pack(np.array(outcome.values, np.float32))
        self._write(UTILITIES, source=x.at, rows=outcome.seats, channels=len(outcome.values), weights=values)

    # ── one layer ──

    def _layer(
        self, name: str, x: Place, weight: Floats, bias: Floats, add: Place | None, relu: bool, exact: bool
    ) -> Place:
        convolves = weight.ndim == 4
        inputs = x.channels * (1 if convolves else x.rows * x.columns)
        if weight.shape[1] != inputs:
            raise UserError(f"weights: expected {inputs} inputs of {name}, got {weight.shape[1]}")
        outputs, blocks = len(weight), _blocks(len(weight))
        padded_bias = np.zeros(BLOCK * blocks, np.float32)
        padded_bias[:outputs] = bias
        half = self._half and not exact
        common = {
            "bias": self._pack(padded_bias),
            "blocks": blocks,
            "relu": relu,
            "is_half": x.half,
            "is_full": not half,
        }
        if not convolves:
            place = self._vector(outputs, half)
            dense = self._dense_weights(weight, x, blocks)
            op = self._write(DENSE, source=x.at, target=place.at, words=x.words, weights=dense, **common)
            self._summing.append(op)
            return place
        window_rows, window_columns = weight.shape[2:]
        assert x.padded or window_columns == 1, f"{name}: its input has no zeros beside the board"
        assert x.half == self._half, f"{name}: convolutions read numbers of the network's precision"
        if add is not None:
            place = add
            self._free.append(x)
        else:
            place = self._activations(x.rows, x.columns, outputs, half, window_rows * window_columns > 1)
        common |= {**_source(x), **_target(place), "added": -1 if add is None else add.at}
        if self._cut is not None and window_rows == window_columns == WINDOW:
            numbers = self._winograd_weights(weight, self._cut, blocks)
            self._winograd.append(self._write(WINOGRAD, weights=numbers, channels=inputs, **common))
            return place
        op = self._write(
            TILED if x.tiled else CONVOLUTION,
            weights=self._convolution_weights(weight, x, blocks),
            window_rows=window_rows,
            window_columns=window_columns,
            **common,
        )
        (self._tiled if x.tiled else self._summing).append(op)
        return place

    def _winograd_weights(self, weight: Floats, cut: Cut, blocks: int) -> int:
        numbers = transformed(weight, cut.side)
        padded = np.zeros((*numbers.shape[:2], BLOCK * blocks), np.float32)
        padded[:, :, : len(weight)] = numbers
        return self._pack_tiles(padded.reshape(-1, BLOCK * blocks), self._instructions.tiles(blocks), half=False)

    def _convolution_weights(self, weight: Floats, x: Place, blocks: int) -> int:
        outputs, inputs, rows, columns = weight.shape
        padded = np.zeros((rows, columns, x.step * x.per_word, BLOCK * blocks), np.float32)
        padded[:, :, :inputs, :outputs] = weight.transpose(2, 3, 1, 0)
        flat = padded.reshape(-1, BLOCK * blocks)
        return self._pack_tiles(flat, [1] * blocks if x.tiled else self._instructions.tiles(blocks), x.half)

    def _dense_weights(self, weight: Floats, x: Place, blocks: int) -> int:
        padded = np.zeros((x.words * x.per_word, BLOCK * blocks), np.float32)
        padded[x.indices(), : len(weight)] = weight.T
        return self._pack_tiles(padded, self._instructions.dense_tiles(blocks), x.half)

    def _pack_tiles(self, weight: Floats, tiles: list[int], half: bool) -> int:
        """[input][output] cut into tiles of outputs."""
        edges = np.cumsum([0, *tiles]) * BLOCK
        first = self._words
        for start, end in itertools.pairwise(edges):
            tile = weight[:, start:end]
            if half:
                pairs = tile.reshape(len(tile) // 2, 2, -1).transpose(0, 2, 1)
                self._pack(rounded(pairs).view(np.float32))
            else:
                self._pack(tile)
        return first

    # ── places ──

    def _pack(self, numbers: Floats) -> int:
        at = self._words
        line = np.zeros(-(-numbers.size // BLOCK) * BLOCK, np.float32)  # everything begins at a cache line
        line.view(np.uint32)[: numbers.size] = np.ascontiguousarray(numbers).reshape(-1).view(np.uint32)
        self._packed.append(line)
        self._words += line.size
        return at

    def _reserve(self, words: int) -> int:
        """A place in scratch, with room for one block to be stored at its last word."""
        at = self.scratch
        self.scratch += -(-words // BLOCK) * BLOCK + BLOCK
        return at

    def _vector(self, numbers: int, half: bool) -> Place:
        return Place(self._reserve(_whole_blocks(numbers)), 0, 0, 1, 1, numbers, half)

    def _activations(self, rows: int, columns: int, channels: int, half: bool, padded: bool) -> Place:
        """Room for a convolution's result; behind a 1×1 convolution without the zeros that only larger windows need.

        There, and where all channels are one block, positions are as many words apart as there are channels: each one's unused lanes
        are overwritten by the next position. So a linear map behind it reads no padding.
        """
        free = next(
            (each for each in self._free if (each.channels, each.half, each.padded) == (channels, half, padded)), None
        )
        if free is not None:
            self._free.remove(free)
            return free
        per_word = 2 if half else 1
        whole = padded or channels > BLOCK
        step = _whole_blocks(channels) // per_word if whole else -(-channels // per_word)
        return self._planes(rows, columns, channels, step, half, padded)

    def _planes(self, rows: int, columns: int, channels: int, step: int, half: bool, padded: bool) -> Place:
        if padded and half and self._has_tiles:
            step = -(-step // BLOCK) * BLOCK  # 32 channels
            pitch = columns + 1
            around = (pitch + 1) * step  # of zeros: from a position to the last one of its window
            positions = -(-rows * pitch // 16) * 16
            at = self._reserve(2 * around + positions * step) + around
            return Place(at, pitch * step, step, rows, columns, channels, half, padded, tiled=True)
        if padded and self._cut is not None:
            row = self._cut.padded_columns * step
            at = self._reserve(self._cut.padded_rows * row) + row + step
            return Place(at, row, step, rows, columns, channels, half, padded)
        row = (columns + 2 * padded) * step
        return Place(self._reserve(rows * row) + padded * step, row, step, rows, columns, channels, half, padded)

    def _write(self, kind: int, **fields: int) -> dict[str, int]:
        self._program.append({"kind": kind, **fields})
        return self._program[-1]


def rounded(numbers: Floats) -> np.ndarray[Any, np.dtype[np.uint16]]:
    """To bf16, to the nearest, ties to even."""
    bits = np.ascontiguousarray(numbers).view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)


def _blocks(channels: int) -> int:
    return -(-channels // BLOCK)


def _whole_blocks(channels: int) -> int:
    return BLOCK * _blocks(channels)


def _source(x: Place) -> dict[str, int]:
    return {"source": x.at, "source_row": x.row, "source_step": x.step, "rows": x.rows, "columns": x.columns}


def _target(x: Place) -> dict[str, int]:
    return {"target": x.at, "target_row": x.row, "target_step": x.step}
