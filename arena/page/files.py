"""Games that the page reads and writes: records, PGN, SGF, lists of moves."""

from __future__ import annotations

import base64
import binascii
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from arena.terminal import as_log
from base.errors import UserError, short
from games import Game
from games.formats.pgn import CHESS, pgn_of
from games.formats.sgf import is_go, read_sgf_of_any_board, sgf_of
from games.record import GameRecord, read_records

MOST_BYTES = 8 << 20
MOST_GAMES = 200  # of a file that the page lists
KINDS = (".log", ".txt", ".pgn", ".sgf")

Write = Callable[[GameRecord, Game], bytes]


def forms(game: Game) -> dict[str, Write]:
    """The forms in which a game can be saved, the usual one first."""
    found: dict[str, Write] = {}
    if game.name == CHESS:
        found["pgn"] = lambda record, game: pgn_of(record, game).encode()
    if is_go(game):
        found["sgf"] = lambda record, game: sgf_of(record, game).encode()
    return found | {
        "log": lambda record, game: as_log(record),
        "txt": lambda record, game: (record.move_names(game) + "\n").encode(),
    }


def saved(record: GameRecord, game: Game, form: str) -> bytes:
    writers = forms(game)
    if form not in writers:
        raise UserError(f"save: expected one of {', '.join(writers)} for {game.name}, got '{short(form)}'")
    if form == "txt" and record.start is not None:
        raise UserError("save: expected .log, since a list of moves does not hold this game's first position")
    return writers[form](record, game)


def read(name: str, content: str, game: Game, load: Callable[[str], Game]) -> list[GameRecord]:
    """The games of a file that was sent: its name, its bytes in base64. PGN and SGF name their game themselves, for `load`; the records
    of an SGF may be of several boards."""
    suffix = Path(name).suffix.lower()
    if suffix not in KINDS:
        raise UserError(f"load: expected a file named {', '.join(KINDS)}, got '{short(name)}'")
    try:
        data = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise UserError("load: expected the file's bytes in base64") from None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sent" + suffix)
        path.write_bytes(data)
        try:
            if suffix == ".sgf":
                records = read_sgf_of_any_board(path, load)
            else:
                records = read_records(path, load(CHESS) if suffix == ".pgn" else game)
            found = list(islice(records, MOST_GAMES))
        except (UserError, OSError) as error:
            raise UserError(str(error).replace(str(path), short(name))) from None
    if not found:
        raise UserError(f"{short(name)}: expected a game, found none")
    return found


def of_run(folder: Path, game: Game, number: int) -> GameRecord:
    """A self-play game of a run, by number; negative ones count from the end."""
    records: Iterator[GameRecord] = read_records(folder, game)
    if number < 0:
        raise UserError(f"game: expected 0 or more, got {number}")
    found = next(islice(records, number, None), None)
    if found is None:
        raise UserError(f"{folder.parent.name}: expected a game that the run has, got {number}")
    return found
