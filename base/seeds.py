"""Randomness as an argument: seeds with a purpose, and a generator that interpreted and compiled code share.

>>> rng = generator(7, "self-play", 12)   # game 12 of seed 7: the same stream on every machine
>>> below(rng, 6), uniform(rng)

The generator is SplitMix64 (Steele, Lea and Flood 2014): one 64-bit word of state in an array of length 1, so that a kernel can
advance it in place. Streams of different purposes are set apart by hashing, never by adding.
"""

from __future__ import annotations

import hashlib
import operator
from typing import Any

import numpy as np

from base.bits import U, wrapping_add, wrapping_mul

Rng = np.ndarray[Any, np.dtype[np.uint64]]  # shape [1]

_GOLDEN, _MIX_1, _MIX_2 = U(0x9E3779B97F4A7C15), U(0xBF58476D1CE4E5B9), U(0x94D049BB133111EB)
_30, _27, _31, _32, _11, _LOW = U(30), U(27), U(31), U(32), U(11), U(0xFFFFFFFF)


def derive(seed: int, *purpose: str | int) -> int:
    """A 64-bit seed for one purpose: `derive(7, "game", 12)`."""
    text = "\x1f".join([str(operator.index(seed)), *map(_spelled, purpose)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _spelled(part: str | int) -> str:
    """Equal numbers are one purpose, of whatever type; a separator inside a text is doubled, so that it parts nothing."""
    return "str:" + part.replace("\x1f", "\x1f\x1f") if isinstance(part, str) else f"int:{operator.index(part)}"


def generator(seed: int, *purpose: str | int) -> Rng:
    """A stream of its own for one purpose."""
    return np.array([derive(seed, *purpose)], dtype=np.uint64)


def mix(word: Any) -> Any:
    """SplitMix64's finalizer: a bijection of 64-bit words in which every bit of the input moves half the bits of the output."""
    word = wrapping_mul(word ^ (word >> _30), _MIX_1)
    word = wrapping_mul(word ^ (word >> _27), _MIX_2)
    return word ^ (word >> _31)


def next_word(rng: Rng) -> Any:
    """64 random bits."""
    rng[0] = wrapping_add(rng[0], _GOLDEN)
    return mix(rng[0])


def below(rng: Rng, n: Any) -> int:
    """A whole number from 0 to n-1, exactly uniform (Lemire 2019), for 0 < n < 2^32."""
    size = U(n)
    product = (next_word(rng) >> _32) * size
    if (product & _LOW) < size:
        threshold = ((_LOW + U(1)) - size) % size
        while (product & _LOW) < threshold:
            product = (next_word(rng) >> _32) * size
    return int(np.int64(product >> _32))  # signed, as Python's: differences of draws may be negative


def uniform(rng: Rng) -> float:
    """A number in [0, 1), on the grid of 2^-53."""
    return float(next_word(rng) >> _11) * (1.0 / 9007199254740992.0)
