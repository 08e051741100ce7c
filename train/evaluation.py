"""How strong a checkpoint is, asked every few iterations."""

from __future__ import annotations

from dataclasses import dataclass

from base.errors import UserError


@dataclass(frozen=True)
class EvaluationSettings:
    every: int = 5
    """Iterations between evaluations; the last checkpoint is always evaluated. 0: never."""

    def __post_init__(self) -> None:
        if self.every < 0:
            raise UserError(f"every: expected 0 or more, got {self.every}")
