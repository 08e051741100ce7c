"""Positions of any game as a grid of characters, and the cells that an action changes: what pictures of positions are drawn from.

    board = Board.of(game, state)
    board.cells                         # [["X", ".", "O"], …]; where the game draws no plain grid, its whole drawing letter by letter
    places(game, state, actions)        # of each [(row, column), …]: where what comes to stand where nothing, or something else, stood

Nothing here depends on a game: a grid is found in the text that the game draws, an action's places by comparing two such texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from base.seeds import below, derive, generator
from games import CHANCE, Game
from games.engine.kernels import sampler

EMPTY = frozenset(" .+0123456789")
TRIES = 200  # games from which a sample position is taken
APART = 10  # plies at most between sample positions: random games are long, and their ends are like no other game's


@dataclass(frozen=True)
class Board:
    cells: list[list[str]]
    is_grid: bool
    """A cell is a field of the board; else a letter of the drawing."""
    left: list[str]
    """Names of the rows, where the drawing has them."""
    top: list[str]
    """Names of the columns."""

    @classmethod
    def of(cls, game: Game, state: Any) -> Board:
        text = game.render(state)
        return _grid(text, *game.rules.observation[1:]) or _letters(text)


def places(game: Game, state: Any, actions: list[int]) -> list[list[tuple[int, int]]]:
    """Of each action. Where the drawing changes whatever is played (whose move it is), that is not the action's."""
    board = Board.of(game, state)
    before = board.cells
    changed = [_changes(board, Board.of(game, game.result(state, action))) for action in actions]
    always = set.intersection(*map(set, changed)) if len(changed) > 1 else set()
    return [_arrivals(before, {cell: new for cell, new in each.items() if cell not in always}) for each in changed]


def _changes(board: Board, then: Board) -> dict[tuple[int, int], str]:
    before, after = board.cells, then.cells
    if list(map(len, before)) != list(map(len, after)):
        return {}
    is_words = [not board.is_grid and re.search("[A-Za-z]{3}", "".join(row)) for row in before]
    rows = [r for r in range(len(before)) if not is_words[r]]
    pairs = ((r, c, a, b) for r in rows for c, (a, b) in enumerate(zip(before[r], after[r], strict=True)))
    return {(r, c): b for r, c, a, b in pairs if a != b}


def _arrivals(before: list[list[str]], changes: dict[tuple[int, int], str]) -> list[tuple[int, int]]:
    """Of the fields that changed those where something came to stand: empty ones before others (which were turned or taken)."""
    filled = [cell for cell, new in changes.items() if new not in EMPTY]
    return [cell for cell in filled if before[cell[0]][cell[1]] in EMPTY] or filled


def _grid(text: str, rows: int, columns: int) -> Board | None:
    """So many lines of so many single letters in a row, perhaps with the row's name before or around them."""
    if rows < 2 or columns < 2:
        return None
    lines = [line.split() for line in text.splitlines()]
    for last in range(len(lines), rows - 1, -1):
        block = lines[last - rows : last]
        labels = len(block[0]) - columns
        if labels not in (0, 1, 2) or any(len(line) != len(block[0]) for line in block):
            continue
        first = 1 if labels else 0
        cells = [line[first : first + columns] for line in block]
        if all(len(cell) == 1 for line in cells for cell in line):
            header = next((line for line in lines if len(line) == columns and line not in block), [])
            return Board(cells, True, [line[0] for line in block] if labels else [], header)
    return None


def _letters(text: str) -> Board:
    lines = text.splitlines()
    width = max(map(len, lines), default=0)
    return Board([list(line.ljust(width)) for line in lines], False, [], [])


def samples(game: Game, count: int) -> list[Any]:
    """Positions to be looked at again and again, the same for every run: the start, and some of random games, from their beginning to
    near their end, in which there is a choice and, where that can be, nothing to be taken at once."""
    length = max(2, len(_random_game(game, 0)))
    found: list[Any] = []
    for number in range(count):
        ply = number * max(1, min(APART, 2 * length // (3 * count)))
        found.append(_sample(game, ply, number) if number else _settled(game, game.initial(), 0))
    return [state for state in found if state is not None]


def _sample(game: Game, ply: int, number: int) -> Any:
    fallback = None
    for attempt in range(TRIES):
        states = _random_game(game, number * TRIES + attempt)
        state = states[ply] if ply < len(states) else None
        if state is None or game.to_move(state) == CHANCE or len(actions := game.legal_actions(state)) < 2:
            continue
        if _is_quiet(game, state, actions):
            return state
        fallback = state if fallback is None else fallback
    return fallback


def _is_quiet(game: Game, state: Any, actions: list[int]) -> bool:
    gain = game.rules.gain
    with np.errstate(over="ignore"):  # bit tricks, which plain Python warns of
        return gain is None or all(gain(state, action) < 0.25 for action in actions)


def _random_game(game: Game, number: int) -> list[Any]:
    """Its positions without the last one."""
    rng, states = generator(derive(number, "sample positions"), "moves"), []
    state = game.initial()
    while not game.is_terminal(state):
        states.append(state)
        state = game.result(state, _drawn(game, state, rng))
    return states


def _drawn(game: Game, state: Any, rng: Any) -> int:
    if game.to_move(state) == CHANCE:
        return int(game.kernel(sampler)(state, np.zeros(game.rules.max_legal, np.int32), rng))
    actions = game.legal_actions(state)
    return int(actions[below(rng, len(actions))])


def _settled(game: Game, state: Any, number: int) -> Any:
    """After chance had its turn."""
    rng = generator(derive(number, "sample positions"), "chance")
    while not game.is_terminal(state) and game.to_move(state) == CHANCE:
        state = game.result(state, _drawn(game, state, rng))
    return state
