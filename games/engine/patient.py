"""What the doctor looks at: a game, random games of it played in three ways, their positions, and what was found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from base.seeds import Rng, generator
from base.threads import interruptible
from games.engine import kernels
from games.engine.game import Game
from games.types import Actions, GameState, GameStates, Words

POSITIONS = 4000  # that the laws look at one by one
SECONDS = 4.0  # for playing interpreted, which is a thousand times slower


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
class Played:
    """One random game: every position, every action, a hash of every answer (`kernels.EXAMINED`) at every position."""

    seed: int
    states: GameStates
    moves: Actions
    digests: Words

    @property
    def plies(self) -> int:
        return len(self.moves)


@dataclass(frozen=True)
class Position:
    """A position of a game that was played."""

    played: Played
    ply: int

    @property
    def state(self) -> GameState:
        return self.played.states[self.ply]

    @property
    def moves(self) -> list[int]:
        return [int(move) for move in self.played.moves[: self.ply]]


class Patient:
    """A game under examination, with what the laws look at."""

    def __init__(self, game: Game, games: int, seed: int, seconds: float) -> None:
        game.is_tried = True  # by this examination
        self.game, self.rules, self.games, self.seed, self.seconds = game, game.rules, games, seed, seconds
        self.fields = game.rules.State.names or ()
        self.played: list[Played] = []
        self.positions: list[Position] = []

    def play(self, seed: int, how: str, most: int | None = None) -> Played:
        """The first plies of game number `seed`, `how` being one of "interpreted", "compiled", "checked", which have to agree."""
        rules = self.rules
        most = rules.max_plies if most is None else most
        factory = kernels.examine
        run = factory(rules) if how == "interpreted" else self.game.kernel(factory, checked=how == "checked")
        states = self.game.blanks(most + 2)
        self.initial(how)(states[0])
        moves = np.zeros(most, np.int32)
        digests = np.zeros((most + 1, len(kernels.EXAMINED)), np.uint64)
        actions = np.zeros(rules.max_legal, np.int32)
        planes = np.zeros(rules.observation, np.float32)
        values = np.zeros(max(1, len(rules.feature_names)), np.float32)
        with np.errstate(over="ignore"):
            plies = int(run(states, moves, digests, self.rng(seed), actions, planes, values, most))
        return Played(seed, states[: plies + 1].copy(), moves[:plies].copy(), digests[: plies + 1].copy())

    def play_for(self, seconds: float, seed: int, how: str) -> Played:
        """The same of a compiled game, which nothing ends from inside: `Overtime` leaves it running."""
        return interruptible(lambda: self.play(seed, how), deadline=time.perf_counter() + seconds)

    def plies_affordable(self, seconds: float, spent: float, plies: int) -> int:
        """How long the next interpreted game may be: half of what the seconds left allow, at the pace so far; 0: no more."""
        most = 8 if plies == 0 else int((seconds - spent) / 2 / (spent / plies))
        return min(most, self.rules.max_plies) if most >= 4 else 0

    def initial(self, how: str) -> Callable[[GameState], None]:
        return self.rules.initial if how == "interpreted" else self.game._initial

    def rng(self, seed: int) -> Rng:
        return generator(self.seed, "doctor", seed)

    def keep(self, played: Played) -> None:
        """A game whose positions the laws will look at."""
        self.played.append(played)
        self.positions += [Position(played, ply) for ply in range(played.plies + 1)]

    def unfinished(self) -> Iterator[Position]:
        return (position for position in self.positions if not self.game.is_terminal(position.state))

    def legal(self, state: GameState) -> list[int]:
        actions = np.zeros(self.rules.max_legal, np.int32)
        return [int(action) for action in actions[: self.game._legal_actions(state, actions)]]

    def identity(self, state: GameState) -> bytes:
        """The position without its history."""
        return b"".join(np.asarray(state[name]).tobytes() for name in self.fields if name not in self.rules.history)

    def differing_field(self, one: GameState, other: GameState) -> str:
        """The first field in which two positions differ; empty where none does."""
        return next((name for name in self.fields if not np.array_equal(one[name], other[name])), "")

    def finding(self, law: str, function: str, seen: str, position: Position | None = None) -> Finding:
        if position is None:
            return Finding(law, function, seen, "", "")
        try:
            drawn = self.game.render(position.state)
        except Exception as error:
            drawn = f"(render fails: {error})"
        names = [self.game.names[move] if 0 <= move < self.game.actions else str(move) for move in position.moves]
        return Finding(law, function, seen, drawn, " ".join(names))


Verdict = tuple[Finding | None, str]
Law = Callable[[Patient], Verdict]


def sample(patient: Patient, most: int) -> Iterator[Position]:
    """At most that many of the positions, spread evenly, and no more than there is time to ask interpreted rules about."""
    step = max(1, len(patient.positions) // most)
    start = time.perf_counter()
    for position in patient.positions[::step][:most]:
        yield position
        if time.perf_counter() - start > patient.seconds:
            return


def name_of(law: Law) -> str:
    return (law.__doc__ or "").splitlines()[0]
