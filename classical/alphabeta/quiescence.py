"""Beyond the horizon: EVAL is asked only where nothing is hanging, so tactical actions go on until there are none.

A player who need not take may keep what EVAL gives ("stand pat"). That is sound only where something else than a tactical action could
be played: not amid a turn that goes on, not where the rules force the taking, and not in check, where all actions are tried. Amid a
turn without a tactical action all actions are tried too, and EVAL is asked right behind them. (Shannon 1950; Harris 1975; Beal 1990.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from classical.alphabeta.ordering import TACTICAL, pick
from classical.alphabeta.workspace import HORIZON, INFINITY, levels
from games import Rules

LONGEST = 32  # plies of quiescence
CHECKS = 1  # the first of them, in which bare checks are tried; whoever is in check by then tries all actions
BARE = 0.25  # of gain: less, in games with checks, is a check that takes nothing


def quiescer(rules: Rules, estimate: Callable[..., Any], end_of: Callable[..., Any]) -> Callable[..., Any]:
    """quiesce(ws, endgames, ply, alpha, beta, goes_on, plies_left) -> score, the mover's. The caller has counted the node."""
    to_move, legal_actions, tactical_actions = rules.to_move, rules.legal_actions, rules.tactical_actions
    result, in_check, has_checks = rules.result, rules.in_check or (lambda state: False), rules.in_check is not None
    gain = rules.gain or (lambda state, action: 0.0)
    deepest = levels(rules) - 2

    def quiesce(ws: Any, endgames: Any, ply: Any, alpha: Any, beta: Any, goes_on: Any, plies_left: Any) -> Any:
        here, state = ws.plies[ply], ws.states[ply]
        here.line_length = 0
        mover = to_move(state)
        flags: Any = HORIZON
        ws.flags = HORIZON
        if ply >= deepest or (plies_left <= 0 and goes_on == 0):
            return estimate(ws, state, mover)

        # 1. What there is to take; standing pat
        best = np.int64(-INFINITY)
        left = plies_left - 1
        checked = has_checks and ws.checks != 0 and goes_on == 0 and plies_left >= LONGEST - CHECKS and in_check(state)
        n = np.int64(legal_actions(state, here.actions) if checked else tactical_actions(state, here.actions))
        if goes_on != 0:
            if n == 0:
                n = np.int64(legal_actions(state, here.actions))
                left = np.int64(0)
        elif not checked and (n == 0 or legal_actions(state, ws.plies[ply + 1].actions) > n):
            best = estimate(ws, state, mover)
            if n == 0 or best >= beta:
                ws.stand_pats += 1
                return best
            alpha = max(alpha, best)
        listed, n = n, np.int64(0)
        for i in range(listed):
            taken = gain(state, here.actions[i])
            if has_checks and taken < BARE and not checked and plies_left <= LONGEST - CHECKS:
                continue
            here.actions[n] = here.actions[i]
            here.ranks[n] = TACTICAL + np.int64(1024 * taken)
            n += 1

        # 2. Take, the most first
        for i in range(n):
            pick(ws, ply, i, n)
            ws.states[ply + 1] = state
            child = ws.states[ply + 1]
            result(child, here.actions[i])
            if ws.nodes >= ws.grace and (ws.stop != 0 or ws.nodes >= ws.node_limit):
                ws.aborted = 1
                return np.int64(0)
            ws.quiet_nodes += 1
            over, value = end_of(ws, endgames, child, mover, ply)
            if not over:
                ws.nodes += 1
                if to_move(child) == mover:
                    value = quiesce(ws, endgames, ply + 1, alpha, beta, np.int64(1), left)
                else:
                    value = -quiesce(ws, endgames, ply + 1, -beta, -alpha, np.int64(0), left)
            if ws.aborted:
                return np.int64(0)
            flags |= ws.flags
            if value > best:
                best = value
                if value > alpha:
                    alpha = value
                    if value >= beta:
                        break
        ws.flags = flags
        return best

    return quiesce
