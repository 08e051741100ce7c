"""Quiescence: beyond the horizon tactical actions are searched until none is left, so that EVAL is applied to quiet positions only.

A player who need not capture may keep the value of EVAL ("stand pat"). That is sound only where a quiet action could be played: not in
the middle of a turn, not where the rules force a capture, and not in check, where all actions are searched. In the middle of a turn
without a tactical action all actions are searched too, each followed by EVAL. (Shannon 1950; Harris 1975; Beal 1990.)
"""

from __future__ import annotations

import numpy as np

from classical.alphabeta.ordering import TACTICAL, pick
from classical.alphabeta.workspace import HORIZON, INFINITY, Workspace, levels
from classical.types import Codes, Kernel, Score
from games import Rules
from games.types import Integer

LONGEST = 32  # plies of quiescence
CHECKS = 1  # the first of them: checks that capture nothing are searched, and all replies to a check
BARE = 0.25  # in games with checks, an action with less gain is a check that captures nothing


def quiescer(rules: Rules, estimate: Kernel, end_of: Kernel) -> Kernel:
    """quiesce(ws, endgames, ply, alpha, beta, mid_turn, plies_left) -> score, the mover's. The caller counts the node."""
    to_move, legal_actions, tactical_actions = rules.to_move, rules.legal_actions, rules.tactical_actions
    result, in_check, has_checks = rules.result, rules.in_check or (lambda state: False), rules.in_check is not None
    gain = rules.gain or (lambda state, action: 0.0)
    deepest = levels(rules) - 2

    def quiesce(
        ws: Workspace, endgames: Codes, ply: Integer, alpha: Score, beta: Score, mid_turn: Integer, plies_left: Integer
    ) -> Score:
        here, state = ws.plies[ply], ws.states[ply]
        here.line_length = 0
        mover = to_move(state)
        depends: Integer = HORIZON
        ws.depends = HORIZON
        if ply >= deepest or (plies_left <= 0 and mid_turn == 0):
            return estimate(ws, state, mover)

        # 1. Tactical actions; stand pat
        best = np.int64(-INFINITY)
        left = plies_left - 1
        checked = has_checks and ws.checks != 0 and mid_turn == 0 and plies_left >= LONGEST - CHECKS and in_check(state)
        n = np.int64(legal_actions(state, here.actions) if checked else tactical_actions(state, here.actions))
        if mid_turn != 0:
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
        if (
            n < listed and best == -INFINITY
        ):  # all actions are tactical, but not all are searched: checks that capture nothing
            best = estimate(ws, state, mover)
            if n == 0 or best >= beta:
                ws.stand_pats += 1
                return best
            alpha = max(alpha, best)

        # 2. Search them, the largest gain first
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
            depends |= ws.depends
            if value > best:
                best = value
                if value > alpha:
                    alpha = value
                    if value >= beta:
                        break
        ws.depends = depends
        return best

    return quiesce
