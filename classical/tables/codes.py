"""The entry of a position in a table: its value for the mover and the distance to the end, as one number.

    0          NONE: no position, a finished one, or one that is not in the table
    1          DRAW
    2 + 2n     lost in n plies against best play
    3 + 2n     won in n plies against every defence

A ply is one action: a double jump counts two. n is the distance to the end of the game if the winner minimizes it and the loser
maximizes it (chess: depth to mate, in plies). Kernels use these functions as well.
"""

from __future__ import annotations

from games.types import Integer

NONE, DRAW = 0, 1
LONGEST = 32_000  # plies; a code has 16 bits


def loss_in(plies: Integer) -> Integer:
    return 2 + 2 * plies


def win_in(plies: Integer) -> Integer:
    return 3 + 2 * plies


def value_of(code: Integer) -> int:
    """The mover's utility: 1 won, 0 drawn or NONE, -1 lost."""
    if code < 2:
        return 0
    return 1 if code & 1 else -1


def plies_of(code: Integer) -> int:
    """Plies to the end; 0 for a draw."""
    return (int(code) - 2) >> 1 if code >= 2 else 0


def words(code: int) -> str:
    """`won in 19`, `lost in 4`, `drawn`."""
    if code == NONE:
        return "not in the table"
    value = value_of(code)
    return "drawn" if value == 0 else f"{'won' if value > 0 else 'lost'} in {plies_of(code)}"
