"""The entry of a compiled network: `forward_for(…)` gives the plain function that evaluates one position."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nets.compiled import portable
from nets.compiled.instructions import Instructions
from nets.compiled.layers import Layers, TiledLayers, layers, tiled_layers
from nets.compiled.program import (
    CONFIGURE,
    CONVOLUTION,
    DENSE,
    LOGITS,
    PLANES,
    POOL,
    RESTORE,
    SPREAD,
    TILED,
    VECTOR,
    WINOGRAD,
)
from nets.compiled.winograd import Cut, operation

Forward = Callable[[Any, Any, Any, Any, Any], None]

_PORTABLE = Layers(
    portable.planes, portable.vector, portable.convolution, portable.dense, portable.pool, portable.spread
)


def nothing(weights: Any, scratch: Any, op: Any) -> None:
    """For operations that no such program has."""


_NO_TILES = TiledLayers(nothing, nothing, nothing)


@functools.cache
def forward_for(columns: int, cut: Cut | None, instructions: Instructions, half: bool) -> Forward:
    """For boards of so many columns that are cut so: forward(weights, scratch, observation, logits, utilities), plain Python to be
    compiled.

    `weights` is `PackedWeights`, the observation float32 [channels, rows, columns]. Written are policy logits [A] over the mover's
    numbers of the actions, and utilities [P] relative to the mover.
    """
    used = _PORTABLE if instructions.is_portable else layers(columns, instructions, half)
    planes, vector, convolution, dense, pool, spread = used
    winograd = nothing if cut is None else operation(cut, instructions)
    tiled, configure, restore = tiled_layers() if instructions.has_tiles and half else _NO_TILES

    def forward(packed: Any, scratch: Any, observation: Any, logits: Any, utilities: Any) -> None:
        weights = packed.numbers
        for i in range(len(packed.program)):
            op = packed.program[i]
            kind = op.kind
            if kind == CONVOLUTION:
                convolution(weights, scratch, op)
            elif kind == DENSE:
                dense(weights, scratch, op)
            elif kind == PLANES:
                planes(weights, scratch, op, observation)
            elif kind == VECTOR:
                vector(weights, scratch, op, observation)
            elif kind == POOL:
                pool(weights, scratch, op)
            elif kind == SPREAD:
                spread(weights, scratch, op)
            elif kind == WINOGRAD:
                winograd(weights, scratch, op)
            elif kind == TILED:
                tiled(weights, scratch, op)
            elif kind == CONFIGURE:
                configure(weights, scratch, op)
            elif kind == RESTORE:
                restore(weights, scratch, op)
            elif kind == LOGITS:
                write_logits(scratch, op, logits)
            else:
                write_utilities(weights, scratch, op, utilities)

    return forward


def write_logits(scratch: Any, op: Any, logits: Any) -> None:
    """[cell][plane] -> [plane][cell], or a vector as it is."""
    for plane in range(op.channels):
        for cell in range(op.rows):
            logits[op.target + plane * op.rows + cell] = scratch[op.source + cell * op.source_step + plane]


def write_utilities(weights: Any, scratch: Any, op: Any, utilities: Any) -> None:
    """What `nets.outcome.Outcome.utilities` does with one row."""
    seats, values = op.rows, op.channels
    for seat in range(seats):
        if values == 0:
            utilities[seat] = np.float32(math.tanh(scratch[op.source + seat]))
            continue
        first = op.source + seat * values
        most = scratch[first]
        for i in range(1, values):
            most = max(most, scratch[first + i])
        total, mean = 0.0, 0.0
        for i in range(values):
            share = math.exp(scratch[first + i] - most)
            total += share
            mean += share * weights[op.weights + i]
        least, greatest = weights[op.weights], weights[op.weights + values - 1]
        utilities[seat] = np.float32(min(max(mean / total, least), greatest))
    if seats < len(utilities):  # two players share a zero sum
        utilities[1] = -utilities[0]
