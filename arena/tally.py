"""The running result of a match: games, scores, sides, times, repetitions. Blocks go in, `as_json` and `text` come out.

    tally = Tally(game, ("alphabeta:depth=4", "random"))
    tally.add(block)                     # the records of all games of one opening
    tally.score(), tally.text()

Side 0 is A, side 1 is B. The side whose seats have the greater mean utility wins a game; the value of a block is A's mean points in it.
A block that repeats earlier games move by move, from the same start and with the same sides, adds no information: it counts once in
scores, intervals and tests, but where dice, cards or mixed play decide: there equal games are as many samples. The numbers of games,
wins, draws and losses include all games played.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from arena.choose import rounded
from arena.elo import PAIRS, Array, count, elo_of, interval, superiority
from games import Game
from games.record import GameRecord

Block = Sequence[GameRecord]
NAMES = "AB"


class Estimate(NamedTuple):
    """A mean and its 95 % interval; None for unbounded numbers."""

    value: float | None
    low: float | None
    high: float | None


class Tally:
    """The result of a match so far; `text()` is how it is printed."""

    def __init__(self, game: Game, players: tuple[str, str]) -> None:
        self.game, self.players = game, players
        self.games = 0
        self.results = np.zeros((2, 3), np.int64)
        """[A's side, A's result]: A moves first or second; with more seats, A alone or in the majority. Wins, draws, losses."""
        self.points: list[float] = []
        """A's mean points in each block that counts."""
        self.utilities: list[tuple[float, float]] = []
        """The mean utilities of A's and of B's seats in each block that counts."""
        self.timed, self.late = [0, 0], [0, 0]
        self.seconds, self.moves = [0.0, 0.0], [0, 0]
        self.forfeits: Counter[str] = Counter()
        self.plies: list[int] = []
        self._games: set[bytes] = set()
        self._blocks: set[bytes] = set()

    def add(self, block: Block) -> bool:
        """Count one more block; False if it repeats an earlier one."""
        points, utilities = [], []
        for record in block:
            a, b = side_utilities(record)
            lost = 0 if a > b else 1 if a == b else 2  # half points
            sides = record.metadata["seats"]
            self.results[sides[0] if len(sides) == 2 else int(sides.count(0) > 1), lost] += 1
            points.append(1 - lost / 2)
            utilities.append((a, b))
            self._count(record)
        key = b"".join(identity(record) + bytes(record.metadata["seats"]) for record in block)
        if key in self._blocks and not repeats_count(self.game):
            return False
        self._blocks.add(key)
        self.points.append(sum(points) / len(points))
        self.utilities.append((sum(a for a, _ in utilities) / len(block), sum(b for _, b in utilities) / len(block)))
        return True

    def _count(self, record: GameRecord) -> None:
        self.games += 1
        self._games.add(identity(record))
        self.plies.append(len(record))
        sides, notes = record.metadata["seats"], record.metadata
        for seat, side in enumerate(sides):
            self.timed[side] += notes["timed"][seat]
            self.late[side] += notes["late"][seat]
            self.seconds[side] += sum(notes["times"][seat]) / 1000
            self.moves[side] += len(notes["times"][seat])
        if " forfeits: " in record.ending:
            loser, _, reason = record.ending.removeprefix("player ").partition(" forfeits: ")
            self.forfeits[f"{NAMES[sides[int(loser)]]}: {reason}"] += 1

    @property
    def distinct_games(self) -> int:
        return len(self._games)

    @property
    def pairs(self) -> int:
        """Blocks that count."""
        return len(self.points)

    @property
    def counts(self) -> Array:
        """Number of blocks by value."""
        return count(self.points, self.values)

    @property
    def values(self) -> Array:
        """The possible values of a block."""
        return PAIRS if self.game.players == 2 else np.arange(4 * self.game.players + 1) / (4 * self.game.players)

    def score(self) -> Estimate:
        """A's points per game: 1 for a win, a half for a draw."""
        return estimate(self.points, self.values)

    @property
    def has_elo(self) -> bool:
        """Whether games won are strength: not with more than two players, nor in poker, where few large pots outweigh many small."""
        return self.game.players == 2 and not is_played_for_payoffs(self.game)

    def elo(self) -> Estimate:
        """The difference in strength, A minus B; nothing where `has_elo` is False."""
        if not self.has_elo:
            return Estimate(None, None, None)
        return Estimate(*(None if score is None else elo_of(score) for score in self.score()))

    def superiority(self) -> float:
        """The likelihood that A is stronger: by games won, or by utility where these do not count."""
        if self.has_elo or self.game.players > 2:
            return superiority(self.counts, self.values, 0.5)
        found = [each[0] for each in self.utilities]
        values = np.unique([*found, -1.0, 1.0])
        return superiority(count(found, values), values, 0.0)

    def utility(self, side: int) -> Estimate:
        """The mean utility of a side's seats."""
        found = [each[side] for each in self.utilities]
        return estimate(found, np.unique([*found, -1.0, 1.0]))

    @property
    def over_limit(self) -> float:
        """The share of moves with a time limit that exceeded it by more than 20 ms."""
        return sum(self.late) / max(1, sum(self.timed))

    def as_json(self) -> dict[str, Any]:
        """The object that `match --json` prints."""
        score, elo = self.score(), self.elo()
        wins, draws, losses = self.results.sum(axis=0).tolist()
        found: dict[str, Any] = {
            "games": self.games,
            "distinct_games": self.distinct_games,
            "wins": wins,
            "draws": draws,
            "losses": losses,
            "score": score.value,
            "score_interval": [score.low, score.high],
            "elo": elo.value,
            "elo_interval": [elo.low, elo.high],
            "los": self.superiority(),
            "pairs": self.pairs,
            "over_limit": self.over_limit,
        }
        if not self.has_elo:
            a, b = self.utility(0), self.utility(1)
            found |= {"utility": [a.value, b.value], "utility_interval": [[a.low, a.high], [b.low, b.high]]}
        return rounded(found)

    def brief(self) -> str:
        """The score for the progress bar."""
        if not self.points:
            return ""
        if not self.has_elo and self.game.players == 2:
            return f"payoff {self._number(self.utility(0))}"
        score, elo = self.score(), self.elo()
        return f"score {_percent(score)}" + (f", Elo {_elo(elo, score)}" if self.has_elo else "")

    def text(self, players: Sequence[str] | None = None) -> str:
        """The report for the terminal; `players`: as they are to be named."""
        lines = [f"{NAMES[side]}  {text}" for side, text in enumerate(players or self.players)]
        if not self.games:
            return "\n".join([*lines, "no complete block was played"])
        wins, draws, losses = self.results.sum(axis=0).tolist()
        first, second = ("moving first", "moving second") if self.game.players == 2 else ("alone", "in majority")
        lines += [
            f"games      {self.games} ({self.distinct_games} distinct), {self.pairs} {self._blocks_are}",
            f"A wins     {wins}, draws {draws}, losses {losses}",
            *(
                f"  {where:<14} +{row[0]} ={row[1]} -{row[2]}"
                for where, row in zip((first, second), self.results.tolist(), strict=True)
            ),
            f"score      {_percent(self.score())}",
        ]
        if self.has_elo:
            lines.append(f"Elo        {_elo(self.elo(), self.score())}")
        if self.game.players > 2 or not set(self.game.rules.values) <= {-1, 0, 1} or not self.game.rules.values:
            what = "payoff" if self.game.has_payoffs else "utility"
            lines += [f"{what} {name}  {self._number(self.utility(side))}" for side, name in enumerate(NAMES)]
        lines.append(f"A is stronger with likelihood {self.superiority():.1%}")
        lengths = np.array(self.plies)
        lines.append(f"length     {lengths.mean():.1f} plies ({lengths.min()} to {lengths.max()})")
        for side, name in enumerate(NAMES):
            if not self.moves[side]:
                lines.append(f"time {name}     no moves")
                continue
            each = 1000 * self.seconds[side] / self.moves[side]
            over = f", {self.late[side]} of {self.timed[side]} over the limit" if self.timed[side] else ""
            lines.append(f"time {name}     {each:.3g} ms a move{over}")
        lines += [f"forfeits   {times} × {reason}" for reason, times in self.forfeits.most_common()]
        return "\n".join(lines)

    def _number(self, found: Estimate) -> str:
        if found.value is None or found.low is None or found.high is None:
            return "?"
        return "{} [{}, {}]".format(*map(self.game.shown, (found.value, found.low, found.high)))

    @property
    def _blocks_are(self) -> str:
        of = "" if repeats_count(self.game) else "distinct "
        return of + ("pairs" if self.game.players == 2 else "blocks")


