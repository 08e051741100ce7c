"""A diagram as shapes: the ground, what is marked, what stands there, names of rows and columns, dice, the note."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import NamedTuple

from games.drawing.shapes import INK, Circle, Drawing, Path, Shape, Text, corners
from games.drawing.surfaces import Grid, above, grid_of, ground
from games.drawing.symbols import die, shapes_of
from games.engine.diagram import Cell, Diagram

NAME, NOTE = 0.36, 0.32  # sizes of text
SIDE = 0.7  # room for names
LEAST, NUMBERED = 0.005, 0.045  # shares that are shown, and with a number
MARKED = "#d1661a"
WIDE = 0.56  # of a letter, against its size


def drawn(
    diagram: Diagram,
    shares: Mapping[Cell, float] | None = None,
    colour: str = MARKED,
    has_numbers: bool = True,
    has_note: bool = False,
) -> Drawing:
    """`shares`: of cells that are marked, in [0, 1]; `has_numbers`: as numbers, too. `has_note`: the note is drawn below the board."""
    grid = grid_of(diagram)
    left, top = _margins(diagram)
    shapes = ground(diagram, grid)
    for cell, share in (shares or {}).items():
        if share > LEAST:
            shapes.append(_mark(diagram, grid, cell, min(share, 1.0), colour))
    for row in range(diagram.rows):
        for column in range(diagram.columns):
            shapes += _cell(diagram, grid, row, column)
    shapes += above(diagram, grid)
    for cell, share in (shares or {}).items() if has_numbers else ():
        x, y, width, height = grid.box(*cell)
        if share >= NUMBERED and diagram.surface != "text" and min(width, height) > 0.5:
            is_free = diagram.surface != "lines" and diagram.is_empty(*cell)  # else below what stands there
            words = f"{min(share, 1.0):.0%}"
            shapes.append(
                Text(x + width / 2, y + (0.5 if is_free else 0.84) * height, words, 0.3 if is_free else 0.28, INK)
            )
    shapes += _dice(diagram, grid)
    shapes += _names(diagram, grid)
    height = _height(diagram, grid)
    if has_note and diagram.note:
        room = max(20, int(grid.width / (NOTE * WIDE)))
        lines = [part for line in diagram.note.splitlines() for part in textwrap.wrap(line, room) or [""]]
        for number, line in enumerate(lines):
            shapes.append(Text(0.0, height + 0.3 + 1.35 * NOTE * number, line, NOTE, anchor="start"))
        height += 0.3 + 1.35 * NOTE * len(lines)
    return Drawing(left + grid.width + 0.1, top + height, tuple(_moved(shape, left, top) for shape in shapes))


class Layers(NamedTuple):
    """A diagram for a page on which things move: from the ground up."""

    box: tuple[float, float, float, float]
    """x, y, width and height of the whole, in cells; the board begins at (0, 0)."""
    grid: Grid
    ground: list[Shape]
    cells: dict[Cell, list[Shape]]
    """What stands there."""
    above: list[Shape]
    """What lies upon the cells; dice; names of rows and columns."""


def layers(diagram: Diagram) -> Layers:
    """The same shapes as `drawn`, apart."""
    grid = grid_of(diagram)
    left, top = _margins(diagram)
    places = [(row, column) for row in range(diagram.rows) for column in range(diagram.columns)]
    cells = {cell: found for cell in places if (found := _cell(diagram, grid, *cell))}
    rest = [*above(diagram, grid), *_dice(diagram, grid), *_names(diagram, grid)]
    box = (-left, -top, left + grid.width + 0.1, top + _height(diagram, grid))
    return Layers(box, grid, ground(diagram, grid), cells, rest)


def _margins(diagram: Diagram) -> tuple[float, float]:
    """On the left and above."""
    left = SIDE * max(1.0, 0.6 * max(map(len, diagram.left))) if diagram.left else 0.1
    return left, SIDE if diagram.top else 0.1


def _height(diagram: Diagram, grid: Grid) -> float:
    """From the board's top to the end of what is below it."""
    return grid.height + (SIDE if diagram.bottom else 0.1) + (1.2 if _has_dice_below(diagram) else 0.0)


def _mark(diagram: Diagram, grid: Grid, cell: Cell, share: float, colour: str) -> Shape:
    x, y, width, height = grid.box(*cell)
    opacity = 0.15 + 0.75 * share
    if diagram.surface == "holes":
        return Circle(x + width / 2, y + height / 2, 0.48, colour, opacity=opacity)
    return Path((corners(x, y, width, height),), colour, opacity=opacity)


def _cell(diagram: Diagram, grid: Grid, row: int, column: int) -> list[Shape]:
    symbol = diagram.symbol(row, column)
    if symbol is None:
        return []
    (x, y), (_, _, width, height) = grid.middle(row, column), grid.box(row, column)
    if diagram.surface == "text":
        return [Text(x, y, symbol.label, 0.8, is_mono=True)]
    if diagram.surface == "table":
        is_name = column == 0
        return [
            Text(
                grid.xs[column] + 0.2 if is_name else x, y, symbol.label, 0.45, anchor="start" if is_name else "middle"
            )
        ]
    if symbol.shape == "line" and diagram.surface == "dots":  # along the cell, thinner than it
        width, height = (width, 0.1) if width > height else (0.1, height)
    if diagram.surface == "points":  # side by side, so that a pile is one
        width, height = width * 1.18, height * 1.18
    return shapes_of(symbol, x, y, width, height)


def _has_dice_below(diagram: Diagram) -> bool:
    return bool(diagram.dice) and diagram.surface != "points"


def _dice(diagram: Diagram, grid: Grid) -> list[Shape]:
    """In the right half of the middle row of `points`, else below the board."""
    side, apart = 0.72, 0.95
    x, y = (
        (9.5 - apart * (len(diagram.dice) - 1) / 2, grid.height / 2)
        if diagram.surface == "points"
        else (0.5, grid.height + 0.7)
    )
    return [shape for number, face in enumerate(diagram.dice) for shape in die(face, x + apart * number, y, side)]


def _names(diagram: Diagram, grid: Grid) -> list[Shape]:
    found: list[Shape] = []
    for row, name in enumerate(diagram.left):
        found.append(Text(-0.2, grid.middle(row, 0)[1], name, NAME, anchor="end"))
    for column, name in enumerate(diagram.top):
        found.append(Text(grid.middle(0, column)[0], -0.35, name, NAME))
    for column, name in enumerate(diagram.bottom):
        found.append(Text(grid.middle(0, column)[0], grid.height + 0.35, name, NAME))
    return [each for each in found if isinstance(each, Text) and each.text]


def _moved(shape: Shape, right: float, down: float) -> Shape:
    if isinstance(shape, Path):
        lines = tuple(tuple((x + right, y + down) for x, y in line) for line in shape.lines)
        return Path(lines, shape.fill, shape.stroke, shape.width, shape.opacity, shape.is_closed)
    if isinstance(shape, Circle):
        return Circle(
            shape.x + right, shape.y + down, shape.radius, shape.fill, shape.stroke, shape.width, shape.opacity
        )
    return Text(shape.x + right, shape.y + down, shape.text, shape.size, shape.colour, shape.anchor, shape.is_mono)
