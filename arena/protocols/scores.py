"""Values as other programs show them. A value is the mover's utility in [-1, 1].

centipawns      c with tanh(u · c / 100) = value, u the weight of the unit in the game's EVAL; in chess a pawn
mate            moves of the winner to the end, where the line reaches it
win-draw-loss   in thousandths. Where the game has draws: w = p², l = (1 - p)², d = 2 p (1 - p) with p = (1 + value) / 2, as of two
                independent halves; so w - l = value. A search keeps the expected utility alone, so d is a model
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from games import Game

MOST = 10_000
"""Centipawns."""


def centipawns(value: float, unit: float) -> int:
    if abs(value) >= 1.0:
        return int(math.copysign(MOST, value))
    return round(max(-MOST, min(MOST, 100 * math.atanh(value) / unit)))


def ends_after(game: Game, state: Any, line: Sequence[int]) -> int | None:
    """The number of actions after which `line` ends the game; None where it does not."""
    for ply, action in enumerate(line, 1):
        if action not in game.legal_actions(state):
            return None
        state = game.result(state, action)
        if game.is_terminal(state):
            return ply
    return None


def score(game: Game, state: Any, value: float, line: Sequence[int]) -> str:
    """As in `info score …`: `cp 31`, `mate -2`."""
    if abs(value) >= 1.0 and (plies := ends_after(game, state, line)) is not None:
        moves = (plies + 1) // 2
        return f"mate {moves if value > 0 else -moves}"
    return f"cp {centipawns(value, game.rules.weight_unit)}"


def win_draw_loss(value: float, has_draws: bool) -> tuple[int, int, int]:
    win = (1.0 + max(-1.0, min(1.0, value))) / 2
    if not has_draws:
        won = round(1000 * win)
        return won, 0, 1000 - won
    won, lost = round(1000 * win * win), round(1000 * (1 - win) * (1 - win))
    return won, 1000 - won - lost, lost


def has_draws(game: Game) -> bool:
    return not game.rules.values or any(abs(value) < 1 for value in game.rules.values)
