"""Games side by side: each lane plays one, a batch of all their leaves goes to the network, a lane that has finished takes the next.

    lanes = Lanes(game, settings, search, seed)
    lanes.use(evaluator, "d3adb33f")                    # batches of `settings.slots` positions; the hash of the weights
    for number in range(100):
        lanes.add(number)
    while lanes.is_busy:
        for record in lanes.step():                     # one batch; the games that ended with it
            ...

**A game is a function of the evaluator, the settings, the seed of the run and its number**, whatever is played beside it: all that is
random in it comes from streams derived of seed and number, and the batch has one size.

| what                        | paper                                                                                    |
|-----------------------------|------------------------------------------------------------------------------------------|
| targets without temperature | Silver et al. 2017; the temperature is for choosing the move alone                         |
| playout-cap randomization   | Wu 2019, section 3.1: few searches are full, with noise, and teach the policy; others play on |
| openings                    | Wu 2019, appendix D: some plies are drawn from the raw policy                             |
| resignation, and its check  | Silver et al. 2017: a share of games is played out, to see how often it would have been wrong |
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from base.errors import UserError
from base.seeds import Rng, below, derive, generator, uniform
from games import CHANCE, Game
from games.engine.kernels import sampler
from games.record import GameRecord
from mcts.learned import LearnedSearch, LearnedSettings
from mcts.search import BatchEvaluator
from selfplay.settings import SelfPlaySettings

OPENING, FAST, FULL = 0, 1, 2
"""What a lane's search under way is for."""


@dataclass
class _Lane:
    """A game under way."""

    number: int
    seed: int
    rng: Rng
    """Of all that the search does not draw itself."""
    state: Any
    opening: int
    """Plies still to be drawn from the raw policy."""
    plays_out: bool
    """Nobody resigns; who would have is noted."""
    kind: int = FULL
    moves: list[int] = field(default_factory=list)
    searched: list[bool] = field(default_factory=list)
    utilities: list[Any] = field(default_factory=list)
    policies: list[Any] = field(default_factory=list)
    """(actions, probabilities, visits) of each ply."""
    hopeless: list[int] = field(default_factory=list)
    """[P]: searches in a row in which the player saw no hope."""
    gave_up: tuple[int, int] | None = None
    """(player, ply) of the first resignation, carried out or not."""


class Lanes:
    """As many games at once as there are slots, from a queue of numbers."""

    def __init__(self, game: Game, settings: SelfPlaySettings, search: LearnedSettings, seed: int) -> None:
        settings.check(game)
        self.game, self.settings, self.seed = game, settings, seed
        self._search = LearnedSearch(game, search, slots=settings.slots)
        self._lanes: list[_Lane | None] = [None] * settings.slots
        self._queue: deque[int] = deque()
        self._evaluator: BatchEvaluator | None = None
        self._net = ""
        self._sample = game.kernel(sampler)
        self._actions = np.zeros(game.rules.max_legal, np.int32)
        self._nothing = np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros(0, np.int64)
        self._unknown = np.full(game.players, np.nan, np.float32)

    def use(self, evaluator: BatchEvaluator, net: str) -> None:
        """The network that plays from now on; `net` says in the records which one it was."""
        if any(self._lanes):
            raise UserError("self-play: expected no game under way when the network changes")
        self._evaluator, self._net = evaluator, net

    def add(self, number: int) -> None:
        self._queue.append(number)

    @property
    def is_busy(self) -> bool:
        return bool(self._queue) or any(lane is not None for lane in self._lanes)
