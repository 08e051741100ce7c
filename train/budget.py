"""How long a run lasts: so many games, or so many minutes of all its processes together."""

from __future__ import annotations

import math
from dataclasses import dataclass

from base.errors import UserError
from train.state import Progress

BLOCKS = 8
"""A budget in minutes has room for playing so many blocks of games at least, however long the games are."""


@dataclass(frozen=True)
class Budget:
    """In games, a run that was killed and resumed gives the same bits as one that was not; in minutes nothing can."""

    games: int = 0
    """Rounded up to whole iterations. 0: no such limit."""
    minutes: float = 0.0
    """By the clock, the evaluations between iterations included; within seconds, for the last block of games and its learning are cut.
    What is prepared before the first game (reference players, solved positions) and the evaluation of the last checkpoint come on top.
    0: no such limit."""

    def __post_init__(self) -> None:
        for name in ("games", "minutes"):
            if getattr(self, name) < 0:
                raise UserError(f"{name}: expected 0 or more, got {getattr(self, name)}")
        if self.games and self.minutes:
            raise UserError("budget: expected games or minutes, got both")

    def __str__(self) -> str:
        if not self.games and not self.minutes:
            return "no limit"
        return f"{self.games} games" if self.games else f"{self.minutes:g} minutes"

    def share(self, progress: Progress, seconds: float) -> float:
        """How much of it is used up; `seconds` is the time up to now."""
        if self.games:
            return min(1.0, progress.games / self.games)
        return min(1.0, seconds / (60 * self.minutes)) if self.minutes else 0.0

    def is_spent(self, progress: Progress, seconds: float) -> bool:
        """By the clock also where what is left is less than half of an iteration."""
        if self.games:
            return progress.games >= self.games
        if not self.minutes:
            return False
        half = progress.seconds / progress.iterations / 2 if progress.iterations else 0.0
        return seconds + half > 60 * self.minutes

    def left(self, seconds: float) -> float:
        """Of the time, after so many seconds; infinite without a limit in minutes."""
        return 60 * self.minutes - seconds if self.minutes else math.inf

    def block(self, seconds: float, learning: float) -> float:
        """Seconds that an iteration may play from now on, where learning takes `learning` times as long as playing: a part of the
        budget, so that long games leave several iterations, and no more than leaves time to learn."""
        return min(60 * self.minutes / BLOCKS, self.left(seconds) / (1 + learning)) if self.minutes else math.inf

    def iterations(self, games: int) -> int | None:
        """How many there will be of so many games each; None where that is unknown."""
        return math.ceil(self.games / games) if self.games else None
