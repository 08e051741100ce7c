"""Which action first: alpha-beta visits the fewest positions where the best comes first (Knuth and Moore 1975).

Ranks, highest first; within a kind as noted:

| rank        | which                                                                   |
|-------------|-------------------------------------------------------------------------|
| HINT        | the table's action                                                       |
| TACTICAL +  | actions with a gain, by it                                               |
| KILLER      | the two quiet actions that cut off last at this ply                      |
| around 0    | the others: by EVAL of the child (`beam.py`), else by the history table  |
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from classical.alphabeta.beam import eval_ranker, is_by_eval
from classical.alphabeta.workspace import NONE, Workspace
from classical.eval import evaluator
from classical.scores import UNIT
from classical.types import Kernel, Score
from games import Rules
from games.types import GameState, Integer

HINT, TACTICAL, KILLER = 1 << 30, 1 << 26, 1 << 24
MOST = 1 << 14  # bound of the history table
MOST_GAIN = 1 << 20


def estimator(rules: Rules) -> Callable[[Workspace, GameState, Integer], Score]:
    """estimate(ws, state, player): EVAL as a score."""
    evaluate = evaluator(rules)

    def estimate(ws: Workspace, state: GameState, player: Integer) -> Score:
        ws.evaluations += 1
        return np.int64(np.rint(evaluate(state, player, ws.weights, ws.values) * UNIT))

    return estimate


def ranker(rules: Rules, estimate: Kernel) -> Callable[..., None]:
    """rank(ws, ply, n, mover, depth, hint): ranks the first n actions listed at that ply."""
    gain = rules.gain or (lambda state, action: 0.0)
    has_gain = rules.gain is not None
    rank_by_eval = eval_ranker(rules, estimate)

    def rank(ws: Workspace, ply: Integer, n: Integer, mover: Integer, depth: Integer, hint: Integer) -> None:
        here, state = ws.plies[ply], ws.states[ply]
        by_gain = has_gain and ws.ordering != 0
        by_eval = is_by_eval(ws, depth)
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
                here.ranks[i] = rank_by_eval(ws, ply, action, mover)
            else:
                here.ranks[i] = ws.cutoffs_by[mover, action] if ws.history else 0

    return rank


def pick(ws: Workspace, ply: Integer, i: Integer, n: Integer) -> None:
    """Moves the highest rank from i on to i; the others keep their order. Most nodes cut off before all are sorted."""
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


def reward(ws: Workspace, ply: Integer, i: Integer, mover: Integer, depth: Integer) -> None:
    """The i-th action listed, a quiet one, cut off: it becomes a killer and rises in the history table; those before it sink."""
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


def adjust(ws: Workspace, mover: Integer, action: Integer, bonus: Integer) -> None:
    """Towards ±MOST, the slower the nearer it is."""
    old = np.int64(ws.cutoffs_by[mover, action])
    ws.cutoffs_by[mover, action] = old + bonus - old * abs(bonus) // MOST


def forget(ws: Workspace) -> None:
    """Before a new search."""
    ws.cutoffs_by[:] = 0
    for ply in range(len(ws.plies)):
        ws.plies[ply].killers[:] = NONE
