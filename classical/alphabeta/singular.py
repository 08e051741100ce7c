"""Singular extension: an action that is much better than all others is searched one deeper (Anantharaman, Campbell and Hsu 1990).

Whether the table's action is singular is decided by a shallower search of all others. An only action is extended as well.

Off by default: at equal time it loses clearly in chess and gains nothing elsewhere (docs/results.md). To remove it: this file, its
steps in `search.py` (5, 6, 7b), its switch in `settings.py` and its counter in `workspace.py`.
"""

from __future__ import annotations

import numpy as np

from base.bits import U
from classical.alphabeta.table import action_of, bound_of, depth_of, stored_score
from classical.alphabeta.workspace import INFINITY, NONE, UPPER, Workspace
from classical.scores import LARGEST_EVAL, UNIT
from classical.types import Score
from games.types import Bits, Integer

LEAST_DEPTH = 4
MARGIN = UNIT // 20


def singular_target(ws: Workspace, entry: Bits, ply: Integer, depth: Integer) -> Score:
    """The score that no other action may reach if the table's action is singular; -INFINITY where that is not examined."""
    if ws.singular == 0 or ply >= ws.deepest or entry == U(0) or depth < LEAST_DEPTH or action_of(entry) == NONE:
        return np.int64(-INFINITY)
    score = stored_score(entry, ply)
    if bound_of(entry) == UPPER or depth_of(entry) < depth - 3 or abs(score) >= LARGEST_EVAL:
        return np.int64(-INFINITY)
    return score - MARGIN


def singular_depth(depth: Integer) -> Integer:
    """How deep the others are searched."""
    return (depth - 1) // 2