def is_played_for_payoffs(game: Game) -> bool:
    """As poker is: who wins more games need not win more."""
    return game.hides_information and game.has_payoffs


def repeats_count(game: Game) -> bool:
    """Whether a game that repeats another one is one more sample."""
    return game.rules.chance is not None or game.hides_information


def side_utilities(record: GameRecord) -> tuple[float, float]:
    """The mean utilities of A's seats and of B's."""
    assert record.outcome is not None
    sums, seats = [0.0, 0.0], [0, 0]
    for side, value in zip(record.metadata["seats"], record.outcome, strict=True):
        sums[side] += value
        seats[side] += 1
    return sums[0] / seats[0], sums[1] / seats[1]


def identity(record: GameRecord) -> bytes:
    """Equal for games with equal starts, moves and outcomes."""
    words = [record.start or b"", record.moves.tobytes(), repr(record.outcome).encode()]
    return hashlib.blake2b(b"\0".join(words), digest_size=16).digest()


def estimate(results: Sequence[float], values: Array) -> Estimate:
    """The mean of the blocks, whose possible values are `values`."""
    if not results:
        return Estimate(None, None, None)
    low, high = interval(count(results, values), values)
    return Estimate(float(np.mean(results)), float(low), float(high))


def _percent(score: Estimate) -> str:
    if score.value is None or score.low is None or score.high is None:
        return "?"
    return f"{score.value:.1%} [{score.low:.1%}, {score.high:.1%}]"


def _elo(elo: Estimate, score: Estimate) -> str:
    sweep = "+∞" if score.value == 1 else "-∞"
    value = sweep if elo.value is None else f"{round(elo.value):+d}"
    low = "-∞" if elo.low is None else f"{round(elo.low):+d}"
    high = "+∞" if elo.high is None else f"{round(elo.high):+d}"
    return f"{value} [{low}, {high}]"
