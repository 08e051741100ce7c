"""A ladder: many players of one game on one scale, played so that it becomes sure of them soon.

    with Store(default_file(game), game) as store:                      # arena/store.py
        ladder = Ladder(game, ["random", "uct:sims=100", "solver"], store, anchor="random")
        ladder.play(Goal(games=200), workers=2)
        ladder.ratings()                                                # arena/rating.py

What the store holds already counts; results go there one by one, so a ladder that was interrupted goes on, and one of more players
plays only what is missing. Two processes may work at one ladder: each hears of the other's results.

Who meets next (`pairing`):

    adaptive       the two whose next block is expected to lower the sum of all variances most (Fisher information at the current
                   estimate, blocks under way included): newcomers, neighbours of whoever is known least, no foregone games
    round-robin    the two that have met least

All pairs play the same openings in the same order. Pairs of players without randomness that only repeat their games are left alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from arena.match import Job, play_block
from arena.openings import Opening, Openings
from arena.players import files_of, make_player
from arena.rating import Played, Ratings, gains, rate
from arena.store import Counts, Store, result_of
from base.errors import UserError, short
from base.local_workers import run_jobs
from base.seeds import derive
from base.workers import Workers
from games import Game
from games.record import GameRecord, prepare_records

PAIRINGS = ("adaptive", "round-robin")
Pair = tuple[str, str]
EMPTY: Mapping[Pair, int] = {}


@dataclass(frozen=True)
class Goal:
    """When it is enough; whichever comes first."""

    games: int | None = None
    """That a player has played in the mean, against the others of the ladder; what the store holds included."""
    interval: float | None = None
    """Every rating is known to ± so much Elo."""
    of: str | None = None
    """One player, whose games and interval are meant instead of everybody's: the others do not play among themselves."""

    def __post_init__(self) -> None:
        if self.games is not None and self.games < 1:
            raise UserError(f"games: expected 1 or more, got {self.games}")
        if self.interval is not None and not 0 < self.interval < math.inf:
            raise UserError(f"until-interval: expected more than 0 Elo, got {self.interval:g}")


class Made(NamedTuple):
    """What a ladder needs to know of a player: workers make their own."""

    name: str
    text: str

    @classmethod
    def of(cls, text: str, game: Game) -> Made:
        """Makes the player, which says what is wrong with it, and compiles before workers start."""
        player = make_player(text, game)
        return cls(player.name, player.text)


