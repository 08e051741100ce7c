"""The transposition table: results of searches by position, reused where another path leads to the same one.

An entry has 16 bytes, four of them fill one cache line and form a bucket:

| bytes | field    | what                                                                                        |
|-------|----------|---------------------------------------------------------------------------------------------|
| 8     | `key`    | the position's 64 bits, compared whole                                                       |
| 4     | `score`  | the mover's; wins count their plies from this position, not from the root                    |
| 2     | `action` | that was best or cut off, plus one; 0: none                                                   |
| 1     | `depth`  | of the search from this position                                                             |
| 1     | `tag`    | bits 0-1: bound + 1 (0: empty entry), bit 2: independent of EVAL, bits 3-7: the search's age  |

A value independent of EVAL is the same at every larger depth, so such an entry is used for all of them.

**Exactness.** A depth-limited value belongs to one position and one depth, so exact searches use only entries of the same depth.
(Depth 0 is probed only in the middle of a turn; elsewhere it is a leaf.) Where a game's fields record the path, values depend on it:
exact searches mix those fields into the key. In play that would lose nearly all transpositions; there, a value that comes from a draw
by repetition or counter is not stored, only its action.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from base.bits import U
from base.seeds import mix
from classical.alphabeta.workspace import FILLED, NONE, Workspace
from classical.scores import UNIT
from classical.types import Entries, Score
from games import Rules
from games.types import Array, Bits, GameState, Integer

ENTRY = np.dtype(
    [("key", np.uint64), ("score", np.int32), ("action", np.uint16), ("depth", np.int8), ("tag", np.uint8)]
)
assert ENTRY.itemsize == 16
WAYS = 4
AGES = 32
NAMED = 65_535  # larger action ids are not stored

_GOLDEN, _32 = U(0x9E3779B97F4A7C15), U(32)
_SEED = U(0x452821E638D01377)

PathHash = Callable[[GameState, Bits], Bits]


def new_table(megabytes: int) -> Array:
    """An empty one, aligned to cache lines, of as many buckets as the largest power of two that fits."""
    buckets = 1 << ((megabytes << 20) // (WAYS * ENTRY.itemsize)).bit_length() - 1
    return _aligned(buckets * WAYS)


def no_table() -> Array:
    """The argument of kernels where the table is off."""
    return _aligned(WAYS)


def _aligned(entries: int) -> Array:
    memory = np.zeros(entries * ENTRY.itemsize + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + entries * ENTRY.itemsize].view(ENTRY)


def position_key(rules: Rules) -> Callable[[GameState, Integer], Bits]:
    """key_of(state, with_path): the game's key, or one that distinguishes paths as well."""
    key = rules.key
    path = path_hash(rules)

    def key_of(state: GameState, with_path: Integer) -> Bits:
        word = U(key(state))
        return path(state, word) if with_path else word

    return key_of


def path_hash(rules: Rules) -> PathHash:
    """hash(state, word): mixes all fields that record the path into a word. The word is mixed before each field too: a field may hold
    the key itself, which would cancel it."""

    def start(state: GameState, word: Bits) -> Bits:
        return word

    fold: PathHash = start
    for name in rules.history:
        fold = _then(fold, _field(name, is_array=bool(rules.State[name].shape)))
    return fold


def _field(name: str, is_array: bool) -> PathHash:
    def array(state: GameState, word: Bits) -> Bits:
        for value in state[name].flat:
            word = mix(mix(word + _SEED) ^ U(value))
        return word

    def number(state: GameState, word: Bits) -> Bits:
        return U(mix(mix(word + _SEED) ^ U(state[name])))

    return array if is_array else number


def _then(first: PathHash, second: PathHash) -> PathHash:
    def both(state: GameState, word: Bits) -> Bits:
        return second(state, first(state, word))

    return both


def empty(ws: Workspace, table: Array) -> None:
    """Empty the table; `ws` lists the filled slots, if they are few."""
    count = int(ws["filled_count"])
    if count <= FILLED:
        table[ws["filled"][:count]] = np.zeros(1, ENTRY)
    else:
        table.view(np.uint8).fill(0)
    ws["filled_count"] = 0


# ── compiled ──


def bucket_of(table: Entries, key: Bits) -> Integer:
    """Index of the first entry of the key's bucket (Fibonacci hashing, which spreads weak keys)."""
    buckets = U(len(table) // WAYS)
    return np.int64(((key * _GOLDEN) >> _32) & (buckets - U(1))) * WAYS


def find(table: Entries, key: Bits) -> Integer:
    """Index of the position's entry, or -1."""
    first = bucket_of(table, key)
    for i in range(first, first + WAYS):
        if table[i].key == key and table[i].tag:
            return np.int64(i)
    return np.int64(-1)


def action_at(table: Entries, slot: Integer) -> Integer:
    return np.int64(table[slot].action) - 1


def bound_at(table: Entries, slot: Integer) -> Integer:
    """EXACT, UPPER or LOWER."""
    return np.int64(table[slot].tag & 3) - 1


def is_whole(table: Entries, slot: Integer) -> bool:
    """The value is independent of EVAL."""
    return bool(table[slot].tag & 4)


def score_at(table: Entries, slot: Integer, ply: Integer) -> Score:
    """The score as seen from the root."""
    score = np.int64(table[slot].score)
    if score > UNIT:
        return score - ply
    if score < -UNIT:
        return score + ply
    return score


def store(
    ws: Workspace,
    table: Entries,
    key: Bits,
    ply: Integer,
    score: Score,
    action: Integer,
    depth: Integer,
    bound: Integer,
    whole: bool,
) -> None:
    """Into the position's own entry, else over the shallowest of its bucket, where each age counts as eight plies."""
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
        if is_new and bound != 0 and depth < entry.depth:  # the deeper result stays
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


def keep_action(table: Entries, key: Bits, action: Integer) -> None:
    """Where a value must not be stored, its action still is, if the position has an entry."""
    slot = find(table, key)
    if slot >= 0 and action < NAMED:
        table[slot].action = action + 1
