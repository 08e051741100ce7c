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

from collections import deque
from typing import Any

import numpy as np

from base.errors import UserError
from base.seeds import generator
from base.threads import interruptible
from games import Game
from games.record import GameRecord
from mcts.methods import check_method
from mcts.mirror import Mirror
from mcts.search import BatchEvaluator, CompiledNetwork, Search, is_compiled
from mcts.settings import MethodSettings, SearchSettings
from mcts.tree import bytes_per_node
from mcts.types import GameState
from selfplay.mirror_play import MirrorGames
from selfplay.settings import SelfPlaySettings
from selfplay.turns import FULL, SEARCHING, STOPPED, beginning_factory, play_factory, turn_factory
from selfplay.under_way import GamesUnderWay, WorkCounts

__all__ = ["GameQueue", "WorkCounts", "bytes_of_games"]


def nodes_of(settings: SelfPlaySettings) -> int:
    """Of each tree: a part of the last moves' searches is kept."""
    return 4 * max(settings.simulations, settings.fast_simulations) + 64


def bytes_of_games(game: Game, settings: SelfPlaySettings) -> int:
    """What the trees and the cache of a worker may grow to; mirror descent has none."""
    if game.hides_information:
        return 0
    tree = nodes_of(settings) * bytes_per_node(game, game.rules.max_legal)
    return int(settings.slots * tree + settings.cache_mb * 2**20)


class GameQueue:
    """Plays the games of a queue of numbers."""

    def __init__(self, game: Game, settings: SelfPlaySettings, search: MethodSettings, seed: int) -> None:
        settings.check(game)
        check_method(search, game)
        self.game, self.settings, self.seed = game, settings, seed
        self.search = search
        self.numbers: deque[int] = deque()
        self.net = ""
        self._driver: GamesUnderWay | None = None
        self._done = WorkCounts()  # by drivers that others have replaced

    def use(self, network: CompiledNetwork | BatchEvaluator | None, net: str) -> None:
        """The network that plays from now on (None: equal priors); `net` stands for it in the records."""
        if self._driver is not None and self._driver.is_playing:
            raise UserError("self-play: expected no game under way when the network changes")
        if self._driver is None or not self._driver.takes(network):
            self._done = self.work
            self._driver = self._driver_for(network)
        else:
            self._driver.use(network)
        self.net = net

    def _driver_for(self, network: CompiledNetwork | BatchEvaluator | None) -> GamesUnderWay:
        if isinstance(self.search, Mirror):
            return MirrorGames(self, self.search, network)
        runs_compiled = network is None or is_compiled(network)
        return CompiledGames(self, network) if runs_compiled else BatchedGames(self, network)

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


class SearchedGames(GamesUnderWay):
    """Each in a tree of its own."""

    def __init__(self, queue: GameQueue, slots: int, network: Any) -> None:
        super().__init__(queue, slots)
        game, settings, search = queue.game, queue.settings, queue.search
        assert isinstance(search, SearchSettings)
        self.network = network
        self.search = Search(
            game,
            search,
            slots=slots,
            nodes=nodes_of(settings),
            network=network if is_compiled(network) else None,
            cache_mb=0 if network is None else settings.cache_mb,
        )
        self.weights = np.zeros(game.rules.max_legal, np.float64)
        self.beginning = game.kernel(beginning_factory(self.search.variant))

    def work(self) -> WorkCounts:
        lookups, hits, evaluations = self.search.cache.counts.tolist()
        return WorkCounts(self.simulations, 0, 0, evaluations, lookups, hits)

    def position(self, s: int) -> GameState:
        state: GameState = self.search.roots[s]
        return state

    def begin(self, s: int, number: int) -> int:
        """How the game stands when its first search is to begin."""
        seed = self.take(s, number)
        self.search.begin(s, self.game.initial(), generator(seed, "search"))
        trees, actions = self.search.tree.arrays, self.search.work.actions
        return int(self.beginning(s, self.games, self.logs, trees, actions, self.how))


class CompiledGames(SearchedGames):
    """One game at a time, wholly inside compiled code."""

    def __init__(self, queue: GameQueue, network: Any) -> None:
        super().__init__(queue, 1, network)
        self.play = queue.game.kernel(play_factory(self.search.variant, network is not None))

    def takes(self, network: Any) -> bool:
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


class BatchedGames(SearchedGames):
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
