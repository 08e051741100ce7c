"""Late-move reductions: with good ordering, late quiet actions are rarely best, so they are searched less deep at first.

An action that beats alpha all the same is searched again to the full depth.
"""

from __future__ import annotations

from games.types import Integer

LATE_DEPTH = 3
LATE_INDEX = 3


def late_reduction(depth: Integer, index: Integer) -> Integer:
    """By how much the depth of the action tried as number `index` (from 0) is reduced."""
    return 1 + (1 if index >= 8 else 0) + (1 if depth >= 8 and index >= 5 else 0)
