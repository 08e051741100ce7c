"""Alpha-beta search with all its organs, for two players and zero sum. The steps are numbered, so that two people can point at one.

    score = search(ws, table, endgames, ply, depth, alpha, beta, goes_on, may_pass, excluded)

is what the position in `ws.states[ply]` is worth to whoever moves there, by `depth` more actions: exact if alpha < score < beta,
at most that if score <= alpha, at least that if score >= beta (fail-soft: Fishburn 1983). Whoever moves twice in a row keeps sign
and window; `goes_on` says that the mover moved before, and then there is no cut-off even at depth 0.

Alpha-beta: Knuth and Moore, "An Analysis of Alpha-Beta Pruning" (1975). The organs' sources stand beside their switches in
`settings.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from classical.alphabeta.ordering import KILLER, TACTICAL, pick, reward
from classical.alphabeta.quiescence import LONGEST, quiescer
from classical.alphabeta.selective import (
    FUTILE_DEPTH,
    GUESS,
    LATE_DEPTH,
    LATE_INDEX,
    NULL_DEPTH,
    SINGULAR_DEPTH,
    SINGULAR_MARGIN,
    VERIFY_DEPTH,
    futility_margin,
    late_reduction,
    null_reduction,
    singular_depth,
)
from classical.alphabeta.table import action_at, bound_at, find, is_whole, score_at, store
from classical.alphabeta.workspace import (
    END,
    EXACT,
    HORIZON,
    INFINITY,
    INNER,
    LEAF,
    LINE,
    LOWER,
    NONE,
    PAIRS,
    PATH,
    PROBCUT_DEPTHS,
    PRUNED,
    UPPER,
    levels,
)
from classical.scores import UNIT, WIN, score_of
from classical.tables.codes import NONE as UNKNOWN
from classical.tables.codes import plies_of, value_of
from classical.tables.probe import prober
from games import Rules


def searcher(
    rules: Rules,
    estimate: Callable[..., Any],
    rank: Callable[..., None],
    key_of: Callable[..., Any],
    end_of: Callable[..., Any],
) -> Callable[..., Any]:
    """`search` for one game, to be inlined into a kernel. Its parts are handed in, for what is made twice is compiled twice."""
    to_move, legal_actions, result = rules.to_move, rules.legal_actions, rules.result
    null_result = rules.null_result or (lambda state: False)
    can_pass, has_gain = rules.null_result is not None, rules.gain is not None
    in_check, has_checks = rules.in_check or (lambda state: False), rules.in_check is not None
    quiesce = quiescer(rules, estimate, end_of)
    deepest = levels(rules) - 2

    def search(
        ws: Any,
        table: Any,
        endgames: Any,
        ply: Any,
        depth: Any,
        alpha: Any,
        beta: Any,
        goes_on: Any,
        may_pass: Any,
        excluded: Any,
    ) -> Any:
        # 1. Count, and stop when told to
        if ws.nodes >= ws.grace and (ws.stop != 0 or ws.nodes >= ws.node_limit):
            ws.aborted = 1
            return np.int64(0)
        ws.nodes += 1
        here, state = ws.plies[ply], ws.states[ply]
        here.line_length = 0

        # 2. The horizon, behind which nobody in check is left
        checked = has_checks and ws.checks != 0 and goes_on == 0 and in_check(state)
        if checked and ply < ws.deepest:
            ws.check_extensions += 1
            depth += 1
        if (depth <= 0 and goes_on == 0) or ply >= deepest:
            ws.leaves += 1
            if ws.quiescence:
                return quiesce(ws, endgames, ply, alpha, beta, np.int64(0), np.int64(LONGEST))
            ws.flags = HORIZON
            return estimate(ws, state, to_move(state))
        mover = to_move(state)
        is_open = beta - alpha > 1

        # 3. The table. Along the principal variation it only gives hints, so that the line is found whole
        hint = np.int64(NONE)
        slot = np.int64(-1)
        key = np.uint64(0)
        if ws.use_tt and excluded == NONE:
            key = key_of(state, ws.exact)
            slot = find(table, key)
            ws.table_probes += 1
            if slot >= 0:
                ws.table_hits += 1
                hint = action_at(table, slot)
                known = np.int64(table[slot].depth)
                whole = is_whole(table, slot)
                fits = known == depth if ws.exact else known >= depth
                if whole:
                    fits = known <= depth or ws.exact == 0
                if fits and not (is_open and ws.pvs):
                    score, bound = score_at(table, slot, ply), bound_at(table, slot)
                    if bound == EXACT or (bound == LOWER and score >= beta) or (bound == UPPER and score <= alpha):
                        ws.table_cutoffs += 1
                        ws.flags = 0 if whole else HORIZON
                        return score

        # 4. Is the whole position outside the window? Guesses, where EVAL and a window of width one allow them
        guess = np.int64(-INFINITY)
        if ws.guessing and not checked and not is_open and goes_on == 0 and excluded == NONE and abs(beta) < GUESS:
            guess = estimate(ws, state, mover)

            # 4a. Futility: so far above that a few plies won't change it
            if ws.futility and depth <= FUTILE_DEPTH and guess - futility_margin(depth) >= beta:
                ws.futility_prunes += 1
                ws.flags = HORIZON
                return guess

            # 4b. Null move: above even after passing
            if can_pass and ws.null_move and may_pass and depth >= NULL_DEPTH and guess >= beta:
                ws.states[ply + 1] = state
                if null_result(ws.states[ply + 1]):
                    ws.null_tries += 1
                    left = max(depth - 1 - null_reduction(depth), np.int64(0))
                    score = -search(
                        ws, table, endgames, ply + 1, left, -beta, 1 - beta, np.int64(0), np.int64(0), np.int64(NONE)
                    )
                    if score >= beta and depth >= VERIFY_DEPTH and ws.aborted == 0:
                        score = search(
                            ws, table, endgames, ply, left, beta - 1, beta, np.int64(0), np.int64(0), np.int64(NONE)
                        )
                    if ws.aborted:
                        return np.int64(0)
                    if score >= beta:
                        ws.null_cutoffs += 1
                        ws.flags = HORIZON
                        return min(score, np.int64(GUESS))  # a win behind a pass is none yet

            # 4c. ProbCut: far enough outside already for a shallow search. deep = slope·shallow + offset ± error
            if ws.use_probcut and depth < PROBCUT_DEPTHS:
                for which in range(PAIRS):
                    pair = ws.probcut[depth, which]
                    if pair.shallow <= 0:
                        break
                    spread = ws.probcut_errors * pair.error
                    sign = 1 if guess >= beta else -1
                    edge = beta if guess >= beta else alpha
                    wanted = np.int64(np.rint((edge + sign * spread - pair.offset) / pair.slope))
                    if abs(wanted) >= GUESS:
                        continue
                    ws.probcut_tries += 1
                    low = wanted - 1 if sign > 0 else wanted
                    score = search(
                        ws,
                        table,
                        endgames,
                        ply,
                        np.int64(pair.shallow),
                        low,
                        low + 1,
                        np.int64(0),
                        np.int64(0),
                        np.int64(NONE),
                    )
                    if ws.aborted:
                        return np.int64(0)
                    if (sign > 0 and score >= wanted) or (sign < 0 and score <= wanted):
                        ws.probcut_cutoffs += 1
                        ws.flags = HORIZON
                        return edge

        # 5. Singular extension: does the table's action stand alone?
        singular = np.int64(NONE)
        may_extend = ws.singular != 0 and ply < ws.deepest
        if may_extend and slot >= 0 and hint != NONE and depth >= SINGULAR_DEPTH:
            score = score_at(table, slot, ply)
            if bound_at(table, slot) != UPPER and table[slot].depth >= depth - 3 and abs(score) < GUESS:
                target = score - SINGULAR_MARGIN
                score = search(
                    ws, table, endgames, ply, singular_depth(depth), target - 1, target, goes_on, np.int64(0), hint
                )
                if ws.aborted:
                    return np.int64(0)
                if score < target:
                    singular = hint

        # 6. List and rank
        n = np.int64(legal_actions(state, here.actions))
        if ws.ordered:
            rank(ws, ply, n, mover, depth, hint)
        if may_extend and n == 1:
            singular = np.int64(here.actions[0])

        # 7. One action after the other
        best, best_action = np.int64(-INFINITY), np.int64(NONE)
        floor = alpha
        flags = 0
        tried = 0
        parent = ws.log_parent
        for i in range(n):
            if ws.ordered:
                pick(ws, ply, i, n)
            action = np.int64(here.actions[i])
            if action == excluded:
                continue
            is_quiet = ws.ordered != 0 and here.ranks[i] < TACTICAL

            # 7a. Forward pruning
            if ws.beam and tried >= ws.beam and best > -UNIT:
                ws.beam_prunes += n - i
                flags |= HORIZON
                break
            if ws.futility and is_quiet and tried > 0 and depth <= FUTILE_DEPTH and guess != -INFINITY:
                bound = guess + futility_margin(depth)
                if bound <= alpha and best > -UNIT:
                    ws.futility_prunes += 1
                    flags |= HORIZON
                    best = max(best, bound)
                    continue

            # 7b. Play it
            ws.states[ply + 1] = state
            child = ws.states[ply + 1]
            result(child, action)
            edge = log_edge(ws, parent, ply, mover, action, alpha, beta)
            over, value = end_of(ws, endgames, child, mover, ply)
            if not over:
                same = to_move(child) == mover
                left = max(depth - 1, np.int64(0))
                less = np.int64(0)
                is_late = has_gain and depth >= LATE_DEPTH and tried >= LATE_INDEX
                if action == singular:
                    ws.extensions += 1
                    left = depth
                elif ws.lmr and is_late and not checked and goes_on == 0 and here.ranks[i] < KILLER - 1:
                    # neither tactical nor a killer
                    ws.reductions += 1
                    less = min(late_reduction(depth, tried), left)

                # 7c. A window of width one for all but the first; again with more where that is surpassed
                top = alpha + 1 if (ws.pvs and tried > 0) or less > 0 else beta
                while True:
                    low, high = (alpha, top) if same else (-top, -alpha)
                    value = search(
                        ws,
                        table,
                        endgames,
                        ply + 1,
                        left - less,
                        low,
                        high,
                        np.int64(same),
                        np.int64(1),
                        np.int64(NONE),
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
            close_edge(ws, edge, parent, value, alpha, beta, over)
            child_flags = ws.flags
            flags |= child_flags
            tried += 1

            # 7d. Better than what was known?
            if value > best:
                best = value
                if value > alpha:
                    alpha = value
                    best_action = action
                    if value >= beta:
                        flags = child_flags  # the value rests on this action alone
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
        if tried == 0:  # the only action was left out
            best = floor

        # 8. Remember
        if ws.use_tt and excluded == NONE:
            bound = LOWER if best >= beta else EXACT if best > floor else UPPER
            if flags & PATH:
                ws.path_values += 1
                if best_action != NONE:
                    keep_action(table, key, best_action)
            else:
                ws.table_stores += 1
                store(ws, table, key, ply, best, best_action, depth, bound, flags == 0)
        ws.flags = flags
        return best

    return search


def ender(rules: Rules) -> Callable[..., Any]:
    """end_of(ws, endgames, child, mover, ply) -> (is it over, its score for the mover of the parent); sets `flags` where it is.

    Over is also what the endgame tables know, with as many plies more as it takes there.
    """
    is_terminal, utility, legal_actions, to_move = rules.is_terminal, rules.utility, rules.legal_actions, rules.to_move
    has_path = bool(rules.history)
    probe, index_of = prober(rules), rules.endgame_index or (lambda state: -1)

    def end_of(ws: Any, endgames: Any, child: Any, mover: Any, ply: Any) -> Any:
        if not is_terminal(child):
            if len(endgames) == 0:
                return False, np.int64(0)
            code = np.int64(probe(endgames, child))
            if code == UNKNOWN:
                if index_of(child) >= 0:  # it is won or lost, but a draw by counter or repetition comes first
                    ws.path_ends += 1
                return False, np.int64(0)
            ws.nodes += 1
            ws.endgame_hits += 1
            ws.flags = 0
            ws.plies[ply + 1].line_length = 0
            value = np.int64(value_of(code)) * (1 if to_move(child) == mover else -1)
            return True, value * (WIN - ply - 1 - plies_of(code))
        ws.nodes += 1
        ws.ends += 1
        ws.flags = 0
        if has_path and ws.exact == 0 and legal_actions(child, ws.plies[ply + 1].actions) > 0:
            ws.flags = PATH
            ws.path_ends += 1
        ws.plies[ply + 1].line_length = 0
        return True, np.int64(score_of(utility(child, mover), ply + 1))

    return end_of


def extend_line(ws: Any, ply: Any, action: Any) -> None:
    """The principal variation from here is `action` and then the child's."""
    here, following = ws.plies[ply], ws.plies[ply + 1]
    length = min(np.int64(following.line_length), np.int64(LINE - 1))
    here.line[0] = action
    for i in range(length):
        here.line[i + 1] = following.line[i]
    here.line_length = length + 1


