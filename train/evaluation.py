"""How strong a checkpoint is, asked every few iterations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from base.errors import UserError
from games import Game
from train.log import RunLog


@dataclass(frozen=True)
class EvaluationSettings:
    every: int = 5
    """Iterations between evaluations; the last checkpoint is always evaluated. 0: never."""

    def __post_init__(self) -> None:
        if self.every < 0:
            raise UserError(f"every: expected 0 or more, got {self.every}")


@dataclass(frozen=True)
class Evaluation:
    """What was measured of one checkpoint."""

    line: str
    """For the screen."""
    curves: Mapping[str, float] = field(default_factory=dict)
    """For TensorBoard."""
    elo: tuple[float, float, float] | None = None
    """The rating and the ends of its interval, for the checkpoint's card."""


class Evaluate(Protocol):
    """What the loop asks of whoever measures."""

    def __call__(self, game: Game, checkpoint: Path, seed: int, log: RunLog, /) -> Evaluation: ...
