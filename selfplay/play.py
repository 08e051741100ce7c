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
from typing import Any, NamedTuple

import numpy as np

from base.errors import UserError
from base.seeds import Rng, below, derive, generator, uniform
from games import CHANCE, Game
from games.engine.kernels import sampler
from games.record import GameRecord
from mcts.learned import LearnedSearch, LearnedSettings
from mcts.search import BatchEvaluator
from mcts.tree import ROOT, bytes_per_node
from selfplay.settings import SelfPlaySettings

Array = np.ndarray[Any, Any]

OPENING, FAST, FULL = 0, 1, 2
"""What a lane's search under way is for."""

PATIENCE = 2
"""A player without hope resigns after so many searches in a row."""


class Work(NamedTuple):
    """What a worker did, counted."""

    simulations: int = 0
    """Of the searches that have ended, as made: what a proof made needless is not there."""
    batches: int = 0
    """Sent to the network."""
    rows: int = 0
    """Positions that these had room for."""
    evaluations: int = 0
    """Positions that were in them."""
    lookups: int = 0
    """Positions looked for among the evaluations already made."""
    hits: int = 0
    """Of these, found."""

    def plus(self, other: Work) -> Work:
        return Work(*(a + b for a, b in zip(self, other, strict=True)))

    def minus(self, other: Work) -> Work:
        return Work(*(a - b for a, b in zip(self, other, strict=True)))


@dataclass
class _Lane:
    """A game under way. Its position is the root of its tree."""

    number: int
    seed: int
    rng: Rng
    """Of all that the search does not draw itself."""
    opening: int
    """Plies to be drawn from the raw policy."""
    plays_out: bool
    """Nobody resigns; who would have is noted."""
    patience: list[int]
    """[P]: searches in a row in which the player saw no hope."""
    kind: int = FULL
    gave_up: tuple[int, int] | None = None
    """(player, ply) of the first resignation, carried out or not."""
    moves: list[int] = field(default_factory=list)
    searched: list[bool] = field(default_factory=list)
    utilities: list[Array] = field(default_factory=list)
    policies: list[tuple[Array, Array, Array]] = field(default_factory=list)
    """(actions, probabilities, visits) of each ply."""


def nodes_of(settings: SelfPlaySettings) -> int:
    """Of each tree: a part of the last moves' searches is kept."""
    return 4 * max(settings.simulations, settings.fast_simulations) + 64


def bytes_of_lanes(game: Game, settings: SelfPlaySettings) -> int:
    """What the trees and the cache of a worker may grow to."""
    tree = nodes_of(settings) * bytes_per_node(game, game.rules.max_legal)
    return int(settings.slots * tree + settings.cache_mb * 2**20)


