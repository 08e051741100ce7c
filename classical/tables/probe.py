"""Look-up of a position in a compiled search.

    probe = prober(rules)                   # in a kernel's factory
    code = probe(table, state)              # in the kernel: NONE, DRAW, loss_in(n), win_in(n) for the mover (codes.py)

`table` is `Tables.array`, an argument of the kernel; without tables it is `empty_table(rules)`, and every code is NONE. Finished
positions are in no table: test `is_terminal` first. After NONE the search continues.

**Counters and repetitions.** A win or loss in n plies is returned only if n ≤ plies_to_draw(state). The table's winning moves shorten
the distance each time, so no position repeats, and no counter runs out before the end. A longer win may still exist, for example by a
capture on the way, but the table does not contain it. DRAW needs no such condition: a player who cannot be beaten without draws by
counter or repetition cannot be beaten with them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from base.bits import U
from base.seeds import mix
from classical.tables.codes import NONE, plies_of
from classical.types import Codes, Records
from games import Rules
from games.types import Bits, GameState, Integer

ENTRY = np.dtype((np.record, np.dtype([("key", np.uint64), ("code", np.uint16)], align=True)))
"""A complete table is a hash table of a power of two of these; `code` 0 marks a free one."""


def has_endgames(rules: Rules) -> bool:
    return bool(rules.endgames) and rules.endgame_index is not None and rules.endgame_position is not None


def empty_table(rules: Rules) -> Codes:
    """A table without entries, of the type that this game's kernels take."""
    return np.zeros(0, np.uint16 if has_endgames(rules) else ENTRY)


def prober(rules: Rules) -> Callable[[Codes, GameState], Integer]:
    """probe(table, state) -> code, for kernels of this game."""
    find, in_time = finder(rules), before_draws(rules)

    def probe(table: Codes, state: GameState) -> Integer:
        code = find(table, state)
        return code if in_time(code, state) else np.int64(NONE)

    return probe


def finder(rules: Rules) -> Callable[[Codes, GameState], Integer]:
    """find(table, state) -> code, whatever counters and repetitions there are."""
    return _indexed(rules) if has_endgames(rules) else _keyed(rules)


def before_draws(rules: Rules) -> Callable[[Integer, GameState], bool]:
    """in_time(code, state): whether no counter and no repetition can draw the game before the end that the code promises."""
    plies_to_draw = rules.plies_to_draw if has_endgames(rules) else None
    if plies_to_draw is None:
        return _always

    def in_time(code: Integer, state: GameState) -> bool:
        return code < 2 or plies_of(code) <= plies_to_draw(state)

    return in_time


def _always(code: Integer, state: GameState) -> bool:
    return True


def _indexed(rules: Rules) -> Callable[[Codes, GameState], Integer]:
    """table[endgame_index(state)]"""
    index_of = rules.endgame_index
    assert index_of is not None

    def find(table: Codes, state: GameState) -> Integer:
        return np.int64(NONE) if len(table) == 0 else code_at(table, index_of(state))

    return find


def code_at(table: Codes, index: Integer) -> Integer:
    if index < 0 or index >= len(table):
        return np.int64(NONE)
    return np.int64(table[index])


def _keyed(rules: Rules) -> Callable[[Codes, GameState], Integer]:
    """Linear probing by key(state)."""
    key = rules.key

    def find(table: Records, state: GameState) -> Integer:
        slots = len(table)
        if slots == 0:
            return np.int64(NONE)
        word = U(key(state))
        slot = first_slot(word, slots)
        while table[slot].code != 0:
            if table[slot].key == word:
                return np.int64(table[slot].code)
            slot = (slot + 1) & (slots - 1)
        return np.int64(NONE)

    return find


def first_slot(word: Bits, slots: int) -> Integer:
    """The first slot probed for a key; `slots` is a power of two."""
    return np.int64(mix(word) & U(slots - 1))
