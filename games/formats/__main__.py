"""Converts games: PGN for chess, SGF for go, lists of moves for every game. Writes to standard output.

python -m games.formats chess runs/first/games > games.pgn
python -m games.formats go:size=9 games.log --as sgf > games.sgf
python -m games.formats chess lichess.pgn --as txt > games.txt
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from base.errors import Arguments, run_command
from games.engine.game import Game
from games.engine.registry import load
from games.formats.pgn import CHESS, pgn_of
from games.formats.sgf import is_go, sgf_of
from games.record import GameRecord, read_records

WRITERS: dict[str, Callable[[GameRecord, Game], str]] = {
    "pgn": pgn_of,
    "sgf": sgf_of,
    "txt": lambda record, game: record.move_names(game) + "\n",
}


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("files", nargs="+", metavar="FILE", help="a log, .pgn, .sgf, a text file of games, or a folder")
    parser.add_argument("--as", dest="form", choices=[*WRITERS], help="by default pgn for chess, sgf for go, else txt")
    options = parser.parse_args(argv)
    game = load(options.game)
    form = options.form or ("pgn" if game.name == CHESS else "sgf" if is_go(game) else "txt")
    for file in options.files:
        for record in read_records(file, game):
            print(WRITERS[form](record, game), end="")
    return 0


if __name__ == "__main__":
    run_command(main)
