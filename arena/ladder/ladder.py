"""A ladder: many players of one game on one Elo scale, with the next games chosen where they reduce uncertainty most.

    with LadderResults(default_file(game), game) as results:            # arena/ladder/results.py
        ladder = Ladder(game, ["random", "uct:sims=100", "solver"], results, anchor="random")
        ladder.play(Goal(games=200), workers=2)
        ladder.ratings()                                                # arena/ladder/rating.py

    python -m arena ladder connect_four                                 the reference players
    python -m arena ladder othello random uct:sims=200 alphabeta:depth=3 --games 100 --report report/

Results already in the file count, and new ones are stored one by one. So an interrupted ladder resumes, and a ladder with one more
player plays only the missing games. Several processes may play one ladder: each reads the results of the others.

The next pair to play (`pairing`):

    adaptive       the pair whose next block is expected to reduce the sum of all variances most (Fisher information at the current
                   estimate, running blocks included): new players, close ratings, no one-sided games
    per-second     the pair whose next block reduces it most for the time that it takes, by the players' moves so far: the shortest way
                   to an interval where some players are slow; which pairs play then depends on the machine
    round-robin    the pair with the fewest blocks

All pairs play the same openings in the same order. A pair of deterministic players that only repeats its games is not played again.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

import numpy as np

from arena.commands import Progress, add_common, notice, progress_bar
from arena.ladder.names import name_of, weights_of
from arena.ladder.rating import CrossTable, Ratings, gains, rate
from arena.ladder.reference_players import ReferencePlayers, reference_players, standard_openings, with_programs
from arena.ladder.results import Counts, LadderResults, default_file, result_of
from arena.ladder.standings import Standings
from arena.match import Job, play_block
from arena.openings import Opening, Openings
from arena.players import KeptPlayers, PackedPlayer, make_player, pack_player
from base.errors import INTERRUPTED, UserError, short
from base.local_workers import run_jobs
from base.seeds import derive
from base.workers import Workers
from cluster.options import opened_workers
from games import Game, load
from games.engine.registry import files_of
from games.record import GameRecord, prepare_records

PAIRINGS = ("adaptive", "per-second", "round-robin")
Pair = tuple[str, str]
NO_BLOCKS: Mapping[Pair, int] = MappingProxyType({})
GAMES = 200  # the goal of `ladder` and `rate` where none is given
OVERHEAD = 0.01
"""Seconds of a block beside the players' moves."""


@dataclass(frozen=True)
class Goal:
    """When a ladder ends: with the first condition that is met."""

    games: int | None = None
    """Mean number of games per player against the others of the ladder, stored ones included."""
    interval: float | None = None
    """Every rating has an interval of at most ± this Elo."""
    of: str | None = None
    """Apply both to this player alone, and play only its games."""

    def __post_init__(self) -> None:
        if self.games is not None and self.games < 1:
            raise UserError(f"games: expected 1 or more, got {self.games}")
        if self.interval is not None and not 0 < self.interval < math.inf:
            raise UserError(f"until-interval: expected more than 0 Elo, got {self.interval:g}")


