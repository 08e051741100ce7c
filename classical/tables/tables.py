"""The interface of a game's tables for players and programs.

>>> from classical.tables.codes import words
>>> from games import load
>>> game = load("tic_tac_toe")
>>> tables = load_tables(game)
>>> words(tables.code(game.initial()))
'drawn'
>>> tables.choose(game.play("a1")).action == game.id_of("b2")
True
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from base.errors import UserError, nearest, short
from classical.tables.codes import DRAW, LONGEST, NONE, loss_in, plies_of, value_of, win_in
from classical.tables.endgames import spans
from classical.tables.probe import has_endgames, prober
from classical.tables.store import Report, built, names_in, stored, table_path
from classical.types import Codes
from games import Game
from games.choice import Candidate, Choice
from games.types import Array, GameState


@dataclass(frozen=True)
class Section:
    """Counts of one class of positions. Finished positions and unused indices are not counted."""

    name: str
    size: int
    won: int
    drawn: int
    lost: int
    longest: int
    """Plies of the longest win."""
    example: int
    """The index (endgames) of a position with the longest win; -1 if there is none."""


class Tables:
    """The tables of one game. `array` is the argument of kernels; of the classes on request, `endgames` have codes in it."""

    def __init__(self, game: Game, array: Codes, endgames: Sequence[str] = ()) -> None:
        self.game, self.array, self.endgames = game, array, tuple(endgames)
        self._probe: Callable[[Codes, GameState], int] = game.kernel(prober)

    @property
    def path(self) -> Path:
        return table_path(self.game)

    @property
    def paths(self) -> list[Path]:
        """All files: a class on request has one of its own."""
        return [table_path(self.game, part) for part in ("", *self.endgames)]

    def code(self, state: GameState) -> int:
        """The code of `state` for its mover (codes.py), in the middle of a turn too; NONE if unknown."""
        if self.game.is_terminal(state):
            return NONE
        found = int(self._probe(self.array, state))
        if found != NONE or not has_endgames(self.game.rules):
            return found
        codes = [code for _, code in self.judged(state)]
        best = max(codes, key=rank)
        return best if NONE not in codes or value_of(best) > 0 else NONE

    def judged(self, state: GameState) -> list[tuple[int, int]]:
        """Every legal action with the code of `state` for its mover if it is played; best first."""
        return sorted(
            ((action, self._judged(state, action)) for action in self.game.legal_actions(state)),
            key=lambda pair: -rank(pair[1]),
        )

    def _judged(self, state: GameState, action: int) -> int:
        mover, after = self.game.to_move(state), self.game.result(state, action)
        if self.game.is_terminal(after):
            return _one_ply_before(self.game.utility(after)[mover or 0], 0)
        is_same = self.game.to_move(after) == mover
        code = self.code(after) if is_same else int(self._probe(self.array, after))
        if code == NONE:
            return NONE
        return _one_ply_before(value_of(code) * (1 if is_same else -1), plies_of(code))

    def choose(self, state: GameState) -> Choice | None:
        """The move that keeps the table's value: the fastest win, a draw, the slowest loss. None for a position outside the table."""
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

    def line(self, state: GameState, most: int = 200) -> tuple[int, ...]:
        """Play to the end if both sides follow the table; for a draw one action."""
        line: list[int] = []
        while len(line) < most and (code := self.code(state)) != NONE:
            line.append(self.judged(state)[0][0])
            if code == DRAW:
                break
            state = self.game.result(state, line[-1])
        return tuple(line)

    def classes(self) -> list[str]:
        """The endgame classes that have codes."""
        return [name for part in ("", *self.endgames) for name in names_in(self.game, part)]

    def sections(self) -> list[Section]:
        """Counts per endgame class; a complete table is one section."""
        if not has_endgames(self.game.rules):
            codes = self.array["code"]
            return [_section("complete", codes[codes != NONE], 0)]
        return [
            _section(name, self.array[slice(*spans(self.game)[name])], spans(self.game)[name][0])
            for name in self.classes()
        ]

    def position(self, index: int) -> GameState | None:
        """The position of an index of the endgame classes; None if it is unused."""
        assert self.game.rules.endgame_position is not None
        state = self.game.blank()
        with np.errstate(over="ignore"):
            return state if self.game.rules.endgame_position(state, index) else None


def rank(code: int) -> int:
    """A sort key, higher for codes better for the mover; NONE is between a draw and a loss."""
    value = value_of(code)
    if code == NONE:
        return -1
    return value * (2 * LONGEST - plies_of(code))


def _one_ply_before(value: float, plies: int) -> int:
    """The code for a mover whose action leads to `value` for it, `plies` before the end."""
    return DRAW if value == 0 else win_in(plies + 1) if value > 0 else loss_in(plies + 1)


def load_tables(
    game: Game,
    report: Report = lambda name, positions: None,
    *,
    rebuild: bool = False,
    endgames: Sequence[str] = (),
) -> Tables:
    """The tables of a game: its endgames where its rules number them, else all positions where they are few (UserError if not).
    `endgames` names those on request that are wanted too.

    Read from the cache folder, or built and stored there; `report(class, positions)` is called with the progress.
    """
    for name in endgames:
        if name not in spans(game):
            known = game.rules.endgames_on_request
            which = f"one of {', '.join(known)}" if known else "none, for there are none on request"
            raise UserError(f"{game.name}: endgames: expected {which}, got '{short(name)}'{nearest(name, known)}")
    endgames = [name for name in game.rules.endgames_on_request if name in endgames]
    if not has_endgames(game.rules):
        found = None if rebuild else stored(game)
        return Tables(game, built(game, report, rebuild) if found is None else found)
    table: Codes = np.zeros(sum(size for _, size in game.rules.endgames), np.uint16)
    for part in ("", *endgames):
        found = None if rebuild else stored(game, part)
        codes, first = built(game, report, rebuild, part, table) if found is None else found, 0
        for name in names_in(game, part):
            start, stop = spans(game)[name]
            table[start:stop] = codes[first : first + stop - start]
            first += stop - start
    return Tables(game, table, endgames)


def _section(name: str, codes: Array, first: int) -> Section:
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
