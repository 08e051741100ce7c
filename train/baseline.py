"""The linear EVAL of a run: validated beside the network in every iteration, then fitted to the window.

    baseline = Baseline(game)
    expected = baseline.guess(fresh, plies)                 # of the last fit's weights, at plies of newer games
    baseline.fit(window, "the window after 512 games")      # the weights, for runs/NAME/eval/STEP.eval.json

The weights are a function of the window alone, so a run that was killed resumes to the same ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from classical.eval import Eval, eval_of, expected, fit_rows, positions
from games import Game
from train.window import Window

Array = np.ndarray[Any, Any]

MOST = 500_000
"""Plies that it is fitted to at most, the newest: so few weights do not gain from more."""


class Baseline:
    def __init__(self, game: Game) -> None:
        self.game = game
        self.is_there = game.rules.features is not None
        """A game without features has no EVAL."""
        self.weights: Eval | None = None
        """Those of the last fit."""

    def guess(self, window: Window, plies: Array) -> Array | None:
        """[n]: the utility expected at these plies of a window, from the mover's point of view; None before the first fit."""
        if self.weights is None:
            return None
        rows = positions(self.game, window.arrays())
        asked = rows.where(rows.is_mover & np.isin(rows.plies, plies))
        return expected(self.weights.array(self.game).astype(np.float64), asked)

    def fit(self, window: Window, source: str) -> Eval | None:
        """To the games of a window. None where there is nothing to fit, or nothing to fit it to."""
        rows = positions(self.game, window.arrays(), MOST).quiet() if self.is_there else None
        if rows is not None and len(rows):
            self.weights = eval_of(self.game, fit_rows(rows), source)
        return self.weights
