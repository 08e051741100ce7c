"""What minimax, max^n and expectiminimax have in common: a depth, an EVAL, scratch space, an answer.

A kernel gets the position in states[0] and scores the actions there in the eyes of who is to move. It counts in `counters`, and
sets counters[TOO_DEEP] where a turn of many actions led below the scratch space; then there is more of it, and the search is repeated.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from base.errors import UserError
from classical.eval import Eval, default_eval, scratch
from classical.scores import UNIT, utility_of
from games import CHANCE, Game, Rules
from games.choice import Bound, Candidate, Choice

NODES, EVALS, CUTS, CHANCE_CUTS, TOO_DEEP, COUNTERS = 0, 1, 2, 3, 4, 5
NOBODY = -2  # who moved before the root
LONGEST_LINE = 64  # actions of best play that are kept
SPARE = 62  # levels of scratch space beyond the depth, for turns that go on


def extend_line(lines: Any, ply: Any, action: Any) -> None:
    """Best play from `ply` is `action` and then best play from the next. A line ends with -1."""
    lines[ply, 0] = action
    for i in range(lines.shape[1] - 2):
        lines[ply, i + 1] = lines[ply + 1, i]
        if lines[ply + 1, i] < 0:
            return
    lines[ply, lines.shape[1] - 1] = -1


def refuse_all_but_zero_sum(game: Game, name: str) -> None:
    """Minimax and its kin speak of two players of whom one gains what the other loses."""
    if game.players != 2 or not game.rules.zero_sum:
        kind = f"{game.players} players" if game.players != 2 else "general sum"
        raise UserError(f"{name}: expected two players and zero sum, got {game.name} ({kind}); maxn knows such games")


def refuse_chance(game: Game, name: str) -> None:
    """Searches that know no dice."""
    if game.rules.chance is not None:
        raise UserError(f"{name}: expected a game without chance, got {game.name}; expectiminimax and maxn know dice")


class Searched(NamedTuple):
    """What a kernel found."""

    actions: list[int]
    scores: list[float]
    """Of the actions, in the eyes of who moves at the root."""
    line: list[int]
    """Best play."""
    counters: list[int]
    settings: tuple[Any, ...]
    """As they were handed to the kernel, which may have written there."""


class FixedDepth(ABC):
    """A search to a fixed depth that looks at the whole tree. `choose` may be called from several threads."""

    name: ClassVar[str]

    def __init__(self, game: Game, depth: int, weights: Eval | None = None) -> None:
        """`depth`: how many actions ahead; `weights`: of EVAL, by default the game's own."""
        self.refuse(game)
        if depth < 1:
            raise UserError(f"{self.name}: depth: expected 1 or more, got {depth}")
        self.game, self.depth = game, depth
        self.weights = (weights or default_eval(game)).array(game)

    @staticmethod
    @abstractmethod
    def kernel(rules: Rules) -> Callable[..., int]:
        """The search, to be compiled for the game."""

    @abstractmethod
    def refuse(self, game: Game) -> None:
        """Raise where the search has no meaning for the game."""

    def prepare(self) -> None:
        """Compile, so that no move is charged for it."""
        state = self.game.initial()
        while self.game.to_move(state) == CHANCE:
            state = self.game.result(state, self.game.legal_actions(state)[0])
        depth, self.depth = self.depth, 1
        try:
            self.searched(state)
        finally:
            self.depth = depth

    def choose(self, state: Any) -> Choice:
        """The first best action, and all actions at the root with their values in the eyes of who moves there."""
        start = time.perf_counter()
        actions, scores, line, counters, _ = self.searched(state)
        bounds = self.bounds(scores)
        order = sorted(
            range(len(scores)), key=lambda i: -scores[i]
        )  # stable: of equal ones the first action comes first
        best = order[0]
        return Choice(
            action=actions[best],
            value=utility_of(scores[best]),
            proven=counters[EVALS] == 0 or self.is_decided(scores[best]),
            pv=tuple(line),
            depth=self.depth,
            nodes=counters[NODES],
            seconds=time.perf_counter() - start,
            actions=tuple(Candidate(actions[i], utility_of(scores[i]), bounds[i]) for i in order),
            counters=self.named(counters),
        )

    def is_decided(self, score: float) -> bool:
        """Whether a score is beyond what EVAL can say: then it is a forced win or loss."""
        return self.game.rules.chance is None and self.game.players == 2 and abs(score) >= UNIT

    def bounds(self, scores: list[float]) -> list[Bound]:
        """What kind of value each action at the root has."""
        return ["exact"] * len(scores)

    def named(self, counters: list[int]) -> dict[str, int]:
        """The counters for people."""
        return {"evaluations": counters[EVALS]}

    def settings(self, levels: int) -> tuple[Any, ...]:
        """What the kernel takes behind its depth, beyond what they all take."""
        return ()

    def searched(self, state: Any) -> Searched:
        """The kernel's findings, with as much scratch space as it needed."""
        rules = self.game.rules
        mover = self.game.to_move(state)
        if mover is None or mover == CHANCE:
            what = "a finished game" if mover is None else "one where chance is to move"
            raise UserError(f"{self.name}: expected a position of {self.game.name} with a move to choose, got {what}")
        kernel = self.game.kernel(type(self).kernel)
        levels = min(self.depth * (1 if rules.chance is None else 2) + SPARE, rules.max_plies + 2)
        while True:
            states = self.game.scratch(state, levels)
            actions = np.zeros((levels, rules.max_legal), np.int32)
            lines = np.full((levels, LONGEST_LINE + 1), -1, np.int32)
            scores, counters = np.zeros(rules.max_legal), np.zeros(COUNTERS, np.int64)
            settings, values = self.settings(levels), scratch(rules)
            n = kernel(states, actions, lines, self.depth, *settings, self.weights, values, scores, counters)
            if not counters[TOO_DEEP]:
                line = lines[0].tolist()
                played = line[: line.index(-1)]
                return Searched(actions[0, :n].tolist(), scores[:n].tolist(), played, counters.tolist(), settings)
            levels *= 2
