"""Games in a file that can't be read: they are reported and left out, and the rest is read.

A file of a million games has some that are cut short, of another variant, or against the rules. A file in which no game can be read is
refused with the error of its first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from base.errors import UserError
from base.files import StrPath
from games.record import GameRecord

MOST_NAMED = 5
LONGEST_LINE = 1 << 22  # characters
SHOWN = 60  # characters of an excerpt

Report = Callable[[str], object]
T = TypeVar("T")


class Broken(UserError):
    """One game can't be read; `line` is its place in the file."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


def on_stderr(message: str) -> None:
    print(message, file=sys.stderr)


def sound_records(
    path: StrPath, games: Iterable[T], record_of: Callable[[T], GameRecord], report: Report = on_stderr
) -> Iterator[GameRecord]:
    """The records of those games that have one. The first few of the others go to `report` by file and line, then their number."""
    read, broken = 0, 0
    record: GameRecord | None
    held: list[str] = []  # reported once a game can be read; if none can, the first is the error
    for game in games:
        try:
            record = record_of(game)
        except Broken as error:
            broken += 1
            if broken <= MOST_NAMED:
                held.append(f"{path}:{error.line}: {error}")
            record = None
        if record is not None:
            read += 1
        if read:
            for complaint in held:
                report(f"{complaint}; this game is left out")
            held.clear()
        if record is not None:
            yield record
    if held:
        raise UserError(held[0])
    if not read and not broken and os.path.getsize(path):
        raise UserError(f"{path}: expected games, got a file without one")
    if broken > MOST_NAMED:
        report(f"{path}: {broken:,} games in all are left out, {read:,} are read")


def lines_of(path: StrPath) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, one at a time. What is not UTF-8 is replaced; a line without end is refused."""
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        number = 0
        while line := file.readline(LONGEST_LINE):
            number += 1
            if len(line) == LONGEST_LINE and not line.endswith("\n"):
                raise UserError(f"{path}:{number}: expected lines of fewer than {LONGEST_LINE:,} characters")
            yield number, line


def excerpt(text: str) -> str:
    """Text from a file for a message: one line, not too long."""
    flat = " ".join(text.split())
    return flat if len(flat) <= SHOWN else flat[:SHOWN] + "…"
