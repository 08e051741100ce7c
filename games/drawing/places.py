"""Where an action shows on a diagram: the cells that it changes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from games.engine.diagram import BAR, Cell, Diagram
from games.engine.game import Game
from games.types import GameState


def places(game: Game, state: GameState, actions: Sequence[int]) -> list[list[Cell]]:
    """Of each action the cells where something comes to stand: empty ones before those with something else (which was turned or taken),
    and these before those with another number of the same. What changes whatever is played, such as the name of the mover, is not the
    action's."""
    before = game.diagram(state)
    changed = [_changes_of_actions(before, game.diagram(game.result(state, action))) for action in actions]
    always = set.intersection(*map(set, changed)) if len(changed) > 1 else set()
    found = []
    for each in changed:
        ranks = {cell: rank for cell, rank in each.items() if cell not in always}
        best = max(ranks.values(), default=EMPTIED)
        found.append([cell for cell, rank in ranks.items() if rank == best > EMPTIED])
    return found


EMPTIED, COUNTED, REPLACED, FILLED = range(4)


def _changes_of_actions(before: Diagram, after: Diagram) -> dict[Cell, int]:
    """A checker that comes to the bar was hit: no action moved it there."""
    found = changes(before, after)
    return {cell: kind for cell, kind in found.items() if before.surface != "points" or cell[1] != BAR}


def changes(before: Diagram, after: Diagram) -> dict[Cell, int]:
    """The cells that differ, and how: EMPTIED, COUNTED, REPLACED or FILLED. Where something comes to stand, cells that are merely
    coloured follow from it, as a box from its last line: they count as COUNTED."""
    found = _changes(before, after)
    stands = {cell for cell, kind in found.items() if kind > COUNTED and _shape(after, cell) != "fill"}
    if not stands:
        return found
    return {cell: COUNTED if kind > COUNTED and cell not in stands else kind for cell, kind in found.items()}


def _shape(diagram: Diagram, cell: Cell) -> str:
    symbol = diagram.symbol(*cell)
    return "" if symbol is None else symbol.shape


def _changes(before: Diagram, after: Diagram) -> dict[Cell, int]:
    if list(map(len, before.cells)) != list(map(len, after.cells)):
        return {}
    is_words = [before.surface == "text" and re.search("[A-Za-z]{3}", "".join(row)) for row in before.cells]
    return {
        (row, column): _change(before, after, row, column)
        for row, line in enumerate(before.cells)
        if not is_words[row] and line != after.cells[row]
        for column, word in enumerate(line)
        if word != after.cells[row][column]
    }


def _change(before: Diagram, after: Diagram, row: int, column: int) -> int:
    old, new = before.symbol(row, column), after.symbol(row, column)
    if new is None or after.is_empty(row, column):
        return EMPTIED
    if old is None or before.is_empty(row, column):
        return FILLED
    return COUNTED if old.shape not in ("", "card") and old[:2] == new[:2] else REPLACED
