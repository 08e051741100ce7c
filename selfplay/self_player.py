"""Players of self-play for records alone, made from one line of text like the arena's players:

    net:CHECKPOINT,sims=64,fast=16,resign=0.9      a network, by the settings of self-play (`selfplay/settings.py`)
    uniform:sims=64                                 the same search, uniform policy and value 0
    rollouts:sims=1000                              the same search, random games at the leaves

and where information is hidden

    net:CHECKPOINT,playouts=4,eta=0.5               a network's policy, and a step of mirror descent from it (`mcts/mirror.py`)

They yield targets: the visits at the root, or the step's policy. All other players play in the arena, `python -m arena match GAME A A
--records DIR`, which writes records of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from base.errors import UserError, nearest
from base.options import Options, split
from checkpoints import resolve
from games import Game
from mcts.mirror import Mirror
from mcts.puct import PUCT
from mcts.settings import MethodSettings
from selfplay.settings import SelfPlaySettings

Count = Annotated[int, range(1, 2**31 - 1)]
Slots = Annotated[int, range(1, 4097)]


How = tuple[SelfPlaySettings, MethodSettings]
"""How a player plays against itself."""


@dataclass(frozen=True)
class SelfPlayer:
    """A player, resolved: its settings and its evaluator."""

    text: str
    settings: SelfPlaySettings
    search: MethodSettings
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
) -> How:
    """a network; `fast` simulations where the search is not full; resign=0.9,played_out=1 measures how often that would be wrong"""
    settings = SelfPlaySettings(
        simulations=sims,
        fast_simulations=fast,
        full=full,
        openings=openings,
        resign=resign,
        played_out=played_out,
        slots=slots,
    )
    return settings, PUCT()


def of_uniform(sims: Count = 64, fast: Count = 16, full: float = 0.25, slots: Slots = 32) -> How:
    """a uniform policy and a value of 0: like the first network of a run"""
    return SelfPlaySettings(simulations=sims, fast_simulations=fast, full=full, slots=slots), PUCT()


def of_rollouts(sims: Count = 1000, slots: Slots = 32) -> How:
    """random games at the leaves"""
    return SelfPlaySettings(simulations=sims, fast_simulations=sims, full=1.0, slots=slots), PUCT(rollout=1.0)


def of_policy(checkpoint: str, /, playouts: Count = 2, eta: float = 1.0, alpha: float = 0.2, full: float = 1.0) -> How:
    """a network's policy, and at a share `full` of decisions a step of mirror descent from it"""
    return SelfPlaySettings(full=full), Mirror(playouts=playouts, eta=eta, alpha=alpha, anneal=0)


KINDS: dict[str, Callable[..., How]] = {"net": of_net, "uniform": of_uniform, "rollouts": of_rollouts}
HIDDEN_KINDS: dict[str, Callable[..., How]] = {"net": of_policy}
"""Where information is hidden."""


def self_player(text: str, game: Game) -> SelfPlayer:
    """The player that `text` names."""
    kind, given = split(text)
    kinds = HIDDEN_KINDS if game.hides_information else KINDS
    if kind not in kinds:
        expected = f"{'one of ' if len(kinds) > 1 else ''}{', '.join(kinds)}"
        raise UserError(
            f"player: expected {expected} for {game.name} (other players are the arena's), got '{kind}'{nearest(kind, kinds)}"
        )
    options = Options(kind, kinds[kind])
    resolved = options.resolve(given)
    checkpoint = ""
    if kind == "net":
        checkpoint = resolved["checkpoint"] = str(resolve(resolved["checkpoint"], game))
    settings, search = options.call(kinds[kind], resolved)
    return SelfPlayer(kind + options.text(resolved), settings, search, checkpoint)
