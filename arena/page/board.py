"""A position as data for the page: what is drawn, what can be clicked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from arena.page.clicks import last_move, moves
from games import CHANCE, Game
from games.drawing import CELL, Cell, elements, layers
from games.drawing.symbols import shapes_of
from games.engine.diagram import Diagram
from games.formats.words import written
from games.types import GameState


def picture(diagram: Diagram, turned: bool = False) -> dict[str, Any]:
    """The board as parts of an SVG, in its units; cells by `row,column`, also where it is seen from the other side (`turned`)."""
    found = layers(from_behind(diagram) if turned else diagram)
    last = diagram.rows - 1, diagram.columns - 1
    names = {cell: key((last[0] - cell[0], last[1] - cell[1]) if turned else cell) for cell in found.cells}
    x, y, width, height = (round(CELL * each, 1) for each in found.box)
    return {
        "box": [x, y, width, height],
        "xs": [round(CELL * each, 1) for each in found.grid.xs],
        "ys": [round(CELL * each, 1) for each in found.grid.ys],
        "surface": diagram.surface,
        "ground": elements(found.ground),
        "cells": {names[cell]: elements(shapes) for cell, shapes in found.cells.items()},
        "turned": turned,
        "above": elements(found.above),
        "note": diagram.note,
    }


def from_behind(diagram: Diagram) -> Diagram:
    """As the player on the other side sees it."""
    cells = [row[::-1] for row in diagram.cells[::-1]]
    return replace(diagram, cells=cells, left=diagram.left[::-1], top=diagram.top[::-1], bottom=diagram.bottom[::-1])


def choices(game: Game, state: GameState, actions: Sequence[int]) -> dict[str, Any]:
    """The legal moves with their clicks, and the places to be clicked."""
    is_chance = game.to_move(state) == CHANCE
    listed, place = moves(game, state, actions)
    diagram = game.diagram(state)
    areas: dict[str, list[str]] = {}
    for row in range(diagram.rows):
        for column in range(diagram.columns):
            areas.setdefault(key(place((row, column))), []).append(key((row, column)))
    shared = Counter(path for move in listed for path in move.paths)
    used = {key(cell) for move in listed for path in move.paths for cell in path}
    return {
        "moves": [
            {
                "action": move.action,
                "name": written(game, state, [move.action])[0],
                "paths": [[key(cell) for cell in path] for path in move.paths],
                "origin": None if move.origin is None else key(move.origin),
                "cells": [key(cell) for cell in move.cells],
                "piece": elements(shapes_of(move.symbol, 0, 0, 1, 1))
                if move.symbol is not None and any(shared[path] > 1 for path in move.paths)
                else "",
                **({"chance": game.chance(state, move.action)} if is_chance else {}),
            }
            for move in listed
        ],
        "places": {name: cells for name, cells in areas.items() if name in used},
    }


def marks(game: Game, before: GameState, after: GameState) -> list[str]:
    """The cells of the last move."""
    return [key(cell) for cell in last_move(game.diagram(before), game.diagram(after))]


def key(cell: Cell) -> str:
    return f"{cell[0]},{cell[1]}"
