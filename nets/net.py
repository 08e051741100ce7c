"""From a network's text to the network: `make_net("resnet:5x64,pool=on", game)`, `make_net("./my_net.py:channels=32", game)`.

A file of this folder that defines `net(game, …) -> Net` *is* a kind of network, called like the file; the path of any other file works
wherever a name does. The function's further parameters are its options, their annotations the allowed values (`base/options.py`). A
net's resolved text has all its options; it has the name of a file, not the folder. `Net.source` is what the file holds: a checkpoint
keeps it, and is loaded from it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from base.errors import UserError, nearest, short
from base.options import Options, split
from base.seeds import derive
from base.user_code import failure, is_file, module_of
from games import Game
from nets.heads import Outcome
from nets.names import kinds


class Net(nn.Module):
    """A policy/value network of one game. Observations, action numbers and values are all from one player's side, the viewer's."""

    def __init__(self, game: Game) -> None:
        super().__init__()
        self.text = ""
        """The resolved text of a net of this shape; `make_net` sets it."""
        self.source = b""
        """The Python file of a kind of network that is not one of the folder's."""
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
    kind = split(text)[0]
    return restored_net(text, game, source_of(kind) if is_file(kind) else b"", seed)


def restored_net(text: str, game: Game, source: bytes, seed: int = 0) -> Net:
    """The same without reading a file: `source` is the content of the one that `text` names. It is executed."""
    kind, given = split(text)
    if is_file(kind) != bool(source):
        raise UserError(f"{short(kind)}: expected a network of the program or of a file that is there, got neither")
    factory = _factory_in(source, kind) if source else _factory(kind)
    options = Options(kind, factory, skip=("game",))
    resolved = options.resolve(given)
    with torch.random.fork_rng(devices=[]):  # torch's layers draw from its global generator
        torch.manual_seed(derive(seed, "net"))
        net = (
            _of_file(lambda: options.call(factory, resolved, game), kind, game)
            if source
            else options.call(factory, resolved, game)
        )
    net.text, net.source = Path(kind).name + options.text(resolved), source
    found: Net = net
    return found


def source_of(kind: str) -> bytes:
    """The content of the file that defines a kind of network."""
    try:
        found = Path(kind).read_bytes()
    except OSError as error:
        raise UserError(f"{short(kind)}: expected a file with a network, found {error.strerror or 'none'}") from None
    return found or b"\n"  # b"" is no file


def _factory(kind: str) -> Any:
    if kind not in kinds():
        raise UserError(
            f"unknown net '{short(kind)}': expected one of {', '.join(kinds())}, or a file.py{nearest(kind, kinds())}"
        )
    return importlib.import_module(f"nets.{kind}").net


def _factory_in(source: bytes, kind: str) -> Any:
    found = getattr(module_of(source, Path(kind).absolute()), "net", None)
    if not callable(found):
        raise UserError(f"{kind}: expected a function 'net(game, …) -> Net' in this file, found none")
    return found


def _of_file(make: Callable[[], Any], kind: str, game: Game) -> Net:
    """A network of the user's own, tried on two empty positions."""
    try:
        net = make()
        if not isinstance(net, Net):
            raise UserError(f"{kind}: expected net(game, …) to return a Net, got {type(net).__name__}")
        net.eval()
        with torch.no_grad():
            answer = net(torch.zeros(2, *game.rules.observation))
        shapes = [list(each.shape) for each in answer]
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        raise failure(kind, str(Path(kind).absolute()), error) from error
    wanted = [[2, game.actions], [2, net.outcome.size]]
    if shapes != wanted:
        raise UserError(f"{kind}: expected policy and value of shapes {wanted} for two positions, got {shapes}")
    return net.train()