class Lanes:
    """As many games at once as there are slots, from a queue of numbers."""

    def __init__(self, game: Game, settings: SelfPlaySettings, search: LearnedSettings, seed: int) -> None:
        settings.check(game)
        self.game, self.settings, self.seed = game, settings, seed
        self.search = LearnedSearch(
            game, search, slots=settings.slots, nodes=nodes_of(settings), cache_mb=settings.cache_mb
        )
        self._simulations = self._batches = self._evaluations = 0
        self._lanes: list[_Lane | None] = [None] * settings.slots
        self._queue: deque[int] = deque()
        self._evaluator: BatchEvaluator | None = None
        self._net = ""
        self._sample = game.kernel(sampler)
        self._actions = np.zeros(game.rules.max_legal, np.int32)
        self._nothing = np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros(0, np.int64)
        self._unknown = np.full(game.players, np.nan)

    def use(self, evaluator: BatchEvaluator, net: str) -> None:
        """The network that plays from now on; `net` says in the records which one it was."""
        if any(self._lanes):
            raise UserError("self-play: expected no game under way when the network changes")
        self._evaluator, self._net = evaluator, net

    def add(self, number: int) -> None:
        """One more game to play."""
        self._queue.append(number)

    @property
    def work(self) -> Work:
        """All so far."""
        lookups, hits = self.search.cache.counts.tolist()
        rows = self._batches * self.settings.slots
        return Work(self._simulations, self._batches, rows, self._evaluations, lookups, hits)

    @property
    def is_busy(self) -> bool:
        return bool(self._queue) or any(lane is not None for lane in self._lanes)

    def step(self) -> list[GameRecord]:
        """One batch of leaves. The games that are over now."""
        if self._evaluator is None:
            raise UserError("self-play: expected a network first")
        finished = []
        for slot, lane in enumerate(self._lanes):
            if lane is None and self._queue:
                self._lanes[slot] = self._begin(slot, self._queue.popleft())
        leaves = self.search.step(self._evaluator)
        self._batches += leaves > 0
        self._evaluations += leaves
        slots = self.search.tree.slots
        done = slots["simulations"] >= slots["target"]
        if self.search.how.solve:
            done |= (slots["nodes"] > 0) & (self.search.tree.nodes["proven"][:, ROOT] == 1)
        for slot in np.flatnonzero(done).tolist():
            lane = self._lanes[slot]
            if lane is not None and (record := self._move(slot, lane)) is not None:
                finished.append(record)
                self._lanes[slot] = None
        return finished

    # ── one game ──

    def _begin(self, slot: int, number: int) -> _Lane:
        how, seed = self.settings, derive(self.seed, "game", number)
        rng = generator(seed, "moves")
        opening = 1 + below(rng, how.opening_plies) if uniform(rng) < how.openings else 0
        plays_out = uniform(rng) < how.played_out
        lane = _Lane(number, seed, rng, opening, plays_out, [0] * self.game.players)
        self.search.begin(slot, self.game.initial(), generator(seed, "search"))
        self._next(slot, lane)
        return lane

    def _next(self, slot: int, lane: _Lane) -> bool:
        """Roll for chance, then have the next decision searched. False at the end of the game."""
        state = self.search.roots[slot]
        while not self.game.is_terminal(state):
            if self.game.to_move(state) != CHANCE:
                self._start(slot, lane)
                return True
            self._play(slot, lane, int(self._sample(state, self._actions, lane.rng)))
            state = self.search.roots[slot]
        return False

    def _start(self, slot: int, lane: _Lane) -> None:
        how = self.settings
        if lane.opening > 0:
            lane.kind = OPENING
            self.search.start(slot, 1)
        elif uniform(lane.rng) < how.full:
            lane.kind = FULL
            self.search.start(slot, how.simulations, explore=True)
        else:
            lane.kind = FAST
            self.search.start(slot, how.fast_simulations)

    def _move(self, slot: int, lane: _Lane) -> GameRecord | None:
        """Play what the search found; the record where that ended the game."""
        self._simulations += int(self.search.tree.slots[slot].simulations)
        if lane.kind == OPENING:
            lane.opening -= 1
            self._play(slot, lane, self._drawn(slot, lane))
        else:
            found = self.search.target(slot)
            mover = int(self.search.tree.root(slot).mover)
            if self._resigns(lane, mover, float(found.utilities[mover])):
                return self._record(lane, resigned=mover)
            how = self.search.how
            action = self.search.choose(slot, how.temperature_at(len(lane.moves)))
            policy = found.actions, found.probabilities, found.visits
            self._play(slot, lane, action, lane.kind == FULL, found.utilities, policy)
        return None if self._next(slot, lane) else self._record(lane, self.search.roots[slot])

    def _play(
        self, slot: int, lane: _Lane, action: int, searched: bool = False, utilities: Any = None, policy: Any = None
    ) -> None:
        self.search.advance(slot, action)
        lane.moves.append(action)
        lane.searched.append(searched)
        lane.utilities.append(self._unknown if utilities is None else utilities)
        lane.policies.append(self._nothing if policy is None else policy)

    def _drawn(self, slot: int, lane: _Lane) -> int:
        """An action from the raw policy, tempered."""
        edges = self.search.tree.children(self.search.tree.root(slot), slot)
        weights = edges["prior"].astype(np.float64) ** (1 / self.settings.opening_temperature)
        drawn = uniform(lane.rng) * weights.sum()
        return int(edges[min(np.searchsorted(np.cumsum(weights), drawn, side="right"), len(edges) - 1)].action)

    def _resigns(self, lane: _Lane, mover: int, hope: float) -> bool:
        """Whether the mover gives up; where the game is played out all the same, that it would have is noted."""
        lane.patience[mover] = lane.patience[mover] + 1 if hope < -self.settings.resign else 0
        if lane.patience[mover] < PATIENCE or lane.gave_up is not None:
            return False
        lane.gave_up = mover, len(lane.moves)
        return not lane.plays_out

    def _record(self, lane: _Lane, last: Any = None, resigned: int | None = None) -> GameRecord:
        """Of a game that ended in the position `last`, or with a resignation."""
        if resigned is None:
            outcome = self.game.utility(last)
        else:
            outcome = tuple(-1.0 if player == resigned else 1.0 for player in range(self.game.players))
        about: dict[str, Any] = {"number": lane.number, "net": self._net}
        if lane.gave_up is not None and resigned is None:
            player, ply = lane.gave_up
            about["resigns"] = {"player": player, "ply": ply, "wrong": outcome[player] > -1.0}
        actions, probabilities, visits = (np.concatenate(each) for each in zip(*lane.policies, strict=True))
        return GameRecord(
            self.game.name,
            self.game.version,
            np.array(lane.moves, np.int32),
            outcome,
            "" if resigned is None else "resigned",
            lane.seed,
            (f"net:{self._net}",) * self.game.players,
            searched=np.array(lane.searched, np.uint8),
            utilities=np.array(lane.utilities, np.float32),
            policy_counts=np.array([len(each[0]) for each in lane.policies], np.int32),
            policy_actions=actions,
            probabilities=probabilities,
            visits=visits,
            metadata=about,
        )
