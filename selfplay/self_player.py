"""Players of self-play for records alone, made from one line of text like the arena's players:

    net:CHECKPOINT,sims=64,fast=16,resign=0.9      a network, by the settings of self-play (`selfplay/settings.py`)
    uniform:sims=64                                 the same search, uniform policy and value 0
    rollouts:sims=1000                              the same search, random games at the leaves

Their searches yield targets, the visits at the root. All other players play in the arena, `python -m arena match GAME A A
--records DIR`, which writes records of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from base.errors import UserError, nearest
from base.options import Options, split
from checkpoints import resolve
from games import Game
from mcts.puct import PUCT
from mcts.settings import SearchSettings
from selfplay.settings import SelfPlaySettings

Count = Annotated[int, range(1, 2**31 - 1)]
Slots = Annotated[int, range(1, 4097)]


@dataclass(frozen=True)
class SelfPlayer:
    """A player, resolved: its settings and its evaluator."""

    text: str
    settings: SelfPlaySettings
    search: SearchSettings
    checkpoint: str = ""
    """The network's folder; '' where there is none."""


def of_net(
    checkpoint: str,
    /,
    sims: Count = 64,
    fast: Count = 16,
    full: float = 0.25,
    openings: float = 0.5,
    resign: float = 1.0,
    played_out: float = 0.1,
    slots: Slots = 32,
) -> dict[str, Any]:
    """a network; `fast` simulations where the search is not full; resign=0.9,played_out=1 measures how often that would be wrong"""
    how = {"simulations": sims, "fast_simulations": fast, "full": full, "openings": openings}
    return how | {"resign": resign, "played_out": played_out, "slots": slots}


def of_uniform(sims: Count = 64, fast: Count = 16, full: float = 0.25, slots: Slots = 32) -> dict[str, Any]:
    """a uniform policy and a value of 0: like the first network of a run"""
    return {"simulations": sims, "fast_simulations": fast, "full": full, "slots": slots}


def of_rollouts(sims: Count = 1000, slots: Slots = 32) -> dict[str, Any]:
    """random games at the leaves"""
    return {"simulations": sims, "fast_simulations": sims, "full": 1.0, "slots": slots}


KINDS: dict[str, Callable[..., dict[str, Any]]] = {"net": of_net, "uniform": of_uniform, "rollouts": of_rollouts}


def self_player(text: str, game: Game) -> SelfPlayer:
    """The player that `text` names."""
    kind, given = split(text)
    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise UserError(
            f"player: expected one of {known} (other players are the arena's), got '{kind}'{nearest(kind, KINDS)}"
        )
    options = Options(kind, KINDS[kind])
    resolved = options.resolve(given)
    checkpoint = ""
    if kind == "net":
        checkpoint = resolved["checkpoint"] = str(resolve(resolved["checkpoint"], game))
    settings = SelfPlaySettings(**options.call(KINDS[kind], resolved))
    search = PUCT(rollout=1.0) if kind == "rollouts" else PUCT()
    return SelfPlayer(kind + options.text(resolved), settings, search, checkpoint)
