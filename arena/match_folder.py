"""The folder of a match: its settings, and every game as soon as it ends.

    match.json     the settings: game, players, seed, openings
    games.log      the records of all games (games/record.py), framed and checksummed; resuming reads this file
    games.jsonl    the same games for other programs, one game a line

A game is written to the log before it is counted, so a killed match loses no counted game. `--resume` reads the log, rewrites
games.jsonl from it, and plays the incomplete blocks. A folder with other settings is refused with the difference.
"""

from __future__ import annotations

import functools
import json
import re
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from base.errors import UserError, short
from base.files import StrPath, make_folder, read_json, write_json, write_text
from base.framed_log import LogWriter
from base.json_values import is_count, is_number
from games import Game
from games.record import GameRecord, read_records

HEADER = {"zermelo": "match", "format": 1}
SYNC = 1.0  # seconds between syncs, for a crash of the machine; a crash of the process loses nothing


class MatchFolder:
    """An open folder, written block by block: `with MatchFolder(path, settings, game, block_size, resume=True) as folder`."""

    def __init__(
        self,
        folder: StrPath,
        settings: Mapping[str, Any],
        game: Game,
        block_size: int,
        resume: bool = False,
        report: Callable[[str], object] = warnings.warn,
    ) -> None:
        self.folder, self.game = Path(folder), game
        self._found: dict[int, dict[int, GameRecord]] = defaultdict(dict)
        wanted = HEADER | dict(settings)
        about = self.folder / "match.json"
        if about.exists():
            if not resume:
                raise UserError(f"{folder}: expected a new folder, or --resume for the match in it")
            _compare(about, read_json(about), wanted)
        else:
            make_folder(self.folder)
            write_json(about, wanted)
        self._log = LogWriter(self.folder / "games.log", report=report)
        try:
            for number, record in enumerate(read_records(self.folder / "games.log", game)):
                try:
                    check_notes(record, game)
                except UserError as error:
                    raise UserError(f"{self.folder / 'games.log'}: game {number}: {error}") from None
                self._found[record.metadata["block"]][record.metadata["game"]] = record
            kept = [record for _, block in sorted(self._found.items()) for _, record in sorted(block.items())]
            write_text(self.folder / "games.jsonl", "".join(as_line(game, record) for record in kept))
            self._lines = open(self.folder / "games.jsonl", "a", encoding="utf-8")  # noqa: SIM115
        except BaseException:
            self._log.close()
            raise
        self.blocks = {
            number: [block[i] for i in range(block_size)]
            for number, block in self._found.items()
            if len(block) == block_size
        }
        """The complete blocks that were in the folder, by number."""
        self._synced = time.monotonic()

    def add(self, block: Sequence[GameRecord], frames: Sequence[bytes]) -> list[GameRecord]:
        """Write a block's games, given as records and as encoded records. A game that exists is kept, and returned instead."""
        kept = []
        for record, frame in zip(block, frames, strict=True):
            known = self._found[record.metadata["block"]]
            if record.metadata["game"] not in known:
                self._log.append(frame)
                self._lines.write(as_line(self.game, record))
            kept.append(known.get(record.metadata["game"], record))
        self._lines.flush()
        if time.monotonic() > self._synced + SYNC:
            self._log.sync()
            self._synced = time.monotonic()
        return kept

    def close(self) -> None:
        self._lines.close()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


def check_notes(record: GameRecord, game: Game) -> None:
    """Refuse a record that no match wrote."""
    players = range(game.players)

    def is_list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
        return lambda value: isinstance(value, list) and len(value) == len(players) and all(map(fits, value))

    for name in ("block", "game", "opening"):
        record.noted(name)
    record.noted("seats", is_list_of(lambda side: is_count(side) and side < 2))
    record.noted("times", is_list_of(lambda times: isinstance(times, list) and all(map(is_number, times))))
    for name in ("timed", "late"):
        record.noted(name, is_list_of(is_count))
    forfeit = re.match(r"player (\d) forfeits: ", record.ending)
    if record.outcome is None or (record.ending and (forfeit is None or int(forfeit[1]) not in players)):
        raise UserError(
            f"game record: expected a game of a match with its outcome, got the ending '{short(record.ending)}'"
        )


def as_line(game: Game, record: GameRecord) -> str:
    """One game as JSON: actions by name, the opening's first; lists are by seat."""
    notes = record.metadata
    found = {
        "block": notes["block"],
        "game": notes["game"],
        "seats": ["AB"[side] for side in notes["seats"]],
        "players": list(record.players),
        "start": None if record.start is None else game.text(record.first_position(game)),
        "opening": notes["opening"],
        "moves": record.move_names(game),
        "result": list(record.outcome or ()),
        "ending": record.ending,
        "times": notes["times"],
        "timed": notes["timed"],
        "late": notes["late"],
        "seed": record.seed,
        "versions": {"zermelo": program_version(), record.game: record.version},
    }
    return json.dumps(found, ensure_ascii=False) + "\n"


@functools.cache
def program_version() -> str:
    try:
        return version("zermelo")
    except PackageNotFoundError:  # run from a copy of the sources
        return "unknown"


def _compare(path: Path, found: Any, wanted: Mapping[str, Any]) -> None:
    """Refuse the folder of another match."""
    if not isinstance(found, dict):
        raise UserError(f"{path}: expected the settings of a match, got {found!r:.40}")
    for name in [*wanted, *(name for name in found if name not in wanted)]:
        ours, theirs = str(wanted.get(name)), str(found.get(name))
        if ours != theirs:
            raise UserError(
                f"{path}: expected {name} {_difference(ours, theirs)}, got {_difference(theirs, ours)} in the existing match"
            )


def _difference(text: str, other: str) -> str:
    """Of a long text with options, those that are not in the other text."""
    words, others = text.split(","), other.split(",")
    return ",".join([word for word in words if word not in others] or words) if len(text) > 60 else text