def keep_action(table: Any, key: Any, action: Any) -> None:
    """A value that must not be kept still leaves a hint, where the position has an entry."""
    slot = find(table, key)
    if slot >= 0 and action < 65_535:
        table[slot].action = action + 1


# ── the log, off unless asked for ──


def log_edge(ws: Any, parent: Any, ply: Any, mover: Any, action: Any, alpha: Any, beta: Any) -> Any:
    """A new edge, from which on `parent` is it; -1 where nothing is logged."""
    if ws.log_used >= ws.logging:
        return np.int64(-1)
    edge = np.int64(ws.log_used)
    ws.log_used += 1
    entry = ws.log[edge]
    entry.parent, entry.ply, entry.mover, entry.action = parent, ply, mover, action
    entry.alpha, entry.beta = alpha, beta
    ws.log_parent = edge
    return edge


def close_edge(ws: Any, edge: Any, parent: Any, value: Any, alpha: Any, beta: Any, over: Any) -> None:
    if ws.logging == 0:
        return
    ws.log_parent = parent
    if edge >= 0:
        entry = ws.log[edge]
        entry.value = value
        entry.kind = UPPER if value <= alpha and not over else LOWER if value >= beta and not over else EXACT
        entry.leads = END if over else INNER if ws.log_used > edge + 1 else LEAF


def log_pruned(ws: Any, parent: Any, ply: Any, mover: Any, i: Any, n: Any, alpha: Any, beta: Any) -> None:
    """The siblings that a cut-off leaves unvisited."""
    for j in range(i + 1, n):
        if ws.log_used < ws.logging:
            edge = log_edge(ws, parent, ply, mover, ws.plies[ply].actions[j], alpha, beta)
            ws.log[edge].kind = PRUNED
    if ws.logging:
        ws.log_parent = parent
