"""How long exact play takes.

    python -m benchmarks.solver                       # connect four by ply, othello by empty squares, dots and boxes by lines
    python -m benchmarks.solver connect_four --positions 50
    python -m benchmarks.solver --first-move          # the empty board of connect four, move by move: minutes

| column    | what                                                                                          |
|-----------|-----------------------------------------------------------------------------------------------|
| ply       | random actions played before the position; where the game went on, so it is not decided yet    |
| value     | mean seconds until the value is proven, and the slowest position's                             |
| all moves | mean seconds until every move's value is proven, which are enough to mark any player's choice  |
| nodes     | mean positions searched for the value                                                         |
| nodes/s   | the same per second                                                                           |

One core, an empty table for each position, processor time. The last line of connect four is the mean over plies 8 to 41, each ply
counting the same.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from base.errors import Arguments, run_command
from benchmarks.games import machine, one_core, short
from classical.solver import Solver
from games import Game, load

SUITE: dict[str, Sequence[int]] = {
    "connect_four": range(8, 42),
    "othello": range(46, 60, 2),
    "othello:size=6": range(16, 32, 2),
    "dots_and_boxes": range(0, 24, 4),
}
COLUMNS = {"ply": 5, "positions": 11, "value s": 10, "slowest": 10, "all moves s": 13, "nodes": 10, "nodes/s": 10}


@dataclass(frozen=True)
class Row:
    """One ply of one game; seconds of the processor."""

    ply: int
    positions: int
    seconds: float
    slowest: float
    all_moves: float
    nodes: float


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("games", nargs="*", metavar="GAME", help=f"some of {', '.join(SUITE)}; none: all")
    parser.add_argument("--positions", type=count, default=10, metavar="N", help="for each ply")
    parser.add_argument("--megabytes", type=count, default=32, metavar="M", help="size of the table")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the positions")
    parser.add_argument("--first-move", action="store_true", help="prove which first moves of connect four win")
    options = parser.parse_args(argv)
    for name in options.games:
        if name not in SUITE:
            parser.error(f"unknown game '{name}': expected some of {', '.join(SUITE)}")
    with one_core() as pinned:
        print(f"{machine(pinned)}; table of {options.megabytes} MB", flush=True)
        if options.first_move:
            first_move(options.megabytes)
            return 0
        for name in options.games or SUITE:
            game = load(name)
            solver = Solver(game, megabytes=options.megabytes)
            solver.value(random_position(game, SUITE[name][-1], options.seed))  # compiles
            print(f"\n{game.name}\n" + "".join(f"{title:>{room}}" for title, room in COLUMNS.items()), flush=True)
            rows = []
            for ply in SUITE[name]:
                rows.append(measure(solver, ply, options.positions, options.seed))
                print(line(rows[-1]), flush=True)
            if name == "connect_four":
                print(f"mean over the plies: {np.mean([row.seconds for row in rows]):.3f} s")
    return 0


def count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text!r}")
    return int(text)


def random_position(game: Game, plies: int, seed: int) -> Any:
    """After so many uniformly random actions; games that end on the way are begun again."""
    rng = np.random.default_rng([seed, plies])
    while True:
        state = game.initial()
        for _ in range(plies):
            actions = game.legal_actions(state)
            if not actions:
                break
            state = game.result(state, actions[int(rng.integers(len(actions)))])
        if not game.is_terminal(state):
            return state


def measure(solver: Solver, ply: int, positions: int, seed: int) -> Row:
    values, moves, nodes = [], [], 0
    if ply == 0:
        positions = 1
    for i in range(positions):
        state = random_position(solver.game, ply, seed * 1_000_003 + i)
        solver.forget()
        start = time.process_time()
        found = solver.solve(state, "one")
        values.append(time.process_time() - start)
        nodes += found.nodes
        solver.solve(state)
        moves.append(time.process_time() - start)
    return Row(ply, positions, float(np.mean(values)), max(values), float(np.mean(moves)), nodes / positions)


def line(row: Row) -> str:
    cells = [
        str(row.ply),
        str(row.positions),
        f"{row.seconds:.4f}",
        f"{row.slowest:.4f}",
        f"{row.all_moves:.4f}",
        short(row.nodes),
        short(row.nodes / row.seconds),
    ]
    return "".join(f"{cell:>{room}}" for cell, room in zip(cells, COLUMNS.values(), strict=True))


def first_moves(game: Game) -> Iterator[tuple[str, Any]]:
    """The centre first; what mirrors another is left out."""
    for name in ("4", "3", "2", "1"):
        yield name, game.play(name)


def first_move(megabytes: int) -> None:
    game = load("connect_four")
    solver = Solver(game, megabytes=megabytes)
    for name, after in first_moves(game):
        start = time.process_time()
        value = 0.0 - solver.value(after)
        print(f"{name}: {value:+g}, {time.process_time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    run_command(main)
