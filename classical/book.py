"""Opening books: the moves played in a position, how often, and with which results. Built from game records or lists of moves.

    python -m classical.book build othello runs/first/games more.txt --out othello.book --plies 12 --min-games 2
    python -m classical.book show othello othello.book --plies 3

    book = Book.load("othello.book", game)
    book.moves(state)                  # [(action, games, score)]; the score is a utility of the mover
    book.choose(state, rng)            # one of them, or None for a position outside the book

Positions are identified by `game.key`, whatever the path to them; mirror images are different positions. A move's score is its mean
utility for the player who made it, shrunk towards 0 as if PRIOR more games had been drawn, because a single game is little evidence:

    score = (sum of utilities) / (games + PRIOR)        weight = games · (1 + score) / 2

`choose` draws in proportion to weight: expected points times number of games. The file is lines of JSON, sorted by key: a header, then
one line per position, with its moves by name, their numbers of games and their sums of the mover's utilities.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from tqdm import tqdm

from base.errors import Arguments, UserError, nearest, run_command
from base.files import StrPath, write_text
from base.json_values import is_count
from base.reading import json_of
from base.seeds import Rng, uniform
from games import CHANCE, Game, load
from games.record import GameRecord, read_records
from games.types import GameState

FORMAT = 1
PRIOR = 2.0  # drawn games added to every move
PLIES, MIN_GAMES = 12, 2

Entries = dict[int, dict[int, tuple[int, float]]]


class Book:
    """The opening book of a game."""

    def __init__(
        self, game: Game, entries: Entries, games: int, plies: int = PLIES, min_games: int = MIN_GAMES
    ) -> None:
        self.game, self.entries = game, entries
        self.games, self.plies, self.min_games = games, plies, min_games

    def __len__(self) -> int:
        """Positions."""
        return len(self.entries)

    def moves(self, state: GameState) -> list[tuple[int, int, float]]:
        """(action, games, score) of the moves in the book that are legal here, highest weight first."""
        known = self.entries.get(self.game.key(state))
        if known is None:
            return []
        legal = set(self.game.legal_actions(state))  # a move of another path may be illegal here (superko)
        found = [
            (action, games, total / (games + PRIOR)) for action, (games, total) in known.items() if action in legal
        ]
        return sorted(found, key=lambda move: (-weight(move[1], move[2]), move[0]))

    def choose(self, state: GameState, rng: Rng) -> int | None:
        """A move of the book, drawn in proportion to weight; None where it has none."""
        found = self.moves(state)
        weights = [weight(games, score) for _, games, score in found]
        if not found:
            return None
        with np.errstate(over="ignore"):
            left = uniform(rng) * sum(weights)
        for (action, _, _), share in zip(found, weights, strict=True):
            left -= share
            if left < 0:
                return action
        return found[0][0]  # rounding

    def save(self, path: StrPath) -> None:
        """Equal books give equal files, written whole or not at all."""
        header = {
            "zermelo": "book",
            "format": FORMAT,
            "game": self.game.name,
            "version": self.game.version,
            "start": f"{self.game.key(self.game.initial()):016x}",
            "games": self.games,
            "plies": self.plies,
            "min_games": self.min_games,
        }
        lines = [json.dumps(header)]
        for key, known in sorted(self.entries.items()):
            moves = {self.game.name_of(action): list(known[action]) for action in sorted(known)}
            lines.append(json.dumps({"key": f"{key:016x}", "moves": moves}, ensure_ascii=False, allow_nan=False))
        write_text(path, "\n".join(lines) + "\n")

    @classmethod
    def load(cls, path: StrPath, game: Game) -> Book:
        """The book of a file. A book of another game or version is refused, and so is a malformed line."""
        with open(path, encoding="utf-8", errors="replace") as file:
            header = _header(path, file.readline(), game)
            entries: Entries = {}
            last = -1
            for number, line in enumerate(file, 2):
                key, moves = _entry(f"{path}:{number}", line, game)
                if key <= last:
                    _refuse(f"{path}:{number}", "keys in ascending order", f"{key:016x} after {last:016x}")
                entries[key], last = moves, key
        return cls(game, entries, header["games"], header["plies"], header["min_games"])

    def tree(self, plies: int) -> Iterator[str]:
        """The book as a tree from the start, a line per move, the likeliest first."""
        yield from self._branch(self.game.initial(), 0, plies)

    def _branch(self, state: GameState, ply: int, plies: int) -> Iterator[str]:
        if ply == plies or self.game.is_terminal(state):
            return
        indent = "  " * ply
        if self.game.to_move(state) == CHANCE:
            for action in self.game.legal_actions(state):
                below = list(self._branch(self.game.result(state, action), ply + 1, plies))
                if below:
                    yield from (f"{indent}({self.game.name_of(action)})", *below)
            return
        found = self.moves(state)
        total = sum(weight(games, score) for _, games, score in found)
        for action, games, score in found:
            share = weight(games, score) / total if total else 1 / len(found)
            yield f"{indent}{self.game.name_of(action)}  {share:.0%}  {games} games  {score:+.2f}"
            yield from self._branch(self.game.result(state, action), ply + 1, plies)


def weight(games: int, score: float) -> float:
    """How often a move is chosen, relative to the others."""
    return games * (1 + score) / 2


def build_book(game: Game, records: Iterable[GameRecord], plies: int = PLIES, min_games: int = MIN_GAMES) -> Book:
    """A book of the first `plies` plies, chance's counted, with the moves that were played in `min_games` games at least.

    Games without an outcome are left out. Within a game, a move made twice in the same position counts once.
    """
    game.must_be_open("book")
    for name, given in (("plies", plies), ("min_games", min_games)):
        if given < 1:
            raise UserError(f"{name}: expected at least 1, got {given}")
    counts: dict[int, dict[int, list[float]]] = defaultdict(dict)
    games = 0
    for record in records:
        if record.outcome is None:
            continue
        games += 1
        seen = set()
        states = record.positions(game)
        for ply in range(min(plies, len(record))):
            state, action = states[ply], int(record.moves[ply])
            mover, key = game.to_move(state), game.key(state)
            if mover is None or mover == CHANCE or (key, action) in seen:
                continue
            seen.add((key, action))
            entry = counts[key].setdefault(action, [0, 0.0])
            entry[0] += 1
            entry[1] += record.outcome[mover]
    entries = {
        key: {action: (int(n), total) for action, (n, total) in moves.items() if n >= min_games}
        for key, moves in counts.items()
    }
    return Book(game, {key: moves for key, moves in entries.items() if moves}, games, plies, min_games)


# ── reading ──


def _header(path: StrPath, line: str, game: Game) -> dict[str, Any]:
    found = _parsed(line)
    if not isinstance(found, dict) or found.get("zermelo") != "book":
        _refuse(f"{path}:1", "the header of an opening book", line[:40].strip() or "nothing")
    if found.get("format") != FORMAT:
        _refuse(f"{path}:1", f"a book of format {FORMAT}", found.get("format"))
    if (found.get("game"), found.get("version")) != (game.name, game.version):
        expected = f"a book of {game.name} (version {game.version})"
        _refuse(f"{path}", expected, f"one of {found.get('game')} (version {found.get('version')})")
    start = f"{game.key(game.initial()):016x}"
    if found.get("start") != start:  # the game's `key` has changed, and no position would be found
        _refuse(f"{path}:1", f"a book in which the first position has the key {start}", found.get("start"))
    for name in ("games", "plies", "min_games"):
        if not is_count(found.get(name)):
            _refuse(f"{path}:1", f"{name}: a whole number", found.get(name))
    return found


def _entry(where: str, line: str, game: Game) -> tuple[int, dict[int, tuple[int, float]]]:
    found = _parsed(line)
    is_entry = isinstance(found, dict) and set(found) == {"key", "moves"} and isinstance(found["moves"], dict)
    if not is_entry or not re.fullmatch("[0-9a-f]{16}", str(found["key"])) or not found["moves"]:
        _refuse(
            where, 'a position as in {"key": "0123456789abcdef", "moves": {"NAME": [games, total]}}', line[:60].strip()
        )
    moves = {}
    for name, pair in found["moves"].items():
        action = game.id_of(name)
        if action is None or game.name_of(action) != name:
            _refuse(where, f"names of actions of {game.name}", f"'{name}'{nearest(name, game.names)}")
        is_pair = isinstance(pair, list) and len(pair) == 2 and is_count(pair[0]) and pair[0] > 0
        if not is_pair or not isinstance(pair[1], int | float) or not abs(pair[1]) <= pair[0]:
            _refuse(where, f"{name}: a number of games and a sum of as many utilities", pair)
        moves[action] = (pair[0], float(pair[1]))
    return int(found["key"], 16), moves


def _parsed(line: str) -> Any:
    try:
        return json_of(line, "book")
    except UserError:
        return None


def _refuse(where: str, expected: str, got: object) -> NoReturn:
    raise UserError(f"{where}: expected {expected}, got {got}")


# ── the command ──


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    build = parser.command("build", run_build, "build a book from records and lists of moves")
    build.add_argument("game", metavar="GAME")
    build.add_argument(
        "files", nargs="+", metavar="FILE", help="a log of records, a text file of games, or a folder of them"
    )
    build.add_argument("--out", required=True, metavar="PATH", help="file to write")
    build.add_argument("--plies", type=int, default=PLIES, metavar="N", help="plies of each game")
    build.add_argument(
        "--min-games", type=int, default=MIN_GAMES, metavar="N", help="moves played in fewer games are left out"
    )
    show = parser.command("show", run_show, "print a book as a tree")
    show.add_argument("game", metavar="GAME")
    show.add_argument("book", metavar="PATH")
    show.add_argument("--plies", type=int, default=3, metavar="N", help="plies to print")
    return parser.run(argv)


def run_build(options: argparse.Namespace) -> int:
    game = load(options.game)
    seen: list[bytes] = []
    with tqdm(unit=" games", file=sys.stderr, leave=False, disable=None) as bar:

        def all_records() -> Iterator[GameRecord]:
            for file in options.files:
                for record in read_records(file, game):
                    bar.update()
                    seen.append(record.moves[: options.plies].tobytes())
                    yield record

        book = build_book(game, all_records(), options.plies, options.min_games)
    book.save(options.out)
    if not len(book):
        print(f"{options.out}: {emptied(book, len(seen))}", file=sys.stderr)
    unfinished = f", {len(seen) - book.games} unfinished ones left out" if len(seen) > book.games else ""
    print(
        f"{options.out}: {len(book)} positions from {book.games} games "
        f"({len(set(seen))} different in the first {options.plies} plies{unfinished})"
    )
    return 0


def emptied(book: Book, read: int) -> str:
    """Why a book has no moves, and which option keeps more."""
    if not read:
        return "the book is empty: the files hold no games"
    if not book.games:
        return f"the book is empty: none of {read} games has an outcome"
    return (
        f"the book is empty: no move was played in {book.min_games} games or more (--min-games {book.min_games}); "
        f"--min-games 1 keeps every move of {book.games} games"
    )


def run_show(options: argparse.Namespace) -> int:
    book = Book.load(Path(options.book), load(options.game))
    print(f"{book.game.name}: {len(book)} positions, {book.plies} plies, from {book.games} games")
    for line in book.tree(options.plies):
        print(line)
    return 0


if __name__ == "__main__":
    run_command(main)
