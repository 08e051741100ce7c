"""Null move: a player who is above the window even after passing is taken to be above it (Beal 1989).

Deep cut-offs are verified by a search of the position itself, because a pass can be better than every action (zugzwang; Tabibi and
Netanyahu 2002, "Verified Null-Move Pruning").

Off by default: at equal time it loses in checkers and gains nothing certain in chess (docs/results.md). To remove it: this file, its
step 4b in `search.py`, its switch in `settings.py` and its counters in `workspace.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from classical.alphabeta.workspace import Workspace
from classical.types import Score
from games import Rules
from games.types import Integer

LEAST_DEPTH = 2
VERIFY_DEPTH = 6


def passer(rules: Rules) -> Callable[[Workspace, Integer, Integer, Score, Score], Integer]:
    """try_pass(ws, ply, depth, beta, guess) -> the depth to which the position after a pass is to be searched, -1 for no such search.

    The position after the pass is left in states[ply + 1].
    """
    null_result, can_pass = rules.null_result or (lambda state: False), rules.null_result is not None

    def try_pass(ws: Workspace, ply: Integer, depth: Integer, beta: Score, guess: Score) -> Integer:
        if not can_pass or ws.null == 0 or depth < LEAST_DEPTH or guess < beta:
            return np.int64(-1)
        ws.states[ply + 1] = ws.states[ply]
        if not null_result(ws.states[ply + 1]):
            return np.int64(-1)
        ws.null_tries += 1
        return max(depth - 1 - (2 + depth // 5), np.int64(0))

    return try_pass
