"""Exact solving of small games: the reference by which learned players are measured.

>>> from games import load
>>> game = load("connect_four")
>>> solver = Solver(game)
>>> found = solver.solve(game.play("4 4 4 4 4 2 2 2 2 3"))
>>> found.value, [game.names[action] for action in found.actions]
(1.0, ['2', '3', '4', '5', '6', '7'])

Two-player zero-sum games without chance that declare their utilities (`Rules.values`) are searched to the end by the kernel of
`prover.py`; all others by backward induction (`induction.py`), for trees and other tiny games. Proven bounds are kept from one call to
the next; `forget` drops them.

With `distance=True` the winner wins as fast as possible and the loser loses as slowly, counted in actions of both players, in games of
wins, draws and losses. It costs several times as much.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

from base.errors import UserError
from base.seeds import below, generator
from base.threads import interruptible
from classical.induction import EQUAL, Induction
from classical.prover import BUCKET, CONTROL, ENTRY, FULL, INFINITE, LEVEL, NOTE, Workspace, prover
from games import CHANCE, Game
from games.choice import Candidate, Choice
from games.types import Array, GameState

T = TypeVar("T")
Moves = Literal["all", "optimal", "one"]

_STACK = 256 << 20  # of the searching thread: recursion is as deep as the game is long; unused stack takes no memory
PREPARING = 1000  # nodes: the last decision of a game can be as hard as any
_POOL = 1 << 30  # bytes of positions on the path and beside it, at most; unused ones take no memory


@dataclass(frozen=True)
class Solution:
    """The proven result of a position."""

    player: int
    """The player to move."""
    value: float
    """Its utility under best play."""
    utilities: tuple[float, ...]
    """Every player's."""
    distance: int | None
    """Actions of both players to the end, if distances were requested and the game is not a draw."""
    actions: tuple[int, ...]
    """The optimal actions, which keep `value`. With `moves="one"`, one of them."""
    candidates: tuple[Candidate, ...]
    """Every action, best first: its value for the mover, `exact`, or an `upper` bound where no more was requested."""
    distances: dict[int, int | None]
    """Of the optimal actions, and with `moves="all"` of every one: actions to the end if it is played; None for draws."""
    nodes: int
    seconds: float

    @property
    def choice(self) -> Choice:
        """To play the first of the optimal actions."""
        return Choice(
            action=self.actions[0],
            value=self.value,
            proven=True,
            pv=self.actions[:1],
            depth=self.distance or 0,
            nodes=self.nodes,
            seconds=self.seconds,
            actions=self.candidates,
        )

    @property
    def values(self) -> dict[int, float]:
        """The exactly known values by action."""
        return {each.action: each.value for each in self.candidates if each.bound == "exact" and each.value is not None}


class Unsolved(Exception):
    """A limit was reached first. `least` and `most`: proven bounds of the mover's utility."""

    def __init__(self, least: float, most: float, nodes: int, seconds: float) -> None:
        super().__init__(
            f"not solved after {nodes} nodes, {seconds:.1f} s: the value lies between {least:g} and {most:g}"
        )
        self.least, self.most, self.nodes, self.seconds = least, most, nodes, seconds


class _Stopped(Exception):
    """Internal: the kernel was stopped."""


