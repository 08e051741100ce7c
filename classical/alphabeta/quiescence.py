"""Beyond the horizon: EVAL is asked only where nothing is hanging, so tactical actions go on until there are none.

A player who need not take may keep what EVAL gives ("stand pat"). That is sound only where something else than a tactical action could
be played: not amid a turn that goes on, and not where the rules force the taking. Amid a turn without a tactical action all actions are
tried, and EVAL is asked right behind them. (Shannon 1950; Harris 1975; Beal 1990.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from classical.alphabeta.ordering import TACTICAL, pick
from classical.alphabeta.workspace import HORIZON, INFINITY, levels
from classical.scores import score_of
from games import Rules

LONGEST = 32  # plies of quiescence


def quiescer(rules: Rules, estimate: Callable[..., Any]) -> Callable[..., Any]:
    """quiesce(ws, ply, alpha, beta, goes_on, plies_left) -> score, the mover's. The caller has counted the node."""
    to_move, legal_actions, tactical_actions = rules.to_move, rules.legal_actions, rules.tactical_actions
    result, is_terminal, utility = rules.result, rules.is_terminal, rules.utility
    gain = rules.gain or (lambda state, action: 0.0)
    deepest = levels(rules) - 2

    def quiesce(ws: Any, ply: Any, alpha: Any, beta: Any, goes_on: Any, plies_left: Any) -> Any:
        here, state = ws.plies[ply], ws.states[ply]
        here.line_length = 0
        mover = to_move(state)
        ws.flags = HORIZON
        if ply >= deepest or (plies_left <= 0 and goes_on == 0):
            return estimate(ws, state, mover)

        # 1. What there is to take; standing pat
        best = np.int64(-INFINITY)
        n = tactical_actions(state, here.actions)
        left = plies_left - 1
        if goes_on != 0:
            if n == 0:
                n = legal_actions(state, here.actions)
                left = np.int64(0)
        elif n == 0 or legal_actions(state, ws.plies[ply + 1].actions) > n:
            best = estimate(ws, state, mover)
            if n == 0 or best >= beta:
                ws.stand_pats += 1
                return best
            alpha = max(alpha, best)
        for i in range(n):
            here.ranks[i] = TACTICAL + np.int64(1024 * gain(state, here.actions[i]))

        # 2. Take, the most first
        for i in range(n):
            pick(ws, ply, i, n)
            ws.states[ply + 1] = state
            child = ws.states[ply + 1]
            result(child, here.actions[i])
            if ws.nodes >= ws.grace and (ws.stop != 0 or ws.nodes >= ws.node_limit):
                ws.aborted = 1
                return np.int64(0)
            ws.nodes += 1
            ws.quiet_nodes += 1
            if is_terminal(child):
                ws.ends += 1
                value = score_of(utility(child, mover), ply + 1)
            elif to_move(child) == mover:
                value = quiesce(ws, ply + 1, alpha, beta, np.int64(1), left)
            else:
                value = -quiesce(ws, ply + 1, -beta, -alpha, np.int64(0), left)
            if ws.aborted:
                return np.int64(0)
            if value > best:
                best = value
                if value > alpha:
                    alpha = value
                    if value >= beta:
                        break
        ws.flags = HORIZON
        return best

    return quiesce