class Ladder:
    """`players` are texts; `openings` as in a match."""

    def __init__(
        self,
        game: Game,
        players: Sequence[str],
        results: LadderResults,
        anchor: str | None = None,
        pairing: str = PAIRINGS[0],
        openings: str = "",
        seed: int = 0,
        packed: Mapping[str, PackedPlayer] = MappingProxyType({}),
    ) -> None:
        """`packed`: players that need not be made again, by text; from `Ladder.packed`."""
        if game.players != 2:
            raise UserError(f"ladder: expected a game of two players, got {game.name} ({game.players} players)")
        self.game, self.results, self.pairing, self.seed = game, results, pairing, seed
        prepare_records(game)
        self.packed = {text: packed.get(text) or pack_player(make_player(text, game)) for text in players}
        self._texts = {player.name: player.text for player in self.packed.values()}
        known = results.names()
        for name, text in self._texts.items():
            if weights_of(name) and known.get(name) != (called := name_of(text)):
                results.call(name, called)
        self._play_block = functools.partial(
            play_block, KeptPlayers(game.spec, {each.text: each for each in self.packed.values()})
        )
        self.players = sorted(self._texts)
        if len(self.players) < 2:
            raise UserError(f"ladder: expected two different players or more, got {', '.join(players) or 'none'}")
        self.anchor = self._anchor_of(anchor)
        self.openings = Openings(game, openings, seed)
        self.is_interrupted = False
        self.has_only_repetitions = False
        """It ended because all pairs only repeat their games."""
        self.counts = results.counts()
        self._seconds: Counter[str] = Counter()
        self._games: Counter[str] = Counter()
        """Of each player's moves, and how many games they were: those played here."""
        self._source = iter(self.openings)
        self._drawn: list[Opening] = []

    # ── results ──

    def cross_table(self, players: Sequence[str] | None = None) -> CrossTable:
        """The results among these players (None: the ladder's)."""
        players = self.players if players is None else players
        pairs = [(i, j) for i, j in combinations(range(len(players)), 2) if (players[i], players[j]) in self.counts]
        return CrossTable(players, pairs, [self.counts[players[i], players[j]].results for i, j in pairs])

    def ratings(self, players: Sequence[str] | None = None) -> Ratings:
        """Ratings of `players`, sorted by name, the anchor among them."""
        table = self.cross_table(players)
        return rate(table, table.players.index(self.anchor), seed=self.seed)

    def blocks(self, of: str | None = None) -> int:
        """Blocks played among the ladder's players, or by one of them."""
        return sum(self.counts[pair].blocks for pair in self.pairs(of) if pair in self.counts)

    def missing(self, goal: Goal) -> int:
        """Blocks left to play for a goal in games."""
        assert goal.games is not None
        games = goal.games if goal.of is not None else goal.games * len(self.players) / 2
        return max(0, math.ceil(games / 2) - self.blocks(goal.of))

    # ── playing ──

    def play(self, goal: Goal, workers: Workers | int, progress: Progress = lambda done, total: None) -> None:
        """Play until the goal is reached or all pairs repeat their games. `progress` counts games; an interval has no total.

        Ctrl-C stops it: results so far are stored, and `is_interrupted` is set.
        """
        before = self.blocks(goal.of)
        total = 2 * self.missing(goal) if goal.games is not None and goal.interval is None else 0
        schedule = _Schedule(self, goal)
        playing = run_jobs(self._play_block, schedule, workers, initializer=files_of(self.game).unpack)
        try:
            for number, frames in playing:
                self._add(*schedule.done(number), [GameRecord.from_bytes(frame) for frame in frames])
                progress(2 * (self.blocks(goal.of) - before), total)
        except KeyboardInterrupt:
            self.is_interrupted = True
        finally:
            playing.close()
        self.counts = self.results.counts()  # with those of other processes

    def job(self, pair: Pair) -> Job:
        """The next block of a pair."""
        number = self.results.take(*pair)
        while len(self._drawn) <= number:
            self._drawn.append(next(self._source))
        a, b = pair
        return Job(
            self.game.spec,
            (self._texts[a], self._texts[b]),
            derive(self.seed, "ladder", *pair),
            number,
            self._drawn[number],
        )

    def choose(self, candidates: Sequence[Pair], under_way: Mapping[Pair, int] = NO_BLOCKS) -> Pair | None:
        """The next pair, given the numbers of running blocks; None: all pairs only repeat their games."""
        if self.results.has_news():
            self.counts = self.results.counts()
        nothing = Counts()
        alive = [pair for pair in candidates if not self.counts.get(pair, nothing).is_exhausted]
        if not alive:
            return None
        if self.pairing == "round-robin":
            return min(alive, key=lambda pair: self.counts.get(pair, nothing).blocks + under_way.get(pair, 0))
        place = {player: i for i, player in enumerate(self.players)}
        reductions = gains(
            self.cross_table(),
            place[self.anchor],
            [(place[a], place[b]) for a, b in alive],
            [under_way.get(pair, 0) for pair in alive],
        )
        costs = [self.seconds(*pair) for pair in alive] if self.pairing == "per-second" else 1.0
        return alive[int(np.argmax(reductions / costs))]

    def seconds(self, *pair: str) -> float:
        """Of a block between two players, expected; nothing is known of one that has not played here, and it plays soon."""
        return OVERHEAD + sum(2 * self._seconds[name] / max(1, self._games[name]) for name in pair)

    def _add(self, pair: Pair, job: Job, block: Sequence[GameRecord]) -> None:
        is_new = self.results.add(*pair, job.block, job.seed, job.opening, block)
        counts = self.counts.setdefault(pair, Counts())
        counts.blocks += 1
        if is_new:
            counts.results[result_of(block)] += 1
        for record, players in zip(block, (pair, pair[::-1]), strict=True):
            for name, times in zip(players, record.metadata["times"], strict=True):
                self._seconds[name] += sum(times) / 1000
                self._games[name] += 1

    def pairs(self, of: str | None = None) -> list[Pair]:
        """All pairs, or those of one player."""
        return [pair for pair in combinations(self.players, 2) if of is None or of in pair]

    def _anchor_of(self, text: str | None) -> str:
        """The name of the anchor. Without a text: `random` if it is on the ladder, else the first player."""
        if text is None:
            zero = make_player("random", self.game).name
            return zero if zero in self.players else next(iter(self.packed.values())).name
        found = self.packed[text].name if text in self.packed else make_player(text, self.game).name
        if found not in self.players:
            raise UserError(f"anchor: expected one of the players, got {short(text)}")
        return found


