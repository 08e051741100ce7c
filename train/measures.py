"""How good guesses are: of a game's end (`judge` of `classical.eval` as well), and of what a search will find.

calibration(expected, outcomes)        # where it says +0.5, how do the games end?
correlation(expected, outcomes)        # below 0: it has it the wrong way round
agreement(policies, batch)             # is the network's first choice the search's?
explained(policies, batch)             # 1: its policy is the search's; 0: it is no better than a uniform one; below: worse
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from train.window import Batch  # which brings torch, and EVAL needs none

Array = np.ndarray[Any, Any]

ENOUGH = 50
"""Positions below which no correlation and no share of what is explained is told: NaN, which no curve shows."""


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
