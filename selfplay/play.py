"""Games of self-play, by their numbers.

    queue = GameQueue(game, settings, search, seed)
    queue.use(network, "d3adb33f")                     # compiled, or in batches of `settings.slots` positions; the hash of the weights
    for number in range(100):
        queue.add(number)
    while queue.is_busy:
        for record in queue.step():                    # games that have ended
            ...

A compiled network (or none: equal priors, with rollouts where the search has them) plays one game after the other inside compiled code.
A network that answers in batches plays `settings.slots` games side by side: the leaves of all their trees form one batch, and a tree
whose game has ended takes the next game.

**A game is a function of the network, the settings, the seed of the run and its number**, whatever is played beside it: everything
random in it comes from streams derived from seed and number, and a batch has one size. A compiled network and one that answers in
batches differ by rounding, and so may their games.

| what                        | paper                                                                                    |
|-----------------------------|------------------------------------------------------------------------------------------|
| targets without temperature | Silver et al. 2017; the temperature is for choosing the move alone                         |
| playout-cap randomization   | Wu 2019, section 3.1: few searches are full, with noise, and are policy targets           |
| openings                    | Wu 2019, appendix D: some plies are drawn from the raw policy                             |
| resignation, and its check  | Silver et al. 2017: a share of games is played out, to measure how often it would have been wrong |
"""

from __future__ import annotations

import weakref
from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from base.errors import UserError
from base.seeds import derive, generator
from base.threads import interruptible
from games import Game
from games.record import MAX_PLIES, GameRecord
from mcts.search import BatchEvaluator, CompiledNetwork, Search, is_compiled
from mcts.settings import SearchSettings
from mcts.tree import bytes_per_node
from selfplay.settings import SelfPlaySettings
from selfplay.turns import (
    AT_MAX_PLIES,
    FULL,
    NO_PLAYER,
    SEARCHING,
    STOPPED,
    Logs,
    beginning_factory,
    game_dtype,
    play_factory,
    turn_factory,
)

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
class _Started:
    """A game under way."""

    number: int
    seed: int


def nodes_of(settings: SelfPlaySettings) -> int:
    """Of each tree: a part of the last moves' searches is kept."""
    return 4 * max(settings.simulations, settings.fast_simulations) + 64


def bytes_of_games(game: Game, settings: SelfPlaySettings) -> int:
    """What the trees and the cache of a worker may grow to."""
    tree = nodes_of(settings) * bytes_per_node(game, game.rules.max_legal)
    return int(settings.slots * tree + settings.cache_mb * 2**20)


class GameQueue:
    """Plays the games of a queue of numbers."""

    def __init__(self, game: Game, settings: SelfPlaySettings, search: SearchSettings, seed: int) -> None:
        settings.check(game)
        self.game, self.settings, self.seed = game, settings, seed
        self.search = search
        self.numbers: deque[int] = deque()
        self.net = ""
        self._driver: CompiledGames | BatchedGames | None = None
        self._done = WorkCounts()  # by drivers that others have replaced

    def use(self, network: CompiledNetwork | BatchEvaluator | None, net: str) -> None:
        """The network that plays from now on (None: equal priors); `net` stands for it in the records."""
        if self._driver is not None and self._driver.is_playing:
            raise UserError("self-play: expected no game under way when the network changes")
        if self._driver is None or not self._driver.takes(network):
            self._done = self.work
            runs_compiled = network is None or is_compiled(network)
            self._driver = CompiledGames(self, network) if runs_compiled else BatchedGames(self, network)
        else:
            self._driver.use(network)
        self.net = net

    def add(self, number: int) -> None:
        """One more game to play."""
        self.numbers.append(number)

    @property
    def work(self) -> WorkCounts:
        """All so far."""
        return self._done if self._driver is None else self._done.plus(self._driver.work())

    @property
    def is_busy(self) -> bool:
        return bool(self.numbers) or (self._driver is not None and self._driver.is_playing)

    def step(self) -> list[GameRecord]:
        """One game, or one batch of leaves: the games that have ended now."""
        if self._driver is None:
            raise UserError("self-play: expected a network first")
        return self._driver.step()


