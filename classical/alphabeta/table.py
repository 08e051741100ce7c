"""The transposition table: what was found out about a position, for when another path leads to it.

An entry has 16 bytes, four of them fill one cache line and form a bucket:

| bytes | field    | what                                                                                        |
|-------|----------|---------------------------------------------------------------------------------------------|
| 8     | `key`    | the position's 64 bits, compared whole                                                       |
| 4     | `score`  | of whoever moves there; wins count their plies from this position, not from the root         |
| 2     | `action` | the one that was best or cut off, plus one; 0: none                                          |
| 1     | `depth`  | how far the search went on from there                                                        |
| 1     | `tag`    | bits 0-1: bound + 1 (0: the entry is empty), bit 2: no EVAL in it, bits 3-7: the search's age |

A value without EVAL in it is the same at every depth from there on, so such an entry serves them all.

**Exactness.** A depth-limited value belongs to one position and one depth, so in exact searches only entries of the same depth count.
Depth 0 occurs only within a turn that goes on (elsewhere it is a leaf and never asks the table), and so means one thing. Where a game's
fields record the path, values depend on it: exact searches mix those fields into the key. When playing, that would cost nearly all
transpositions; there a value that came from a draw by repetition or counter is not stored at all, only its action.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from base.bits import U
from base.seeds import mix
from classical.alphabeta.workspace import FILLED, NONE
from classical.scores import UNIT
from games import Rules

ENTRY = np.dtype(
    [("key", np.uint64), ("score", np.int32), ("action", np.uint16), ("depth", np.int8), ("tag", np.uint8)]
)
assert ENTRY.itemsize == 16
WAYS = 4
AGES = 32
NAMED = 65_535  # actions with higher ids are not kept

_GOLDEN, _32 = U(0x9E3779B97F4A7C15), U(32)
_SEED = U(0x452821E638D01377)


def new_table(megabytes: int) -> np.ndarray[Any, Any]:
    """An empty one, aligned to cache lines, of as many buckets as the largest power of two that fits."""
    buckets = 1 << ((megabytes << 20) // (WAYS * ENTRY.itemsize)).bit_length() - 1
    return _aligned(buckets * WAYS)


def no_table() -> np.ndarray[Any, Any]:
    """What kernels are given where there is none."""
    return _aligned(WAYS)


def _aligned(entries: int) -> np.ndarray[Any, Any]:
    memory = np.zeros(entries * ENTRY.itemsize + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + entries * ENTRY.itemsize].view(ENTRY)


def position_key(rules: Rules) -> Callable[[Any, Any], Any]:
    """key_of(state, with_path): the game's key, or one that also tells paths apart."""
    key = rules.key
    path = path_hash(rules)

    def key_of(state: Any, with_path: Any) -> Any:
        word = U(key(state))
        return path(state, word) if with_path else word

    return key_of


def path_hash(rules: Rules) -> Callable[[Any, Any], Any]:
    """hash(state, word): stirs all fields that record the path into a word. The word is stirred before each: a field may hold the key
    itself, and would cancel it."""

    def start(state: Any, word: Any) -> Any:
        return word

    fold: Callable[[Any, Any], Any] = start
    for name in rules.history:
        fold = _then(fold, _field(name, is_array=bool(rules.State[name].shape)))
    return fold


def _field(name: str, is_array: bool) -> Callable[[Any, Any], Any]:
    def array(state: Any, word: Any) -> Any:
        for value in state[name].flat:
            word = mix(mix(word + _SEED) ^ U(value))
        return word

    def number(state: Any, word: Any) -> Any:
        return mix(mix(word + _SEED) ^ U(state[name]))

    return array if is_array else number


def _then(first: Callable[[Any, Any], Any], second: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def both(state: Any, word: Any) -> Any:
        return second(state, first(state, word))

    return both


def empty(ws: Any, table: np.ndarray[Any, Any]) -> None:
    """Forget everything; `ws` knows which slots were filled, where they were few."""
    count = int(ws["filled_count"])
    if count <= FILLED:
        table[ws["filled"][:count]] = np.zeros(1, ENTRY)
    else:
        table.view(np.uint8).fill(0)
    ws["filled_count"] = 0


# ── compiled ──


def bucket_of(table: Any, key: Any) -> Any:
    """Index of the first entry of the key's bucket (Fibonacci hashing: weak keys spread as well)."""
    buckets = U(len(table) // WAYS)
    return np.int64(((key * _GOLDEN) >> _32) & (buckets - U(1))) * WAYS


def find(table: Any, key: Any) -> Any:
    """Index of the position's entry, or -1."""
    first = bucket_of(table, key)
    for i in range(first, first + WAYS):
        if table[i].key == key and table[i].tag:
            return np.int64(i)
    return np.int64(-1)


def action_at(table: Any, slot: Any) -> Any:
    return np.int64(table[slot].action) - 1


def bound_at(table: Any, slot: Any) -> Any:
    """EXACT, UPPER or LOWER."""
    return np.int64(table[slot].tag & 3) - 1


def is_whole(table: Any, slot: Any) -> bool:
    """No EVAL in it."""
    return bool(table[slot].tag & 4)


def score_at(table: Any, slot: Any, ply: Any) -> Any:
    """The score as seen from the root."""
    score = np.int64(table[slot].score)
    if score > UNIT:
        return score - ply
    if score < -UNIT:
        return score + ply
    return score


def store(ws: Any, table: Any, key: Any, ply: Any, score: Any, action: Any, depth: Any, bound: Any, whole: Any) -> None:
    """Into the position's own entry, else in place of the one in its bucket that is shallowest, counting eight plies per age."""
    age = ws.age
    first = bucket_of(table, key)
    slot = first
    least = np.int64(1 << 30)
    for i in range(first, first + WAYS):
        entry = table[i]
        if entry.tag == 0 or entry.key == key:
            slot = i
            break
        worth = np.int64(entry.depth) - 8 * ((age - np.int64(entry.tag >> 3)) & (AGES - 1))
        if worth < least:
            least = worth
            slot = i
    entry = table[slot]
    if entry.tag == 0:
        if ws.filled_count < FILLED:
            ws.filled[ws.filled_count] = slot
        ws.filled_count += 1
    is_own = entry.tag != 0 and entry.key == key
    named = action + 1 if NONE < action < NAMED else 0
    if is_own:
        if named == 0:
            named = np.int64(entry.action)
        is_new = np.int64(entry.tag >> 3) == age
        if is_new and bound != 0 and depth < entry.depth:  # what is known is worth more than what comes
            return
    if score > UNIT:
        score += ply
    elif score < -UNIT:
        score -= ply
    entry.key = key
    entry.score = score
    entry.action = named
    entry.depth = depth
    entry.tag = (age << 3) | (4 if whole else 0) | (bound + 1)
