"""Games of self-play under way, and the records that they become: what all drivers have in common (`selfplay/play.py`)."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from base.seeds import derive, generator
from games import Game
from games.record import MAX_PLIES, GameRecord
from games.types import GameState
from selfplay.turns import AT_MAX_PLIES, NO_PLAYER, Logs, game_dtype

if TYPE_CHECKING:
    from selfplay.play import GameQueue

_ROOM = 4096  # entries of policies that a game's log begins with


class WorkCounts(NamedTuple):
    """What a worker did, counted."""

    simulations: int = 0
    """Of the searches that have ended, as made: what a proof made needless is not there."""
    batches: int = 0
    """Sent to a network that answers in batches."""
    rows: int = 0
    """Positions that these had room for."""
    evaluations: int = 0
    """Positions that the network evaluated."""
    lookups: int = 0
    """Positions looked for among the evaluations already made."""
    hits: int = 0
    """Of these, found."""

    def plus(self, other: WorkCounts) -> WorkCounts:
        return WorkCounts(*(a + b for a, b in zip(self, other, strict=True)))

    def minus(self, other: WorkCounts) -> WorkCounts:
        return WorkCounts(*(a - b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True)
class Started:
    """A game under way."""

    number: int
    seed: int


class GamesUnderWay(ABC):
    """Of a queue, side by side."""

    def __init__(self, queue: GameQueue, slots: int) -> None:
        # The queue owns its games. A reference back would keep their trees and cache until Python looks for cycles.
        self.queue: GameQueue = weakref.proxy(queue)
        self.game: Game = queue.game
        self.how = queue.settings.record()
        self.games = np.zeros(slots, game_dtype(queue.game.rules))
        self.logs = logs_of(queue.game, slots, max(_ROOM, queue.game.rules.max_legal))
        self.started: list[Started | None] = [None] * slots
        self.simulations = 0

    @property
    def is_playing(self) -> bool:
        return any(self.started)

    @abstractmethod
    def takes(self, network: Any) -> bool:
        """Whether the same kernel runs it."""

    @abstractmethod
    def use(self, network: Any) -> None:
        """Another network."""

    @abstractmethod
    def step(self) -> list[GameRecord]:
        """One game, or one batch of leaves: the games that have ended now."""

    @abstractmethod
    def work(self) -> WorkCounts:
        """All so far."""

    @abstractmethod
    def position(self, s: int) -> GameState:
        """Of a game, as it is now."""

    def take(self, s: int, number: int) -> int:
        """The game of that number is the one in slot s; its seed."""
        seed = derive(self.queue.seed, "game", number)
        self.started[s] = Started(number, seed)
        self.games["rng"][s] = generator(seed, "moves")
        return seed

    def make_room(self) -> None:
        """Twice as much for policies."""
        old = self.logs
        new = logs_of(self.game, len(self.games), 2 * old.actions.shape[1])
        for mine, theirs in zip(new, old, strict=True):
            if mine.shape == theirs.shape:
                mine[:] = theirs
            else:
                mine[:, : theirs.shape[1]] = theirs
        self.logs = new

    def finish(self, s: int, status: int) -> GameRecord:
        """The record of a game that is over."""
        started, game = self.started[s], dict(zip(self.games.dtype.names or (), self.games[s].item(), strict=True))
        assert started is not None
        self.started[s] = None
        self.simulations += game["simulations"]
        n, k, net, resigned = game["plies"], game["entries"], self.queue.net, game["resigned"]
        is_stopped = status == AT_MAX_PLIES
        if resigned == NO_PLAYER:
            outcome = self.game.utility(self.position(s), is_stopped)
        else:
            outcome = tuple(-1.0 if player == resigned else 1.0 for player in range(self.game.players))
        about: dict[str, Any] = {"number": started.number, "net": net}
        if game["gave_up"] != NO_PLAYER and resigned == NO_PLAYER:
            player = game["gave_up"]
            about["resigns"] = {"player": player, "ply": game["gave_up_ply"], "wrong": outcome[player] > -1.0}
        logs = self.logs
        return GameRecord(
            self.game.name,
            self.game.version,
            logs.moves[s, :n],
            outcome,
            MAX_PLIES if is_stopped else "" if resigned == NO_PLAYER else "resigned",
            started.seed,
            (f"net:{net}",) * self.game.players,
            searched=logs.searched[s, :n],
            utilities=logs.utilities[s, :n],
            policy_counts=logs.counts[s, :n],
            policy_actions=logs.actions[s, :k],
            probabilities=logs.probabilities[s, :k],
            visits=logs.visits[s, :k],
            metadata=about,
        )


def logs_of(game: Game, games: int, entries: int) -> Logs:
    longest = game.rules.max_plies
    return Logs(
        np.zeros((games, longest), np.int32),
        np.zeros((games, longest), np.uint8),
        np.zeros((games, longest, game.players), np.float32),
        np.zeros((games, longest), np.int32),
        np.zeros((games, entries), np.int32),
        np.zeros((games, entries), np.float32),
        np.zeros((games, entries), np.int64),
    )
