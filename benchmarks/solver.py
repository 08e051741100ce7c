"""How long exact solving takes, ply by ply: the tables `solver` and `first-move` of `benchmarks.search`.

| column    | what                                                                                          |
|-----------|-----------------------------------------------------------------------------------------------|
| ply       | random actions played before the position, which is unfinished                                |
| value     | mean seconds until the value is proven, and the slowest position's                             |
| all moves | mean seconds until every move's value is proven                                               |
| nodes     | mean positions searched for the value                                                         |
| nodes/s   | the same per second                                                                           |

Each position starts with an empty table of --mb megabytes. The last line is the mean over the plies, unweighted. `first-move` solves
connect four's empty board move by move, with one table for all: it takes minutes, fewer with --mb 1024.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.games import short
from benchmarks.tables import Column, Options, Row, Table, random_position
from classical.solver import Solver
from games import Game

SUITE: dict[str, Sequence[int]] = {
    "connect_four": range(8, 42),
    "othello:size=8": range(46, 60, 2),
    "othello:size=6": range(16, 32, 2),
    "dots_and_boxes:rows=3,cols=3,players=2": range(0, 24, 4),
}
FIRST_MOVES = ("4", "3", "2", "1")  # the centre first; mirror images are left out


def rows(game: Game, options: Options) -> Iterator[Row]:
    solver = Solver(game, megabytes=options.mb)
    solver.value(random_position(game, SUITE[game.name][-1], options.seed))  # compiles
    means = []
    for ply in SUITE[game.name]:
        row = measure(solver, ply, options.positions if ply else 1, options.seed)
        means.append(row["value s"])
        yield row
    yield {"ply": "mean", "value s": float(np.mean(means))}


def measure(solver: Solver, ply: int, positions: int, seed: int) -> Row:
    values, moves, nodes = [], [], 0
    for i in range(positions):
        state = random_position(solver.game, ply, seed * 1_000_003 + i)
        solver.forget()
        start = time.process_time()
        found = solver.solve(state, "one")
        values.append(time.process_time() - start)
        nodes += found.nodes
        solver.solve(state)
        moves.append(time.process_time() - start)
    return {
        "ply": ply,
        "positions": positions,
        "value s": float(np.mean(values)),
        "slowest": max(values),
        "all moves s": float(np.mean(moves)),
        "nodes": nodes / positions,
        "nodes/s": nodes / max(sum(values), 1e-9),
    }


def first_moves(game: Game, options: Options) -> Iterator[Row]:
    solver = Solver(game, megabytes=options.mb)
    solver.value(random_position(game, SUITE[game.name][-1], options.seed))  # compiles
    solver.forget()
    for name in FIRST_MOVES:
        start = time.process_time()
        value = 0.0 - solver.value(game.play(name))
        yield {"move": name, "value": value, "seconds": time.process_time() - start}


def seconds(value: float) -> str:
    return f"{value:.4f}"


TABLE = Table(
    about="seconds to solve a position, by ply",
    games=tuple(SUITE),
    columns={
        "ply": Column(5),
        "positions": Column(11),
        "value s": Column(10, seconds),
        "slowest": Column(10, seconds),
        "all moves s": Column(13, seconds),
        "nodes": Column(10, short),
        "nodes/s": Column(10, short),
    },
    rows=rows,
    takes=lambda game: game.name in SUITE,
)

FIRST_MOVE = Table(
    about="which first moves of connect four win: minutes",
    games=("connect_four",),
    columns={"move": Column(5), "value": Column(7, lambda value: f"{value:+g}"), "seconds": Column(9, short)},
    rows=first_moves,
    takes=lambda game: game.name == "connect_four",
    on_request=True,
)
