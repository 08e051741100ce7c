"""Exact play, where a game is small enough: the oracle that everything learned is measured with.

>>> game = load("connect_four")
>>> solver = Solver(game)
>>> found = solver.solve(game.play("4 4 4 4 4 2 2 2 2 3"))
>>> found.value, [game.names[action] for action in found.actions]

Two-player zero-sum games without chance that declare their utilities (`Rules.values`) are searched to their end by the kernel of
`prover.py`; all others by backward induction (`induction.py`), which is for trees and other tiny games. What was proven is kept
from one call to the next, for it stays true; `forget` drops it.

With `distance=True` a winner also wins as fast as possible and a loser loses as slowly (actions counted, of both players), where
utilities are no more than loss, draw and win. It costs several times as much.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from base.errors import UserError
from base.seeds import below, generator
from base.threads import interruptible
from classical.induction import EQUAL, Induction
from classical.prover import BUCKET, CONTROL, ENTRY, FULL, INFINITE, LEVEL, NOTE, prover
from games import CHANCE, Game
from games.choice import Candidate, Choice

T = TypeVar("T")
Moves = Literal["all", "optimal", "one"]

_STACK = 256 << 20  # of the searching thread: recursion is as deep as the game is long; only what is used takes memory
_POOL = 1 << 30  # bytes of positions on the path and beside it, at most; likewise


@dataclass(frozen=True)
class Solution:
    """What is proven of a position."""

    player: int
    """Who is to move."""
    value: float
    """Their utility under best play."""
    utilities: tuple[float, ...]
    """Every player's."""
    distance: int | None
    """Actions to the end, of both players together, where distances were asked for and the game is not a draw."""
    actions: tuple[int, ...]
    """The optimal ones: those that keep `value`. With `moves="one"`, one of them."""
    candidates: tuple[Candidate, ...]
    """Every action, best first: its value in the mover's eyes, `exact`, or an `upper` bound where no more was asked for."""
    distances: dict[int, int | None]
    """Of the optimal actions, and with `moves="all"` of every one: actions to the end if it is played; None for draws."""
    nodes: int
    seconds: float

    @property
    def values(self) -> dict[int, float]:
        """The exactly known values by action."""
        return {each.action: each.value for each in self.candidates if each.bound == "exact" and each.value is not None}


class Unsolved(Exception):
    """The limit was reached first. `least` and `most`: what the mover's utility is known to lie between."""

    def __init__(self, least: float, most: float, nodes: int, seconds: float) -> None:
        super().__init__(
            f"not solved after {nodes} nodes, {seconds:.1f} s: the value lies between {least:g} and {most:g}"
        )
        self.least, self.most, self.nodes, self.seconds = least, most, nodes, seconds


