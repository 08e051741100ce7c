"""The root: its actions keep a value each, and the best comes to the front for the next iteration.

score = root(ws, table, endgames, depth, alpha, beta)       values in ws.roots, the line in ws.plies[0]; ws.aborted where it was stopped
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from classical.alphabeta.ordering import estimator, forget, pick, ranker
from classical.alphabeta.search import close_edge, ender, extend_line, log_edge, log_pruned, searcher
from classical.alphabeta.table import action_at, find, position_key, store
from classical.alphabeta.workspace import EXACT, INFINITY, LINE, LOWER, NONE, UPPER
from games import Rules


def preparer(rules: Rules, rank: Callable[..., None], key_of: Callable[..., Any]) -> Callable[..., None]:
    """prepare(ws, table): from states[0], lists the root's actions in the order in which they are tried first."""
    legal_actions, to_move = rules.legal_actions, rules.to_move

    def prepare(ws: Any, table: Any) -> None:
        forget(ws)
        state = ws.states[0]
        n = np.int64(legal_actions(state, ws.plies[0].actions))
        hint = np.int64(NONE)
        if ws.use_tt:
            slot = find(table, key_of(state, ws.exact))
            if slot >= 0:
                hint = action_at(table, slot)
        if ws.ordered:
            rank(ws, np.int64(0), n, to_move(state), np.int64(1), hint)
        for i in range(n):
            if ws.ordered:
                pick(ws, np.int64(0), i, n)
            entry = ws.roots[i]
            entry.action, entry.value, entry.kind, entry.nodes = ws.plies[0].actions[i], 0, NONE, 0
        ws.root_count = n

    return prepare


def lengthener(rules: Rules, key_of: Callable[..., Any]) -> Callable[..., None]:
    """lengthen(ws, table, length): goes on with the table's actions where the line at the root is shorter than that."""
    legal_actions, result, is_terminal = rules.legal_actions, rules.result, rules.is_terminal

    def lengthen(ws: Any, table: Any, length: Any) -> None:
        here, following = ws.plies[0], ws.plies[1]
        ws.states[1] = ws.states[0]
        state = ws.states[1]
        for i in range(here.line_length):
            result(state, here.line[i])
        while here.line_length < min(length, LINE) and not is_terminal(state):
            slot = find(table, key_of(state, ws.exact))
            if slot < 0:
                return
            action = action_at(table, slot)
            n = legal_actions(state, following.actions)
            is_legal = False
            for i in range(n):
                is_legal |= following.actions[i] == action
            if not is_legal:
                return
            here.line[here.line_length] = action
            here.line_length += 1
            result(state, action)

    return lengthen


def root(rules: Rules) -> Callable[..., Any]:
    """One iteration: root(ws [1], table, endgames, depth, alpha, beta) -> score, the mover's. The first one lists the actions."""
    to_move, result = rules.to_move, rules.result
    estimate, key_of, end_of = estimator(rules), position_key(rules), ender(rules)
    rank = ranker(rules, estimate)
    search = searcher(rules, estimate, rank, key_of, end_of)
    prepare, lengthen = preparer(rules, rank, key_of), lengthener(rules, key_of)

    def root(workspaces: Any, table: Any, endgames: Any, depth: int, lowest: int, highest: int) -> Any:
        ws = workspaces[0]
        state = ws.states[0]
        mover = to_move(state)
        zero, none = np.int64(0), np.int64(NONE)
        if ws.root_count == 0:
            prepare(ws, table)
        floor, ceiling = np.int64(lowest), np.int64(highest)
        alpha, beta = floor, ceiling
        best = np.int64(-INFINITY)
        best_index = -1
        flags = 0
        ws.plies[0].line_length = 0
        ws.roots_done = 0
        ws.nodes += 1
        n = np.int64(ws.root_count)
        for i in range(n):
            ws.plies[0].actions[i] = ws.roots[i].action
        for i in range(n):
            entry = ws.roots[i]
            before = ws.nodes
            action = np.int64(entry.action)
            low_end = floor if ws.multipv_all else alpha
            ws.states[1] = state
            child = ws.states[1]
            result(child, action)
            ws.log_parent = -1
            edge = log_edge(ws, -1, 0, mover, action, low_end, beta)
            over, value = end_of(ws, endgames, child, mover, zero)
            if not over:
                same = to_move(child) == mover
                top = low_end + 1 if ws.pvs and i > 0 and not ws.multipv_all else beta
                while True:
                    low, high = (low_end, top) if same else (-top, -low_end)
                    value = search(
                        ws,
                        table,
                        endgames,
                        np.int64(1),
                        np.int64(depth - 1),
                        low,
                        high,
                        np.int64(same),
                        np.int64(1),
                        none,
                    )
                    if ws.aborted:
                        break
                    if not same:
                        value = -value
                    if low_end < value < beta and top < beta:
                        ws.pvs_researches += 1
                        top = beta
                    else:
                        break
            if ws.aborted:
                break
            close_edge(ws, edge, np.int64(-1), value, low_end, beta, over)
            flags |= ws.flags
            entry.value = value
            entry.kind = EXACT if over or low_end < value < beta else UPPER if value <= low_end else LOWER
            entry.nodes = ws.nodes - before
            ws.roots_done = i + 1
            if value > best:
                best = value
                best_index = i
                if value > alpha:
                    alpha = value
                    extend_line(ws, zero, action)
                    if value >= beta:
                        log_pruned(ws, np.int64(-1), zero, mover, i, n, alpha, beta)
                        break
        if best_index > 0:  # the best to the front, the others keep their order; one entry behind them is spare
            ws.roots[n] = ws.roots[best_index]
            for to in range(best_index, 0, -1):
                ws.roots[to] = ws.roots[to - 1]
            ws.roots[0] = ws.roots[n]
        if ws.use_tt and ws.aborted == 0 and floor < best < ceiling:
            store(
                ws,
                table,
                key_of(state, ws.exact),
                zero,
                best,
                np.int64(ws.roots[0].action),
                np.int64(depth),
                EXACT,
                False,
            )
            lengthen(ws, table, depth)
        ws.flags = flags
        return best

    return root
