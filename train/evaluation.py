"""How strong a checkpoint is, asked every few iterations: matches against classical players, and accuracy against the exact solver.

    evaluate = Arena(settings, workers)
    evaluate.prepare(game, log)                     # solves the sample of positions, where there is to be one
    found = evaluate(game, checkpoint, seed, log)   # found.line, found.curves

The rungs are the same for all checkpoints of a run: what changes from one point of a curve to the next is the network. The Elo shown
is the difference to the rung, with its interval of 95 %, as `python -m arena match` would say it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from arena.accuracy import asked, summary
from arena.match import Match
from arena.players import make_player
from arena.sample import make_sample
from arena.tally import Tally
from base.errors import UserError
from base.pool import run_jobs
from games import Game
from train.log import RunLog


@dataclass(frozen=True)
class EvaluationSettings:
    """What the arena is asked. Nothing here changes what is learned."""

    every: int = 10
    """Iterations between evaluations; the last checkpoint is always evaluated. 0: never."""
    rungs: tuple[str, ...] = ("uct:sims=200", "uct:sims=1000")
    """Whom the checkpoint plays, as `python -m arena players` has them."""
    blocks: int = 10
    """Openings of each match, each played in all arrangements of the two."""
    simulations: int = 100
    """Of the checkpoint's own search, each move."""
    sample: int = 0
    """Positions solved exactly, on which its moves are judged; for games that the solver can do. 0: none."""

    def __post_init__(self) -> None:
        for name in ("every", "sample"):
            if getattr(self, name) < 0:
                raise UserError(f"{name}: expected 0 or more, got {getattr(self, name)}")
        for name in ("blocks", "simulations"):
            if getattr(self, name) < 1:
                raise UserError(f"{name}: expected at least 1, got {getattr(self, name)}")


@dataclass(frozen=True)
class Evaluation:
    """What was measured of one checkpoint."""

    line: str
    """For the screen."""
    curves: Mapping[str, float] = field(default_factory=dict)
    """For TensorBoard."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Of each match and of each accuracy, as `--json` gives them."""


class Evaluate(Protocol):
    """What the loop asks of whoever measures."""

    def __call__(self, game: Game, checkpoint: Path, seed: int, log: RunLog, /) -> Evaluation: ...


class Arena:
    """Measures as `python -m arena` does."""

    def __init__(self, settings: EvaluationSettings, workers: int) -> None:
        self.settings, self.workers = settings, workers

    def prepare(self, game: Game, log: RunLog) -> None:
        """What is done once: rungs that cannot be made are refused, positions are solved (and cached for all runs)."""
        for rung in self.settings.rungs:
            make_player(rung, game)
        if self.settings.sample:
            with log.progress("solving", "position") as progress:
                make_sample(game, self.settings.sample, 1, self.workers, progress)

    def __call__(self, game: Game, checkpoint: Path, seed: int, log: RunLog, /) -> Evaluation:
        how = self.settings
        search, policy = f'net:"{checkpoint}",sims={how.simulations}', f'net:"{checkpoint}",sims=0'
        words: list[str] = []
        curves: dict[str, float] = {}
        details: dict[str, Any] = {}
        for rung in how.rungs:
            tally = self._match(game, search, rung, seed, log)
            details[rung] = tally.as_json()
            words.append(f"{_strength(tally)} against {rung}")
            curves |= {f"score/{rung}": _known(tally.score().value), **_elo_curves(rung, tally)}
        if how.sample:
            sample = make_sample(game, how.sample, 1, self.workers).positions
            for name, player in (("search", search), ("policy", policy)):
                jobs = [(game.spec, player, solved.line) for solved in sample]
                answers = log.bar(
                    run_jobs(asked, jobs, self.workers, ordered=True), len(jobs), f"accuracy, {name}", "move"
                )
                found = summary(game, player, sample, [answer for _, answer in answers])
                details[f"accuracy/{name}"] = found.as_json()
                curves |= {f"accuracy/{name}": _known(found.kept.share), f"brier/{name}": found.brier.mean}
                words.append(f"{name} keeps {_known(found.kept.share):.1%}")
        return Evaluation(", ".join(words), curves, details)

    def _match(self, game: Game, player: str, rung: str, seed: int, log: RunLog) -> Tally:
        match = Match(game, player, rung, seed)
        with log.progress(f"against {rung}", "game") as progress:
            total = self.settings.blocks * match.block_size
            tally = match.play(
                self.settings.blocks, self.workers, watch=lambda so_far, games: progress(so_far.games, total)
            )
        if match.is_interrupted:
            raise KeyboardInterrupt
        return tally


def _strength(tally: Tally) -> str:
    """Elo with its interval where that is bounded; the score where it is not, or among more than two."""
    score, elo = tally.score(), tally.elo()
    if elo.value is not None and elo.low is not None and elo.high is not None:
        return f"Elo {elo.value:+.0f} [{elo.low:+.0f}, {elo.high:+.0f}]"
    return f"{_known(score.value):.0%} of the points"


def _elo_curves(rung: str, tally: Tally) -> dict[str, float]:
    elo = tally.elo()
    found = {"": elo.value, " low": elo.low, " high": elo.high}
    return {f"elo/{rung}{name}": value for name, value in found.items() if value is not None}


def _known(number: float | None) -> float:
    return 0.0 if number is None else number
