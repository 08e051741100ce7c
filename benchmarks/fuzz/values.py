"""Draws of hostile input: values, JSON with spoiled entries, damaged text and bytes. `benchmarks/fuzz` makes files of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from base.seeds import below, generator, uniform

T = TypeVar("T")


class Rng:
    """Draws of one case."""

    def __init__(self, seed: int, *purpose: str | int) -> None:
        self.stream = generator(seed, *purpose)

    def random(self) -> float:
        return uniform(self.stream)

    def randrange(self, start: int, stop: int | None = None) -> int:
        return below(self.stream, start) if stop is None else start + below(self.stream, stop - start)

    def choice(self, values: Sequence[Any]) -> Any:
        return values[self.randrange(len(values))]

    def sample(self, values: Sequence[T], n: int) -> list[T]:
        left = list(values)
        return [left.pop(self.randrange(len(left))) for _ in range(min(n, len(left)))]

    def randbytes(self, n: int) -> bytes:
        return bytes(self.randrange(256) for _ in range(n))


Case = Callable[[Rng, Path], bool]


class Wrong(Exception):
    """It was accepted and should not have been."""


NUMBERS = (
    "9" * 5000,
    "-" + "9" * 400,
    "1e999",
    "-1e999",
    "NaN",
    "Infinity",
    "9" * 400 + ".5",
    "-0.0",
    "-1",
    "0",
    "1",
    "1.5",
    "1e3",
    str(2**31),
    str(2**53),
    str(2**63),
    str(2**64),
    str(-(2**63) - 1),
    "0x10",
    "1_000",
    "true",
    "null",
    "nan",
    "inf",
    "+1",
)
TEXTS = (
    "",
    " ",
    "x",
    "\x00",
    "\x1b[31m",
    "a\nb",
    "ä",
    "\ud800",
    "\U0001f600",
    "../..",
    "/dev/null",
    "x" * 5000,
    "{}",
    "[]",
    "`|<b>",
    "%s{0}",
)
STRUCTURES = (
    "[" * 5000 + "]" * 5000,
    "[[[]]]",
    "{}",
    "[]",
    '{"a":' * 300 + "1" + "}" * 300,
    "[" * 150 + "]" * 150,
    '{"a":1,"a":2}',
)


def token(rng: Rng) -> str:
    """A value as JSON has it, or nearly."""
    kind = rng.random()
    if kind < 0.5:
        found: str = rng.choice(NUMBERS)
    elif kind < 0.8:
        found = json.dumps(rng.choice(TEXTS))
    else:
        found = rng.choice(STRUCTURES)
    return found


def spoiled_json(value: Any, rng: Rng) -> str:
    """The text of a value with one to three of its entries replaced, removed, repeated or added."""
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        marks: list[str] = []
        try:
            shape = _marked(json.loads(text), marks)
        except (ValueError, RecursionError):
            return text
        if marks:
            marks[rng.randrange(len(marks))] = token(rng)
        pieces = shape.split("\x00")
        text = "".join(marks[int(each)] if i % 2 else each for i, each in enumerate(pieces))
    return damaged_text(text, rng) if rng.random() < 0.2 else text


def _marked(value: Any, marks: list[str]) -> str:
    """The text of a value with the number of each entry instead of it; the entries come into `marks`."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_marked(each, marks)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_marked(each, marks) for each in value) + "]"
    marks.append(json.dumps(value))
    return f"\x00{len(marks) - 1}\x00"


def damaged_text(text: str, rng: Rng) -> str:
    """Parts of it removed, repeated, exchanged, or tokens put in."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, end = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        end = min(end, at + rng.choice((0, 1, 3, 20)))
        new = rng.choice(
            (token(rng), rng.choice(TEXTS), text[at:end] * rng.choice((0, 2, 50)), chr(rng.randrange(1, 0x250)))
        )
        text = text[:at] + new + text[end:]
    return text


def damaged(data: bytes, rng: Rng) -> bytes:
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(found) + 1)
        kind = rng.randrange(5)
        if kind == 0 and at < len(found):
            found[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            found[at : at + rng.choice((1, 4, 64))] = rng.randbytes(rng.choice((1, 4, 16)))
        elif kind == 2:
            del found[at : at + rng.choice((1, 4, 200))]
        elif kind == 3:
            found[at:at] = found[: rng.choice((1, 4, 100))]
        elif rng.random() < 0.3:
            del found[at:]
    return bytes(found)


def mutated_bytes(data: bytes, rng: Rng) -> bytes:
    found = bytearray(data)
    for _ in range(rng.choice((1, 2, 4)) if found else 0):
        found[rng.randrange(len(found))] = rng.randrange(256)
    return bytes(found)


def written(text: str) -> bytes:
    """Half characters too."""
    return text.encode("utf-8", errors="surrogatepass")
