"""The linear EVAL of a run: fitted to the window in every iteration, and judged beside the network before that.

    baseline = Baseline(game)
    baseline.look(window)                           # the window has taken new games
    baseline.judge(window.newest_plies(2048))       # curves of the weights so far, on games they were not fitted to
    baseline.fit("the window after 512 games")      # the weights, for runs/NAME/eval/STEP.eval.json

What it gives is a function of the window alone, so a run that was killed goes on to the same weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from classical.evaluation import Eval
from games import Game
from train.linear import eval_of, expected, fit_rows
from train.measures import judge
from train.positions import Rows, positions
from train.window import Window

Array = np.ndarray[Any, Any]

MOST = 500_000
"""Plies of the window, the newest, that it is fitted to: weights this few do not gain by more."""


class Baseline:
    def __init__(self, game: Game) -> None:
        self.game = game
        self.is_there = game.rules.features is not None
        """A game without features has no EVAL."""
        self.weights: Eval | None = None
        """Those of the last fit."""
        self.guess: tuple[Array, Array] | None = None
        """What it was last judged by: (expected, outcomes) in the mover's eyes."""
        self._rows: Rows | None = None

    def look(self, window: Window) -> None:
        """Features of the window's positions, which the other two look at."""
        if self.is_there:
            self._rows = positions(self.game, window.played(), MOST)

    def judge(self, plies: Array) -> dict[str, float]:
        """Curves of how good a guess EVAL is, in the mover's eyes, at these plies of the window."""
        if self._rows is None or self.weights is None:
            return {}
        asked = self._rows.where(self._rows.is_mover & np.isin(self._rows.plies, plies))
        theta = self.weights.array(self.game).astype(np.float64)
        self.guess = expected(theta, asked), asked.outcomes
        return judge(*self.guess).curves("fresh/eval")

    def fit(self, source: str) -> Eval | None:
        """None where there is nothing to fit, or nothing to fit it to."""
        rows = self._rows.quiet() if self._rows is not None else None
        self._rows = None  # as large as the window
        if rows is not None and len(rows):
            self.weights = eval_of(self.game, fit_rows(rows), source)
        return self.weights
