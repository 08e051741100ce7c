"""How good expectations are: of the outcome of a game (see also `classical.eval.judge`), and of what a search will find.

calibration(expected, outcomes)              # where the expectation is +0.5, how do the games end?
correlation(expected, outcomes)              # below 0: the sign is wrong somewhere
agreement(policies, targets)                 # is the network's first choice the search's?
explained(policies, targets, legal)          # 1: its policy is the search's; 0: no better than a uniform one; below: worse
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

BINS = 10
ENOUGH = 50
"""Positions below which a correlation and a share explained are NaN, which no chart shows."""


FEWEST = 20
"""Positions below which a bin of a calibration is not drawn."""


class Bin(NamedTuple):
    """Expectations of about the same size, together."""

    n: int
    expected: float
    outcome: float
    error: float
    """Standard error of the mean outcome."""


def _bin(expected: Array) -> Array:
    found: Array = np.minimum(((expected + 1) / 2 * BINS).astype(int), BINS - 1)
    return found


def middle(expected: float) -> float:
    """Of the bin that holds this expectation."""
    return 2 * (int(_bin(np.array(expected))) + 0.5) / BINS - 1


def calibration(expected: Array, outcomes: Array) -> list[Bin]:
    """In bins of equal width from -1 to 1 by the expectation; empty ones are left out."""
    guess, end = np.asarray(expected, np.float64), np.asarray(outcomes, np.float64)
    which = _bin(guess)
    found = []
    for each in range(BINS):
        here = which == each
        n = int(here.sum())
        if n:
            error = float(end[here].std() / np.sqrt(n))
            found.append(Bin(n, float(guess[here].mean()), float(end[here].mean()), error))
    return found


def drawable(found: Mapping[str, Sequence[Bin]]) -> dict[str, list[Bin]]:
    """The bins with positions enough, by source; sources without one are left out."""
    kept = {name: [each for each in bins if each.n >= FEWEST] for name, bins in found.items()}
    return {name: bins for name, bins in kept.items() if bins}


def agreement(policies: Array, targets: Array) -> dict[str, float]:
    """Of a network's policies [n, A] with their targets [n, A], over positions that have one (elsewhere the target is all zeros)."""
    taught = targets.any(1)
    own, wanted = policies[taught].astype(np.float64), targets[taught].astype(np.float64)
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


def explained(policies: Array, targets: Array, legal: Array) -> float:
    """How far the network's policy has come from a uniform one (0) to the target itself (1), measured in nats."""
    taught = targets.any(1) & (legal.sum(1) > 1)
    own, wanted = policies[taught].astype(np.float64), targets[taught].astype(np.float64)
    if len(own) < ENOUGH:
        return float("nan")
    entropy = -(wanted * np.log(np.maximum(wanted, 1e-12))).sum()
    loss = -(wanted * np.log(np.maximum(own, 1e-12))).sum()
    uniform = np.log(legal[taught].sum(1)).sum()
    return float((uniform - loss) / (uniform - entropy)) if uniform - entropy > 0.01 * len(own) else float("nan")
