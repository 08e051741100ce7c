"""Looking a position up inside a compiled search.

    probe = prober(rules)                   # in a kernel's factory
    code = probe(table, state)              # in the kernel: NONE, DRAW, loss_in(n), win_in(n) for the mover (codes.py)

`table` is `Tables.array`, an argument of the kernel; `empty_table(rules)` where there is none, and then every code is NONE. Ask
`is_terminal` first: finished positions are in no table. NONE is no verdict, and the search goes on.

**Counters and repetitions.** A win in n plies is claimed only where n ≤ plies_to_draw(state), and so is a loss. The winner's moves of
the table shorten the distance each time, so no position comes twice, and no counter can run out before the end. What goes beyond
may still be won, by a capture on the way say, but the table does not know it. DRAW needs no such care: whoever can't be beaten when
nothing draws can't be beaten when the past may draw too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from base.bits import U
from base.seeds import mix
from classical.tables.codes import NONE, plies_of
from games import Rules

ENTRY = np.dtype((np.record, np.dtype([("key", np.uint64), ("code", np.uint16)], align=True)))
"""A complete table is a hash table of these, a power of two of them; `code` 0 marks a free one."""


def has_endgames(rules: Rules) -> bool:
    return bool(rules.endgames) and rules.endgame_index is not None and rules.endgame_position is not None


def empty_table(rules: Rules) -> Any:
    """A table in which nothing is found, of the type that this game's kernels take."""
    return np.zeros(0, np.uint16 if has_endgames(rules) else ENTRY)


def prober(rules: Rules) -> Callable[[Any, Any], Any]:
    """probe(table, state) -> code, for kernels of this game."""
    return _indexed(rules) if has_endgames(rules) else _keyed(rules)


def _indexed(rules: Rules) -> Callable[[Any, Any], Any]:
    """table[endgame_index(state)]"""
    index_of, plies_to_draw = rules.endgame_index, rules.plies_to_draw or _no_counter
    assert index_of is not None

    def probe(table: Any, state: Any) -> Any:
        if len(table) == 0:
            return np.int64(NONE)
        code = code_at(table, index_of(state))
        if code >= 2 and plies_of(code) > plies_to_draw(state):
            return np.int64(NONE)
        return code

    return probe


def code_at(table: Any, index: int) -> Any:
    if index < 0 or index >= len(table):
        return np.int64(NONE)
    return np.int64(table[index])


def _keyed(rules: Rules) -> Callable[[Any, Any], Any]:
    """Linear probing by key(state)."""
    key = rules.key

    def probe(table: Any, state: Any) -> Any:
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

    return probe


def first_slot(word: Any, slots: int) -> Any:
    """Where the search for a key begins; `slots` is a power of two."""
    return np.int64(mix(word) & U(slots - 1))


def _no_counter(state: Any) -> int:
    return 1 << 30
