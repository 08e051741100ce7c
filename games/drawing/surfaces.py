"""Kinds of boards: where their cells are, and what is drawn beneath what stands on them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from games.drawing.shapes import FIELD, LINE, SOFT, Circle, Path, Point, Shape, corners, rectangle
from games.engine.diagram import BAR, Diagram

THIN = 0.26  # width of a line between boxes
LETTER = 0.56, 1.05  # width and height of a cell that holds one letter
CARD = 1.4  # height of a cell that holds a card
LIGHT, DARK = "#f5f3ee", "#d3cdc1"
WOOD, GRAIN = "#f3e6c8", "#7d6b48"
GREEN, GREEN_LINE = "#c4ddca", "#8fb59b"
HOLDER = "#a9bcd6"
CLOTH = "#d5e3d9"
TABLE, FRAME, TONES = "#f5f1e8", "#b5a891", ("#dccbb2", "#bcc9c4")
BORDER = 0.02
WON, NOTICE = "#22272e", "#d9534a"


@dataclass(frozen=True)
class Grid:
    """Where the edges of rows and columns are."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]

    def box(self, row: int, column: int) -> tuple[float, float, float, float]:
        """x, y, width, height."""
        x, y = self.xs[column], self.ys[row]
        return x, y, self.xs[column + 1] - x, self.ys[row + 1] - y

    def middle(self, row: int, column: int) -> Point:
        x, y, width, height = self.box(row, column)
        return x + width / 2, y + height / 2

    @property
    def width(self) -> float:
        return self.xs[-1]

    @property
    def height(self) -> float:
        return self.ys[-1]


def grid_of(diagram: Diagram) -> Grid:
    rows, columns = [1.0] * diagram.rows, [1.0] * diagram.columns
    if diagram.surface == "dots":
        rows = [1.0 if row % 2 else THIN for row in range(diagram.rows)]
        columns = [1.0 if column % 2 else THIN for column in range(diagram.columns)]
    elif diagram.surface == "cards":
        rows = [CARD] * diagram.rows
    elif diagram.surface == "text":
        rows, columns = [LETTER[1]] * diagram.rows, [LETTER[0]] * diagram.columns
    elif diagram.surface == "table":
        longest = [
            max((len(row[i]) for row in diagram.cells if i < len(row)), default=0) for i in range(diagram.columns)
        ]
        columns = [0.3 * max(length, 1) + 0.6 for length in longest]
    return Grid(tuple(accumulate(columns, initial=0.0)), tuple(accumulate(rows, initial=0.0)))


def ground(diagram: Diagram, grid: Grid) -> list[Shape]:
    """The board without anything on it, and its marked cells."""
    marks = [Circle(*grid.middle(*cell), 0.47, NOTICE, opacity=0.6) for cell in diagram.marked]
    return [*_bare(diagram, grid), *marks]


def _bare(diagram: Diagram, grid: Grid) -> list[Shape]:
    match diagram.surface:
        case "checkered":
            dark = [
                corners(*grid.box(row, column))
                for row in range(diagram.rows)
                for column in range(diagram.columns)
                if (row + column + diagram.rows) % 2
            ]
            return [_whole(grid, LIGHT), Path(tuple(dark), DARK), _whole(grid, "none", SOFT)]
        case "lines":
            return [_whole(grid, WOOD), Path(_crossings(grid), stroke=GRAIN, width=0.025, is_closed=False)]
        case "holes":
            holes = [
                Circle(*grid.middle(row, column), 0.42, "#ffffff")
                for row in range(diagram.rows)
                for column in range(diagram.columns)
            ]
            return [_whole(grid, HOLDER), *holes]
        case "dots":
            return [_whole(grid, FIELD)]
        case "cards":
            return [_whole(grid, CLOTH)]
        case "points":
            return _points(grid)
        case "table":
            rules = tuple(((0.0, y), (grid.width, y)) for y in grid.ys)
            return [Path(rules, stroke=LINE, width=BORDER, is_closed=False)]
        case "text":
            return []
        case _:
            fill, line = (GREEN, GREEN_LINE) if diagram.surface == "green squares" else (FIELD, "#c3ccd5")
            across = tuple(((0.0, y), (grid.width, y)) for y in grid.ys)
            down = tuple(((x, 0.0), (x, grid.height)) for x in grid.xs)
            return [_whole(grid, fill), Path(across + down, stroke=line, width=BORDER, is_closed=False)]


def above(diagram: Diagram, grid: Grid) -> list[Shape]:
    """What lies upon the cells: the dots of dots and boxes, the line that decided a game."""
    lines = tuple((grid.middle(*first), grid.middle(*last)) for first, last in diagram.lines)
    if lines:
        return [Path(lines, stroke=WON, width=0.13, opacity=0.8, is_closed=False)]
    if diagram.surface != "dots":
        return []
    return [
        Circle(*grid.middle(row, column), 0.12, "#22272e")
        for row in range(0, diagram.rows, 2)
        for column in range(0, diagram.columns, 2)
    ]


def _whole(grid: Grid, fill: str, stroke: str = "none") -> Path:
    return rectangle(0, 0, grid.width, grid.height, fill, stroke, BORDER if stroke != "none" else 0.0)


def _crossings(grid: Grid) -> tuple[tuple[Point, ...], ...]:
    """Lines through the middles of the cells."""
    right, bottom = grid.width - 0.5, grid.height - 0.5
    across = tuple(((0.5, y + 0.5), (right, y + 0.5)) for y in grid.ys[:-1])
    return across + tuple(((x + 0.5, 0.5), (x + 0.5, bottom)) for x in grid.xs[:-1])


def _points(grid: Grid) -> list[Shape]:
    """Triangles, the bar, and the tray of those borne off."""
    triangles: tuple[list[tuple[Point, ...]], ...] = ([], [])
    for column in range(13):
        if column != BAR:
            left, right = grid.xs[column] + 0.04, grid.xs[column + 1] - 0.04
            for number, (edge, tip) in enumerate(((0.0, 4.9), (grid.height, grid.height - 4.9))):
                triangles[(column + number + (column > BAR)) % 2].append(
                    ((left, edge), (right, edge), ((left + right) / 2, tip))
                )
    bars = [rectangle(grid.xs[column], 0.0, 1.0, grid.height, FRAME) for column in (BAR, 13)]
    return [
        _whole(grid, TABLE),
        *(Path(tuple(each), tone) for each, tone in zip(triangles, TONES, strict=True)),
        *bars,
        _whole(grid, "none", "#8a7550"),
    ]
