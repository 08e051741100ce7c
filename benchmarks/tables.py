"""What the tables of `benchmarks.search` have in common: columns, rows, options.

A table is a function from a game and options to rows, which are plain dictionaries: `--json` prints them whole, the text shows those
keys that have a column.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from base.local_workers import cores
from base.seeds import below, generator
from games import CHANCE, Game

Row = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """What one may ask for; each table says what it heeds."""

    positions: int = 10
    """Ablation, solver: positions per game, per ply."""
    depth: int | None = None
    """Ablation: nodes to this depth; depths: up to this one. None: the table's own."""
    nodes: int = 10_000_000
    """Ablation: what takes more is not searched but extrapolated."""
    mb: int = 32
    """Ablation, solver: size of the transposition table."""
    simulations: int = 20_000
    """Rollouts: of a search with random games."""
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
    """A title's room, and how a row's value is shown under it; what is None is shown as a dash."""

    room: int
    show: Callable[[Any], str] = str


@dataclass(frozen=True)
class Table:
    """One of the tables."""

    about: str
    games: Sequence[str]
    """Measured where none are named."""
    columns: Mapping[str, Column]
    rows: Callable[[Game, Options], Iterator[Row]]
    takes: Callable[[Game], bool]
    """Is it for this game?"""
    on_one_core: bool = True
    is_asked_for: bool = False
    """Only shown by name, because it takes long."""


def header(table: Table) -> str:
    return "".join(f"{title:>{column.room}}" for title, column in table.columns.items())


def line(table: Table, row: Row) -> str:
    def cell(title: str, column: Column) -> str:
        value = row.get(title)
        mark = "~" if title in row.get("extrapolated", ()) else ""
        return "-" if value is None else mark + column.show(value)

    return "".join(f"{cell(title, column):>{column.room}}" for title, column in table.columns.items())


def count(text: str, most: int = 10**12) -> int:
    """An argument that is a whole number."""
    if not text.isdigit() or not 1 <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {most}, got {text!r}")
    return int(text)


def random_position(game: Game, plies: int, seed: int) -> Any:
    """After so many uniformly random actions, the dice's included; games that end on the way are begun again."""
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


def first_position(game: Game) -> Any:
    """The start; dice that come before it are rolled, always the same."""
    state = game.initial()
    while game.to_move(state) == CHANCE:
        state = game.result(state, game.legal_actions(state)[0])
    return state
