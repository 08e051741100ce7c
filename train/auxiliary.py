"""Auxiliary targets: what a network learns beside policy and value, because it helps the features along (KataGo, Wu 2019, sections 3.4
and 4.1).

    learning.auxiliary = ["reply=0.15", "ownership=1.5"]          # KataGo's weights; a file of a run, or --set

| name      | target                                                    | in                    | loss                           |
|-----------|-----------------------------------------------------------|-----------------------|--------------------------------|
| reply     | the policy target one ply later, if the opponent moves    | any game              | cross-entropy                  |
| ownership | the owner of each cell at the end, or none                | games that declare it | cross-entropy, mean over cells |
| score     | each player's score at the end, as a share of the largest | games that declare it | squared error, mean of players |

A game declares the last two by `Rules.ownership` and `Rules.score`. A target is one entry of `AUXILIARY`: a head that reads
`Net.features`, a target computed from the games in the replay window, and a loss. Heads exist in training alone: they are saved with
the state of a run, and no checkpoint, search or evaluator has them. Records hold none of this: targets are computed from moves,
policies, and the position at the end. A game that was broken off or resigned has neither owners nor scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from torch import Tensor, cat, nn
from torch.nn import functional as F

from games import Game
from nets.heads import policy_head, policy_loss

if TYPE_CHECKING:
    import torch

    from train.window import Array, Window


@dataclass(frozen=True)
class Auxiliary:
    """A further target. Its metric is `loss/auxiliary NAME`."""

    head: Callable[[Game, torch.Size], nn.Module]
    """(game, shape of one position's features) -> a module from features [B, …] to outputs [B, …]"""
    target: Callable[[Window, Array], Array]
    """(window, plies [B] counted through all games) -> float32 [B, …], relative to the mover. NaN: this position has no target."""
    loss: Callable[[Tensor, Tensor], Tensor]
    """(outputs, targets) of the positions that have one -> [n]"""
    turns_as: Literal["policy", "planes", "nothing"] = "nothing"
    """What a symmetry does with a target: permutes it as it does a policy [B, A], or planes [B, k, rows, columns], or nothing."""
    needs: Literal["", "ownership", "score"] = ""
    """The function of `Rules` that a game has to declare."""


# ── the opponent's reply ──


def reply(window: Window, plies: Array) -> Array:
    """[B, A]: the policy target one ply later, in the mover's numbers; NaN where there is none, or the same player moves on."""
    replies = np.minimum(plies + 1, window.ends(plies) - 1)
    known = (replies > plies) & window.has_policy(replies) & (window.movers(replies) != window.movers(plies))
    targets = np.full((len(plies), window.game.actions), np.nan, np.float32)
    policies = window.positions(replies[known]).policies  # in the numbers of the player who replies
    views = window.views[window.movers(plies[known])], window.views[window.movers(replies[known])]
    absolute = np.take_along_axis(policies, views[1], axis=1)
    turned = np.zeros_like(policies)
    np.put_along_axis(turned, views[0], absolute, axis=1)
    targets[known] = turned
    return targets


# ── whose each cell is, and the score ──


class OwnershipHead(nn.Module):
    """Features -> logits [B, players + 1, rows, columns], the last of no owner: a 1×1 convolution, or a linear map of a vector."""

    def __init__(self, game: Game, shape: torch.Size) -> None:
        super().__init__()
        self.shape = game.players + 1, *game.rules.observation[1:]
        is_board = len(shape) == 3
        self.map = (
            nn.Conv2d(shape[0], self.shape[0], 1) if is_board else nn.Linear(shape.numel(), math.prod(self.shape))
        )

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.map(x)
        return logits.reshape(-1, *self.shape)


def ownership_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """[n]: cross-entropy with the shares of each cell, that of no owner added; the mean over cells."""
    shares = cat([targets, 1 - targets.sum(1, keepdim=True)], 1)
    return -(shares * logits.log_softmax(1)).sum(1).mean((1, 2))


def score_head(game: Game, shape: torch.Size) -> nn.Module:
    """Features -> [B, players], through a hidden layer of few units: a score is a sum over the board."""
    hidden = 32
    return nn.Sequential(nn.Flatten(), nn.Linear(shape.numel(), hidden), nn.ReLU(), nn.Linear(hidden, game.players))


AUXILIARY: dict[str, Auxiliary] = {
    "reply": Auxiliary(
        head=lambda game, shape: policy_head(game.rules, shape),
        target=reply,
        loss=lambda logits, targets: policy_loss(logits, targets),
        turns_as="policy",
    ),
    "ownership": Auxiliary(
        head=OwnershipHead,
        target=lambda window, plies: window.ownership(plies),
        loss=ownership_loss,
        turns_as="planes",
        needs="ownership",
    ),
    "score": Auxiliary(
        head=score_head,
        target=lambda window, plies: window.scores(plies),
        loss=lambda outputs, targets: F.mse_loss(outputs, targets, reduction="none").mean(1),
        needs="score",
    ),
}
