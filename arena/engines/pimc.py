"""The player `pimc:worlds=N`: perfect-information Monte Carlo (classical/pimc.py)."""

from __future__ import annotations

from typing import Any

from arena.players import Count, Depth, eval_of, plays_views
from classical.pimc import PIMC
from games import Game


@plays_views
def player(game: Game, /, worlds: Count = 20, depth: Depth = 6, eval: str | None = None, seed: int = 0) -> Any:
    """values actions in worlds that fit what it has noticed, each searched as if everything were seen: by alpha-beta (two players, zero
    sum, no chance), else by max^n; games that hide information"""
    return PIMC(game, worlds, depth, eval_of(game, eval), seed)
