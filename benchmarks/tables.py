"""What the tables of `benchmarks.search` share: columns, rows, options.

A table is a function from a game and options to rows, which are plain dictionaries: `--json` prints them whole, as text only keys with
a column are shown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from base.local_workers import cores
from base.seeds import below, generator
from games import CHANCE, Game
from games.types import GameState

Row = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """Options of the command, each with the tables that use it."""

    positions: int = 10
    """Ablation, solver: positions per game, per ply."""
    depth: int | None = None
    """Ablation: nodes to this depth; depths: up to this one. None: the table's own."""
    nodes: int = 10_000_000
    """Ablation: a search that needs more is extrapolated."""
    mb: int = 32
    """Ablation, solver: size of the transposition table."""
    simulations: int = 20_000
    """Rollouts: of the search with random games."""
    each: int = 400
    """Rollouts: in each of the trees side by side."""
    pairs: int = 100
    """Depths: of games in each match."""
    workers: int = field(default_factory=cores)
    """Depths: processes."""
    seed: int = 1
    """Of positions, openings and random games."""


@dataclass(frozen=True)
class Column:
    """The width of a column and the format of its values; None is shown as a dash."""

    room: int
    show: Callable[[Any], str] = str


@dataclass(frozen=True)
class Table:
    """A table."""

    about: str
    games: Sequence[str]
    """Measured by default."""
    columns: Mapping[str, Column]
    rows: Callable[[Game, Options], Iterator[Row]]
    takes: Callable[[Game], bool]
    """Whether the table applies to a game."""
    on_one_core: bool = True
    on_request: bool = False
    """Shown only on request, because it takes long."""


def header(table: Table) -> str:
    return "".join(f"{title:>{column.room}}" for title, column in table.columns.items())


def line(table: Table, row: Row) -> str:
    def cell(title: str, column: Column) -> str:
        value = row.get(title)
        mark = "~" if title in row.get("extrapolated", ()) else ""
        return "-" if value is None else mark + column.show(value)

    return "".join(f"{cell(title, column):>{column.room}}" for title, column in table.columns.items())


def count(text: str, most: int = 10**12) -> int:
    """A whole number as an argument."""
    if not text.isdigit() or not 1 <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {most}, got {text!r}")
    return int(text)


def random_position(game: Game, plies: int, seed: int) -> GameState:
    """The position after so many uniformly random actions, dice included; a game that ends earlier is started again."""
    rng = generator(seed, "position", game.name, plies)
    while True:
        state = game.initial()
        for _ in range(plies):
            actions = game.legal_actions(state)
            if not actions:
                break
            state = game.result(state, actions[int(below(rng, len(actions)))])
        if not game.is_terminal(state):
            return state


def first_position(game: Game) -> GameState:
    """The first position with a player to move; dice before it are fixed."""
    state = game.initial()
    while game.to_move(state) == CHANCE:
        state = game.result(state, game.legal_actions(state)[0])
    return state
