"""Accuracy against an oracle: how often a player's move keeps what the position is worth, and what its values are worth.

    python -m arena accuracy connect_four alphabeta:depth=8 --sample 500 --seed 1
    python -m arena accuracy connect_four solver --positions positions.txt --json

    sample = oracle_sample(game, 500, seed=1)                   # arena/sample.py
    found = measure(game, make_player("uct:sims=1000", game), sample)
    found.kept.share, found.kept.interval, found.brier

A move *keeps* the value if the position after it is worth to the mover what the position before it was; it is also *quickest* if, among
those, it wins soonest or loses latest. Each position is a game of its own to the player: nothing is remembered from one to the next.

The value that a player gives with its move, v in [-1, 1] for the mover, is held against the true one, z. The Brier score is the mean of
((v+1)/2 - (z+1)/2)² (Brier 1950): 0 is perfect, 0.25 what always saying a draw costs where there is none. The sign is right if v > 0
where the mover wins and v < 0 where it loses. Shares have 95 % intervals by Wilson (1927), means by the normal distribution.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from arena.choosing import rounded, state_of
from arena.oracle import STAGES, Solved
from arena.players import Player, make_player
from base.seeds import derive
from games import Game, load

Z = 1.959964  # of 95 %
BINS = 5  # of the values said, from -1 to 1


@dataclass(frozen=True)
class Share:
    """So many of so many."""

    hits: int
    of: int

    @property
    def share(self) -> float | None:
        return self.hits / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 %, by Wilson."""
        if not self.of:
            return None
        n, p = self.of, self.hits / self.of
        middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
        half = Z / (1 + Z * Z / n) * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
        return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class Mean:
    """An average and its 95 % interval."""

    mean: float
    interval: tuple[float, float]
    of: int


@dataclass(frozen=True)
class Bin:
    """Positions whose value the player put between two numbers."""

    least: float
    most: float
    of: int
    said: float
    """The mean of what the player said."""
    true: float
    """The mean of what is so."""


@dataclass(frozen=True)
class Answer:
    """What a player said to one position."""

    action: int
    value: float
    """The mover's, in [-1, 1]."""
    seconds: float


@dataclass(frozen=True)
class Accuracy:
    """What `measure` found. Values are the mover's throughout."""

    game: str
    player: str
    """Its resolved text."""
    kept: Share
    """Moves that keep the value, of the positions in which some move does not."""
    quickest: Share | None
    """Moves that also win soonest or lose latest, of those positions whose distances are known; None where none are."""
    by_stage: dict[str, Share]
    """`kept` by fifth of the game."""
    by_value: dict[str, Share]
    """`kept` by what the position is worth: win, draw, loss."""
    by_source: dict[str, Share]
    """`kept` by whose games the positions come from."""
    brier: Mean
    sign: Share
    """Values with the right sign, of the positions that are won or lost."""
    bins: tuple[Bin, ...]
    """What was said beside what is so."""
    seconds: float
    """In the mean, a move."""

    @property
    def stages(self) -> dict[int, Share]:
        """`by_stage`, the fifths counted from 1; without what has no known stage."""
        return {stage + 1: self.by_stage[name] for stage in range(STAGES) if (name := _stage(stage)) in self.by_stage}

    def as_json(self) -> dict[str, Any]:
        """Shares and means with their intervals; null where there is nothing to count."""
        found = {
            "game": self.game,
            "player": self.player,
            "positions": self.brier.of,
            "kept": _share(self.kept),
            "quickest": _share(self.quickest) if self.quickest else None,
            "by_stage": {name: _share(each) for name, each in self.by_stage.items()},
            "by_value": {name: _share(each) for name, each in self.by_value.items()},
            "by_source": {name: _share(each) for name, each in self.by_source.items()},
            "brier": {"mean": self.brier.mean, "interval": list(self.brier.interval)},
            "sign": _share(self.sign),
            "calibration": [
                {"from": each.least, "to": each.most, "of": each.of, "said": each.said, "true": each.true}
                for each in self.bins
            ],
            "seconds_per_move": self.seconds,
        }
        return rounded(found)


