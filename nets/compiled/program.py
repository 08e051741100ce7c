"""A network as data: a list of operations over one scratch array, and one array of numbers (weights, biases).

The compiled code (`forward.py`) is a loop over these operations, so it depends on no weight and on no number of blocks, channels
or outputs. `packing.py` writes the list.

All places and sizes are counted in words of four bytes: one float32, or two bf16 numbers ("halves"), the lower one first.
Activations are laid out as [row][column][channel], channels padded to whole blocks of 16. Where a 3×3 window reads them, each row
has one more column of zeros at either end; for AMX one column between rows, a row of zeros above and below, and channels padded to 32
(`tiles.py`); where Winograd's products are taken, zeros on all sides of the board (`winograd.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

BLOCK = 16  # channels that are computed together

# kinds of operations: what each one reads of `OPERATION`'s fields stands behind it
PLANES = 0  # observation -> activations: target, target_row, target_step, rows, columns, channels
VECTOR = 1  # observation -> one vector: target, channels (how many numbers)
CONVOLUTION = 2  # activations -> activations: all but channels, words, products; vector (for sums) in plain loops
DENSE = 3  # vector -> vector: source, words, target, weights, bias, blocks, relu, is_half, is_full; vector as above
POOL = 4  # activations -> the mean of each channel, then the maximum of each: is_half
SPREAD = 5  # activations += vector, at each position: target, vector, is_half
LOGITS = 6  # a vector, or planes, -> logits from `target` on: source, source_step, rows (cells), channels (planes)
UTILITIES = 7  # a vector -> utilities: source, rows (seats), channels (declared utilities, at `weights`)
TILED = 8  # a convolution by AMX: as CONVOLUTION, and vector (room for sums)
CONFIGURE = 9  # before the first TILED: target (room for what was set up before)
RESTORE = 10  # behind the last operation: source
WINOGRAD = 11  # fp32, as CONVOLUTION without window; channels (inputs), vector, products (room for both sides)

FIELDS = (
    "kind",
    "source",  # where the first number of the first position is
    "source_row",  # from one row to the next
    "source_step",  # from one position to the next
    "target",
    "target_row",
    "target_step",
    "added",  # activations that a convolution adds, laid out as its target is; -1: none
    "vector",
    "products",
    "weights",
    "bias",
    "rows",
    "columns",
    "channels",
    "blocks",  # blocks of output channels
    "window_rows",
    "window_columns",
    "words",  # inputs of a dense layer
    "relu",
    "is_half",  # the source is bf16, and so are the weights
    "is_full",  # the target is float32
)
OPERATION = np.dtype((np.record, [(name, np.int64) for name in FIELDS]))


class PackedWeights(NamedTuple):
    """A network's weights as compiled code reads them. The types are the same for every network."""

    program: np.ndarray[Any, Any]
    """[operations] of `OPERATION`."""
    numbers: np.ndarray[Any, np.dtype[np.float32]]
    """Weights, biases and declared utilities, at the places in the operations."""


def aligned(words: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """So many zeros, beginning at a cache line."""
    line = 64
    data = np.zeros(words * 4 + line, np.uint8)
    start = -data.ctypes.data % line
    return data[start : start + words * 4].view(np.float32)
