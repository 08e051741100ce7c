"""From clicks to moves, for any game: which cells a person clicks to play an action.

    moves(game, state, actions)          # of each action its paths: the cells to be clicked, one after the other

No game declares this. A path follows from the diagrams before and after the action: a piece that leaves one cell and comes to
another is clicked there and then here; what is placed is clicked where it comes to stand; what is taken away, where it stood. Actions
that change no cell (a pass, dice) have no path and are buttons.

Laws: every path leads to one action, or to several between which the page asks (a promotion); no path is the beginning of another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from games import Game
from games.drawing import Cell, changes
from games.engine.diagram import BAR, Diagram, Symbol
from games.types import GameState

Path = tuple[Cell, ...]
Place = Callable[[Cell], Cell]


@dataclass
class Move:
    """One legal action on the board."""

    action: int
    paths: list[Path] = field(default_factory=list)
    """Ways to click it, places from first to last; none: it is a button only."""
    origin: Cell | None = None
    """The cell that the piece leaves, where one moves."""
    cells: tuple[Cell, ...] = ()
    """The cells where something comes to stand; of what is taken away, where it stood."""
    symbol: Symbol | None = None
    """What comes to stand in the first of them."""


def moves(game: Game, state: GameState, actions: Sequence[int]) -> tuple[list[Move], Place]:
    """The moves, and the place that a cell belongs to: the cell itself, or a pile's, or a column's."""
    before = game.diagram(state)
    afters = [game.diagram(game.result(state, action)) for action in actions]
    found = [Changes.between(before, after) for after in afters]
    always = set.intersection(*(set(each.arrivals) for each in found)) if len(found) > 1 else set()
    for each in found:
        each.arrivals = [cell for cell in each.arrivals if cell not in always] or (
            each.arrivals if each.departures else []
        )
    place = place_of(before, [each.arrivals for each in found])
    listed = [
        each.move(action, before, after, place) for action, each, after in zip(actions, found, afters, strict=True)
    ]
    if before.surface == "cards":  # a card is played by one click
        for move in listed:
            move.paths = list(dict.fromkeys(path[:1] for path in move.paths))
    _claim(listed)
    _part(listed)
    return listed, place


def last_move(before: Diagram, after: Diagram) -> list[Cell]:
    """The cells to mark as the last move's: where something came to stand, and where it came from."""
    found = Changes.between(before, after)
    return [*found.arrivals, *dict.fromkeys(origin for origin, _ in found.pairs(before, after))]


@dataclass
class Changes:
    """Between two diagrams."""

    arrivals: list[Cell]
    departures: list[Cell]

    @classmethod
    def between(cls, before: Diagram, after: Diagram) -> Changes:
        kinds = changes(before, after)
        came, left = dict[Cell, int](), list[Cell]()
        for cell, kind in kinds.items():
            if after.is_empty(*cell):
                left.append(cell)
            elif not before.is_empty(*cell) and _same(before.symbol(*cell), after.symbol(*cell)):
                if before.surface == "cards":  # chips that are counted anew are no place to click
                    continue
                fewer = _count(after, cell) < _count(before, cell)
                if fewer:
                    left.append(cell)
                elif not _is_bar(before, cell):
                    came[cell] = kind
            elif not _is_bar(before, cell):
                came[cell] = kind
        best = max(came.values(), default=0)
        return cls([cell for cell, kind in came.items() if kind == best], left)

    def pairs(self, before: Diagram, after: Diagram) -> list[tuple[Cell, Cell]]:
        """From and to: of the same piece, else of the same colour (a promotion)."""
        for alike in (_same, _same_colour):
            found = [
                (origin, cell)
                for cell in self.arrivals
                for origin in self.departures
                if alike(before.symbol(*origin), after.symbol(*cell))
            ]
            if found:
                return found
        return []

    def move(self, action: int, before: Diagram, after: Diagram, place: Place) -> Move:
        pairs = self.pairs(before, after)
        if pairs:
            paths = [(place(origin), place(cell)) for origin, cell in pairs if place(origin) != place(cell)]
            cells = [cell for _, cell in pairs]
            return Move(action, list(dict.fromkeys(paths)), pairs[0][0], tuple(cells), after.symbol(*cells[0]))
        cells = self.arrivals or self.departures
        return Move(action, list(dict.fromkeys((place(cell),) for cell in cells)), None, tuple(cells))


def _same(one: Symbol | None, other: Symbol | None) -> bool:
    if one is None or other is None:
        return False
    return one[:2] == other[:2] if one.shape and one.shape != "card" else one == other


def _same_colour(one: Symbol | None, other: Symbol | None) -> bool:
    return one is not None and other is not None and one.colour == other.colour and bool(one.shape and other.shape)


def _count(diagram: Diagram, cell: Cell) -> int:
    symbol = diagram.symbol(*cell)
    return int(symbol.label) if symbol is not None and symbol.label.isdecimal() else 1


def _is_bar(diagram: Diagram, cell: Cell) -> bool:
    return diagram.surface == "points" and cell[1] == BAR


# ── places ──


def place_of(diagram: Diagram, arrivals: Sequence[Sequence[Cell]]) -> Place:
    """On points a pile is one place; where each action has a column of its own among holes, the column is."""
    if diagram.surface == "points":
        return lambda cell: (0 if cell[0] <= diagram.rows // 2 else diagram.rows - 1, cell[1])
    columns = [{column for _, column in each} for each in arrivals]
    counts = Counter(column for each in columns for column in each)
    is_by_column = all(len(each) == 1 for each in columns) and all(count == 1 for count in counts.values())
    if diagram.surface == "holes" and columns and is_by_column:
        return lambda cell: (0, cell[1])
    return lambda cell: cell


# ── one path, one action ──


def _claim(listed: Sequence[Move]) -> None:
    """A path that is the only one of an action is taken from those that have others."""
    users: dict[Path, list[Move]] = {}
    for move in listed:
        for path in move.paths:
            users.setdefault(path, []).append(move)
    waiting = [move for move in listed if len(move.paths) == 1]
    while waiting:
        path = waiting.pop().paths[0]
        for other in users[path]:
            if len(other.paths) > 1 and path in other.paths:
                other.paths.remove(path)
                if len(other.paths) == 1:
                    waiting.append(other)


def _part(listed: Sequence[Move]) -> None:
    """A path that another one begins with ends with a second click on the same place."""
    starts = {path[:1] for move in listed for path in move.paths if len(path) > 1}
    for move in listed:
        move.paths = [(*path, path[0]) if len(path) == 1 and path in starts else path for path in move.paths]
