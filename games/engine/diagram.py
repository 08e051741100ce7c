"""A position as a diagram: what stands in each cell, and on what kind of board. Plain data; `games.drawing` makes pictures of it.

    Diagram(["x.o", ".x.", "..o"], {"x": "blue cross", "o": "orange ring"}, left="123", top="abc")

A game's file may define `diagram(state)`. Where it does not, a diagram is derived: of a grid of letters in what `render` draws; else of
the fields that fill the board; else the fields as a table, or the text that `render` draws.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from base.errors import UserError, nearest, short
from games.engine.information import TRACKED
from games.types import GameState

if TYPE_CHECKING:
    from games.engine.rules import Rules

SURFACES = ("squares", "green squares", "checkered", "lines", "holes", "dots", "points", "cards", "table", "text")
COLOURS = ("black", "white", "red", "yellow", "blue", "orange", "green", "purple")
PIECES = ("king", "queen", "rook", "bishop", "knight", "pawn")
SHAPES = ("disc", "crowned disc", "cross", "ring", "fill", "line", "star", "card", "die", *PIECES)
EMPTY = ("", " ", ".")
MARKS = {"x": "black disc", "X": "black disc", "o": "white disc", "O": "white disc"}  # in a grid that `render` draws
PLAYERS = ("black disc", "white disc", "red disc", "blue disc")
POINTS, BAR = (11, 14), 6  # rows and columns of the surface "points"; its column of checkers that were hit
LONGEST, WIDEST = 400, 400  # rows and columns
FOLDED = 72  # letters of a line of text


Cell = tuple[int, int]
"""Row and column."""


class Symbol(NamedTuple):
    """What a cell shows: a shape in a colour, a label upon it, or a label alone."""

    colour: str
    shape: str
    label: str


@dataclass(frozen=True)
class Diagram:
    cells: Sequence[Sequence[str]]
    """Rows from the top, each a string of letters or a list of words. '', ' ' and '.' are empty. A word is a key of `symbols`, perhaps
    followed by a label that is written upon the shape (`x7`); every other word is written as it stands."""
    symbols: Mapping[str, str] = field(default_factory=dict)
    """Of a letter: a colour and a shape, `black disc`. COLOURS and SHAPES list them; `fill` colours the whole cell, `line` draws a line
    along it, `star` is the mark of a point that is still empty. A `card` with a label is face up, and a last letter c, d, h or s is its
    suit (`white card` and `Qh`); without one it lies face down. A `die` with a label shows that face; without one it is covered."""
    surface: str = "squares"
    """squares, green squares, checkered (as for chess: a1 is dark); lines (as for go: cells are crossings); holes (as for connect
    four); dots (as for dots and boxes: rows and columns 0, 2, 4, … are dots and lines, the others boxes); points (as for backgammon:
    11 rows, 14 columns; column 6 is the bar, column 13 the checkers borne off, row 5 the middle); cards (a table, whose cells are as
    high as cards); table; text."""
    left: Sequence[str] = ()
    """Names of the rows."""
    top: Sequence[str] = ()
    """Names of the columns."""
    dice: Sequence[int] = ()
    """Faces, 1 to 6."""
    bottom: Sequence[str] = ()
    """Names of the columns below the board, where they differ from those above."""
    in_a_row: int = 0
    """So many equal symbols in a straight line decide the game: a line is drawn through them."""
    marked: Sequence[Cell] = ()
    """Cells to be noticed, such as that of a king in check."""
    note: str = ""
    """What else there is to say: whose move it is, a score."""

    def __post_init__(self) -> None:
        if self.surface not in SURFACES:
            hint = nearest(str(self.surface), SURFACES)
            raise UserError(
                f"diagram: expected a surface ({', '.join(SURFACES)}), got '{short(str(self.surface))}'{hint}"
            )
        for letter, words in self.symbols.items():
            colour, _, form = words.partition(" ")
            if colour not in COLOURS or form not in SHAPES:
                raise UserError(
                    f"diagram: expected a colour ({', '.join(COLOURS)}) and a shape ({', '.join(SHAPES)}) for '{letter}', "
                    f"got '{short(words)}'"
                )
        shape = len(self.cells), max(map(len, self.cells), default=0)
        if not 1 <= shape[0] <= LONGEST or not 1 <= shape[1] <= WIDEST:
            raise UserError(
                f"diagram: expected 1 to {LONGEST} rows and 1 to {WIDEST} columns, got {shape[0]} and {shape[1]}"
            )
        if len(set(map(len, self.cells))) > 1 and self.surface not in ("table", "text"):
            raise UserError(f"diagram: expected rows of one length, got {sorted(set(map(len, self.cells)))}")
        if self.surface == "points" and shape != POINTS:
            raise UserError(
                f"diagram: points: expected {POINTS[0]} rows and {POINTS[1]} columns, got {shape[0]} and {shape[1]}"
            )
        for name, names, count in (("left", self.left, 0), ("top", self.top, 1), ("bottom", self.bottom, 1)):
            if names and len(names) != shape[count]:
                raise UserError(f"diagram: {name}: expected {shape[count]} names, got {len(names)}")
        if any(face not in range(1, 7) for face in self.dice):
            raise UserError(f"diagram: expected dice from 1 to 6, got {list(self.dice)}")

    @property
    def rows(self) -> int:
        return len(self.cells)

    @property
    def columns(self) -> int:
        return max(map(len, self.cells))

    def symbol(self, row: int, column: int) -> Symbol | None:
        """None: the cell is empty."""
        word = self.cells[row][column] if column < len(self.cells[row]) else ""
        if word in EMPTY and word not in self.symbols:
            return None
        key = word if word in self.symbols else word[0]
        colour, _, shape = self.symbols.get(key, "").partition(" ")
        return Symbol(colour, shape, word[len(key) :]) if shape else Symbol("", "", word)

    @property
    def lines(self) -> list[tuple[Cell, Cell]]:
        """The first and last cell of each straight line of `in_a_row` equal symbols or more."""
        found = []
        for row in range(self.rows if self.in_a_row else 0):
            for column in range(self.columns):
                for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                    symbol = self._stone(row, column)
                    if symbol is None or self._stone(row - down, column - right) == symbol:
                        continue
                    length = 1
                    while self._stone(row + length * down, column + length * right) == symbol:
                        length += 1
                    if length >= self.in_a_row:
                        found.append(((row, column), (row + (length - 1) * down, column + (length - 1) * right)))
        return found

    def _stone(self, row: int, column: int) -> Symbol | None:
        """What stands there; None also beyond the edge."""
        is_inside = 0 <= row < self.rows and 0 <= column < self.columns
        return self.symbol(row, column) if is_inside and not self.is_empty(row, column) else None

    def is_empty(self, row: int, column: int) -> bool:
        """Nothing stands there."""
        symbol = self.symbol(row, column)
        return symbol is None or symbol.shape == "star" or (self.surface == "text" and symbol.label in "+0123456789")


# ── derived ──


def derived(rules: Rules) -> Callable[[GameState], Diagram]:
    """Of `render`, or of the fields."""

    def diagram(state: GameState) -> Diagram:
        has_own = "render" not in rules.derived
        text = rules.render(state)
        if has_own:
            return _grid(text, *rules.observation[1:]) or _letters(text)
        return _fields(rules, state) or _table(rules, state)

    return diagram


def _grid(text: str, rows: int, columns: int) -> Diagram | None:
    """So many lines of so many letters, with or without blanks between them, perhaps with the row's name before or around them."""
    if rows < 2 or columns < 2:
        return None
    lines = text.splitlines()
    spread = [_spread(line, columns) for line in lines]
    for last in range(len(lines), rows - 1, -1):
        block = spread[last - rows : last]
        labels = len(block[0]) - columns
        if labels not in (0, 1, 2) or any(len(line) != len(block[0]) for line in block):
            continue
        first = 1 if labels else 0
        cells = [line[first : first + columns] for line in block]
        if any(map(_is_counting, (cells[0], cells[-1]))):
            continue
        if all(len(cell) == 1 for line in cells for cell in line):
            others = [number for number in range(len(lines)) if not last - rows <= number < last]
            headers = [number for number in others if len(spread[number]) == columns]
            note = "\n".join(lines[number].strip() for number in others if number not in headers).strip()
            left = [line[0] for line in block] if labels else []
            symbols = MARKS | ({"+": "black star"} if any("+" in line for line in cells) else {})
            return Diagram(cells, symbols, left=left, top=spread[headers[0]] if headers else [], note=note)
    return None


