"""The solver's kernel: is the mover's utility at least this much? Answered by a search to the end of the game.

    prove = game.kernel(prover)
    bound = prove(ws, threshold)

It is alpha-beta with a window of width one (Pearl's TEST, 1980; a chain of such searches is MTD, Plaat et al. 1996) in the form of
negamax, with a table of bounds. They are true of the position, so they hold for every later search. A bound at or above `threshold`
means "at least this", one below it "at most this"; both may be tighter than `threshold` requires (fail-soft, Fishburn 1983).

**Scores** are whole numbers from the mover's point of view. The i-th of the V declared utilities scores `levels.terminal[i]`, a table
antisymmetric about its middle. Without distances these are 2i - (V - 1). With them a win scores FAR - plies and a loss plies - FAR: on
its way to the root a score moves towards zero by `control.step` = 1 at each ply, so that winners prefer the nearest end and losers the
farthest.

    score for the parent's mover    s = f(±c),  f(x) = x - step·sign(x),  minus where the child's mover is another
    the question                    s ≥ k  ⟺  ±c ≥ g(k),  g(k) = k + step·sign(k);  for minus: not c ≥ 1 - g(k)

The table compares keys of 64 bits. Two positions of a game with the same key are not detected (probability 10^-10 for 10^9 positions).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from base.bits import U, highest_bit, prefetch
from classical.types import Entries, Kernel, Positions, Records, Score
from games import Rules
from games.engine import defaults
from games.types import Actions, Array, Bits, GameState, Integer


def _record(fields: list[tuple[str, Any]]) -> np.dtype[np.void]:
    """Fields that interpreted code too can reach as attributes."""
    return np.dtype((np.record, fields))


# One position: 16 bytes, four of them a bucket that fills a line of the processor's cache.
ENTRY = _record(
    [
        ("key", np.uint64),
        ("lower", np.int16),  # bounds of the mover's score
        ("upper", np.int16),
        ("work", np.uint8),  # log2 of the nodes searched for it
        ("age", np.uint8),  # number of the solve that wrote it, modulo 256; 0: empty
        ("spare", np.uint16),
    ]
)
BUCKET = 4
assert ENTRY.itemsize * BUCKET == 64

NOTE = _record([("key", np.uint64), ("action", np.int32), ("spare", np.int32)])
"""Beside each position of the pool: its key in the table, and the action that led to it."""

CONTROL = _record(
    [
        ("nodes", np.int64),  # searched so far
        ("limit", np.int64),  # the search stops beyond it
        ("stop", np.int64),  # set from outside or by the limit; the result is then invalid
        ("hits", np.int64),  # positions decided by the table
        ("stored", np.int64),
        ("step", np.int64),
        ("age", np.uint8),
    ]
)

LEVEL = _record(
    [
        ("utility", np.float64),  # the declared values, ascending
        ("terminal", np.int64),  # score of a finished game
        ("least", np.int64),  # score of an unfinished one that cannot end below this utility …
        ("most", np.int64),  # … or above it
    ]
)

INFINITE = 32767
FULL = 2  # value of `stop`: the game is too deep for the pool
FEW = 16  # bits of a rank that hold the action's place in the listing


class Workspace(NamedTuple):
    """Everything the kernel reads and writes."""

    pool: Positions
    """[plies · max_legal + 1]: positions on the path and beside it, the root first."""
    notes: Records
    """NOTE, as long"""
    order: Array
    """int64, as long"""
    scratch: Actions
    """[max_legal]"""
    table: Entries
    """ENTRY, bounds of positions"""
    history: Array
    """int32 [players, actions]: how often an action was right"""
    control: Records
    """CONTROL [1]"""
    levels: Records
    """LEVEL, one per declared utility"""


def fact_key(rules: Rules) -> Callable[[GameState], Bits]:
    """A key for bounds that hold on every path to a position: the game's own, or one of the whole record."""
    if rules.canonical_key is not None:
        return rules.canonical_key
    if rules.history:
        whole: Callable[[GameState], Bits] = defaults.key(_without_history(rules))
        return whole
    return rules.key


def _without_history(rules: Rules) -> Rules:
    return replace(rules, history=())


