"""What the doctor examines: a game, random games of it played in three ways, their positions, and what was found."""

from __future__ import annotations

import bisect
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

import numpy as np

from base.seeds import Rng, generator
from base.threads import interruptible
from games.engine import kernels
from games.engine.game import Game
from games.engine.overflow import Overflows
from games.engine.quick_laws import Answers, Breach, Functions
from games.types import Actions, GameState, GameStates, Words

POSITIONS = 4000  # that the laws check one by one
SECONDS = 4.0  # for playing interpreted, which is a thousand times slower

Way = Literal["interpreted", "compiled", "checked"]
"""How rules run: as Python, compiled, compiled with checks of every index. All have to agree."""


@dataclass(frozen=True)
class Finding:
    """One broken law, for a person to read."""

    law: str
    function: str
    seen: str
    drawn: str
    actions: str

    def __str__(self) -> str:
        lines = [f"{self.law}", f"  look at: {self.function}", f"  seen: {self.seen}"]
        if self.actions or self.drawn:
            lines.append(f"  after: {self.actions or '(the start)'}")
            lines += ["    " + line for line in self.drawn.splitlines()]
        return "\n".join(lines)


@dataclass(frozen=True)
class RandomGame:
    """One random game: every position, every action, and a hash of each function's answer (`kernels.ANSWERS`) at every position."""

    seed: int
    states: GameStates
    moves: Actions
    digests: Words

    @property
    def plies(self) -> int:
        return len(self.moves)


@dataclass(frozen=True)
class Position:
    """A position of a random game."""

    game: RandomGame
    ply: int

    @property
    def state(self) -> GameState:
        state: GameState = self.game.states[self.ply]
        return state

    @property
    def moves(self) -> list[int]:
        return [int(move) for move in self.game.moves[: self.ply]]


Replay = Callable[[int], RandomGame]
"""The first plies of one game."""


class GameUnderTest:
    """A game with the random games and positions that the laws check."""

    def __init__(self, game: Game, count: int, seed: int, seconds: float) -> None:
        game.is_tried = True  # this examination includes the trial
        self.game, self.rules, self.count, self.seed, self.seconds = game, game.rules, count, seed, seconds
        self.fields = game.rules.State.names or ()
        self.random_games: list[RandomGame] = []
        self.positions: list[Position] = []
        self.interpreted: dict[int, tuple[RandomGame, bool]] = {}
        """Games played interpreted, by their seed, and whether they were cut short."""
        self.overflows = Overflows()
        """Those in the rules, while they were played interpreted."""
        self.replays: list[tuple[Replay, int]] = []
        """Of each of them: the game in which it first occurred, and the plies played."""

    # ── random games ──

    def play(self, seed: int, way: Way, most: int | None = None) -> RandomGame:
        """The first plies of game number `seed`."""
        rules = self.rules
        most = rules.max_plies if most is None else most
        factory = kernels.recorded_game
        run = factory(rules) if way == "interpreted" else self.game.kernel(factory, checked=way == "checked")
        states = self.game.blanks(most + 2)
        initial = rules.initial if way == "interpreted" else self.game._initial
        initial(states[0])
        moves = np.zeros(most, np.int32)
        digests = np.zeros((most + 1, len(kernels.ANSWERS)), np.uint64)
        buffers = kernels.recording_buffers(rules)
        with self.noting(lambda plies: self.play(seed, way, plies), most):
            plies = int(run(states, moves, digests, self.rng(seed), buffers, most))
        return RandomGame(seed, states[: plies + 1].copy(), moves[:plies].copy(), digests[: plies + 1].copy())

    def play_for(self, seconds: float, seed: int, way: Way) -> RandomGame:
        """The same for compiled rules, which can't be interrupted: at `Overtime` they continue in the background."""
        return interruptible(lambda: self.play(seed, way), deadline=time.perf_counter() + seconds)

    def plies_affordable(self, seconds: float, spent: float, plies: int) -> int:
        """How long the next interpreted game may be: half of what the seconds left allow, at the speed so far; 0: none."""
        most = 8 if plies == 0 else int((seconds - spent) / 2 / (spent / plies))
        return min(most, self.rules.max_plies) if most >= 4 else 0

    def rng(self, seed: int) -> Rng:
        return generator(self.seed, "doctor", seed)

    def keep(self, game: RandomGame) -> None:
        """Adds a game's positions to those that the laws check."""
        self.random_games.append(game)
        self.positions += [Position(game, ply) for ply in range(game.plies + 1)]

    # ── positions ──

    def sample(self, most: int) -> Iterator[Position]:
        """At most that many of the positions, spread evenly, for as long as interpreted rules may take."""
        step = max(1, len(self.positions) // most)
        start = math.inf
        for position in self.positions[::step][:most]:
            yield position
            start = min(start, time.perf_counter())  # what is asked of the first may be compiled first
            if time.perf_counter() - start > self.seconds:
                return

    def unfinished(self) -> Iterator[Position]:
        return (position for position in self.positions if not self.game.is_terminal(position.state))

    def answers(self, state: GameState) -> Answers:
        """What the compiled rules answer about a position."""
        game = self.game
        functions = Functions(game._is_terminal, game._to_move, game._legal_actions, game._utility)
        return Answers(self.rules, functions, state)

    def legal(self, state: GameState) -> list[int]:
        """As `legal_actions` lists them, whatever `is_terminal` answers."""
        return self.answers(state).legal

    @contextmanager
    def noting(self, replay: Replay, most: int) -> Iterator[None]:
        """Overflows in interpreted play; `replay` plays the first plies of the same game."""
        try:
            with np.errstate(invalid="ignore"), self.overflows.noted():  # words as planes do not fit the digests
                yield
        finally:
            self.replays += [(replay, most)] * (len(self.overflows.found) - len(self.replays))

    def position_of_overflow(self, number: int) -> Position:
        """The first position of its game in whose answers, or in the action that leads there, this one of `overflows` occurs."""
        place, (replay, most) = self.overflows.found[number].place, self.replays[number]
        kept = self.overflows, self.replays

        def occurs(plies: int) -> bool:
            self.overflows, self.replays = Overflows(), []
            with suppress(Exception):
                replay(plies)
            return any(overflow.place == place for overflow in self.overflows.found)

        try:
            game = replay(bisect.bisect_left(range(most), True, key=occurs))
        finally:
            self.overflows, self.replays = kept
        return Position(game, game.plies)

    def alone(self, state: GameState) -> Position:
        """A position that no random game led to."""
        return Position(
            RandomGame(0, self.game.scratch(state, 1), np.zeros(0, np.int32), np.zeros((0, 0), np.uint64)), 0
        )

    def identity(self, state: GameState) -> bytes:
        """The position without its history."""
        return b"".join(np.asarray(state[name]).tobytes() for name in self.fields if name not in self.rules.history)

    def differing_field(self, one: GameState, other: GameState) -> str:
        """The first field in which two positions differ; empty where there is none."""
        return next((name for name in self.fields if not np.array_equal(one[name], other[name])), "")

    # ── for people ──

    def path(self, position: Position) -> str:
        """The actions that lead to a position, by name."""
        names = self.game.names
        return " ".join(names[move] if 0 <= move < len(names) else str(move) for move in position.moves)

    def finding(self, law: str, breach: Breach) -> Finding:
        if breach.position is None:
            return Finding(law, breach.function, breach.seen, "", "")
        try:
            drawn = self.game.render(breach.position.state)
        except Exception as error:
            drawn = f"(render fails: {error})"
        return Finding(law, breach.function, breach.seen, drawn, self.path(breach.position))
