"""Instruction sets that a compiled network is written for, and which of them this CPU has.

| name     | what                                                                      | bf16              |
|----------|---------------------------------------------------------------------------|-------------------|
| amx      | avx512, and for bf16 tile registers of 16 × 32 numbers                      | always            |
| avx512   | 32 registers of 16 numbers                                                | with avx512_bf16  |
| avx2     | 16 registers of 8 numbers, with FMA                                       |                   |
| neon     | 32 registers of 4 numbers (64-bit ARM)                                    |                   |
| portable | plain loops, vectorized by the compiler as far as it can; also interpreted |                   |

`ZERMELO_INSTRUCTIONS=avx2` forces one of them.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
from dataclasses import dataclass

import llvmlite.binding as llvm
from numba.core import config

from base.errors import UserError, nearest

VARIABLE = "ZERMELO_INSTRUCTIONS"

_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA = (
    158,
    0x1023,
    18,
)  # Linux on x86-64: arch_prctl(ARCH_REQ_XCOMP_PERM, XTILEDATA)


@dataclass(frozen=True)
class Instructions:
    """One instruction set: how many numbers fit its registers decides how a layer is cut into tiles."""

    name: str
    positions: tuple[int, ...] = ()
    """Most positions of a row that a convolution computes together, for 1, 2, … blocks of 16 channels. Empty: plain loops."""
    dense: int = 1
    """Blocks of outputs that a dense layer computes together."""
    has_tiles: bool = False
    """Convolutions of bf16 numbers are matrix products in tile registers (`tiles.py`)."""

    @property
    def is_portable(self) -> bool:
        return not self.positions

    def tiles(self, blocks: int) -> list[int]:
        """A convolution's blocks of output channels, as they are computed together."""
        if self.is_portable:
            return [blocks]
        found = []
        while blocks:
            found.append(together(blocks, len(self.positions)))
            blocks -= found[-1]
        return found

    def dense_tiles(self, blocks: int) -> list[int]:
        """The same for a dense layer."""
        if self.is_portable:
            return [blocks]
        return [self.dense] * (blocks // self.dense) + [1] * (blocks % self.dense)

    def cut(self, positions: int, blocks: int) -> tuple[int, ...]:
        """So many positions (or tiles, `winograd.py`) in as few parts as there can be, about equally long, each of them computed
        together for so many blocks of outputs."""
        parts = -(-positions // self.positions[blocks - 1])
        return tuple((positions + part) // parts for part in range(parts))


def together(left: int, widest: int) -> int:
    """How many of the blocks left are computed together. Also a part of kernels.

    Three only at the end: 2 + 3, never 3 + 1 + 1, because one block alone keeps the CPU waiting.
    """
    return left if left <= widest else min(2, widest)


SETS = {
    each.name: each
    for each in (
        Instructions("amx", positions=(24, 11, 9), dense=4, has_tiles=True),
        Instructions("avx512", positions=(24, 11, 9), dense=4),
        Instructions("avx2", positions=(6,), dense=2),
        Instructions("neon", positions=(6,), dense=2),
        Instructions("portable"),
    )
}


@functools.cache
def _features() -> frozenset[str]:
    """What the compiler may use: the CPU's features, or those that numba is set to compile for."""
    if config.CPU_FEATURES is not None:
        return frozenset(each[1:] for each in config.CPU_FEATURES.split(",") if each.startswith("+"))
    if config.CPU_NAME == "generic":
        return frozenset()
    return frozenset(name for name, has in llvm.get_host_cpu_features().items() if has)


def available() -> list[str]:
    """Names of the instruction sets that this CPU has, the fastest first."""
    features = _features()
    found = []
    if not config.DISABLE_JIT:
        if features >= {"avx512f", "avx512bw", "avx512dq", "avx512vl"}:
            if features >= {"amx-tile", "amx-bf16", "avx512bf16"} and _may_use_tiles():
                found.append("amx")
            found.append("avx512")
        if features >= {"avx2", "fma"}:
            found.append("avx2")
        if platform.machine().lower() in ("arm64", "aarch64"):
            found.append("neon")
    return [*found, "portable"]


@functools.cache
def _may_use_tiles() -> bool:
    """Ask the kernel for the tile registers: Linux gives them to processes that request them."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    return bool(ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA) == 0)


def has_bf16(instructions: Instructions) -> bool:
    """Whether this CPU multiplies bf16 numbers with these instructions."""
    return instructions.name in ("amx", "avx512") and "avx512bf16" in _features()


def multiplies_bf16_twice_as_fast(instructions: Instructions) -> bool:
    """As fp32, by vectors. AMD's CPUs do; Intel's make a bf16 product of vectors slower than two fp32 products."""
    return has_bf16(instructions) and llvm.get_host_cpu_name().startswith("znver")


def choose(name: str = "") -> Instructions:
    """The instruction set of that name; without a name that of the environment variable, or the fastest one here.

    All but amx run on every CPU, as code for registers that the CPU lacks is code for several smaller ones; only slower.
    """
    name = name or os.environ.get(VARIABLE, "") or available()[0]
    if name not in SETS:
        raise UserError(f"{VARIABLE}: expected one of {', '.join(SETS)}, got '{name}'{nearest(name, SETS)}")
    if SETS[name].has_tiles and name not in available():
        raise UserError(f"{VARIABLE}: expected what this CPU has, {', '.join(available())}; got '{name}'")
    return SETS[name]