def prover(rules: Rules) -> Kernel:
    """prove(ws, threshold) -> a bound of the score of ws.pool[0]."""
    to_move, result, is_terminal, utility = rules.to_move, rules.result, rules.is_terminal, rules.utility
    listed = rules.sufficient_actions or rules.legal_actions
    is_sorted = rules.sufficient_actions is not None
    legal_actions, tactical_actions = rules.legal_actions, rules.tactical_actions
    gain = rules.gain or (lambda state, action: 0.0)
    max_legal, has_gain = rules.max_legal, rules.gain is not None
    has_range = rules.utility_range is not None
    utility_range = rules.utility_range or (lambda state, player: (-1.0, 1.0))
    key_of = fact_key(rules)

    def level_of(utility: float, levels: Records) -> Integer:
        i = len(levels) - 1
        while i > 0 and utility < levels[i].utility - 1e-9:
            i -= 1
        return i

    def nearer_zero(score: Score, step: Integer) -> Score:
        return score - step if score > 0 else score + step if score < 0 else score

    def farther(score: Score, step: Integer) -> Score:
        return score + step if score > 0 else score - step if score < 0 else score

    def bucket_of(key: Bits, table: Entries) -> Integer:
        return np.int64(((key >> U(32)) * U(len(table) // BUCKET)) >> U(32)) * BUCKET

    def find(key: Bits, table: Entries) -> Integer:
        first = bucket_of(key, table)
        for i in range(first, first + BUCKET):
            if table[i].key == key and table[i].age > 0:  # a position's key may be 0, as an empty entry's is
                return i
        return -1

    def store(key: Bits, lower: Score, upper: Score, work: Integer, age: Integer, table: Entries) -> None:
        """Over the position's own entry, else over one of an earlier solve, else over the one that took least work."""
        first = bucket_of(key, table)
        victim, cheapest = first, np.int64(1 << 30)
        for i in range(first, first + BUCKET):
            entry = table[i]
            if entry.key == key and entry.age > 0:
                entry.lower, entry.upper = max(lower, np.int64(entry.lower)), min(upper, np.int64(entry.upper))
                entry.work, entry.age = max(work, np.int64(entry.work)), age
                return
            price = np.int64(entry.work) + (256 if entry.age == age else 0)
            if price < cheapest:
                victim, cheapest = i, price
        entry = table[victim]
        entry.key, entry.lower, entry.upper, entry.work, entry.age = key, lower, upper, work, age

    def rank(ws: Workspace, state: GameState, after: GameState, action: Integer, mover: Integer) -> Integer:
        """How early to try an action: its gain, less the opponent's gains and number of actions, plus its history."""
        worth = np.int64(16.0 * gain(state, action)) * 64 if has_gain else 0
        if to_move(after) != mover:
            worth -= 64 * legal_actions(after, ws.scratch)
            if has_gain:
                worth -= 256 * tactical_actions(after, ws.scratch)
        return worth + np.int64(ws.history[mover, action])

    def search(ws: Workspace, at: Integer, top: Integer, threshold: Score) -> Score:
        """A bound of the score of pool[at], which is not terminal. The pool is free from `top` on."""
        pool, notes, order, table, levels = ws.pool, ws.notes, ws.order, ws.table, ws.levels
        # 1. Count; stop at a limit
        status = ws.control[0]
        status.nodes += 1
        if status.nodes > status.limit:
            status.stop = 1
        if status.stop != 0:
            return 0
        state = pool[at]
        mover, step, entered = to_move(state), status.step, status.nodes

        # 2. The range of utilities that can still occur
        lower, upper = levels[0].least, levels[len(levels) - 1].most
        if has_range:
            least, most = utility_range(state, mover)
            lower, upper = levels[level_of(least, levels)].least, levels[level_of(most, levels)].most
        if lower >= threshold:
            return lower
        if upper < threshold:
            return upper

        # 3. The table
        key = notes[at].key
        found = find(key, table)
        if found >= 0:
            lower, upper = max(lower, np.int64(table[found].lower)), min(upper, np.int64(table[found].upper))
            if lower >= threshold:
                status.hits += 1
                return lower
            if upper < threshold:
                status.hits += 1
                return upper

        # 4. The positions after each action; return at an end that suffices
        if top + max_legal > len(pool):
            status.stop = FULL
            return 0
        n = listed(state, ws.scratch)
        best = -INFINITE
        end = top
        for i in range(n):
            pool[end] = state
            action = ws.scratch[i]
            result(pool[end], action)
            if is_terminal(pool[end]):
                score = nearer_zero(levels[level_of(utility(pool[end], mover), levels)].terminal, step)
                if score >= threshold:
                    return score
                best = max(best, score)
            else:
                notes[end].action = action
                notes[end].key = key_of(pool[end])
                prefetch(table, bucket_of(notes[end].key, table))
                end += 1

        # 5. A child whose bound in the table suffices (enhanced transposition cutoff, Schaeffer and Plaat 1996)
        wanted = farther(threshold, step)
        if end - top > 1:
            for child in range(top, end):
                found = find(notes[child].key, table)
                if found >= 0:
                    if to_move(pool[child]) == mover:
                        score = nearer_zero(np.int64(table[found].lower), step)
                    else:
                        score = nearer_zero(-np.int64(table[found].upper), step)
                    if score >= threshold:
                        status.hits += 1
                        return score

            # 6. Order
            for child in range(top, end):
                i = child - top
                worth = 0
                if not is_sorted:
                    worth = rank(ws, state, pool[child], notes[child].action, mover)
                packed = (np.int64(worth) << FEW) | (((1 << FEW) - 1) - i)
                place = child
                while place > top and order[place - 1] < packed:
                    order[place] = order[place - 1]
                    place -= 1
                order[place] = packed
        else:
            order[top] = (1 << FEW) - 1

        # 7. Search until one suffices
        for place in range(top, end):
            child = top + ((1 << FEW) - 1 - (order[place] & ((1 << FEW) - 1)))
            if to_move(pool[child]) == mover:
                score = search(ws, child, end, wanted)
            else:
                score = -search(ws, child, end, 1 - wanted)
            if status.stop != 0:
                return 0
            score = nearer_zero(score, step)
            if score > best:
                best = score
            if best >= threshold:
                if not is_sorted and place > top:
                    credit(ws, mover, top, place)
                break

        # 8. Store the bound
        if best >= threshold:
            lower = max(lower, best)
        else:
            upper = min(upper, best)
        store(key, lower, upper, highest_bit(U(status.nodes - entered + 1)), status.age, table)
        status.stored += 1
        return best

    def credit(ws: Workspace, mover: Integer, top: Integer, place: Integer) -> None:
        """The action that sufficed gains what those tried before it lose (Tromp's form of Schaeffer's history heuristic)."""
        for i in range(top, place + 1):
            action = ws.notes[top + ((1 << FEW) - 1 - (ws.order[i] & ((1 << FEW) - 1)))].action
            value = np.int64(ws.history[mover, action]) + (place - top if i == place else -1)
            ws.history[mover, action] = min(max(value, -20000), 20000)

    def prove(ws: Workspace, threshold: Score) -> Score:
        ws.notes[0].key = key_of(ws.pool[0])
        return search(ws, np.int64(0), np.int64(1), np.int64(threshold))

    return prove
