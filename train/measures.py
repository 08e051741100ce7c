"""How good guesses are: of a game's end, whoever guessed (the network's value, the linear EVAL, a search); of what a search will find.

found = judge(expected, outcomes)      # two arrays [n] of utilities in [-1, 1], in the mover's eyes
found.loss, found.sign, found.brier, found.spread
calibration(expected, outcomes)        # where it says +0.5, how do the games end?
correlation(expected, outcomes)        # below 0: it has it the wrong way round
agreement(policies, batch)             # is the network's first choice the search's?
explained(policies, batch)             # 1: its policy is the search's; 0: it is no better than a uniform one; below: worse
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from train.window import Batch  # which brings torch, and EVAL needs none

Array = np.ndarray[Any, Any]

EDGE = 1e-3
"""How near to certainty a guess may come before its loss is counted: one wrong certainty shall not be everything."""
ENOUGH = 50
"""Positions below which no correlation and no share of what is explained is told: NaN, which no curve shows."""


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

    def curves(self, name: str) -> dict[str, float]:
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


class Bin(NamedTuple):
    """Guesses of about the same size, together."""

    n: int
    guess: float
    outcome: float
    error: float
    """Standard error of the mean outcome."""


def calibration(expected: Array, outcomes: Array, bins: int = 10) -> list[Bin]:
    """By the guess, in equal steps from -1 to 1; empty ones are left out."""
    guess, end = np.asarray(expected, np.float64), np.asarray(outcomes, np.float64)
    which = np.minimum(((guess + 1) / 2 * bins).astype(int), bins - 1)
    found = []
    for each in range(bins):
        here = which == each
        n = int(here.sum())
        if n:
            error = float(end[here].std() / np.sqrt(n))
            found.append(Bin(n, float(guess[here].mean()), float(end[here].mean()), error))
    return found


def agreement(policies: Array, batch: Batch) -> dict[str, float]:
    """Of a network's policies [n, A] with those to learn, over positions that have one to learn."""
    taught = batch.policies.any(1)
    own, wanted = policies[taught].astype(np.float64), batch.policies[taught].astype(np.float64)
    if not len(own):
        return {}
    logs = np.log(np.maximum(own, 1e-12))
    return {
        "policy loss": float(-(wanted * logs).sum(1).mean()),
        "policy entropy": float(-(own * logs).sum(1).mean()),
        "top-1": float((own.argmax(1) == wanted.argmax(1)).mean()),
    }


def correlation(expected: Array, ended: Array) -> float:
    """NaN for few numbers, or where one of the two never changes."""
    expected, ended = np.asarray(expected, np.float64), np.asarray(ended, np.float64)
    if len(expected) < ENOUGH or min(expected.std(), ended.std()) < 1e-6:
        return float("nan")
    return float(np.corrcoef(expected, ended)[0, 1])


def explained(policies: Array, batch: Batch) -> float:
    """How much of the way from a uniform policy to the targets' own the network's is, in nats."""
    taught = batch.policies.any(1) & (batch.legal.sum(1) > 1)
    own, wanted = policies[taught].astype(np.float64), batch.policies[taught].astype(np.float64)
    if len(own) < ENOUGH:
        return float("nan")
    entropy = -(wanted * np.log(np.maximum(wanted, 1e-12))).sum()
    loss = -(wanted * np.log(np.maximum(own, 1e-12))).sum()
    uniform = np.log(batch.legal[taught].sum(1)).sum()
    return float((uniform - loss) / (uniform - entropy)) if uniform - entropy > 0.01 * len(own) else float("nan")