class _Stopped(Exception):
    """Inside: the kernel was told to stop."""


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

        `megabytes` of table: the default stays near the processor and does for seconds of search; for minutes take a thousand.
        """
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

    def solve(self, state: Any, moves: Moves = "all") -> Solution:
        """Value and moves of an unfinished position. Raises `Unsolved` where a limit is reached first.

        `moves`: the exact value of every action, or only all `optimal` ones, or `one` of them, which is cheaper each time.
        """
        if moves not in ("all", "optimal", "one"):
            raise UserError(f"moves: expected all, optimal or one, got '{moves}'")
        self._mover(state)
        if self._induction is not None:
            return self._induced(self._induction, state)
        return self._proven(lambda prover: prover.solve(state, moves))

    def value(self, state: Any) -> float:
        """The mover's utility under best play, and nothing else."""
        mover = self._mover(state)
        if self._induction is not None:
            return self._induction.utilities(state)[mover]
        return self._proven(lambda prover: prover.utility_of(prover.value(state)))

    def choose(self, state: Any) -> Choice:
        """One optimal move; with `distance`, of a won game the fastest and of a lost one the slowest."""
        found = self.solve(state, "one")
        return Choice(
            action=found.actions[0],
            value=found.value,
            proven=True,
            pv=found.actions[:1],
            depth=found.distance or 0,
            nodes=found.nodes,
            seconds=found.seconds,
            actions=found.candidates,
        )

    def prepare(self) -> None:
        """Compile, by solving the last decision of a random game, and have the memory of the table at hand: no move is charged."""
        state, rng = self.game.initial(), generator(0, "prepare")
        before = state
        while legal := self.game.legal_actions(state):
            before, state = state, self.game.result(state, legal[below(rng, len(legal))])
        with suppress(Unsolved):
            self.value(before)
        self.forget()
        if self._prover is not None:
            self._prover.table.view(np.uint8).fill(0)

    def forget(self) -> None:
        """Drop all that was proven so far."""
        if self._prover is not None:
            self._prover.forget()
        if self._induction is not None:
            self._induction = Induction(self.game, self._induction.positions)

    def _mover(self, state: Any) -> int:
        mover = self.game.to_move(state)
        if mover is None or mover == CHANCE:
            what = "a finished game" if mover is None else "chance's turn"
            raise UserError(f"expected a position of {self.game.name} in which a player is to move, got {what}")
        return mover

    def _induced(self, induction: Induction, state: Any) -> Solution:
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
        """`work` in a thread of its own, so that the clock and Ctrl-C can stop compiled code."""
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
    """The kernel with its scratch space, and questions to it in terms of scores (see prover.py)."""

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
        """The utility that a score stands for."""
        if self.distance:
            return float(np.sign(score))
        return float(self.levels["utility"][int(np.searchsorted(self.levels["terminal"], score))])

    def distance_of(self, score: int) -> int | None:
        return self.far - abs(score) if self.distance and score else None

    def question(self, lower: int, upper: int) -> int:
        """Which threshold to ask about next: halving, but first whether it is a win, then whether a loss."""
        if self.distance:
            for sign in (1, 0):
                if lower < sign <= upper:
                    return sign
        return (lower + upper) // 2 + 1

    def _ask(self, state: Any, threshold: int) -> int:
        self.pool[0] = state
        bound = self.kernel(
            self.pool,
            self.notes,
            self.scratch,
            self.order,
            self.table,
            self.history,
            self.control,
            self.levels,
            threshold,
        )
        if self.control["stop"][0] == FULL:
            raise UserError(
                f"{self.game.name}: expected a game small enough to be solved, got one too deep to be searched"
            )
        if self.control["stop"][0]:
            raise _Stopped
        return int(bound)

    def value(self, state: Any) -> int:
        """The exact score of a position."""
        while self.lower < self.upper:
            threshold = self.question(self.lower, self.upper)
            bound = self._ask(state, threshold)
            if bound >= threshold:
                self.lower = bound
            else:
                self.upper = bound
        return self.lower

    def solve(self, state: Any, moves: Moves) -> Solution:
        game = self.game
        mover = game.to_move(state)
        assert mover is not None
        value = self.value(state)
        roots = [_Root(self, state, action, mover) for action in game.legal_actions(state)]
        for root in roots:
            root.upper = min(root.upper, value)  # nothing is better than the best
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
        """A threshold that just the scores of this utility, and of better ones, reach."""
        if not self.distance:
            return score
        return 1 if score > 0 else 0 if score == 0 else 1 - self.far


class _Root:
    """An action at the root and the bounds of its score, in the eyes of who plays it."""

    def __init__(self, prover: _Prover, state: Any, action: int, mover: int) -> None:
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
        """Only what the table knows at a glance."""
        control = self.prover.control[0]
        limit, nodes = int(control["limit"]), int(control["nodes"])
        if nodes >= limit:
            return
        control["limit"] = nodes + 1
        try:
            self.ask(threshold)
        except _Stopped:
            control["stop"] = 0
            if self.prover.is_halted:  # asked in this order, a halt that comes in between is not lost
                control["stop"] = 1
        finally:
            control["limit"] = limit

    def narrow(self) -> None:
        """Until the score is exact."""
        while self.lower < self.upper:
            self.ask(self.prover.question(self.lower, self.upper))


def _aligned(size: int) -> Any:
    """An empty table whose buckets begin where lines of the processor's cache do."""
    entries = max(size // ENTRY.itemsize // BUCKET, 1) * BUCKET
    raw = np.zeros((entries + BUCKET) * ENTRY.itemsize, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + entries * ENTRY.itemsize].view(ENTRY)
