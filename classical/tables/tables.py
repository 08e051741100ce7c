"""A game's tables as people and players call them.

>>> tables = load_tables(load("tic_tac_toe"))
>>> words(tables.code(game.initial()))
'drawn'
>>> tables.choose(state).pv
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from classical.tables.codes import DRAW, LONGEST, NONE, loss_in, plies_of, value_of, win_in
from classical.tables.probe import has_endgames, prober
from classical.tables.store import Report, built, stored, table_path
from games import Game
from games.choice import Candidate, Choice


@dataclass(frozen=True)
class Section:
    """One class of positions and what became of them. Finished positions, and indices that stand for none, count as neither."""

    name: str
    size: int
    won: int
    drawn: int
    lost: int
    longest: int
    """Plies of the longest win."""
    example: int
    """The index (endgames) of a position with the longest win; -1 without one."""


class Tables:
    """The tables of one game. `array` is what kernels take."""

    def __init__(self, game: Game, array: Any) -> None:
        self.game, self.array = game, array
        self._probe: Callable[[Any, Any], int] = game.kernel(prober)

    @property
    def path(self) -> Path:
        return table_path(self.game)

    def code(self, state: Any) -> int:
        """What the table says of `state`, seen from its mover, amid a turn too (codes.py); NONE where it can't say."""
        if self.game.is_terminal(state):
            return NONE
        found = int(self._probe(self.array, state))
        if found != NONE or not has_endgames(self.game.rules):
            return found
        codes = [code for _, code in self.judged(state)]
        best = max(codes, key=rank)
        return best if NONE not in codes or value_of(best) > 0 else NONE

    def judged(self, state: Any) -> list[tuple[int, int]]:
        """Every legal action with the code that `state` has for its mover if this is played; best first."""
        return sorted(
            ((action, self._judged(state, action)) for action in self.game.legal_actions(state)),
            key=lambda pair: -rank(pair[1]),
        )

    def _judged(self, state: Any, action: int) -> int:
        mover, after = self.game.to_move(state), self.game.result(state, action)
        if self.game.is_terminal(after):
            return _one_ply_before(self.game.utility(after)[mover or 0], 0)
        is_same = self.game.to_move(after) == mover
        code = self.code(after) if is_same else int(self._probe(self.array, after))
        if code == NONE:
            return NONE
        return _one_ply_before(value_of(code) * (1 if is_same else -1), plies_of(code))

    def choose(self, state: Any) -> Choice | None:
        """The move that keeps the table's value: the fastest win, a draw, the slowest loss. None where the table can't say."""
        start = time.perf_counter()
        code = self.code(state)
        if code == NONE:
            return None
        judged = self.judged(state)
        candidates = tuple(
            Candidate(action, float(value_of(found)), "exact") if found != NONE else Candidate(action)
            for action, found in judged
        )
        line = self.line(state)
        value, seconds = float(value_of(code)), time.perf_counter() - start
        return Choice(judged[0][0], value, True, line, plies_of(code), 1, seconds, candidates, {"table hits": 1})

    def line(self, state: Any, most: int = 200) -> tuple[int, ...]:
        """How the game ends from here if both sides follow the table; for a draw just one action."""
        line: list[int] = []
        while len(line) < most and (code := self.code(state)) != NONE:
            line.append(self.judged(state)[0][0])
            if code == DRAW:
                break
            state = self.game.result(state, line[-1])
        return tuple(line)

    def sections(self) -> list[Section]:
        """Counts per endgame class; a complete table is one section."""
        if not has_endgames(self.game.rules):
            codes = self.array["code"]
            return [_section("complete", codes[codes != NONE], 0)]
        found, first = [], 0
        for name, size in self.game.rules.endgames:
            found.append(_section(name, self.array[first : first + size], first))
            first += size
        return found

    def position(self, index: int) -> Any | None:
        """The position of an index of the endgame classes; None where it stands for none."""
        assert self.game.rules.endgame_position is not None
        state = self.game.blank()
        with np.errstate(over="ignore"):
            return state if self.game.rules.endgame_position(state, index) else None


def rank(code: int) -> int:
    """A number that is higher for what its mover likes better; NONE lies between a draw and a loss."""
    value = value_of(code)
    if code == NONE:
        return -1
    return value * (2 * LONGEST - plies_of(code))


def _one_ply_before(value: float, plies: int) -> int:
    """The code for a mover whose action leads to `value` for him, `plies` before the end."""
    return DRAW if value == 0 else win_in(plies + 1) if value > 0 else loss_in(plies + 1)


def load_tables(game: Game, report: Report = lambda name, positions: None, *, rebuild: bool = False) -> Tables:
    """The tables of a game: its endgames where its rules number them, else all positions where they are few (UserError if not).

    Found in the cache folder, or built and put there; `report(class, positions)` hears of progress.
    """
    found = None if rebuild else stored(game)
    return Tables(game, built(game, report, rebuild) if found is None else found)


def _section(name: str, codes: Any, first: int) -> Section:
    decided = codes >= 2
    won = decided & (codes % 2 == 1)
    longest = int(codes[won].max()) if won.any() else NONE
    example = first + int(np.argmax(codes == longest)) if longest != NONE else -1
    return Section(
        name,
        len(codes),
        int(won.sum()),
        int((codes == DRAW).sum()),
        int((decided & ~won).sum()),
        plies_of(longest),
        example,
    )
