"""Symmetries as permutation tables, for augmenting what a network learns from and for checking rules against themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from base.errors import UserError
from games.types import Actions

Cell = tuple[int, int]


@dataclass(frozen=True)
class Symmetry:
    """One way of turning the board, in the viewer's frame.

    `observation[i]` is where entry i of the turned planes (flattened) comes from; `actions[a]` is what policy entry a becomes.
    """

    name: str
    observation: Actions
    actions: Actions

    def turns_planes(self, channels: int, cells: int) -> bool:
        """Whether it turns each plane into itself, and all in the same way."""
        planes = np.asarray(self.observation).reshape(channels, cells) - cells * np.arange(channels)[:, None]
        return bool((planes == planes[0]).all() and (planes[0] >= 0).all() and (planes[0] < cells).all())

    def check(self, actions: int, entries: int) -> None:
        for what, table, size in (("actions", self.actions, actions), ("observation", self.observation, entries)):
            if sorted(np.asarray(table).tolist()) != list(range(size)):
                raise UserError(
                    f"symmetry '{self.name}': expected {what} to be a permutation of {size} numbers, got {len(table)} entries"
                )


def symmetry(
    name: str,
    shape: tuple[int, int, int],
    turn: Callable[[int, int], Cell],
    actions: Sequence[int] | Actions,
) -> Symmetry:
    """The symmetry that takes cell (row, column) to `turn(row, column)` on every plane of `shape`, and action a to `actions[a]`."""
    channels, rows, columns = shape
    source = np.zeros((channels, rows, columns), np.int32)
    for row in range(rows):
        for column in range(columns):
            to = turn(row, column)
            for channel in range(channels):
                source[channel, to[0], to[1]] = (channel * rows + row) * columns + column
    return Symmetry(name, source.ravel(), np.asarray(actions, np.int32))


def turns(rows: int, columns: int) -> dict[str, Callable[[int, int], Cell]]:
    """The turns and mirrors of a board, by name, the identity left out: seven of a square, three of a rectangle."""
    last_row, last_column = rows - 1, columns - 1
    found: dict[str, Callable[[int, int], Cell]] = {
        "mirror": lambda row, column: (row, last_column - column),
        "flip": lambda row, column: (last_row - row, column),
        "half turn": lambda row, column: (last_row - row, last_column - column),
    }
    if rows == columns:
        found |= {
            "quarter turn": lambda row, column: (column, last_row - row),
            "three quarters": lambda row, column: (last_row - column, row),
            "transpose": lambda row, column: (column, row),
            "anti-transpose": lambda row, column: (last_row - column, last_row - row),
        }
    return found


def grid_symmetries(channels: int, rows: int, columns: int, extra: int = 0) -> list[Symmetry]:
    """All symmetries of a board on which action row·columns + column is the cell, followed by `extra` actions that stay (pass)."""
    found = []
    for name, turn in turns(rows, columns).items():
        cells = [turn(row, column) for row in range(rows) for column in range(columns)]
        actions = [row * columns + column for row, column in cells] + list(
            range(rows * columns, rows * columns + extra)
        )
        found.append(symmetry(name, (channels, rows, columns), turn, actions))
    return found
