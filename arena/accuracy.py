"""Accuracy against the solver: how often a player's moves keep the value of a position, and how good its values are.

    python -m arena accuracy connect_four alphabeta:depth=8                   # on the released set of the game
    python -m arena accuracy connect_four alphabeta:depth=8 --sample 500 --seed 7
    python -m arena accuracy connect_four solver --positions positions.txt --json

    sample = released(game).positions                                    # arena/released_positions.py
    sample = draw_positions(game, 500, seed=7).positions                 # arena/drawn_positions.py
    found = measure(game, make_player("uct:sims=1000", game), sample)
    found.kept.share, found.kept.interval, found.by_stratum["hard"], found.brier

Without options the positions are the released set of the game, so that figures of different runs and years compare; in a game without
one, a sample of 500.

A move *keeps* the value if the position after it has the same value for the mover as the position before it. It is also *quickest* if,
among those moves, it wins soonest or loses latest. What a move gives away is the difference of the two values. Every position is a new
game for the player. Positions are *hard* where `alphabeta:depth=6` gives value away, and *easy* otherwise: a figure for all of them
depends on the share of hard ones, which differs between games.

The player's value v in [-1, 1] for the mover is compared with the true value z. The Brier score is the mean of ((v+1)/2 - (z+1)/2)²
(Brier 1950): 0 is perfect, 0.25 is a constant draw where there are no draws. The sign is right if v > 0 where the mover wins and v < 0
where it loses. Shares have 95 % intervals by Wilson (1927), means by the normal distribution.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from arena.choose import rounded
from arena.commands import Progress, progress_bar
from arena.drawn_positions import draw_positions
from arena.players import KeptPlayers, Player, make_player, pack_player
from arena.released_positions import released
from arena.solved_positions import HARD_FOR, STAGES, Sample, Solved, choice_in, read_positions
from base.errors import UserError
from base.local_workers import run_jobs
from base.workers import Workers
from cluster.options import add_workers, opened_workers
from games import Game, load
from games.engine.registry import files_of

Z = 1.959964  # of 95 %
SAMPLE = 500  # positions, of a game without a released set
BINS = 5  # of the player's values, from -1 to 1


@dataclass(frozen=True)
class Share:
    """A share: `hits` of `of`."""

    hits: int
    of: int

    @property
    def share(self) -> float | None:
        return self.hits / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval by Wilson."""
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
    """The positions whose value by the player lies between two numbers."""

    least: float
    most: float
    of: int
    predicted: float
    """The player's mean value."""
    true: float
    """The true mean value."""


@dataclass(frozen=True)
class Answer:
    """A player's choice in one position."""

    action: int
    value: float
    """The mover's, in [-1, 1]."""
    seconds: float


@dataclass(frozen=True)
class Accuracy:
    """The result of `measure`. Values are the mover's throughout."""

    game: str
    player: str
    """Its resolved text."""
    kept: Share
    """Moves that keep the value, in positions where some move does not."""
    quickest: Share | None
    """Moves that also win soonest or lose latest, in positions with known distances; None where there are none."""
    by_stage: dict[str, Share]
    """`kept` by fifth of the game."""
    by_value: dict[str, Share]
    """`kept` by the value of the position: win, draw, loss."""
    by_source: dict[str, Share]
    """`kept` by the origin of the positions."""
    by_stratum: dict[str, Share]
    """`kept` in hard and in easy positions; empty in games that alpha-beta does not play."""
    given_away: Mean
    """Value that the moves give away, in the positions of `kept`; utilities are in [-1, 1], so 2 is a win for a loss."""
    brier: Mean
    sign: Share
    """Values with the right sign, in positions that are won or lost."""
    bins: tuple[Bin, ...]
    """The player's values against the true ones."""
    seconds: float
    """Mean time of a move."""

    @property
    def stages(self) -> dict[int, Share]:
        """`by_stage` with the fifths numbered from 1; without positions of unknown stage."""
        return {stage + 1: self.by_stage[name] for stage in range(STAGES) if (name := _stage(stage)) in self.by_stage}

    def as_json(self) -> dict[str, Any]:
        """The object that `accuracy --json` prints; null for a share of no positions."""
        found = {
            "game": self.game,
            "player": self.player,
            "positions": self.brier.of,
            "kept": _share(self.kept),
            "quickest": _share(self.quickest) if self.quickest else None,
            "by_stage": {name: _share(each) for name, each in self.by_stage.items()},
            "by_value": {name: _share(each) for name, each in self.by_value.items()},
            "by_source": {name: _share(each) for name, each in self.by_source.items()},
            "by_stratum": {name: _share(each) for name, each in self.by_stratum.items()},
            "given_away": _figure(self.given_away),
            "brier": _figure(self.brier),
            "sign": _share(self.sign),
            "calibration": [
                {"from": each.least, "to": each.most, "of": each.of, "predicted": each.predicted, "true": each.true}
                for each in self.bins
            ],
            "seconds_per_move": self.seconds,
        }
        return rounded(found)