class Solver:
    """Solves positions of one game. For use by one thread at a time."""

    def __init__(
        self,
        game: Game,
        *,
        megabytes: int = 32,
        distance: bool = False,
        nodes: int | None = None,
        seconds: float | None = None,
        positions: int = 100_000,
    ) -> None:
        """`nodes` and `seconds` limit each call; `positions` limits backward induction.

        `megabytes` of table: the default fits into the processor's cache and is enough for seconds of search; for minutes use 1000.
        """
        game.must_be_open("solver")
        _check("megabytes", megabytes, 1, 1 << 20)
        for name, limit in (("nodes", nodes), ("seconds", seconds)):
            if limit is not None and not limit > 0:
                raise UserError(f"{name}: expected more than 0, got {limit}")
        self.game, self.seconds = game, seconds
        self._limit = nodes if nodes is not None else 1 << 62
        self._prover = _Prover(game, megabytes, distance) if _is_provable(game) else None
        self._induction = None if self._prover else Induction(game, positions)
        if distance and self._prover is None:
            raise UserError(f"distance: expected a two-player zero-sum game without chance, got {game.name}")

    @property
    def is_provable(self) -> bool:
        """Whether it searches for a proof (two players, zero sum, no chance); else it lists all positions that can be reached."""
        return self._prover is not None

    def limit(self, nodes: int) -> None:
        """So many nodes a call from now on."""
        self._limit = nodes

    def solve(self, state: GameState, moves: Moves = "all") -> Solution:
        """Value and moves of an unfinished position. Raises `Unsolved` if a limit is reached first.

        `moves`: the exact value of every action, or only of all `optimal` ones, or of `one` of them; each costs less.
        """
        if moves not in ("all", "optimal", "one"):
            raise UserError(f"moves: expected all, optimal or one, got '{moves}'")
        self._mover(state)
        if self._induction is not None:
            return self._induced(self._induction, state)
        return self._proven(lambda prover: prover.solve(state, moves))

    def value(self, state: GameState) -> float:
        """The mover's utility under best play."""
        mover = self._mover(state)
        if self._induction is not None:
            return self._induction.utilities(state)[mover]
        return self._proven(lambda prover: prover.utility_of(prover.value(state)))

    def choose(self, state: GameState) -> Choice:
        """One optimal move; with `distance`, the fastest win or the slowest loss."""
        return self.solve(state, "one").choice

    def line(self, state: GameState, action: int) -> tuple[int, ...]:
        """Best play from an optimal `action` on: to the end, to chance, or to a position beyond the limit."""
        found = [action]
        with suppress(Unsolved):
            while self.game.to_move(state := self.game.result(state, found[-1])) not in (None, CHANCE):
                found.append(self.solve(state, "one").actions[0])
        return tuple(found)

    def prepare(self) -> None:
        """Compile, by solving the last decision of a random game, and touch the table's memory: no move is charged for either."""
        state, rng = self.game.initial(), generator(0, "prepare")
        before = state
        while legal := self.game.legal_actions(state):
            before, state = state, self.game.result(state, legal[below(rng, len(legal))])
        most, self._limit = self._limit, min(self._limit, PREPARING)
        with suppress(Unsolved):
            self.value(before)
        self._limit = most
        self.forget()
        if self._prover is not None:
            self._prover.table.view(np.uint8).fill(0)

    def forget(self) -> None:
        """Drop all proven bounds."""
        if self._prover is not None:
            self._prover.forget()
        if self._induction is not None:
            self._induction = Induction(self.game, self._induction.positions)

    def _mover(self, state: GameState) -> int:
        mover = self.game.to_move(state)
        if mover is None or mover == CHANCE:
            what = "a finished game" if mover is None else "chance's turn"
            raise UserError(f"expected a position of {self.game.name} in which a player is to move, got {what}")
        return mover

    def _induced(self, induction: Induction, state: GameState) -> Solution:
        started, game = time.perf_counter(), self.game
        mover = self._mover(state)
        utilities = induction.utilities(state)
        after = {a: induction.utilities(game.result(state, a))[mover] for a in game.legal_actions(state)}
        ranked = sorted(after, key=lambda action: -after[action])
        return Solution(
            player=mover,
            value=utilities[mover],
            utilities=utilities,
            distance=None,
            actions=tuple(action for action in after if after[action] >= utilities[mover] - EQUAL),
            candidates=tuple(Candidate(action, after[action], "exact") for action in ranked),
            distances={},
            nodes=induction.size,
            seconds=time.perf_counter() - started,
        )

    def _proven(self, work: Callable[[_Prover], T]) -> T:
        """Run `work` in a thread of its own, so that the clock and Ctrl-C can stop compiled code."""
        prover = self._prover
        assert prover is not None
        prover.begin(self._limit)
        deadline = math.inf if self.seconds is None else time.perf_counter() + self.seconds
        try:
            return interruptible(lambda: work(prover), prover.stop, deadline, _STACK)
        except _Stopped:
            raise Unsolved(*prover.known(), prover.nodes, prover.elapsed) from None


