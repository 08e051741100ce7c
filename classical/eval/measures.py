"""How well expected utilities match the outcomes of games: those of a linear EVAL, of a network, of a search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from games.types import Array

EDGE = 1e-3
"""Guesses are kept this far from certainty before their loss is computed, so that one wrong certainty does not decide the mean."""


@dataclass(frozen=True)
class Judged:
    """The quality of n expected utilities; NaN where n is 0."""

    n: int
    loss: float
    """Cross-entropy in nats of (1 + outcome) / 2, with a draw as half a win: log 2 = 0.693 for a constant 0."""
    sign: float
    """Share of right signs among positions of decided games; 0 counts as half right."""
    brier: float
    """Mean square of (expected - outcome) / 2: 0.25 for a constant 0 without draws."""
    spread: float
    """Standard deviation of the expected utilities: near 0, all positions get the same."""

    def metrics(self, name: str) -> dict[str, float]:
        """`name` is `fresh/value`, `fresh/eval`."""
        return {f"{name} {each}": getattr(self, each) for each in ("loss", "sign", "brier", "spread")}


def judge(expected: Array, outcomes: Array) -> Judged:
    """`expected` and `outcomes`: utilities [n] in [-1, 1], each pair from one player's point of view."""
    guess, end = np.asarray(expected, np.float64), np.asarray(outcomes, np.float64)
    if not len(guess):
        return Judged(0, *[float("nan")] * 4)
    p, won = np.clip((1 + guess) / 2, EDGE, 1 - EDGE), (1 + end) / 2
    loss = -(won * np.log(p) + (1 - won) * np.log1p(-p))
    decided = end != 0
    right = (1 + np.sign(guess[decided]) * np.sign(end[decided])) / 2
    sign = float(right.mean()) if decided.any() else float("nan")
    return Judged(len(guess), float(loss.mean()), sign, float(np.square((guess - end) / 2).mean()), float(guess.std()))
