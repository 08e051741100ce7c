"""What minimax, max^n and expectiminimax share: a depth, an EVAL, a workspace, an answer.

A kernel takes the position in `ws.states[0]` and scores its actions from the point of view of the player to move. It counts in
`ws.counters`, and sets `counters[TOO_DEEP]` where a turn of many actions needs more levels than the workspace has; the search is then
repeated with twice as many.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from base.errors import UserError
from classical.eval import Eval, Weights, default_eval, scratch
from classical.scores import UNIT, utility_of
from classical.types import Kernel, Lines, Positions
from games import CHANCE, Game, Rules
from games.choice import Bound, Candidate, Choice
from games.types import Array, Counts, Features, GameState, Integer, Utilities

NODES, EVALS, CUTS, CHANCE_CUTS, TOO_DEEP, COUNTERS = 0, 1, 2, 3, 4, 5
NO_MOVER = -2  # the mover before the root
LONGEST_LINE = 64  # actions of best play that are kept
SPARE = 62  # levels beyond the depth, for turns of several actions


class Workspace(NamedTuple):
    """Everything a kernel reads and writes. A level is a ply from the root."""

    states: Positions
    """[levels]: the root, and the path below it."""
    actions: Array
    """int32 [levels, max_legal]"""
    lines: Lines
    """int32 [levels, LONGEST_LINE + 1]: best play from each level, ended by -1."""
    vectors: Array
    """float64 [levels, players]: every player's score; max^n alone uses it."""
    weights: Weights
    """Of EVAL."""
    values: Features
    """Scratch space for EVAL."""
    scores: Utilities
    """[max_legal]: of the root's actions."""
    counters: Counts
    """[COUNTERS]"""


def play(rules: Rules) -> Callable[[Workspace, Integer, Integer], None]:
    """play(ws, ply, i): the position after the i-th action listed at `ply` becomes that of the next level."""
    result = rules.result

    def play(ws: Workspace, ply: Integer, i: Integer) -> None:
        ws.states[ply + 1] = ws.states[ply]
        result(ws.states[ply + 1], ws.actions[ply, i])

    return play


def extend_line(lines: Lines, ply: Integer, action: Integer) -> None:
    """Best play from `ply` is `action`, then best play from the next level."""
    lines[ply, 0] = action
    for i in range(lines.shape[1] - 2):
        lines[ply, i + 1] = lines[ply + 1, i]
        if lines[ply + 1, i] < 0:
            return
    lines[ply, lines.shape[1] - 1] = -1


def refuse_all_but_zero_sum(game: Game, name: str) -> None:
    """Minimax is defined for two players of whom one gains what the other loses."""
    if game.players != 2 or not game.rules.zero_sum:
        kind = f"{game.players} players" if game.players != 2 else "general sum"
        raise UserError(f"{name}: expected two players and zero sum, got {game.name} ({kind}); maxn plays such games")


def refuse_chance(game: Game, name: str) -> None:
    if game.rules.chance is not None:
        raise UserError(
            f"{name}: expected a game without chance, got {game.name}; expectiminimax and maxn play games with dice"
        )


class Searched(NamedTuple):
    """What a kernel found."""

    actions: list[int]
    scores: list[float]
    """Of the actions, from the point of view of the player to move at the root."""
    line: list[int]
    """Best play."""
    vector: list[float]
    """Max^n: every player's score under best play."""
    counters: list[int]


class FixedDepth(ABC):
    """A search of the whole tree to a fixed depth. `choose` may be called from several threads."""

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
    def kernel(rules: Rules) -> Kernel:
        """The search, to be compiled for the game: kernel(ws, depth, …) -> how many actions the root has, in ws.actions[0]."""

    @abstractmethod
    def refuse(self, game: Game) -> None:
        """Raise where the search is not defined for the game."""

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

    def choose(self, state: GameState) -> Choice:
        """The first best action, and all actions at the root with their values from the mover's point of view."""
        start = time.perf_counter()
        actions, scores, line, _, counters = self.searched(state)
        bounds = self.bounds(scores)
        order = sorted(range(len(scores)), key=lambda i: -scores[i])  # stable: the first of equal actions stays first
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
        """Whether a score is beyond the range of EVAL: a forced win or loss."""
        return self.game.rules.chance is None and self.game.players == 2 and abs(score) >= UNIT

    def bounds(self, scores: list[float]) -> list[Bound]:
        """What kind of value each action at the root has."""
        return ["exact"] * len(scores)

    def named(self, counters: list[int]) -> dict[str, int]:
        """The counters by name."""
        return {"evaluations": counters[EVALS]}

    def workspace(self, state: GameState, levels: int) -> Workspace:
        rules = self.game.rules
        return Workspace(
            states=self.game.scratch(state, levels),
            actions=np.zeros((levels, rules.max_legal), np.int32),
            lines=np.full((levels, LONGEST_LINE + 1), -1, np.int32),
            vectors=np.zeros((levels, rules.players)),
            weights=self.weights,
            values=scratch(rules),
            scores=np.zeros(rules.max_legal),
            counters=np.zeros(COUNTERS, np.int64),
        )

    def searched(self, state: GameState) -> Searched:
        """The kernel's results, with as many levels as it needed."""
        rules = self.game.rules
        mover = self.game.to_move(state)
        if mover is None or mover == CHANCE:
            what = "a finished game" if mover is None else "one where chance is to move"
            raise UserError(f"{self.name}: expected a position of {self.game.name} with a move to choose, got {what}")
        levels = min(self.depth * (1 if rules.chance is None else 2) + SPARE, rules.max_plies + 2)
        while True:
            ws = self.workspace(state, levels)
            n = self.run(ws)
            if not ws.counters[TOO_DEEP]:
                line = ws.lines[0].tolist()
                best = line[: line.index(-1)]
                actions, scores = ws.actions[0, :n].tolist(), ws.scores[:n].tolist()
                return Searched(actions, scores, best, ws.vectors[0].tolist(), ws.counters.tolist())
            levels *= 2

    def run(self, ws: Workspace) -> int:
        return int(self.game.kernel(type(self).kernel)(ws, self.depth))