class Games:
    """Games side by side, each in a tree of its own."""

    def __init__(self, queue: GameQueue, slots: int, network: Any) -> None:
        game, settings = queue.game, queue.settings
        # The queue owns its games. A reference back would keep their trees and cache until Python looks for cycles.
        self.queue: GameQueue = weakref.proxy(queue)
        self.game, self.network = game, network
        self.search = Search(
            game,
            queue.search,
            slots=slots,
            nodes=nodes_of(settings),
            network=network if is_compiled(network) else None,
            cache_mb=0 if network is None else settings.cache_mb,
        )
        self.how = settings.record()
        self.games = np.zeros(slots, game_dtype(game.rules))
        self.logs = _logs(game, slots, max(_ROOM, game.rules.max_legal))
        self.started: list[_Started | None] = [None] * slots
        self.weights = np.zeros(game.rules.max_legal, np.float64)
        self.beginning = game.kernel(beginning_factory(self.search.variant))
        self.simulations = 0

    @property
    def is_playing(self) -> bool:
        return any(self.started)

    def work(self) -> WorkCounts:
        lookups, hits, evaluations = self.search.cache.counts.tolist()
        return WorkCounts(self.simulations, 0, 0, evaluations, lookups, hits)

    def begin(self, s: int, number: int) -> int:
        """How the game stands when its first search is to begin."""
        seed = derive(self.queue.seed, "game", number)
        self.started[s] = _Started(number, seed)
        self.games["rng"][s] = generator(seed, "moves")
        self.search.begin(s, self.game.initial(), generator(seed, "search"))
        trees, actions = self.search.tree.arrays, self.search.work.actions
        return int(self.beginning(s, self.games, self.logs, trees, actions, self.how))

    def make_room(self) -> None:
        """Twice as much for policies."""
        old = self.logs
        new = _logs(self.game, len(self.games), 2 * old.actions.shape[1])
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
            outcome = self.game.utility(self.search.roots[s], is_stopped)
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


class CompiledGames(Games):
    """One game at a time, wholly inside compiled code."""

    def __init__(self, queue: GameQueue, network: Any) -> None:
        super().__init__(queue, 1, network)
        self.play = queue.game.kernel(play_factory(self.search.variant, network is not None))

    def takes(self, network: Any) -> bool:
        """Whether the same kernel runs it."""
        return network is None if self.network is None else is_compiled(network)

    def use(self, network: Any) -> None:
        self.network = network
        if network is not None:
            self.search.use(network)

    def step(self) -> list[GameRecord]:
        if not self.queue.numbers:
            return []
        search, stop = self.search, np.zeros(1, np.uint8)
        status = self.begin(0, self.queue.numbers.popleft())
        while status in (SEARCHING, FULL, STOPPED):
            if status == FULL:
                self.make_room()
            status = int(interruptible(lambda: self._played(search, stop), lambda: stop.fill(1)))
        return [self.finish(0, status)]

    def _played(self, search: Search, stop: Any) -> int:
        found: int = self.play(
            self.games,
            self.logs,
            search.tree.arrays,
            search.work,
            search.memory,
            search.views,
            search.record,
            search.table,
            search.weights,
            search.network,
            self.how,
            self.weights,
            stop,
        )
        return found


class BatchedGames(Games):
    """As many games at once as there are slots, for a network that answers in batches."""

    def __init__(self, queue: GameQueue, network: Any) -> None:
        super().__init__(queue, queue.settings.slots, network)
        self.turn = queue.game.kernel(turn_factory(self.search.variant))
        self.batches = 0

    def takes(self, network: Any) -> bool:
        return network is not None and not is_compiled(network)

    def use(self, network: Any) -> None:
        self.network = network

    def work(self) -> WorkCounts:
        return super().work()._replace(batches=self.batches, rows=self.batches * len(self.games))

    def step(self) -> list[GameRecord]:
        finished, numbers = [], self.queue.numbers
        for s in range(len(self.games)):
            while numbers and self.started[s] is None:
                status = self.begin(s, numbers.popleft())
                if status != SEARCHING:
                    finished.append(self.finish(s, status))
        self.batches += self.search.step(self.network) > 0
        for s in range(len(self.games)):
            if self.started[s] is not None and self.search.is_done(s):
                status = self._turn(s)
                if status != SEARCHING:
                    finished.append(self.finish(s, status))
        return finished

    def _turn(self, s: int) -> int:
        search = self.search
        while True:
            status = int(
                self.turn(
                    s,
                    self.games,
                    self.logs,
                    search.tree.arrays,
                    search.work.actions,
                    search.record,
                    search.table,
                    self.how,
                    self.weights,
                )
            )
            if status != FULL:
                return status
            self.make_room()


def _logs(game: Game, games: int, entries: int) -> Logs:
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
