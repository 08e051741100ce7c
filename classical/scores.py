"""Scores: what searches with windows compare. Whole millionths of a utility, with faster wins above slower ones.

    from classical.scores import UNIT, WIN, scorer, utility_of

    an end of utility u, -1 < u < 1      round(u·UNIT)
    a win (u = 1) after `ply` actions    WIN - ply, above every other score; a loss is the same with a minus
    EVAL                                 at most LARGEST_EVAL in size: below every win

`ply` counts from the root of the search, chance events included. Whole numbers make windows of width one exact. In games with dice,
searches take expectations of utilities, so there an end scores u·UNIT at any ply.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from classical.types import Score
from games import Rules
from games.types import Integer

UNIT = 1_000_000
"""The score of utility 1."""
WIN = 1_050_000
"""The score of a win at ply 0; one less for every action that it takes."""
LARGEST_EVAL = 999_000
"""The largest score of EVAL (`classical.eval.INSIDE` in UNITs)."""


def score_of(utility: Any, ply: Integer) -> Score:
    """The score (int64) of an end `ply` actions from the root, from the point of view of the player whose utility it is."""
    if utility >= 1.0:
        return np.int64(WIN - ply)
    if utility <= -1.0:
        return np.int64(ply - WIN)
    return np.int64(round(utility * UNIT))


def scorer(rules: Rules) -> Callable[[Any, Integer], Score]:
    """score(utility, ply) of an end as a float, for searches that take expectations: `score_of` where there is no chance."""
    if rules.chance is not None:

        def expected(utility: Any, ply: Integer) -> Score:
            return np.float64(utility * UNIT)

        return expected

    def certain(utility: Any, ply: Integer) -> Score:
        return np.float64(score_of(utility, ply))

    return certain


def utility_of(score: float) -> float:
    """A score as a utility in [-1, 1], from the same point of view."""
    return max(-1.0, min(1.0, float(score) / UNIT))