def measure(
    game: Game,
    player: Player,
    sample: Sequence[Solved],
    workers: Workers | int = 0,
    progress: Progress = lambda done, total: None,
) -> Accuracy:
    """The player's accuracy on a sample."""
    packed = pack_player(player)
    function = functools.partial(answer_line, KeptPlayers(game.spec, {packed.text: packed}), packed.text)
    answers, lines, files = [], [solved.line for solved in sample], files_of(game).unpack
    for _, found in run_jobs(function, lines, workers, initializer=files, ordered=True):
        answers.append(found)
        progress(len(answers), len(sample))
    return summary(game, player.text, sample, answers)


def answer(game: Game, player: Player, line: str) -> Answer:
    """The player's choice in one position: a function of the position alone, whose text seeds the player."""
    choice = choice_in(game, player, line)
    return Answer(choice.action, min(1.0, max(-1.0, choice.value)), choice.seconds)


def answer_line(players: KeptPlayers, text: str, line: str) -> Answer:
    """The same for workers."""
    return answer(load(players.game), players(text), line)


def summary(game: Game, player: str, sample: Sequence[Solved], answers: Sequence[Answer]) -> Accuracy:
    """The accuracy of a sample's answers."""
    pairs = list(zip(sample, answers, strict=True))
    choices = [pair for pair in pairs if pair[0].has_choice]
    timed = [pair for pair in choices if pair[0].quickest]
    decided = [pair for pair in pairs if pair[0].value != 0]
    return Accuracy(
        game=game.name,
        player=player,
        kept=_kept(choices),
        quickest=Share(sum(answer.action in solved.quickest for solved, answer in timed), len(timed))
        if timed
        else None,
        by_stage=_split(choices, lambda solved: _stage(solved.stage), [*map(_stage, range(STAGES)), _stage(None)]),
        by_value=_split(choices, lambda solved: _verdict(solved.value), ["win", "draw", "loss"]),
        by_source=_split(choices, lambda solved: solved.source or "file", sorted({s.source or "file" for s in sample})),
        by_stratum=_split(
            [pair for pair in choices if pair[0].is_hard is not None],
            lambda solved: "hard" if solved.is_hard else "easy",
            ["hard", "easy"],
        ),
        given_away=_mean([solved.given_away(answer.action) for solved, answer in choices]),
        brier=_mean([((answer.value - solved.value) / 2) ** 2 for solved, answer in pairs]),
        sign=Share(sum(answer.value * solved.value > 0 for solved, answer in decided), len(decided)),
        bins=tuple(_bins([(answer.value, solved.value) for solved, answer in pairs])),
        seconds=sum(answer.seconds for answer in answers) / max(len(answers), 1),
    )


def _kept(pairs: Iterable[tuple[Solved, Answer]]) -> Share:
    hits = [answer.action in solved.keep for solved, answer in pairs]
    return Share(sum(hits), len(hits))


def _split(pairs: list[tuple[Solved, Answer]], name: Callable[[Solved], str], names: list[str]) -> dict[str, Share]:
    """`kept` by group, in the order of `names`; empty groups are left out."""
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
    return Mean(mean, (max(0.0, mean - half), mean + half), n)


def _bins(pairs: list[tuple[float, float]]) -> Iterable[Bin]:
    """Bins of (predicted, true) by the predicted value; empty bins are left out."""
    for i in range(BINS):
        here = [pair for pair in pairs if min(int((pair[0] + 1) / 2 * BINS), BINS - 1) == i]
        if here:
            predicted, true = (sum(each) / len(here) for each in zip(*here, strict=True))
            yield Bin(round(2 * i / BINS - 1, 6), round(2 * (i + 1) / BINS - 1, 6), len(here), predicted, true)


