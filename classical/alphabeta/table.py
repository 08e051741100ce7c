"""The transposition table: results of searches by position, reused where another path leads to the same one.

An entry has 16 bytes, four of them fill one cache line and form a bucket:

| bytes | field   | what                                                                                          |
|-------|---------|-----------------------------------------------------------------------------------------------|
| 8     | `check` | the position's 64 bits XOR `word`                                                              |
| 8     | `word`  | one word, 0: empty entry                                                                       |

| bits of `word` | what                                                                                         |
|----------------|----------------------------------------------------------------------------------------------|
| 32-63          | score, the mover's, plus 2³¹; wins count their plies from this position, not from the root    |
| 16-31          | the action that was best or cut off, plus one; 0: none                                        |
| 8-15           | depth of the search from this position, plus 128                                              |
| 3-7            | the search's age                                                                              |
| 2              | independent of EVAL                                                                           |
| 0-1            | bound + 1                                                                                     |

**Threads** may share a table without a lock. What one writes while another reads has the wrong `check`, so it is no entry; a search
reads `word` once and works on that word (Hyatt and Mann 2002, "A lockless transposition table implementation for parallel search").

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

ENTRY = np.dtype([("check", np.uint64), ("word", np.uint64)])
assert ENTRY.itemsize == 16
WAYS = 4
AGES = 32
NAMED = 65_535  # larger action ids are not stored

_GOLDEN = U(0x9E3779B97F4A7C15)
_0, _1, _2, _3, _4, _8, _16, _32 = U(0), U(1), U(2), U(3), U(4), U(8), U(16), U(32)
_5_BITS, _BYTE, _HALF = U(31), U(0xFF), U(0xFFFF)
_SCORE, _DEPTH = 1 << 31, 128  # added: fields are not negative
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
    return np.int64(((key * _GOLDEN) >> _32) & (buckets - _1)) * WAYS


def find(table: Entries, key: Bits) -> Bits:
    """The data of the position's entry, 0 where there is none."""
    first = bucket_of(table, key)
    for i in range(first, first + WAYS):
        data = U(table[i].word)
        if data != _0 and U(table[i].check) ^ data == key:
            return data
    return _0


def action_of(data: Bits) -> Integer:
    """NONE where no action is stored."""
    return np.int64((data >> _16) & _HALF) - 1


def depth_of(data: Bits) -> Integer:
    return np.int64((data >> _8) & _BYTE) - _DEPTH


def bound_of(data: Bits) -> Integer:
    """EXACT, UPPER or LOWER."""
    return np.int64(data & _3) - 1


def is_whole(data: Bits) -> bool:
    """The value is independent of EVAL."""
    return bool(data & _4)


def stored_score(data: Bits, ply: Integer) -> Score:
    """The score as seen from the root."""
    score = np.int64(data >> _32) - _SCORE
    if score > UNIT:
        return score - ply
    if score < -UNIT:
        return score + ply
    return score


def age_of(data: Bits) -> Integer:
    return np.int64((data >> _3) & _5_BITS)


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
    old, is_own = _0, False
    for i in range(first, first + WAYS):
        data = U(table[i].word)
        if data == _0 or U(table[i].check) ^ data == key:
            slot, old, is_own = i, data, data != _0
            break
        worth = depth_of(data) - 8 * ((age - age_of(data)) & (AGES - 1))
        if worth < least:
            least = worth
            slot, old = i, data
    if old == _0:
        if ws.filled_count < FILLED:
            ws.filled[ws.filled_count] = slot
        ws.filled_count += 1
    named = action + 1 if NONE < action < NAMED else 0
    if is_own:
        if named == 0:
            named = action_of(old) + 1
        if age_of(old) == age and bound != 0 and depth < depth_of(old):  # the deeper result stays
            return
    if score > UNIT:
        score += ply
    elif score < -UNIT:
        score -= ply
    data = U(score + _SCORE) << _32 | U(named) << _16 | U(depth + _DEPTH) << _8
    data |= U(age) << _3 | (_4 if whole else _0) | U(bound + 1)
    table[slot].check = key ^ data
    table[slot].word = data


def keep_action(table: Entries, key: Bits, action: Integer) -> None:
    """Where a value must not be stored, its action still is, if the position has an entry."""
    first = bucket_of(table, key)
    for i in range(first, first + WAYS):
        data = U(table[i].word)
        if data != _0 and U(table[i].check) ^ data == key:
            if action < NAMED:
                data = (data & ~(_HALF << _16)) | U(action + 1) << _16
                table[i].check = key ^ data
                table[i].word = data
            return