def _spread(line: str, columns: int) -> list[str]:
    words = line.split()
    at = next((i for i, word in enumerate(words[:2]) if len(word) == columns and len(words) <= 3), None)
    return words if at is None or columns == 1 else [*words[:at], *words[at], *words[at + 1 :]]


def _is_counting(words: Sequence[str]) -> bool:
    """1 2 3, a b c: names of columns."""
    return all(len(word) == 1 and word.isalnum() and ord(word) == ord(words[0]) + i for i, word in enumerate(words))


def _letters(text: str) -> Diagram:
    """Everything that `render` draws, letter by letter."""
    given = text.expandtabs().splitlines()
    lines = [part for line in given for part in textwrap.wrap(line, FOLDED, drop_whitespace=False) or [" "]][
        :LONGEST
    ] or [" "]
    width = max(1, *map(len, lines))
    return Diagram([line.ljust(width) for line in lines], surface="text")


def _fields(rules: Rules, state: GameState) -> Diagram | None:
    """Fields that fill the board, one upon the other: what each player has there, players' numbers, other numbers but 0."""
    rows, columns = rules.board
    size, names = rows * columns, [name for name in rules.State.names or () if name not in rules.history]
    cells, shown = [""] * size, set()
    for name in names if size > 1 else ():
        value = np.asarray(state[name])
        if name in (*rules.owned, *rules.private) and value.size == rules.players * size:
            marks = [
                {int(i): _mark(player, each) for i, each in _held(value, player)} for player in range(rules.players)
            ]
            found = {i: mark for each in marks for i, mark in each.items()}
        elif value.size != size:
            continue
        elif name in rules.seats:
            found = {i: _mark(int(each), 1) for i, each in enumerate(value.ravel()) if each >= 0}
        else:
            found = {i: f"{each:g}" for i, each in enumerate(value.ravel().tolist()) if each}
        shown.add(name)
        for i, mark in found.items():
            cells[i] = cells[i] or mark
    if not shown:
        return None
    symbols = {_mark(player, 1): PLAYERS[player] for player in range(min(rules.players, len(PLAYERS)))}
    others = [f"{name}: {_values(state[name])}" for name in names if name not in shown]
    grid = [cells[row * columns : (row + 1) * columns] for row in range(rows)]
    return Diagram(grid, symbols, note="\n".join(others))


def _held(value: Any, player: int) -> list[tuple[int, Any]]:
    own = value[player].ravel()
    return [(int(i), own[i].item()) for i in np.flatnonzero(own)]


def _mark(player: int, count: Any) -> str:
    """A letter for a player, and how many there are."""
    return chr(ord("A") + player % 26) + (f"{count:g}" if count != 1 else "")


def _table(rules: Rules, state: GameState) -> Diagram:
    """A row for each field, or for each row of its array."""
    rows: list[list[str]] = []
    for name in rules.State.names or ():
        if name in TRACKED:
            continue
        value = np.asarray(state[name])
        lines = value.reshape(-1, value.shape[-1] if value.ndim > 1 else max(value.size, 1)).tolist()
        rows += [["" if number else name, *(_short(each) for each in line)] for number, line in enumerate(lines)]
    return Diagram([row[:WIDEST] for row in rows[:LONGEST]], surface="table")


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _values(value: Any) -> str:
    return " ".join(map(_short, np.ravel(value).tolist()))
