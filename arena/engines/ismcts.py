"""The player `ismcts:sims=N`: tree search over information sets (mcts/ismcts.py)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from arena.players import plays_views
from games import Game
from mcts.ismcts import ISMCTS, ISMCTSSettings


@plays_views
def player(
    game: Game,
    /,
    sims: Annotated[int, range(1, 10**7)] = 1000,
    worlds: Literal["policy", "uniform"] | None = None,
    select: Literal["regret", "ucb"] = "regret",
    c: float = ISMCTSSettings.c,
    seed: int = 0,
) -> Any:
    """tree search over information sets, for games that hide information: one tree per player. worlds=policy weighs worlds by what the
    others would have played, uniform does not; select=ucb,worlds=uniform is information set MCTS, with exploration c"""
    return ISMCTS(game, ISMCTSSettings(sims, worlds, select, c), seed)