def measure(game: Game, player: Player, sample: Sequence[Solved]) -> Accuracy:
    """Ask the player for a move in every position of the sample."""
    return summary(game, player.text, sample, [ask(game, player, solved.line) for solved in sample])


def ask(game: Game, player: Player, line: str) -> Answer:
    """The player's word on one position. It depends on nothing else: what is random in it, on the position's text."""
    player.new_game(derive(0, "accuracy", line))
    choice = player.choose(state_of(game, line))
    return Answer(choice.action, min(1.0, max(-1.0, choice.value)), choice.seconds)


def asked(job: tuple[str, str, str]) -> Answer:
    """(game, player, line) -> the answer. For worker processes: each makes the player once."""
    game = load(job[0])
    return ask(game, _seated(game, job[1]), job[2])


@functools.lru_cache(maxsize=1)
def _seated(game: Game, player: str) -> Player:
    return make_player(player, game)


def summary(game: Game, who: str, sample: Sequence[Solved], answers: Sequence[Answer]) -> Accuracy:
    """What the answers to a sample amount to."""
    pairs = list(zip(sample, answers, strict=True))
    choices = [pair for pair in pairs if pair[0].has_choice]
    timed = [pair for pair in choices if pair[0].quickest]
    decided = [pair for pair in pairs if pair[0].value != 0]
    return Accuracy(
        game=game.name,
        player=who,
        kept=_kept(choices),
        quickest=Share(sum(answer.action in solved.quickest for solved, answer in timed), len(timed))
        if timed
        else None,
        by_stage=_split(choices, lambda solved: _stage(solved.stage), [*map(_stage, range(STAGES)), _stage(None)]),
        by_value=_split(choices, lambda solved: _verdict(solved.value), ["win", "draw", "loss"]),
        by_source=_split(choices, lambda solved: solved.source or "file", sorted({s.source or "file" for s in sample})),
        brier=_mean([((answer.value - solved.value) / 2) ** 2 for solved, answer in pairs]),
        sign=Share(sum(answer.value * solved.value > 0 for solved, answer in decided), len(decided)),
        bins=tuple(_bins([(answer.value, solved.value) for solved, answer in pairs])),
        seconds=sum(answer.seconds for answer in answers) / max(len(answers), 1),
    )


def _kept(pairs: Iterable[tuple[Solved, Answer]]) -> Share:
    hits = [answer.action in solved.keep for solved, answer in pairs]
    return Share(sum(hits), len(hits))


def _split(pairs: list[tuple[Solved, Answer]], name: Callable[[Solved], str], names: list[str]) -> dict[str, Share]:
    """`kept` by name, in the order of `names`; those without positions are left out."""
    shares = {each: _kept(pair for pair in pairs if name(pair[0]) == each) for each in names}
    return {each: share for each, share in shares.items() if share.of}


def _stage(stage: int | None) -> str:
    return "unknown" if stage is None else f"{100 * stage // STAGES}-{100 * (stage + 1) // STAGES} %"


def _verdict(value: float) -> str:
    return "win" if value > 0 else "loss" if value < 0 else "draw"


def _mean(numbers: Sequence[float]) -> Mean:
    n = len(numbers)
    mean = sum(numbers) / n if n else math.nan
    spread = sum((number - mean) ** 2 for number in numbers) / (n - 1) if n > 1 else 0.0
    half = Z * math.sqrt(spread / n) if n else 0.0
    return Mean(mean, (max(0.0, mean - half), min(1.0, mean + half)), n)


def _bins(pairs: list[tuple[float, float]]) -> Iterable[Bin]:
    """(said, true) by what was said; empty bins are left out."""
    for i in range(BINS):
        here = [pair for pair in pairs if min(int((pair[0] + 1) / 2 * BINS), BINS - 1) == i]
        if here:
            said, true = (sum(each) / len(here) for each in zip(*here, strict=True))
            yield Bin(round(2 * i / BINS - 1, 6), round(2 * (i + 1) / BINS - 1, 6), len(here), said, true)


def _share(share: Share) -> dict[str, Any]:
    interval = None if share.interval is None else list(share.interval)
    return {"share": share.share, "interval": interval, "hits": share.hits, "of": share.of}