class _Schedule:
    """The blocks to play, chosen one by one as workers become free."""

    def __init__(self, ladder: Ladder, goal: Goal) -> None:
        self.ladder, self.goal = ladder, goal
        self.candidates = ladder.pairs(goal.of)
        self.jobs: dict[int, tuple[Pair, Job]] = {}
        self.under_way: Counter[Pair] = Counter()
        self._given = 0
        self._pair: Pair | None = None
        self._again = 0  # further blocks of this pair before the next choice
        self._next_check = 0  # number of blocks at which the intervals are computed again

    def __iter__(self) -> Iterator[Job]:
        while not self._is_enough():
            if self._again == 0:
                self._pair = self.ladder.choose(self.candidates, self.under_way)
                self._again = (
                    1 + self.ladder.blocks() // 200
                )  # a choice takes milliseconds: add half a per cent at a time
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
        if goal.interval is None or blocks < self._next_check:
            return False
        self._next_check = blocks + 1 + blocks // 30  # a bootstrap takes time
        found = ladder.ratings()
        return found.interval_of(found.players.index(goal.of) if goal.of else None) <= goal.interval


# ── python -m arena ladder ───────────────────────────────────────────────────────────────────────────────────────────


def add_ladder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("players", nargs="*", metavar="PLAYER", help="two or more; default: the reference players")
    parser.add_argument(
        "--games",
        type=int,
        metavar="N",
        help=f"mean number of games per player, stored ones included (default: {GAMES}, unless --until-interval is given)",
    )
    parser.add_argument("--until-interval", type=float, metavar="E", help="play until every rating is known to ± E Elo")
    parser.add_argument("--pairing", choices=PAIRINGS, default=PAIRINGS[0], help="how the next pair is chosen")
    parser.add_argument("--anchor", metavar="PLAYER", help="has Elo 0; default: random, or else the first player")
    parser.add_argument("--report", metavar="DIR", help="write ladder.md, ladder.png and ladder.html there")
    parser.add_argument("--everyone", action="store_true", help="show all players in the file")
    add_file(parser)
    add_common(parser)


def add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--file", metavar="FILE", help="results file; default: runs/ladders/GAME.sqlite")


def run_ladder(options: argparse.Namespace) -> int:
    game = load(options.game)
    if options.players:
        chosen = ReferencePlayers(tuple(options.players), "", standard_openings(game))
    else:
        chosen = with_programs(reference_players(game), game)
    games = GAMES if options.games is None and options.until_interval is None else options.games
    goal = Goal(games, options.until_interval)
    with LadderResults(options.file or default_file(game), game) as results:
        anchor = options.anchor or chosen.anchor or None
        ladder = Ladder(game, chosen.players, results, anchor, options.pairing, chosen.openings, options.seed)
        with opened_workers(options) as workers, progress_bar("games") as progress:
            ladder.play(goal, workers, progress)
        shown = sorted({*ladder.players, *results.players()}) if options.everyone else ladder.players
        standings = Standings(game, ladder.ratings(shown), ladder.counts, results.names())
    notice_end(ladder)
    files = standings.write(options.report) if options.report else []
    print(json.dumps(standings.as_json(), ensure_ascii=False) if options.json else standings.text())
    if files:
        notice(f"written: {', '.join(map(str, files))}")
    return INTERRUPTED if ladder.is_interrupted else 0


def notice_end(ladder: Ladder) -> None:
    """Print why a ladder stopped before its goal."""
    if ladder.openings.notes:
        notice(ladder.openings.notes)
    if ladder.is_interrupted:
        notice("interrupted; the results are kept, and the same command resumes")
    elif ladder.has_only_repetitions:
        notice("stopped before the goal: the players only repeat their games")
