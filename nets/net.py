"""From a network's text to the network: `make_net("resnet:5x64,pool=on", game)`.

A file of this folder that defines `net(game, …) -> Net` *is* a kind of network, called like the file. The function's further
parameters are its options, their annotations the allowed values (`base/options.py`). A net's resolved text has all its options.
"""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import Tensor, nn

from base.errors import UserError, nearest
from base.options import Options, split
from base.seeds import derive
from games import Game
from nets.heads import Outcome
from nets.names import kinds


class Net(nn.Module):
    """A policy/value network of one game. Observations, action numbers and values are all from one player's side, the viewer's."""

    def __init__(self, game: Game) -> None:
        super().__init__()
        self.text = ""
        """The resolved text of a net of this shape; `make_net` sets it."""
        self.game, self.version = game.name, game.version
        self.observation, self.actions = game.rules.observation, game.actions
        self.outcome = Outcome.of(game.rules)

    policy: nn.Module
    value: nn.Module

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """[B, channels, rows, columns] -> policy logits [B, A] over the viewer's numbers of the actions, values [B, V] (`Outcome`)."""
        return self.answer(self.features(observations))

    def features(self, observations: Tensor) -> Tensor:
        """[B, …]: what all heads read, the auxiliary ones of training included."""
        raise NotImplementedError

    def answer(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """The two heads that play."""
        return self.policy(features), self.value(features)

    @property
    def parameter_count(self) -> int:
        return sum(each.numel() for each in self.parameters())


def make_net(text: str, game: Game, seed: int = 0) -> Net:
    """The net that `text` names, for `game`; its initial weights are drawn from `seed`."""
    kind, given = split(text)
    options = options_of(kind)
    resolved = options.resolve(given)
    with torch.random.fork_rng(devices=[]):  # torch's layers draw from its global generator
        torch.manual_seed(derive(seed, "net"))
        net: Net = options.call(_factory(kind), resolved, game)
    net.text = kind + options.text(resolved)
    return net


def options_of(kind: str) -> Options:
    """The options of a kind of network."""
    return Options(kind, _factory(kind), skip=("game",))


def _factory(kind: str) -> Any:
    if kind not in kinds():
        raise UserError(f"unknown net '{kind}': expected one of {', '.join(kinds())}{nearest(kind, kinds())}")
    return importlib.import_module(f"nets.{kind}").net
