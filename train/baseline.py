"""The linear EVAL of a run: fitted to the window in every iteration, and judged beside the network before that.

    baseline = Baseline(game)
    expected = baseline.guess(fresh, plies)                 # what the weights so far expect at plies of games they were not fitted to
    baseline.fit(window, "the window after 512 games")      # the weights, for runs/NAME/eval/STEP.eval.json

What it gives is a function of the window alone, so a run that was killed goes on to the same weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from classical.eval import Eval, eval_of, expected, fit_rows, positions
from games import Game
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

    def guess(self, window: Window, plies: Array) -> Array | None:
        """[n]: the utility expected at these plies of a window, in the mover's eyes; None before the first fit."""
        if self.weights is None:
            return None
        rows = positions(self.game, window.played())
        asked = rows.where(rows.is_mover & np.isin(rows.plies, plies))
        return expected(self.weights.array(self.game).astype(np.float64), asked)

    def fit(self, window: Window, source: str) -> Eval | None:
        """To the games of a window. None where there is nothing to fit, or nothing to fit it to."""
        rows = positions(self.game, window.played(), MOST).quiet() if self.is_there else None
        if rows is not None and len(rows):
            self.weights = eval_of(self.game, fit_rows(rows), source)
        return self.weights