def _check(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UserError(f"{name}: expected {least} to {most}, got {value}")


def _is_provable(game: Game) -> bool:
    rules = game.rules
    is_symmetric = np.allclose(np.array(rules.values), -np.array(rules.values)[::-1])
    few = 0 < len(rules.values) <= 100
    return rules.players == 2 and rules.zero_sum and rules.chance is None and few and is_symmetric


class _Prover:
    """The kernel with its workspace, and searches in terms of scores (see prover.py)."""

    def __init__(self, game: Game, megabytes: int, distance: bool) -> None:
        rules = game.rules
        self.game, self.distance, self.longest = game, distance, rules.max_plies
        count = len(rules.values)
        self.levels = np.zeros(count, LEVEL)
        self.levels["utility"] = rules.values
        steps = [2 * i - (count - 1) for i in range(count)]
        for name in ("terminal", "least", "most"):
            self.levels[name] = steps
        if distance:
            self._with_distances()
        size = min(rules.max_plies * rules.max_legal + 2, _POOL // rules.State.itemsize)
        self.pool, self.notes, self.order = game.blanks(size), np.zeros(size, NOTE), np.zeros(size, np.int64)
        self.scratch = np.zeros(rules.max_legal, np.int32)
        self.history = np.zeros((2, rules.actions), np.int32)
        self.control = np.zeros(1, CONTROL)
        self.control["step"] = int(distance)
        self.kernel = game.kernel(prover)
        self._bytes = megabytes << 20
        self.forget()

    def _with_distances(self) -> None:
        name, values = self.game.name, self.game.rules.values
        if any(value not in (-1.0, 0.0, 1.0) for value in values) or -1.0 not in values:
            raise UserError(f"distance: expected a game of wins, draws and losses, got {name} with utilities {values}")
        self.far = 2 * self.longest + 2
        if self.far >= INFINITE:
            raise UserError(f"distance: expected a game of at most {INFINITE // 2 - 2} plies, got {name}")
        loss, win = self.levels[0], self.levels[-1]
        loss["terminal"], loss["least"], loss["most"] = -self.far, 1 - self.far, self.longest - self.far
        win["terminal"], win["least"], win["most"] = self.far, self.far - self.longest, self.far - 1

    def forget(self) -> None:
        self.table = _aligned(self._bytes)
        self.history[:] = 0
        self.control["age"] = 0

    # ── one call ──

    def begin(self, limit: int) -> None:
        control = self.control[0]
        control["nodes"], control["limit"], control["stop"] = 0, limit, 0
        control["age"] = int(control["age"]) % 255 + 1
        self.lower, self.upper = int(self.levels[0]["least"]), int(self.levels[-1]["most"])
        self.is_halted = False
        self._started = time.perf_counter()

    def stop(self) -> None:
        """From another thread."""
        self.is_halted = True
        self.control["stop"] = 1

    @property
    def nodes(self) -> int:
        return int(self.control["nodes"][0])

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self._started

    def known(self) -> tuple[float, float]:
        return self.utility_of(self.lower), self.utility_of(self.upper)

    # ── scores ──

    def utility_of(self, score: int) -> float:
        """The utility of a score."""
        if self.distance:
            return float(np.sign(score))
        return float(self.levels["utility"][int(np.searchsorted(self.levels["terminal"], score))])

    def distance_of(self, score: int) -> int | None:
        return self.far - abs(score) if self.distance and score else None

    def question(self, lower: int, upper: int) -> int:
        """The next threshold: bisection, but first whether it is a win, then whether it is a loss."""
        if self.distance:
            for sign in (1, 0):
                if lower < sign <= upper:
                    return sign
        return (lower + upper) // 2 + 1

    def _ask(self, state: GameState, threshold: int) -> int:
        self.pool[0] = state
        ws = Workspace(
            self.pool, self.notes, self.order, self.scratch, self.table, self.history, self.control, self.levels
        )
        bound = self.kernel(ws, threshold)
        if self.control["stop"][0] == FULL:
            raise UserError(f"{self.game.name}: expected a game small enough to be solved, got one too deep to search")
        if self.control["stop"][0]:
            raise _Stopped
        return int(bound)

    def value(self, state: GameState) -> int:
        """The exact score of a position."""
        while self.lower < self.upper:
            threshold = self.question(self.lower, self.upper)
            bound = self._ask(state, threshold)
            if bound >= threshold:
                self.lower = bound
            else:
                self.upper = bound
        return self.lower

    def solve(self, state: GameState, moves: Moves) -> Solution:
        game = self.game
        mover = game.to_move(state)
        assert mover is not None
        value = self.value(state)
        roots = [_Root(self, state, action, mover) for action in game.legal_actions(state)]
        for root in roots:
            root.upper = min(root.upper, value)  # no action is better than the best
        goal = value if moves == "one" else self._least_of(value)
        for root in roots:
            root.ask_briefly(goal)
        for root in roots:
            if moves == "one" and any(each.lower >= goal for each in roots):
                break
            root.ask(goal)
        optimal = [root for root in roots if root.lower >= goal]
        for root in roots if moves == "all" else optimal if self.distance else []:
            root.narrow()
        optimal.sort(key=lambda root: -root.lower)
        if moves == "one":
            del optimal[1:]
        others = sorted((root for root in roots if root not in optimal), key=lambda root: -root.upper)
        number = self.utility_of(value)
        exact = [root for root in (*optimal, *others) if root in optimal or self._is_same(root.lower, root.upper)]
        return Solution(
            player=mover,
            value=number,
            utilities=(number, -number) if mover == 0 else (-number, number),
            distance=self.distance_of(value),
            actions=tuple(root.action for root in optimal),
            candidates=tuple(
                Candidate(root.action, self.utility_of(root.upper), "exact" if root in exact else "upper")
                for root in (*optimal, *others)
            ),
            distances={root.action: self.distance_of(root.lower) for root in exact if root.lower == root.upper}
            if self.distance
            else {},
            nodes=self.nodes,
            seconds=self.elapsed,
        )

    def _is_same(self, lower: int, upper: int) -> bool:
        return lower == upper or (self.distance and np.sign(lower) == np.sign(upper))

    def _least_of(self, score: int) -> int:
        """The threshold that exactly the scores of this utility and of higher ones reach."""
        if not self.distance:
            return score
        return 1 if score > 0 else 0 if score == 0 else 1 - self.far


class _Root:
    """An action at the root and the bounds of its score, for the player who plays it."""

    def __init__(self, prover: _Prover, state: GameState, action: int, mover: int) -> None:
        game, self.prover, self.action = prover.game, prover, action
        self.after = game.result(state, action)
        self.lower, self.upper = int(prover.levels[0]["least"]), int(prover.levels[-1]["most"])
        self.is_same_mover = game.to_move(self.after) == mover
        if game.is_terminal(self.after):
            utility = game.utility(self.after)[mover]
            level = prover.levels[int(np.argmin(np.abs(prover.levels["utility"] - utility)))]
            self.lower = self.upper = self._nearer_zero(int(level["terminal"]))

    def _nearer_zero(self, score: int) -> int:
        return score - int(np.sign(score)) * int(self.prover.distance)

    def ask(self, threshold: int) -> None:
        if not self.lower < threshold <= self.upper:
            return
        wanted = threshold + int(np.sign(threshold)) * int(self.prover.distance)
        if self.is_same_mover:
            score = self._nearer_zero(self.prover._ask(self.after, wanted))
        else:
            score = self._nearer_zero(-self.prover._ask(self.after, 1 - wanted))
        if score >= threshold:
            self.lower = max(self.lower, score)
        else:
            self.upper = min(self.upper, score)

    def ask_briefly(self, threshold: int) -> None:
        """From the table alone, without a search."""
        control = self.prover.control[0]
        limit, nodes = int(control["limit"]), int(control["nodes"])
        if nodes >= limit:
            return
        control["limit"] = nodes + 1
        try:
            self.ask(threshold)
        except _Stopped:
            control["stop"] = 0
            if self.prover.is_halted:  # checked after `stop` is cleared, so that a halt in between is not lost
                control["stop"] = 1
        finally:
            control["limit"] = limit

    def narrow(self) -> None:
        """Until the score is exact."""
        while self.lower < self.upper:
            self.ask(self.prover.question(self.lower, self.upper))


def _aligned(size: int) -> Array:
    """An empty table whose buckets are aligned to cache lines."""
    entries = max(size // ENTRY.itemsize // BUCKET, 1) * BUCKET
    raw = np.zeros((entries + BUCKET) * ENTRY.itemsize, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + entries * ENTRY.itemsize].view(ENTRY)
