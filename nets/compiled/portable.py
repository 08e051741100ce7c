"""The operations of a network in plain loops over float32, for CPUs that `vectors.py` is not written for; they also run interpreted.

Each sum is kept in scratch, all output channels of a position side by side, so that the innermost loop is one that compilers vectorize.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nets.compiled.program import BLOCK

_ZERO = np.float32(0)


def planes(weights: Any, scratch: Any, op: Any, observation: Any) -> None:
    """[channels, rows, columns] -> [row][column][channel]."""
    for channel in range(op.channels):
        for y in range(op.rows):
            for x in range(op.columns):
                scratch[op.target + y * op.target_row + x * op.target_step + channel] = observation[channel, y, x]


def vector(weights: Any, scratch: Any, op: Any, observation: Any) -> None:
    """The observation as it is."""
    numbers = observation.reshape(-1)
    for i in range(op.channels):
        scratch[op.target + i] = numbers[i]


def convolution(weights: Any, scratch: Any, op: Any) -> None:
    """Position by position."""
    above, left = op.window_rows // 2, op.window_columns // 2
    words, width = op.window_columns * op.source_step, BLOCK * op.blocks
    for y in range(op.rows):
        for x in range(op.columns):
            _start(weights, scratch, op, width)
            for window_row in range(max(above - y, 0), min(op.window_rows, op.rows + above - y)):
                source = op.source + (y + window_row - above) * op.source_row + (x - left) * op.source_step
                _accumulate(weights, scratch, op, op.weights + window_row * words * width, source, words, width)
            at = y * op.target_row + x * op.target_step
            if op.added >= 0:
                for i in range(width):
                    scratch[op.vector + i] += scratch[op.added + at + i]
            _finish(scratch, op, op.target + at, width)


def dense(weights: Any, scratch: Any, op: Any) -> None:
    width = BLOCK * op.blocks
    _start(weights, scratch, op, width)
    _accumulate(weights, scratch, op, op.weights, op.source, op.words, width)
    _finish(scratch, op, op.target, width)


def _start(weights: Any, scratch: Any, op: Any, width: int) -> None:
    for i in range(width):
        scratch[op.vector + i] = weights[op.bias + i]


def _accumulate(weights: Any, scratch: Any, op: Any, factors: int, source: int, words: int, width: int) -> None:
    sums = scratch[
        op.vector : op.vector + width
    ]  # loops over slices are vectorized; an index of its own could be negative
    for word in range(words):
        value = scratch[source + word]
        if value != _ZERO:  # about half of all activations are zero
            at = factors + word * width
            row = weights[at : at + width]
            for i in range(width):
                sums[i] += value * row[i]


def _finish(scratch: Any, op: Any, target: int, width: int) -> None:
    for i in range(width):
        total = scratch[op.vector + i]
        scratch[target + i] = _ZERO if op.relu and total < _ZERO else total


def pool(weights: Any, scratch: Any, op: Any) -> None:
    """The mean of each channel over the board, then the maximum of each."""
    width, cells = BLOCK * op.blocks, np.float32(op.rows * op.columns)
    mean, most = op.target, op.target + width
    for i in range(width):
        scratch[mean + i], scratch[most + i] = _ZERO, scratch[op.source + i]
    for y in range(op.rows):
        for x in range(op.columns):
            at = op.source + y * op.source_row + x * op.source_step
            for i in range(width):
                value = scratch[at + i]
                scratch[mean + i] += value
                scratch[most + i] = max(scratch[most + i], value)
    for i in range(width):
        scratch[mean + i] /= cells


def spread(weights: Any, scratch: Any, op: Any) -> None:
    """A vector added at every position."""
    for y in range(op.rows):
        for x in range(op.columns):
            at = op.target + y * op.target_row + x * op.target_step
            for i in range(BLOCK * op.blocks):
                scratch[at + i] += scratch[op.vector + i]
