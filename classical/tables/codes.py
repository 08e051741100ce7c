"""What a table says of a position, in one number, seen from whoever is to move.

    0          NONE: no position, a finished one, or one of which the table says nothing
    1          DRAW
    2 + 2n     lost in n plies, however it is defended
    3 + 2n     won in n plies, against every defence

A ply is one action: a double jump counts two. The winner hurries and the loser delays, so n is the distance to the end of the game
(chess: depth to mate, in plies). These are plain functions: kernels use them as they stand.
"""

from __future__ import annotations

from typing import Any

NONE, DRAW = 0, 1
LONGEST = 32_000  # plies; a code has 16 bits


def loss_in(plies: Any) -> Any:
    return 2 + 2 * plies


def win_in(plies: Any) -> Any:
    return 3 + 2 * plies


def value_of(code: Any) -> int:
    """The mover's utility: 1 won, 0 drawn (or nothing said), -1 lost."""
    if code < 2:
        return 0
    return 1 if code & 1 else -1


def plies_of(code: Any) -> int:
    """Plies to the end; 0 for a draw."""
    return (int(code) - 2) >> 1 if code >= 2 else 0


def words(code: int) -> str:
    """`won in 19`, `lost in 4`, `drawn`."""
    if code == NONE:
        return "not in the table"
    value = value_of(code)
    return "drawn" if value == 0 else f"{'won' if value > 0 else 'lost'} in {plies_of(code)}"