def _share(share: Share) -> dict[str, Any]:
    interval = None if share.interval is None else list(share.interval)
    return {"share": share.share, "interval": interval, "hits": share.hits, "of": share.of}


def _figure(mean: Mean) -> dict[str, Any]:
    """null for the mean of nothing."""
    return {"mean": mean.mean, "interval": list(mean.interval)} if mean.of else {"mean": None, "interval": None}


def add_accuracy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("player", metavar="PLAYER", help="as in uct:sims=1000")
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--positions",
        metavar="FILE",
        help="a file of positions, a line each as in `choose`, instead of the released set",
    )
    group.add_argument(
        "--sample",
        type=int,
        metavar="N",
        help=f"draw and solve N positions instead of the released set ({SAMPLE} in a game without one)",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the sample")
    parser.add_argument("--json", action="store_true", help="print the result as one line of JSON")
    add_workers(parser)


def run_accuracy(options: argparse.Namespace) -> int:
    game = load(options.game)
    player = make_player(options.player, game)  # an early error, and compiled before the workers start
    with opened_workers(options) as workers:
        sample = _sample(game, options, workers)
        if not sample.positions:
            raise UserError(
                f"{options.positions}: expected positions that the solver can solve, got {sample.unsolved} that are too hard"
            )
        with progress_bar(options.player, "position") as progress:
            accuracy = measure(game, player, sample.positions, workers, progress)
    if options.json:
        left_out = {"unsolved": sample.unsolved, "missing": sample.missing}
        print(json.dumps(accuracy.as_json() | left_out, ensure_ascii=False))
    else:
        print(report(accuracy, options.player, sample.unsolved, sample.missing))
    return 0


def _sample(game: Game, options: argparse.Namespace, workers: Workers | int) -> Sample:
    """The positions that the options name."""
    if options.positions is None and options.sample is None and (sample := released(game)) is not None:
        return sample
    with progress_bar("solving", "position") as progress:
        if options.positions is not None:
            return read_positions(game, options.positions, workers, progress)
        return draw_positions(
            game, SAMPLE if options.sample is None else options.sample, options.seed, workers, progress
        )


def report(found: Accuracy, player: str, unsolved: int, missing: int) -> str:
    """The report for the terminal."""
    rows = [("keeps the value", found.kept)]
    rows += [(f"  in {name} positions", each) for name, each in found.by_stratum.items()]
    rows += [(f"  {name} of the game", each) for name, each in found.by_stage.items()]
    rows += [(f"  in a {name}", each) for name, each in found.by_value.items()]
    rows += [(f"  from games of {name}", each) for name, each in found.by_source.items() if name != "file"]
    rows += [("and is quickest", found.quickest or Share(0, 0)), ("value of the right sign", found.sign)]
    lines = [f"{found.game}: {player}", f"{found.brier.of} positions, {1000 * found.seconds:.1f} ms a move", ""]
    lines += [f"{name:<32}{_words(each)}" for name, each in rows]
    for name, mean in (("value given away, mean", found.given_away), ("Brier score", found.brier)):
        low, high = mean.interval
        lines += [f"{name:32}" + (f"{mean.mean:.4f}  [{low:.4f}, {high:.4f}]" if mean.of else "n/a")]
    lines.append("")
    lines += [f"{'value':>16}{'positions':>11}{'mean':>8}{'true':>8}   (the mover's: 1 wins, -1 loses)"]
    for each in found.bins:
        lines.append(f"{each.least:+7.1f} … {each.most:+.1f}{each.of:11}{each.predicted:+8.2f}{each.true:+8.2f}")
    if found.by_stratum:
        lines.append(f"\nhard: positions in which {HARD_FOR} gives value away")
    if unsolved:
        lines.append(f"\n{unsolved} positions were too hard for the solver and are left out")
    if missing:
        lines.append(f"\n{missing} positions fewer than --sample: no more were found")
    return "\n".join(lines)


def _words(share: Share) -> str:
    if share.interval is None:
        return "n/a"
    low, high = share.interval
    return f"{share.hits / share.of:6.1%}  [{low:.1%}, {high:.1%}]  {share.hits} of {share.of}"
