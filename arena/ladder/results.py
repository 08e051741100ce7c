"""The results of a ladder: one SQLite file per game, which later ladders of the same game extend.

    with LadderResults("runs/ladders/connect_four.sqlite", game) as results:
        number = results.take("random", "uct:sims=100")         # a block's number, for this process alone
        results.add("random", "uct:sims=100", number, seed, opening, records)
        results.counts()                                        # {(a, b): Counts}

| table     | a row is                                                                                                 |
|-----------|----------------------------------------------------------------------------------------------------------|
| `about`   | `game`, and `version` of its rules: results of other rules are refused                                   |
| `players` | a resolved text: `uct:sims=100,…`, a network by the hash of its weights                                  |
| `pairs`   | two players, and how many block numbers were given out                                                   |
| `blocks`  | one opening from both sides: seed, opening, results, endings, versions, a digest of the moves            |
| `names`   | what tables call a player: a network's run and step, or its released name; older files have none         |

A pair is sorted by the players' texts, a first. A block is a function of its row (unless players have a time limit), so every game can
be played again. A block that repeats an earlier one move by move is stored with `is_new` 0 and does not count.

The file is in WAL mode with a full sync: added results survive a power cut, and several processes can add. The file gives out the block
numbers, so no two processes play the same block; the number of a process that died is skipped.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from arena.ladder.rating import KINDS, Array
from arena.match_folder import program_version
from arena.openings import Opening
from arena.tally import identity, repeats_count, side_utilities
from base.errors import UserError, short
from base.files import StrPath, make_folder
from base.json_values import is_name, shown
from games import Game
from games.record import GameRecord

FOLDER = Path("runs", "ladders")
MARK = 0x7A65726D  # SQLite's application_id: `zerm`
FORMAT = 1
TIMEOUT = 60.0  # seconds to wait for another process that writes
_TABLES = """
    CREATE TABLE about (game TEXT NOT NULL, version INTEGER NOT NULL);
    CREATE TABLE players (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
    CREATE TABLE pairs (a INTEGER NOT NULL, b INTEGER NOT NULL, given INTEGER NOT NULL, PRIMARY KEY (a, b)) WITHOUT ROWID;
    CREATE TABLE blocks (
        a INTEGER NOT NULL REFERENCES players, b INTEGER NOT NULL REFERENCES players, number INTEGER NOT NULL,
        seed TEXT NOT NULL, opening TEXT NOT NULL, result INTEGER NOT NULL CHECK (result BETWEEN 0 AND 8),
        is_new INTEGER NOT NULL, digest BLOB NOT NULL, plies INTEGER NOT NULL, endings TEXT NOT NULL,
        late INTEGER NOT NULL, versions TEXT NOT NULL, played TEXT NOT NULL, PRIMARY KEY (a, b, number)) WITHOUT ROWID;
    CREATE INDEX digests ON blocks (a, b, digest);
"""
_NAMES = "CREATE TABLE IF NOT EXISTS names (id INTEGER PRIMARY KEY REFERENCES players, name TEXT NOT NULL)"
_PLAYERS = "a IN (SELECT id FROM players) AND b IN (SELECT id FROM players)"
_RESULT = "typeof(result) = 'integer' AND result BETWEEN 0 AND 8 AND typeof(is_new) = 'integer' AND is_new IN (0, 1)"
_NUMBER = "typeof(number) = 'integer' AND number BETWEEN 0 AND 1 << 60 AND typeof(plies) = 'integer' AND plies >= 0"
_CONTENT = {  # by table: what holds for each row, and which columns a message shows
    "players": ("typeof(id) = 'integer' AND typeof(text) = 'text' AND length(text) <= 100000", "id, text"),
    "pairs": (f"typeof(given) = 'integer' AND given BETWEEN 0 AND 1 << 60 AND {_PLAYERS}", "a, b, given"),
    "blocks": (
        f"{_RESULT} AND {_NUMBER} AND typeof(digest) = 'blob' AND length(digest) = 16 AND {_PLAYERS}",
        "number, result, is_new",
    ),
    "names": (
        "id IN (SELECT id FROM players) AND typeof(name) = 'text' AND length(name) BETWEEN 1 AND 1000",
        "id, name",
    ),
}


@dataclass
class Counts:
    """The results of a pair."""

    results: Array = field(default_factory=lambda: np.zeros(KINDS))
    """Number of blocks by result (arena/ladder/rating.py); repeated blocks count once, as in arena/tally.py."""
    blocks: int = 0
    """All blocks, repeated ones too."""

    @property
    def is_exhausted(self) -> bool:
        """More blocks would add nothing: at least ten and half of all blocks were repetitions."""
        return bool(self.blocks - self.results.sum() >= max(10, self.results.sum()))


class LadderResults:
    """An open file."""

    def __init__(self, path: StrPath, game: Game) -> None:
        self.path, self.game = Path(path), game
        make_folder(self.path.parent)
        with self._one_line():
            self._base = sqlite3.connect(self.path, timeout=TIMEOUT, isolation_level=None)
        try:
            with self._one_line():
                self._prepare()
        except BaseException:
            self._base.close()
            raise
        self._ids: dict[str, int] = {}
        self._version = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._base.close()

    # ── writing ──

    def take(self, a: str, b: str) -> int:
        """The number of the next block of a pair; each number is given out once."""
        with self._one_line(), self._transaction():
            ids = self._ids_of(a, b)
            self._base.execute("INSERT OR IGNORE INTO pairs VALUES (?, ?, 0)", ids)
            self._base.execute("UPDATE pairs SET given = given + 1 WHERE a = ? AND b = ?", ids)
            (given,) = self._base.execute("SELECT given FROM pairs WHERE a = ? AND b = ?", ids).fetchone()
        return int(given) - 1

    def add(self, a: str, b: str, number: int, seed: int, opening: Opening, block: Sequence[GameRecord]) -> bool:
        """Store both games of a block, durably. False if they repeat an earlier block and do not count."""
        digest = hashlib.blake2b(b"".join(map(identity, block)), digest_size=16).digest()
        game = self.game
        words = " ".join(game.names[action] for action in opening.actions)
        row = {
            "number": number,
            "seed": str(seed),  # 64 bits without a sign
            "opening": words if opening.position is None else f"position:{opening.position}",
            "result": result_of(block),
            "digest": digest,
            "plies": sum(map(len, block)),
            "endings": "; ".join(record.ending for record in block if record.ending),
            "late": sum(sum(record.metadata["late"]) for record in block),
            "versions": json.dumps({"zermelo": program_version(), game.name: game.version}),
            "played": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        with self._one_line(), self._transaction():
            row["a"], row["b"] = self._ids_of(a, b)
            known = self._base.execute(
                "SELECT 1 FROM blocks WHERE a = :a AND b = :b AND digest = :digest LIMIT 1", row
            ).fetchone()
            row["is_new"] = is_new = int(known is None or repeats_count(game))
            places = ", ".join(f":{name}" for name in row)
            self._base.execute(f"INSERT INTO blocks ({', '.join(row)}) VALUES ({places})", row)
        return bool(is_new)

    def call(self, player: str, name: str) -> None:
        """What tables call a player from now on."""
        with self._one_line(), self._transaction():
            (number,) = self._ids_of(player)
            self._base.execute("INSERT OR REPLACE INTO names VALUES (?, ?)", (number, name))

    # ── reading ──

    def names(self) -> dict[str, str]:
        """What tables call players."""
        with self._one_line():
            return dict(self._base.execute("SELECT text, name FROM players JOIN names USING (id)"))

    def players(self) -> list[str]:
        """All players with results, the oldest first."""
        with self._one_line():
            rows = self._base.execute(
                "SELECT text FROM players WHERE id IN (SELECT a FROM blocks UNION SELECT b FROM blocks) ORDER BY id"
            )
            return [str(text) for (text,) in rows]

    def counts(self) -> dict[tuple[str, str], Counts]:
        """The results of every pair that has played."""
        found: dict[tuple[str, str], Counts] = {}
        with self._one_line():
            rows = self._base.execute(
                "SELECT first.text, second.text, result, SUM(is_new), COUNT(*) FROM blocks "
                "JOIN players AS first ON first.id = a JOIN players AS second ON second.id = b GROUP BY a, b, result"
            )
            for a, b, result, new, blocks in rows:
                counts = found.setdefault((a, b), Counts())
                counts.results[result] += new
                counts.blocks += blocks
        return found

    def has_news(self) -> bool:
        """Whether another process has added results since the last call."""
        with self._one_line():
            (version,) = self._base.execute("PRAGMA data_version").fetchone()
        before, self._version = self._version, version
        return bool(version != before)

    # ── internals ──

    def _prepare(self) -> None:
        """Create the tables of a new file; check that an existing one holds this game's results."""
        base = self._base
        base.execute("PRAGMA synchronous = FULL")
        with self._transaction():
            (mark,) = base.execute("PRAGMA application_id").fetchone()
            (tables,) = base.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()
            is_new = not mark and not tables
            if is_new:
                for statement in _TABLES.split(";"):
                    base.execute(statement)
                base.execute("INSERT INTO about VALUES (?, ?)", (self.game.name, self.game.version))
                base.execute(f"PRAGMA application_id = {MARK}")
                base.execute(f"PRAGMA user_version = {FORMAT}")
            (number,) = base.execute("PRAGMA user_version").fetchone()
            if not is_new and (mark != MARK or number != FORMAT):
                what = f"format {number}" if mark == MARK else "a database of something else"
                raise UserError(f"{self.path}: expected a ladder's results (format {FORMAT}), got {what}")
            base.execute(_NAMES)
            about = base.execute("SELECT game, version FROM about").fetchone()
        self._check_content()
        wanted = (self.game.name, self.game.version)
        if about != wanted:
            got = "nothing about it" if about is None else f"{about[0]}, version {about[1]}"
            raise UserError(f"{self.path}: expected results of {wanted[0]}, version {wanted[1]}, got {got}")
        base.execute("PRAGMA journal_mode = WAL")

    def _check_content(self) -> None:
        """Refuse what `add` never writes: the file may be damaged, or someone else's."""
        base, path = self._base, self.path
        base.execute("PRAGMA trusted_schema = OFF")
        for (kind,) in base.execute("SELECT type FROM sqlite_schema WHERE type NOT IN ('table', 'index')"):
            raise UserError(f"{path}: expected a ladder's results, got a {short(kind)} among its tables")
        for table, (rule, columns) in _CONTENT.items():
            row = base.execute(f"SELECT {columns} FROM {table} WHERE ({rule}) IS NOT TRUE LIMIT 1").fetchone()
            if row is not None:
                raise UserError(
                    f"{path}: expected a ladder's results, got a row of {table} with {columns} = {shown(row)}"
                )
        for (text,) in base.execute("SELECT text FROM players UNION ALL SELECT name FROM names"):
            if not is_name(text):
                raise UserError(f"{path}: expected players' texts on one line, got {shown(text)}")
        (state,) = base.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise UserError(f"{path}: expected a ladder's results, got a damaged file: {short(state)}")

    def _ids_of(self, *texts: str) -> tuple[int, ...]:
        assert list(texts) == sorted(texts)
        for text in texts:
            if text not in self._ids:
                self._base.execute("INSERT OR IGNORE INTO players (text) VALUES (?)", (text,))
                (self._ids[text],) = self._base.execute("SELECT id FROM players WHERE text = ?", (text,)).fetchone()
        return tuple(self._ids[text] for text in texts)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing, and without other writers."""
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._ids = {}
            self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")

    @contextmanager
    def _one_line(self) -> Iterator[None]:
        """Turn SQLite's errors into one line with the file's name."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the second from damaged bytes in SQLite's own message
            raise UserError(f"{self.path}: expected a ladder's results: {error}") from None


def default_file(game: Game) -> Path:
    """`runs/ladders/GAME.sqlite` below the current folder, beside the runs whose checkpoints are among its players. One file per user
    would mix the results of different versions of the program."""
    name = re.sub(r"[^\w.+=,-]", "-", game.name)
    return FOLDER / f"{name}.sqlite"


def result_of(block: Sequence[GameRecord]) -> int:
    """3 · first + second: a's result in the game in which it moves first, and in the other one (0 won, 1 drew, 2 lost)."""
    assert [record.metadata["seats"][0] for record in block] == [0, 1]
    first, second = (0 if a > b else 1 if a == b else 2 for a, b in map(side_utilities, block))
    return 3 * first + second
