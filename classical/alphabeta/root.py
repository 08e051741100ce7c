"""The root: every action keeps a value, and the best moves to the front for the next iteration.

score = root(ws, table, endgames, depth, alpha, beta)       values in ws.roots, the line in ws.plies[0]; ws.aborted if it was stopped
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from base.bits import U
from classical.alphabeta.ordering import estimator, forget, pick, ranker
from classical.alphabeta.search import ender, extend_line, searcher
from classical.alphabeta.table import action_of, find, position_key, store
from classical.alphabeta.tree_log import close_edge, log_edge, log_pruned
from classical.alphabeta.workspace import EXACT, INFINITY, LINE, LOWER, NONE, UPPER, Workspace
from classical.types import Codes, Entries, Kernel, Score
from games import Rules
from games.types import Array, Integer


def preparer(rules: Rules, rank: Kernel, key_of: Kernel) -> Callable[[Workspace, Entries], None]:
    """prepare(ws, table): lists the actions of states[0] in the order of the first iteration."""
    legal_actions, to_move = rules.legal_actions, rules.to_move

    def prepare(ws: Workspace, table: Entries) -> None:
        forget(ws)
        state = ws.states[0]
        n = np.int64(legal_actions(state, ws.plies[0].actions))
        hint = np.int64(NONE)
        if ws.tt:
            data = find(table, key_of(state, ws.exact))
            if data != U(0):
                hint = action_of(data)
        if ws.ordered:
            rank(ws, np.int64(0), n, to_move(state), np.int64(1), hint)
        for i in range(n):
            if ws.ordered:
                pick(ws, np.int64(0), i, n)
            entry = ws.roots[i]
            entry.action, entry.value, entry.kind, entry.nodes = ws.plies[0].actions[i], 0, NONE, 0
        ws.root_count = n

    return prepare


def lengthener(rules: Rules, key_of: Kernel) -> Callable[[Workspace, Entries, Integer], None]:
    """lengthen(ws, table, length): extends the root's line by the table's actions, up to that length."""
    legal_actions, result, is_terminal = rules.legal_actions, rules.result, rules.is_terminal

    def lengthen(ws: Workspace, table: Entries, length: Integer) -> None:
        here, following = ws.plies[0], ws.plies[1]
        ws.states[1] = ws.states[0]
        state = ws.states[1]
        for i in range(here.line_length):
            result(state, here.line[i])
        while here.line_length < min(length, LINE) and not is_terminal(state):
            data = find(table, key_of(state, ws.exact))
            if data == U(0):
                return
            action = action_of(data)
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


def root(rules: Rules) -> Kernel:
    """One iteration: root(ws [1], table, endgames, depth, alpha, beta) -> score, the mover's. The first one lists the actions."""
    to_move, result = rules.to_move, rules.result
    estimate, key_of, end_of = estimator(rules), position_key(rules), ender(rules)
    rank = ranker(rules, estimate)
    search = searcher(rules, estimate, rank, key_of, end_of)
    prepare, lengthen = preparer(rules, rank, key_of), lengthener(rules, key_of)

    def root(workspaces: Array, table: Entries, endgames: Codes, depth: int, lowest: int, highest: int) -> Score:
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
        depends = 0
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
                    left = np.int64(depth - 1)
                    value = search(ws, table, endgames, np.int64(1), left, low, high, np.int64(same), np.int64(1), none)
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
            depends |= ws.depends
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
        if best_index > 0:  # the best to the front, the others keep their order; the entry after the last is spare
            ws.roots[n] = ws.roots[best_index]
            for to in range(best_index, 0, -1):
                ws.roots[to] = ws.roots[to - 1]
            ws.roots[0] = ws.roots[n]
        if ws.tt and ws.aborted == 0 and floor < best < ceiling:
            action, key = np.int64(ws.roots[0].action), key_of(state, ws.exact)
            store(ws, table, key, zero, best, action, np.int64(depth), EXACT, False)
            lengthen(ws, table, depth)
        ws.depends = depends
        return best

    return root


def line_after(rules: Rules) -> Kernel:
    """line_after(ws [1], table, action, length) -> how long the line in ws.plies[0] is: `action`, and the table's actions behind it."""
    lengthen = lengthener(rules, position_key(rules))

    def line_after(workspaces: Array, table: Entries, action: int, length: int) -> int:
        ws = workspaces[0]
        here = ws.plies[0]
        here.line[0], here.line_length = action, 1
        lengthen(ws, table, np.int64(length))
        return int(here.line_length)

    return line_after