class Ladder:
    """See the module. `players` are texts; `openings` as in a match."""

    def __init__(
        self,
        game: Game,
        players: Sequence[str],
        store: Store,
        anchor: str | None = None,
        pairing: str = PAIRINGS[0],
        openings: str = "",
        seed: int = 0,
        made: Mapping[str, Made] | None = None,
    ) -> None:
        """`made`: what is known of players by their texts, so that they need not be made again; `Ladder.made` gives it."""
        if game.players != 2:
            raise UserError(f"ladder: expected a game of two players, got {game.name} ({game.players} players)")
        self.game, self.store, self.pairing, self.seed = game, store, pairing, seed
        prepare_records(game)
        self.made = {text: (made or {}).get(text) or Made.of(text, game) for text in players}
        self.texts = {text: player.name for text, player in self.made.items()}
        """The name under which a player's results are stored, by what was given."""
        self._specs = {player.name: player.text for player in self.made.values()}
        self.players = sorted(self._specs)
        if len(self.players) < 2:
            raise UserError(f"ladder: expected two different players or more, got {', '.join(players) or 'none'}")
        self.anchor = self._anchor_of(anchor)
        self.openings = Openings(game, openings, seed)
        self.is_interrupted = False
        self.has_only_repetitions = False
        """It ended because nobody had anything new to show."""
        self.counts = store.counts()
        self._source = iter(self.openings)
        self._drawn: list[Opening] = []

    # ── what is known ──

    def played(self, players: Sequence[str] | None = None) -> Played:
        """The results among these players (None: the ladder's)."""
        players = self.players if players is None else players
        pairs = [(i, j) for i, j in combinations(range(len(players)), 2) if (players[i], players[j]) in self.counts]
        return Played(players, pairs, [self.counts[players[i], players[j]].results for i, j in pairs])

    def ratings(self, players: Sequence[str] | None = None) -> Ratings:
        """`players` in the order of their texts, the anchor among them."""
        played = self.played(players)
        return rate(played, played.players.index(self.anchor), seed=self.seed)

    def blocks(self, of: str | None = None) -> int:
        """How many were played among the ladder's players, or by one of them."""
        return sum(self.counts[pair].blocks for pair in self.pairs(of) if pair in self.counts)

    def missing(self, goal: Goal) -> int:
        """Blocks to go, where the goal is a number of games."""
        assert goal.games is not None
        games = goal.games if goal.of is not None else goal.games * len(self.players) / 2
        return max(0, math.ceil(games / 2) - self.blocks(goal.of))

    # ── playing ──

    def play(self, goal: Goal, workers: Workers | int, watch: Callable[[int], object] = lambda blocks: None) -> None:
        """Play until the goal is reached, or nothing new comes any more. `watch` hears of every block.

        Ctrl-C ends it: what came in is stored, and `is_interrupted` is set.
        """
        schedule = _Schedule(self, goal)
        sent = files_of(self.game, *self._specs.values())
        playing = run_jobs(play_block, schedule, workers, initializer=sent.unpack)
        try:
            for number, frames in playing:
                self._add(*schedule.done(number), [GameRecord.from_bytes(frame) for frame in frames])
                watch(1)
        except KeyboardInterrupt:
            self.is_interrupted = True
        finally:
            playing.close()
        self.counts = self.store.counts()  # with what other processes have played

    def job(self, pair: Pair) -> Job:
        """The next block of a pair."""
        number = self.store.take(*pair)
        while len(self._drawn) <= number:
            self._drawn.append(next(self._source))
        a, b = pair
        return Job(
            self.game.spec,
            (self._specs[a], self._specs[b]),
            derive(self.seed, "ladder", *pair),
            number,
            self._drawn[number],
        )

    def choose(self, candidates: Sequence[Pair], under_way: Mapping[Pair, int] = EMPTY) -> Pair | None:
        """Who meets next, where so many blocks are being played; None: all of them only repeat themselves."""
        if self.store.has_news():
            self.counts = self.store.counts()
        nothing = Counts()
        alive = [pair for pair in candidates if not self.counts.get(pair, nothing).is_exhausted]
        if not alive:
            return None
        if self.pairing == "round-robin":
            return min(alive, key=lambda pair: self.counts.get(pair, nothing).blocks + under_way.get(pair, 0))
        place = {player: i for i, player in enumerate(self.players)}
        told = gains(
            self.played(),
            place[self.anchor],
            [(place[a], place[b]) for a, b in alive],
            [under_way.get(pair, 0) for pair in alive],
        )
        return alive[int(np.argmax(told))]

    def _add(self, pair: Pair, job: Job, block: Sequence[GameRecord]) -> None:
        is_new = self.store.add(*pair, job.block, job.seed, job.opening, block)
        counts = self.counts.setdefault(pair, Counts())
        counts.blocks += 1
        if is_new:
            counts.results[result_of(block)] += 1

    def pairs(self, of: str | None = None) -> list[Pair]:
        """Who may meet: everybody, or one player and everybody else."""
        return [pair for pair in combinations(self.players, 2) if of is None or of in pair]

    def _anchor_of(self, text: str | None) -> str:
        """`random`, where it plays; else whoever was named first."""
        if text is None:
            zero = make_player("random", self.game).name
            return zero if zero in self.players else next(iter(self.texts.values()))
        found = self.texts.get(text) or make_player(text, self.game).name
        if found not in self.players:
            raise UserError(f"anchor: expected one of the players, got {short(text)}")
        return found


class _Schedule:
    """The blocks to play, decided one by one as workers become free."""

    def __init__(self, ladder: Ladder, goal: Goal) -> None:
        self.ladder, self.goal = ladder, goal
        self.candidates = ladder.pairs(goal.of)
        self.jobs: dict[int, tuple[Pair, Job]] = {}
        self.under_way: Counter[Pair] = Counter()
        self._given = 0
        self._pair: Pair | None = None
        self._again = 0  # more blocks of this pair before the next decision
        self._next_look = 0  # number of blocks at which intervals are looked at again

    def __iter__(self) -> Iterator[Job]:
        while not self._is_enough():
            if self._again == 0:
                self._pair = self.ladder.choose(self.candidates, self.under_way)
                self._again = 1 + self.ladder.blocks() // 200  # decisions take milliseconds: half a per cent at a time
            if self._pair is None:
                self.ladder.has_only_repetitions = True
                return
            self._again -= 1
            job = self.ladder.job(self._pair)
            self.jobs[self._given] = self._pair, job
            self.under_way[self._pair] += 1
            self._given += 1
            yield job

    def done(self, number: int) -> tuple[Pair, Job]:
        pair, job = self.jobs.pop(number)
        self.under_way[pair] -= 1
        return pair, job

    def _is_enough(self) -> bool:
        ladder, goal = self.ladder, self.goal
        if goal.games is not None and ladder.missing(goal) <= self.under_way.total():
            return True
        blocks = ladder.blocks()
        if goal.interval is None or blocks < self._next_look:
            return False
        self._next_look = blocks + 1 + blocks // 30  # a bootstrap takes a moment
        found = ladder.ratings()
        return found.interval_of(found.players.index(goal.of) if goal.of else None) <= goal.interval
