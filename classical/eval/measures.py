"""How well expected utilities match the outcomes of games: those of a linear EVAL, of a network, of a search.

found = judge(expected, outcomes)      # two arrays [n] of utilities in [-1, 1], from one player's point of view each
found.loss, found.sign, found.brier, found.spread
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

EDGE = 1e-3
"""Guesses are kept this far from certainty before their loss is computed, so that one wrong certainty does not decide the mean."""


@dataclass(frozen=True)
class Judged:
    """Of n guesses; NaN where there are none to judge."""

    n: int
    loss: float
    """Cross-entropy in nats of (1 + outcome) / 2, a draw being half a win: log 2 = 0.693 where nothing is known."""
    sign: float
    """Share of the right sign among positions that did not end in a draw; a guess of 0 is half right."""
    brier: float
    """Mean square of (guess - outcome) / 2: 0.25 for a guess of 0 where nothing is drawn."""
    spread: float
    """Standard deviation of the guesses: near 0, they say the same of every position."""

    def metrics(self, name: str) -> dict[str, float]:
        """`name` is `fresh/value`, `fresh/eval`."""
        return {f"{name} {each}": getattr(self, each) for each in ("loss", "sign", "brier", "spread")}


def judge(expected: Array, outcomes: Array) -> Judged:
    guess, end = np.asarray(expected, np.float64), np.asarray(outcomes, np.float64)
    if not len(guess):
        return Judged(0, *[float("nan")] * 4)
    p, won = np.clip((1 + guess) / 2, EDGE, 1 - EDGE), (1 + end) / 2
    loss = -(won * np.log(p) + (1 - won) * np.log1p(-p))
    decided = end != 0
    right = (1 + np.sign(guess[decided]) * np.sign(end[decided])) / 2
    sign = float(right.mean()) if decided.any() else float("nan")
    return Judged(len(guess), float(loss.mean()), sign, float(np.square((guess - end) / 2).mean()), float(guess.std()))
