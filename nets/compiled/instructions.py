"""Instruction sets that a compiled network is written for, and which of them this CPU has.

| name     | what                                                                      | bf16              |
|----------|---------------------------------------------------------------------------|-------------------|
| avx512   | 32 registers of 16 numbers                                                | with avx512_bf16  |
| avx2     | 16 registers of 8 numbers, with FMA                                       |                   |
| neon     | 32 registers of 4 numbers (64-bit ARM)                                    |                   |
| portable | plain loops, vectorized by the compiler as far as it can; also interpreted |                   |

`ZERMELO_INSTRUCTIONS=avx2` forces one of them.
"""

from __future__ import annotations

import functools
import os
import platform
from dataclasses import dataclass

import llvmlite.binding as llvm
from numba.core import config

from base.errors import UserError, nearest

VARIABLE = "ZERMELO_INSTRUCTIONS"


@dataclass(frozen=True)
class Instructions:
    """One instruction set: how many numbers fit its registers decides how a layer is cut into tiles."""

    name: str
    positions: tuple[int, ...] = ()
    """Most positions of a row that a convolution computes together, for 1, 2, … blocks of 16 channels. Empty: plain loops."""
    dense: int = 1
    """Blocks of outputs that a dense layer computes together."""

    @property
    def is_portable(self) -> bool:
        return not self.positions

    def tiles(self, blocks: int) -> list[int]:
        """A convolution's blocks of output channels, as they are computed together."""
        if self.is_portable:
            return [blocks]
        widest, found = len(self.positions), []
        while blocks:
            # Three at once only at the end: 2 + 3, never 3 + 1 + 1, because one block alone keeps the CPU waiting.
            found.append(blocks if blocks <= widest else min(2, widest))
            blocks -= found[-1]
        return found

    def dense_tiles(self, blocks: int) -> list[int]:
        """The same for a dense layer."""
        if self.is_portable:
            return [blocks]
        return [self.dense] * (blocks // self.dense) + [1] * (blocks % self.dense)


SETS = {
    each.name: each
    for each in (
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
            found.append("avx512")
        if features >= {"avx2", "fma"}:
            found.append("avx2")
        if platform.machine().lower() in ("arm64", "aarch64"):
            found.append("neon")
    return [*found, "portable"]


def has_bf16(instructions: Instructions) -> bool:
    """Whether this CPU multiplies bf16 numbers with these instructions."""
    return instructions.name == "avx512" and "avx512bf16" in _features()


def choose(name: str = "") -> Instructions:
    """The instruction set of that name; without a name that of the environment variable, or the fastest one here.

    All of them run on every CPU, as code for registers that the CPU lacks is code for several smaller ones; only slower.
    """
    name = name or os.environ.get(VARIABLE, "") or available()[0]
    if name not in SETS:
        raise UserError(f"{VARIABLE}: expected one of {', '.join(SETS)}, got '{name}'{nearest(name, SETS)}")
    return SETS[name]
