"""What the report shows of a run. `train/run_reader.py` reads it from a run's folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from base.errors import UserError, nearest
from checkpoints import Card
from classical.eval import Eval
from games import Game
from games.record import GameRecord
from monitor.history import History
from monitor.quality import Bin

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class RunData:
    """A run as it was when it was read: configuration, metrics, evaluations, warnings, newest games."""

    name: str
    folder: Path
    history: History
    game_spec: str
    net: str
    settings: Mapping[str, str]
    """Every `section.key` of its configuration, with its value as TOML has it."""
    usual: Mapping[str, str]
    """The default configuration of the game."""
    toml: str
    """The configuration as a file."""
    simulations: int
    """Of a search in evaluations."""
    evaluated_every: int
    """So many games; 0: never."""
    game: Game | None = None
    """None where its rules are not found any more."""
    budget: str = "no limit"
    is_by_games: bool = False
    """The budget is a number of games."""
    command: str = ""
    """Makes such a run again."""
    seconds: float = 0.0
    """Spent up to the last saved state."""
    saved_games: int = 0
    """Up to the last saved state."""
    card: Card | None = None
    """Of the newest checkpoint."""
    evaluations: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)
    """After how many games, the details that the arena measured."""
    warnings: list[dict[str, Any]] = field(default_factory=list)
    """Lines of warnings.jsonl, the oldest first."""
    calibration: Mapping[str, Sequence[Bin]] = field(default_factory=dict)
    """Of the newest iteration, by source."""
    weights: Eval | None = None
    """The newest fitted EVAL."""
    by_hand: Eval | None = None
    """The EVAL of the game's file."""
    records: list[GameRecord] = field(default_factory=list)
    """Games of the newest complete iteration."""
    iteration: int = 0
    """Its number."""
    unreadable: list[str] = field(default_factory=list)
    """What could not be read, a sentence each."""

    @property
    def games(self) -> int:
        """How many have been played and learned from."""
        return max((row["games"] for row in self.history.rows), default=0)

    def last(self, name: str) -> float | None:
        return self.history.last(name)

    def series(self, name: str) -> tuple[Array, Array]:
        """Games and values of one metric (docs/tensorboard.md lists them)."""
        known = self.history.names()
        if name not in known:
            raise UserError(f"{self.folder}: expected a metric of this run, got '{name}'{nearest(name, known)}")
        games, values = self.history.series(name)
        return np.array(games, np.int64), np.array(values, np.float64)
