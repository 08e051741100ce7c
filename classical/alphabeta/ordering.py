"""Which action first: alpha-beta visits the fewest positions where the best comes first (Knuth and Moore 1975).

Ranks, highest first; within a kind as noted:

| rank        | who                                                                     |
|-------------|-------------------------------------------------------------------------|
| HINT        | the table's action; an action that wins at once, where children are seen |
| TACTICAL +  | actions with a gain, by it                                               |
| KILLER      | the two quiet actions that cut off last at this ply                      |
| around 0    | the rest: by EVAL of the child (`presort`), else by the history table    |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from classical.alphabeta.workspace import NONE
from classical.eval import evaluator
from classical.scores import UNIT, score_of
from games import Rules

HINT, TACTICAL, KILLER = 1 << 30, 1 << 26, 1 << 24
MOST = 1 << 14  # the history table stays within ±this
MOST_GAIN = 1 << 20


def estimator(rules: Rules) -> Callable[[Any, Any, Any], Any]:
    """estimate(ws, state, player): EVAL as a score."""
    evaluate = evaluator(rules)

    def estimate(ws: Any, state: Any, player: Any) -> Any:
        ws.evaluations += 1
        return np.int64(np.rint(evaluate(state, player, ws.weights, ws.values) * UNIT))

    return estimate


def ranker(rules: Rules, estimate: Callable[..., Any]) -> Callable[..., None]:
    """rank(ws, ply, n, mover, depth, hint): ranks the first n actions listed at that ply."""
    result, is_terminal, utility = rules.result, rules.is_terminal, rules.utility
    gain = rules.gain or (lambda state, action: 0.0)
    has_gain = rules.gain is not None

    def rank(ws: Any, ply: Any, n: Any, mover: Any, depth: Any, hint: Any) -> None:
        here, state = ws.plies[ply], ws.states[ply]
        by_gain = has_gain and ws.ordering != 0
        by_eval = ws.beam > 0 or (ws.presort > 0 and depth >= ws.presort)
        for i in range(n):
            action = here.actions[i]
            if action == hint:
                here.ranks[i] = HINT
                continue
            if by_gain:
                taken = gain(state, action)
                if taken > 0:
                    here.ranks[i] = TACTICAL + min(int(taken * 1024), MOST_GAIN)
                    continue
            if ws.killers:
                if action == here.killers[0]:
                    here.ranks[i] = KILLER
                    continue
                if action == here.killers[1]:
                    here.ranks[i] = KILLER - 1
                    continue
            if by_eval:
                ws.states[ply + 1] = state
                child = ws.states[ply + 1]
                result(child, action)
                if is_terminal(child):
                    score = score_of(utility(child, mover), ply + 1)
                    here.ranks[i] = score if score < UNIT else HINT - 1
                else:
                    here.ranks[i] = estimate(ws, child, mover)
            else:
                here.ranks[i] = ws.cutoffs_by[mover, action] if ws.history else 0

    return rank


def pick(ws: Any, ply: Any, i: Any, n: Any) -> None:
    """Brings the highest rank from i on to i, the others keep their order; after most cut-offs the rest need no sorting."""
    here = ws.plies[ply]
    best = i
    for j in range(i + 1, n):
        if here.ranks[j] > here.ranks[best]:
            best = j
    action, rank = here.actions[best], here.ranks[best]
    for j in range(best, i, -1):
        here.actions[j] = here.actions[j - 1]
        here.ranks[j] = here.ranks[j - 1]
    here.actions[i] = action
    here.ranks[i] = rank


def reward(ws: Any, ply: Any, i: Any, mover: Any, depth: Any) -> None:
    """The i-th action listed, a quiet one, cut off: it becomes a killer and rises in the history table, those before it sink."""
    here = ws.plies[ply]
    action = here.actions[i]
    if here.killers[0] != action:
        here.killers[1] = here.killers[0]
        here.killers[0] = action
    if not ws.history:
        return
    bonus = min(np.int64(16) * depth * depth, np.int64(MOST // 8))
    adjust(ws, mover, action, bonus)
    for j in range(i):
        if here.ranks[j] < TACTICAL:
            adjust(ws, mover, here.actions[j], -bonus)


def adjust(ws: Any, mover: Any, action: Any, bonus: Any) -> None:
    """Towards ±MOST, the slower the nearer it is."""
    old = np.int64(ws.cutoffs_by[mover, action])
    ws.cutoffs_by[mover, action] = old + bonus - old * abs(bonus) // MOST


def forget(ws: Any) -> None:
    """Before a new search."""
    ws.cutoffs_by[:] = 0
    for ply in range(len(ws.plies)):
        ws.plies[ply].killers[:] = NONE
