"""The numbers that searches with windows compare: whole millionths of a utility, with faster wins above slower ones.

    from classical.scores import UNIT, WIN, scorer, utility_of

    an end of utility u, -1 < u < 1      round(u·UNIT)
    a win (u = 1) `ply` actions on       WIN - ply, above every other score; a loss the same with a minus
    EVAL                                 at most 999,000 in size: no guess is as good as a win

`ply` counts from the root of the search, chance included. Whole numbers make windows of width one exact. Where dice are rolled, an
expectation is taken of utilities, and a win has to count for what it is worth: there an end scores u·UNIT whenever it comes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from games import Rules

UNIT = 1_000_000
"""The score of utility 1."""
WIN = 1_050_000
"""The score of a win at once; a win is one less for every action that it takes."""


def score_of(utility: Any, ply: Any) -> Any:
    """The score (int64) of an end `ply` actions from the root, from the view of whoever has `utility`."""
    if utility >= 1.0:
        return np.int64(WIN - ply)
    if utility <= -1.0:
        return np.int64(ply - WIN)
    return np.int64(round(utility * UNIT))


def scorer(rules: Rules) -> Callable[[Any, Any], Any]:
    """score(utility, ply) of an end as a float, for searches that take expectations: `score_of` where there is no chance."""
    if rules.chance is not None:

        def expected(utility: Any, ply: Any) -> Any:
            return np.float64(utility * UNIT)

        return expected

    def certain(utility: Any, ply: Any) -> Any:
        return np.float64(score_of(utility, ply))

    return certain


def utility_of(score: float) -> float:
    """A score as a utility in [-1, 1], from the same view."""
    return max(-1.0, min(1.0, float(score) / UNIT))
