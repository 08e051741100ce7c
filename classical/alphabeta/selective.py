"""How much the selective organs dare. All of it in one place, as numbers and one-line rules; `search.py` says where each applies.

Margins are utilities times UNIT, since EVAL is a utility: the same for every game.
"""

from __future__ import annotations

from typing import Any

from classical.scores import UNIT

GUESS = 999_000  # the largest EVAL: pruning by guess never meets windows beyond

# Null move (Beal 1989; verified as by Tabibi and Netanyahu 2002, because a pass can be better than every action)
NULL_DEPTH = 2
VERIFY_DEPTH = 6


def null_reduction(depth: Any) -> Any:
    return 2 + depth // 5


# Late-move reductions
LATE_DEPTH = 3
LATE_INDEX = 3


def late_reduction(depth: Any, index: Any) -> Any:
    """By how much the action tried as number `index` (from 0) is searched less deep."""
    return 1 + (1 if index >= 8 else 0) + (1 if depth >= 8 and index >= 5 else 0)


# Futility
FUTILE_DEPTH = 3


def futility_margin(depth: Any) -> Any:
    """What so many plies are taken to change at most."""
    return 150_000 * depth


# Singular extension
SINGULAR_DEPTH = 4
SINGULAR_MARGIN = UNIT // 20


def singular_depth(depth: Any) -> Any:
    """How deep all other actions are searched, to see whether they come near."""
    return (depth - 1) // 2
