"""The games of a run on disk: one framed log per iteration, `runs/NAME/games/000012.log`.

A game is kept from the moment it was appended, whatever kills the process; a torn tail is cut off by the log itself. Games are known by
their number and by the hash of the weights that played them: what a killed or repaired run left here is used if the same weights would
play it again, and played again otherwise.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from base.errors import UserError
from base.framed_log import LogWriter, read_log
from games import Game
from games.record import GameRecord


class GameLog:
    """The games of one iteration, by number. `report` gets one line for each thing that is wrong with the file."""

    def __init__(self, folder: Path, iteration: int, game: Game, net: str, report: Callable[[str], object]) -> None:
        self.path, self.game = folder / f"{iteration:06}.log", game
        self.games: dict[int, GameRecord] = {}
        others = 0
        if self.path.exists():
            repair(self.path, game, report)
        self._log = LogWriter(self.path, report=report)
        for _, payload in read_log(self.path):
            record = game_of(payload, game)
            if record.metadata.get("net") == net:
                self.games[number_of(record)] = record
            else:
                others += 1
        if others:
            report(f"{self.path}: passed over {others} games of other weights than {net[:12]}…")

    def add(self, data: bytes) -> None:
        """One more encoded record. Once this returns, it is safe from the death of this process; with `sync`, from that of the
        machine."""
        self._log.append(data)
        record = GameRecord.from_bytes(data, self.game)
        self.games[number_of(record)] = record

    def sync(self) -> None:
        self._log.sync()

    def close(self) -> None:
        self._log.close()

    def __enter__(self) -> GameLog:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def number_of(record: GameRecord) -> int:
    number: int = record.noted("number")
    return number


def games_of(folder: Path, iteration: int, game: Game, report: Callable[[str], object]) -> list[GameRecord]:
    """The games of a finished iteration, in the order of their numbers."""
    path = folder / f"{iteration:06}.log"
    if not path.exists():
        report(f"{path}: the games of this iteration are gone; resuming without them")
        return []
    repair(path, game, report)
    return in_order(path, game)


def in_order(path: Path, game: Game, on_damage: Literal["raise", "skip"] = "raise") -> list[GameRecord]:
    """By their numbers; of a number played twice, the later one. Nothing on disk changes."""
    found: dict[int, GameRecord] = {}
    for _, payload in read_log(path, on_damage=on_damage):
        try:
            record = game_of(payload, game)
        except UserError as error:
            if on_damage == "raise":
                raise UserError(f"{path}: {error}") from None
            continue
        found[number_of(record)] = record
    return [found[number] for number in sorted(found)]


def game_of(payload: bytes, game: Game) -> GameRecord:
    """A game of a run: a record with a number."""
    record = GameRecord.from_bytes(payload, game)
    number_of(record)
    return record


def repair(path: Path, game: Game, report: Callable[[str], object]) -> None:
    """Make a damaged log whole again: the games that can be read go into a new one, the old one stays as `*.log.damaged`."""
    try:
        for offset, payload in read_log(path):
            try:
                game_of(payload, game)
            except UserError as error:
                raise UserError(f"{path}: frame at {offset}: {error}") from None
        return
    except UserError as error:
        reason = str(error)
    frames = []
    with suppress(UserError):  # not even a log
        for _, payload in read_log(path, on_damage="skip"):
            with suppress(UserError):
                game_of(payload, game)
                frames.append(payload)
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with LogWriter(fresh) as log:
        for payload in frames:
            log.append(payload)
    shutil.copyfile(path, path.with_suffix(".log.damaged"))
    fresh.replace(path)
    report(f"{reason}; kept the {len(frames)} games that can be read, the others are played again")
