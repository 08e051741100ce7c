"""Alpha-beta search with its enhancements, for two players and zero sum. The steps are numbered, for reference.

    score = search(ws, table, endgames, ply, depth, alpha, beta, mid_turn, may_pass, excluded)

is the value of the position in `ws.states[ply]` for the player to move there, by `depth` more actions: exact if alpha < score < beta,
an upper bound if score <= alpha, a lower bound if score >= beta (fail-soft: Fishburn 1983). A player who moves twice in a row keeps
sign and window. `mid_turn`: the mover made the previous action too; the search is then not cut off even at depth 0. `may_pass`: a null
move is allowed here. `excluded`: an action that is left out (step 5), or NONE.

The rules of an enhancement (when, how deep, which window) are in its own file. Every recursive call is here: compiled functions that
call each other in a circle cannot be cached.

Alpha-beta: Knuth and Moore, "An Analysis of Alpha-Beta Pruning" (1975). The enhancements' sources are with their switches in
`settings.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from base.bits import U
from classical.alphabeta.beam import is_beyond_beam
from classical.alphabeta.futility import FUTILE_DEPTH, futility_margin
from classical.alphabeta.late_moves import LATE_DEPTH, LATE_INDEX, late_reduction
from classical.alphabeta.null_move import VERIFY_DEPTH, passer
from classical.alphabeta.ordering import KILLER, TACTICAL, pick, reward
from classical.alphabeta.probcut import prediction
from classical.alphabeta.quiescence import LONGEST, quiescer
from classical.alphabeta.singular import singular_depth, singular_target
from classical.alphabeta.table import action_of, bound_of, depth_of, find, is_whole, keep_action, store, stored_score
from classical.alphabeta.tree_log import close_edge, log_edge, log_pruned
from classical.alphabeta.workspace import (
    EXACT,
    HORIZON,
    INFINITY,
    LINE,
    LOWER,
    NONE,
    PAIRS,
    PATH,
    UPPER,
    Workspace,
    levels,
)
from classical.scores import LARGEST_EVAL, UNIT, WIN, score_of
from classical.tables.codes import NONE as UNKNOWN
from classical.tables.codes import plies_of, value_of
from classical.tables.probe import before_draws, finder
from classical.types import Codes, Entries, Kernel, Score
from games import Rules
from games.types import GameState, Integer


def searcher(rules: Rules, estimate: Kernel, rank: Kernel, key_of: Kernel, end_of: Kernel) -> Kernel:
    """`search` for one game, to be inlined into a kernel. Its parts are arguments, since parts made twice would be compiled twice."""
    to_move, legal_actions, result = rules.to_move, rules.legal_actions, rules.result
    has_gain, try_pass = rules.gain is not None, passer(rules)
    in_check, has_checks = rules.in_check or (lambda state: False), rules.in_check is not None
    quiesce = quiescer(rules, estimate, end_of)
    deepest = levels(rules) - 2

    def search(
        ws: Workspace,
        table: Entries,
        endgames: Codes,
        ply: Integer,
        depth: Integer,
        alpha: Score,
        beta: Score,
        mid_turn: Integer,
        may_pass: Integer,
        excluded: Integer,
    ) -> Score:
        # 1. Count; stop at a limit
        if ws.nodes >= ws.grace and (ws.stop != 0 or ws.nodes >= ws.node_limit):
            ws.aborted = 1
            return np.int64(0)
        ws.nodes += 1
        no, none = np.int64(0), np.int64(NONE)
        here, state = ws.plies[ply], ws.states[ply]
        here.line_length = 0

        # 2. The horizon; a position in check is searched one deeper
        checked = has_checks and ws.checks != 0 and mid_turn == 0 and in_check(state)
        if checked and ply < ws.deepest:
            ws.check_extensions += 1
            depth += 1
        if (depth <= 0 and mid_turn == 0) or ply >= deepest:
            ws.leaves += 1
            if ws.quiescence:
                return quiesce(ws, endgames, ply, alpha, beta, no, np.int64(LONGEST))
            ws.depends = HORIZON
            return estimate(ws, state, to_move(state))
        mover = to_move(state)
        is_open = beta - alpha > 1

        # 3. The transposition table. On the principal variation it only orders, so that the line is found whole
        hint = np.int64(NONE)
        entry = np.uint64(0)
        key = np.uint64(0)
        if ws.tt and excluded == NONE:
            key = key_of(state, ws.exact)
            entry = find(table, key)
            ws.table_probes += 1
            if entry != U(0):
                ws.table_hits += 1
                hint = action_of(entry)
                known = depth_of(entry)
                whole = is_whole(entry)
                fits = known == depth if ws.exact else known >= depth
                if whole:
                    fits = known <= depth or ws.exact == 0
                if fits and not (is_open and ws.pvs):
                    score, bound = stored_score(entry, ply), bound_of(entry)
                    if bound == EXACT or (bound == LOWER and score >= beta) or (bound == UPPER and score <= alpha):
                        ws.table_cutoffs += 1
                        ws.depends = 0 if whole else HORIZON
                        return score

        # 4. Pruning of the whole position by EVAL, where the window has width one
        guess = np.int64(-INFINITY)
        if (
            ws.guessing
            and not checked
            and not is_open
            and mid_turn == 0
            and excluded == NONE
            and abs(beta) < LARGEST_EVAL
        ):
            guess = estimate(ws, state, mover)

            # 4a. Futility: EVAL is above the window by more than a few plies can change
            if ws.futility and depth <= FUTILE_DEPTH and guess - futility_margin(depth) >= beta:
                ws.futility_prunes += 1
                ws.depends = HORIZON
                return guess

            # 4b. Null move: above the window even after a pass
            left = try_pass(ws, ply, depth, beta, guess) if may_pass else np.int64(-1)
            if left >= 0:
                score = -search(ws, table, endgames, ply + 1, left, -beta, 1 - beta, no, no, none)
                if score >= beta and depth >= VERIFY_DEPTH and ws.aborted == 0:
                    score = search(ws, table, endgames, ply, left, beta - 1, beta, no, no, none)
                if ws.aborted:
                    return np.int64(0)
                if score >= beta:
                    ws.null_cutoffs += 1
                    ws.depends = HORIZON
                    return min(score, np.int64(LARGEST_EVAL))  # a win after a pass is not a win

            # 4c. ProbCut: a shallow search is far enough outside the window
            is_above = guess >= beta
            edge = beta if is_above else alpha
            for which in range(PAIRS):
                shallow, wanted = prediction(ws, depth, which, edge, is_above)
                if shallow > 0:
                    low = wanted - 1 if is_above else wanted
                    score = search(ws, table, endgames, ply, shallow, low, low + 1, no, no, none)
                    if ws.aborted:
                        return np.int64(0)
                    if (is_above and score >= wanted) or (not is_above and score <= wanted):
                        ws.probcut_cutoffs += 1
                        ws.depends = HORIZON
                        return edge

        # 5. Singular extension: are all others worse than the table's action by a margin?
        singular = np.int64(NONE)
        target = singular_target(ws, entry, ply, depth)
        if target > -INFINITY:
            score = search(ws, table, endgames, ply, singular_depth(depth), target - 1, target, mid_turn, no, hint)
            if ws.aborted:
                return np.int64(0)
            if score < target:
                singular = hint

        # 6. List and rank the actions
        n = np.int64(legal_actions(state, here.actions))
        if ws.ordered:
            rank(ws, ply, n, mover, depth, hint)
        if n == 1 and ws.singular != 0 and ply < ws.deepest:
            singular = np.int64(here.actions[0])

        # 7. Search one action after the other
        best, best_action = np.int64(-INFINITY), np.int64(NONE)
        floor = alpha
        depends = 0
        tried = 0
        parent = ws.log_parent
        for i in range(n):
            if ws.ordered:
                pick(ws, ply, i, n)
            action = np.int64(here.actions[i])
            if action == excluded:
                continue
            is_quiet = ws.ordered != 0 and here.ranks[i] < TACTICAL

            # 7a. Pruning of actions: beam, futility
            if is_beyond_beam(ws, tried, best):
                ws.beam_prunes += n - i
                depends |= HORIZON
                break
            if ws.futility and is_quiet and tried > 0 and depth <= FUTILE_DEPTH and guess != -INFINITY:
                bound = guess + futility_margin(depth)
                if bound <= alpha and best > -UNIT:
                    ws.futility_prunes += 1
                    depends |= HORIZON
                    best = max(best, bound)
                    continue

            # 7b. Play it; extend or reduce
            ws.states[ply + 1] = state
            child = ws.states[ply + 1]
            result(child, action)
            edge_number = log_edge(ws, parent, ply, mover, action, alpha, beta)
            over, value = end_of(ws, endgames, child, mover, ply)
            if not over:
                same = to_move(child) == mover
                left = max(depth - 1, np.int64(0))
                less = np.int64(0)
                is_late = has_gain and depth >= LATE_DEPTH and tried >= LATE_INDEX
                if action == singular:
                    ws.extensions += 1
                    left = depth
                elif ws.lmr and is_late and not checked and mid_turn == 0 and here.ranks[i] < KILLER - 1:
                    # neither tactical nor a killer
                    ws.reductions += 1
                    less = min(late_reduction(depth, tried), left)

                # 7c. All but the first in a window of width one, and again with more depth or a wider window above alpha
                top = alpha + 1 if (ws.pvs and tried > 0) or less > 0 else beta
                while True:
                    low, high = (alpha, top) if same else (-top, -alpha)
                    value = search(
                        ws, table, endgames, ply + 1, left - less, low, high, np.int64(same), np.int64(1), none
                    )
                    if ws.aborted:
                        return np.int64(0)
                    if not same:
                        value = -value
                    if value <= alpha:
                        break
                    if less > 0:
                        ws.reduction_researches += 1
                        less = np.int64(0)
                    elif top < beta and value < beta:
                        ws.pvs_researches += 1
                        top = beta
                    else:
                        break
            close_edge(ws, edge_number, parent, value, alpha, beta, over)
            child_depends = ws.depends
            depends |= child_depends
            tried += 1

            # 7d. Raise best and alpha; cut off
            if value > best:
                best = value
                if value > alpha:
                    alpha = value
                    best_action = action
                    if value >= beta:
                        depends = child_depends  # the value depends on this action alone
                        ws.cutoffs += 1
                        if tried == 1:
                            ws.first_cutoffs += 1
                        if is_quiet:
                            if here.ranks[i] == KILLER or here.ranks[i] == KILLER - 1:
                                ws.killer_cutoffs += 1
                            reward(ws, ply, i, mover, depth)
                        log_pruned(ws, parent, ply, mover, i, n, alpha, beta)
                        break
                    if is_open:
                        extend_line(ws, ply, action)
        if tried == 0:  # the only action is the excluded one
            best = floor

        # 8. Store
        if ws.tt and excluded == NONE:
            bound = LOWER if best >= beta else EXACT if best > floor else UPPER
            if depends & PATH:
                ws.path_values += 1
                if best_action != NONE:
                    keep_action(table, key, best_action)
            else:
                ws.table_stores += 1
                store(ws, table, key, ply, best, best_action, depth, bound, depends == 0)
        ws.depends = depends
        return best

    return search


def ender(rules: Rules) -> Callable[..., tuple[bool, Score]]:
    """end_of(ws, endgames, child, mover, ply) -> (is the game over, its score for the mover of the parent); sets `depends` if so.

    A position of the endgame tables counts as over, after as many plies as its table gives.
    """
    is_terminal, utility, legal_actions, to_move = rules.is_terminal, rules.utility, rules.legal_actions, rules.to_move
    has_path = bool(rules.history)
    find, in_time = finder(rules), before_draws(rules)

    def end_of(ws: Workspace, endgames: Codes, child: GameState, mover: Integer, ply: Integer) -> tuple[bool, Score]:
        if not is_terminal(child):
            if len(endgames) == 0:
                return False, np.int64(0)
            code = np.int64(find(endgames, child))
            if code == UNKNOWN:
                return False, np.int64(0)
            if not in_time(code, child):
                ws.path_ends += 1
                return False, np.int64(0)
            ws.nodes += 1
            ws.endgame_hits += 1
            ws.depends = 0
            ws.plies[ply + 1].line_length = 0
            value = np.int64(value_of(code)) * (1 if to_move(child) == mover else -1)
            return True, value * (WIN - ply - 1 - plies_of(code))
        ws.nodes += 1
        ws.ends += 1
        ws.depends = 0
        if has_path and ws.exact == 0 and legal_actions(child, ws.plies[ply + 1].actions) > 0:
            ws.depends = PATH
            ws.path_ends += 1
        ws.plies[ply + 1].line_length = 0
        return True, np.int64(score_of(utility(child, mover), ply + 1))

    return end_of


def extend_line(ws: Workspace, ply: Integer, action: Integer) -> None:
    """The principal variation from here is `action` and then the child's."""
    here, following = ws.plies[ply], ws.plies[ply + 1]
    length = min(np.int64(following.line_length), np.int64(LINE - 1))
    here.line[0] = action
    for i in range(length):
        here.line[i + 1] = following.line[i]
    here.line_length = length + 1
