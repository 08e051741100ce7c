"""The log of a search: its tree, edge by edge (`workspace.LOG`). Off by default; `python -m arena explain` draws it."""

from __future__ import annotations

import numpy as np

from classical.alphabeta.workspace import END, EXACT, INNER, LEAF, LOWER, PRUNED, UPPER, Workspace
from classical.types import Score
from games.types import Integer


def log_edge(
    ws: Workspace, parent: Integer, ply: Integer, mover: Integer, action: Integer, alpha: Score, beta: Score
) -> Integer:
    """A new edge, the parent of those logged until it is closed; -1 where nothing is logged."""
    if ws.log_used >= ws.logging:
        return np.int64(-1)
    edge = np.int64(ws.log_used)
    ws.log_used += 1
    entry = ws.log[edge]
    entry.parent, entry.ply, entry.mover, entry.action = parent, ply, mover, action
    entry.alpha, entry.beta = alpha, beta
    ws.log_parent = edge
    return edge


def close_edge(
    ws: Workspace, edge: Integer, parent: Integer, value: Score, alpha: Score, beta: Score, over: bool
) -> None:
    if ws.logging == 0:
        return
    ws.log_parent = parent
    if edge >= 0:
        entry = ws.log[edge]
        entry.value = value
        entry.kind = UPPER if value <= alpha and not over else LOWER if value >= beta and not over else EXACT
        entry.leads = END if over else INNER if ws.log_used > edge + 1 else LEAF


def log_pruned(
    ws: Workspace, parent: Integer, ply: Integer, mover: Integer, i: Integer, n: Integer, alpha: Score, beta: Score
) -> None:
    """The siblings that a cut-off leaves unvisited."""
    for j in range(i + 1, n):
        if ws.log_used < ws.logging:
            edge = log_edge(ws, parent, ply, mover, ws.plies[ply].actions[j], alpha, beta)
            ws.log[edge].kind = PRUNED
    if ws.logging:
        ws.log_parent = parent
