"""What minimax, max^n and expectiminimax share: a depth, an EVAL, a workspace, an answer.

A kernel takes the position in `ws.states[0]` and scores its actions from the point of view of the player to move. It counts in
`ws.counters`, and sets `counters[TOO_DEEP]` where a turn of many actions needs more levels than the workspace has; the search is then
repeated with twice as many.
"""

from __future__ import annotations

import functools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from base.errors import UserError
from base.threads import interruptible
from classical.eval import Eval, Weights, default_eval, scratch
from classical.scores import UNIT, utility_of
from classical.types import Kernel, Lines, Positions, Records, Score
from games import CHANCE, Game, Rules
from games.choice import Bound, Candidate, Choice
from games.types import Array, Counts, Features, GameState, Integer, Utilities

NODES, EVALS, CUTS, CHANCE_CUTS, TOO_DEEP, LOG_USED, LOG_PARENT, COUNTERS = 0, 1, 2, 3, 4, 5, 6, 7
NO_MOVER = -2  # the mover before the root
LONGEST_LINE = 64  # actions of best play that are kept
LOGGED = 20_000  # edges of the tree that are logged, at most
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
    root_vectors: Array
    """float64 [max_legal, players]: of the root's actions, every player's score; max^n alone uses it."""
    counters: Counts
    """[COUNTERS]"""
    log: Records
    """The searched tree, where requested, edge by edge in the order of visits (`log_dtype`); else empty."""


def log_dtype(players: int) -> np.dtype[Any]:
    """An edge of the searched tree."""
    return np.dtype(
        [
            ("parent", np.int32),  # the edge that leads to where it begins; -1 at the root
            ("action", np.int32),
            ("alpha", np.float64),  # the window below it, as scores of the root's mover
            ("beta", np.float64),
            ("scores", np.float64, players),  # every player's
            ("pruned", np.uint8),  # 1: never visited, because a sibling cut off
        ],
        align=True,
    )


def open_edge(ws: Workspace, action: Integer, alpha: Score, beta: Score) -> Integer:
    """A new edge, the parent of those logged until it is closed; -1 where nothing is logged."""
    edge = np.int64(ws.counters[LOG_USED])
    if edge >= len(ws.log):
        return np.int64(-1)
    ws.counters[LOG_USED] += 1
    entry = ws.log[edge]
    entry.parent, entry.action, entry.alpha, entry.beta, entry.pruned = ws.counters[LOG_PARENT], action, alpha, beta, 0
    ws.counters[LOG_PARENT] = edge
    return edge


def close_edge(ws: Workspace, edge: Integer) -> None:
    if edge >= 0:
        ws.counters[LOG_PARENT] = ws.log[edge].parent


def log_score(ws: Workspace, edge: Integer, player: Integer, score: Score) -> None:
    """The score of an edge, `player`'s, in a game of two and zero sum."""
    if edge >= 0:
        ws.log[edge].scores[player] = score
        ws.log[edge].scores[1 - player] = -score


def log_pruned(ws: Workspace, ply: Integer, i: Integer, n: Integer, alpha: Score, beta: Score) -> None:
    """The siblings behind the i-th, which a cut-off leaves unvisited."""
    for j in range(i + 1, n):
        edge = open_edge(ws, ws.actions[ply, j], alpha, beta)
        if edge >= 0:
            ws.log[edge].pruned = 1
        close_edge(ws, edge)


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
    vectors: list[list[float]]
    """Max^n: the same if the action is played."""
    counters: list[int]


class FixedDepth(ABC):
    """A search of the whole tree to a fixed depth. `choose` may be called from several threads."""

    name: ClassVar[str]
    has_vectors: ClassVar[bool] = False
    """The kernel writes every player's score."""

    def __init__(self, game: Game, depth: int, weights: Eval | None = None) -> None:
        """`depth`: how many actions ahead; `weights`: of EVAL, by default the game's own."""
        game.must_be_open(self.name)
        self.refuse(game)
        if depth < 1:
            raise UserError(f"{self.name}: depth: expected 1 or more, got {depth}")
        self.game, self.depth = game, depth
        self.weights = (weights or default_eval(game)).array(game)
        self._logs = False
        self._log: Array | None = None

    def keep_log(self, on: bool) -> None:
        """Whether the next searches are logged (`log()`)."""
        self._logs = on

    def log(self) -> Array:
        """The tree of the last search, if logged: one entry per edge (`log_dtype`), a parent before its children."""
        if self._log is None:
            raise UserError(f"{self.name}: log: expected keep_log(True) before the search")
        return self._log

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
        actions, scores, line, vector, vectors, counters = self.searched(state)
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
            actions=tuple(
                Candidate(
                    actions[i],
                    utility_of(scores[i]),
                    bounds[i],
                    utilities=tuple(map(utility_of, vectors[i])) if self.has_vectors else None,
                )
                for i in order
            ),
            counters=self.named(counters),
            utilities=tuple(map(utility_of, vector)) if self.has_vectors else None,
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
            root_vectors=np.zeros((rules.max_legal if self.has_vectors else 0, rules.players)),
            counters=np.zeros(COUNTERS, np.int64),
            log=np.zeros(LOGGED if self._logs else 0, np.dtype((np.record, log_dtype(rules.players)))),
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
            ws.counters[LOG_PARENT] = -1
            n = interruptible(functools.partial(self.run, ws))
            if not ws.counters[TOO_DEEP]:
                line = ws.lines[0].tolist()
                best = line[: line.index(-1)]
                actions, scores = ws.actions[0, :n].tolist(), ws.scores[:n].tolist()
                vectors = ws.vectors[0].tolist(), ws.root_vectors[:n].tolist()
                self._log = ws.log[: int(ws.counters[LOG_USED])].copy() if self._logs else None
                return Searched(actions, scores, best, *vectors, ws.counters.tolist())
            levels *= 2

    def run(self, ws: Workspace) -> int:
        return int(self.game.kernel(type(self).kernel)(ws, self.depth))
