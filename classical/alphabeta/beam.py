"""Beam and presort: actions ranked by EVAL of the positions that they lead to.

`presort=D` tries actions in that order from depth D on; `beam=N` searches only the best N of a position, unless all of them lose: the
"type B" search of Shannon, "Programming a Computer for Playing Chess" (1950).

Off by default: at equal time both cost strength in every game (docs/results.md). To remove them: this file, its lines in `ordering.py`
and step 7a of `search.py`, two switches in `settings.py` and a counter in `workspace.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from classical.alphabeta.workspace import Workspace
from classical.scores import UNIT, score_of
from classical.types import Kernel, Score
from games import Rules
from games.types import Integer

FIRST = 1 << 29  # the rank of an action that wins at once: above all but the table's


def is_by_eval(ws: Workspace, depth: Integer) -> bool:
    """Whether quiet actions are ranked by EVAL at this depth."""
    return bool(ws.beam > 0 or (ws.presort > 0 and depth >= ws.presort))


def eval_ranker(rules: Rules, estimate: Kernel) -> Callable[[Workspace, Integer, Integer, Integer], Integer]:
    """rank_by_eval(ws, ply, action, mover) -> the action's rank."""
    result, is_terminal, utility = rules.result, rules.is_terminal, rules.utility

    def rank_by_eval(ws: Workspace, ply: Integer, action: Integer, mover: Integer) -> Integer:
        ws.states[ply + 1] = ws.states[ply]
        child = ws.states[ply + 1]
        result(child, action)
        if is_terminal(child):
            score = score_of(utility(child, mover), ply + 1)
            return score if score < UNIT else FIRST
        return estimate(ws, child, mover)

    return rank_by_eval


def is_beyond_beam(ws: Workspace, tried: Integer, best: Score) -> bool:
    """The best N were tried, and not all of them lose."""
    return bool(ws.beam != 0 and tried >= ws.beam and best > -UNIT)
