"""Futility: near the horizon, a position or an action whose EVAL is far outside the window is not searched (Heinz 1998).

Margins are utilities times UNIT, since EVAL is a utility: the same for every game.
"""

from __future__ import annotations

from games.types import Integer

FUTILE_DEPTH = 3


def futility_margin(depth: Integer) -> Integer:
    """What so many plies are assumed to change at most."""
    return 150_000 * depth
