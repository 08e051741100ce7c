"""How many test positions a player solves: the 24 of Bratko and Kopec (chess).

    python -m benchmarks.positions                                        # alpha-beta, a second per position
    python -m benchmarks.positions --player alphabeta:nodes=1000000       # the same on every machine
    python -m benchmarks.positions --file mine.json --player uct:ms=1000

Half of the positions are tactical, half require a pawn lever that wins no material: the ones test search depth, the others knowledge.
The file gives each position and its best moves; a position is solved by playing one of them.

Kopec and Bratko, "The Bratko-Kopec Experiment: A Comparison of Human and Computer Performance in Chess" (1982).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.players import Player, make_player
from base.errors import Arguments, UserError, run_command
from base.files import read_json
from benchmarks.games import machine, short
from games import load

BRATKO_KOPEC = Path(__file__).parent / "data" / "bratko_kopec.json"
COLUMNS = {"position": 10, "best": 12, "played": 8, "": 8, "depth": 7, "nodes": 9, "seconds": 9}


@dataclass(frozen=True)
class Row:
    """One position and the player's move."""

    name: str
    best: tuple[str, ...]
    played: str
    depth: int
    nodes: int
    seconds: float

    @property
    def solved(self) -> bool:
        return self.played in self.best


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("--file", default=str(BRATKO_KOPEC), metavar="FILE", help="positions with their best moves")
    parser.add_argument("--player", default="alphabeta:ms=1000", metavar="PLAYER", help="the player to test")
    options = parser.parse_args(argv)
    data = read_json(options.file)
    positions = checked(data, options.file)
    player = make_player(options.player, load(data.get("game", "chess")))
    print(f"{machine(False)}\n{player.text}\n\n{line(COLUMNS)}", flush=True)
    rows = []
    for row in answers(player, positions):
        rows.append(row)
        print(shown(row), flush=True)
    print(f"\nsolved {sum(row.solved for row in rows)} of {len(rows)}")
    return 0


def checked(data: Any, path: str) -> list[dict[str, Any]]:
    """The positions of a file."""
    positions = data.get("positions") if isinstance(data, dict) else None
    wanted = {"id", "fen", "best"}
    if not isinstance(positions, list) or not all(isinstance(one, dict) and wanted <= set(one) for one in positions):
        raise UserError(f"{path}: expected an object with 'positions', each with id, fen and best")
    return positions


def answers(player: Player, positions: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """One after the other, each as a new game."""
    game = player.game
    for one in positions:
        state = game.parse(one["fen"])
        best = tuple(game.names[game.action(state, name)] for name in one["best"])
        player.new_game()
        choice = player.choose(state)
        yield Row(one["id"], best, game.names[choice.action], choice.depth or 0, choice.nodes, choice.seconds)


def shown(row: Row) -> str:
    cells = [row.name, " ".join(row.best), row.played, "solved" if row.solved else "-"]
    return line([*cells, str(row.depth), short(row.nodes), f"{row.seconds:.2f}"])


def line(cells: Iterable[object]) -> str:
    return "".join(f"{cell:>{room}}" for cell, room in zip(cells, COLUMNS.values(), strict=True))


if __name__ == "__main__":
    run_command(main)
