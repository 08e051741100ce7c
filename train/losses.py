"""The losses of training, one list: what a network learns, from which targets, with which weights.

    losses = Losses(game, net, settings, seed)          # the heads of auxiliary targets among them
    outputs = losses.outputs(net, observations)
    found = losses.of(net, outputs, targets)            # {"policy": …, "value": …}: means over positions
    losses.total(found)                                 # what is minimised, and the metric loss/total

The loss is that of AlphaZero (Silver et al. 2018): cross-entropy of the policy with the search's distribution over the legal actions,
plus that of the value with how the game ended, mixed with what the search expected. Positions without a policy target train the value
alone.

Auxiliary targets (train/auxiliary.py) are added with their weights by `learning.auxiliary = ["NAME=WEIGHT"]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from base.errors import UserError, nearest
from base.seeds import derive
from games import Game
from nets import Net
from nets.heads import policy_loss
from train.auxiliary import AUXILIARY, Auxiliary

if TYPE_CHECKING:
    from train.learner import LearningSettings

T = TypeVar("T", Tensor, float)

EXTRA = "auxiliary"
"""What the names of auxiliary losses begin with."""


class Outputs(NamedTuple):
    logits: Tensor
    values: Tensor
    auxiliary: Mapping[str, Tensor]
    """By name."""


class Targets(NamedTuple):
    """What is to be learned from B positions: the fields of `train.window.Batch` as tensors."""

    policies: Tensor
    legal: Tensor
    outcomes: Tensor
    searched: Tensor
    auxiliary: Mapping[str, Tensor]


@dataclass(frozen=True)
class Loss:
    """One of the two losses of the network that plays."""

    name: str
    """Its metric is loss/NAME."""
    weight: Callable[[LearningSettings], float]
    of: Callable[[Net, Tensor, Targets, LearningSettings], Tensor]
    """(network, output of its head, targets, settings) -> the mean over positions"""


def _policy(net: Net, logits: Tensor, targets: Targets, settings: LearningSettings) -> Tensor:
    count = targets.policies.sum(1).sum().clamp(min=1)  # a target sums to 1, or to 0 where there is none
    return policy_loss(logits, targets.policies, targets.legal).sum() / count


def _value(net: Net, values: Tensor, targets: Targets, settings: LearningSettings) -> Tensor:
    share, outcome = settings.search_share, net.outcome
    wanted = (1 - share) * outcome.value_targets(targets.outcomes) + share * outcome.value_targets(targets.searched)
    return outcome.value_loss(values, wanted).mean()


LOSSES = (
    Loss("policy", lambda settings: 1.0, _policy),
    Loss("value", lambda settings: settings.value_weight, _value),
)
"""In the order of the network's outputs."""


class Losses:
    """The losses of one run."""

    def __init__(self, game: Game, net: Net, settings: LearningSettings, seed: int = 0) -> None:
        self.settings = settings
        extra = auxiliary_weights(settings.auxiliary)
        self.weights = {loss.name: loss.weight(settings) for loss in LOSSES} | {
            f"{EXTRA} {name}": weight for name, weight in extra.items()
        }
        self.heads = nn.ModuleDict(_heads(game, net, extra, seed) if extra else {})
        """Of the auxiliary targets, by name."""

    def outputs(self, net: Net, observations: Tensor) -> Outputs:
        if not self.heads:
            logits, values = net(observations)
            return Outputs(logits, values, {})
        features = net.features(observations)
        logits, values = net.answer(features)
        return Outputs(logits, values, {name: head(features) for name, head in self.heads.items()})

    def of(self, net: Net, outputs: Outputs, targets: Targets) -> dict[str, Tensor]:
        """Each loss by its name, the mean over the positions that have its target."""
        found = {
            loss.name: loss.of(net, output, targets, self.settings)
            for loss, output in zip(LOSSES, outputs[:2], strict=True)
        }
        for name, output in outputs.auxiliary.items():
            found[f"{EXTRA} {name}"] = _mean(AUXILIARY[name], output.float(), targets.auxiliary[name])
        return found

    def total(self, losses: Mapping[str, T]) -> T:
        """What is minimised: the losses times their weights."""
        parts: list[T] = [losses[name] * weight for name, weight in self.weights.items()]
        total: T = parts[0]
        for part in parts[1:]:
            total = total + part
        return total


def auxiliary_weights(texts: tuple[str, ...]) -> dict[str, float]:
    """`("reply=0.15",)` as numbers by name."""
    found: dict[str, float] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if name not in AUXILIARY:
            known = ", ".join(AUXILIARY) or "none, for there are no auxiliary targets"
            raise UserError(f"auxiliary: expected NAME=WEIGHT of {known}, got '{text}'{nearest(name, AUXILIARY)}")
        try:
            found[name] = float(number)
        except ValueError:
            found[name] = -1.0
        if not 0 < found[name] < float("inf"):
            raise UserError(f"auxiliary: expected a weight above 0, as in {name}=0.15, got '{text}'")
    return found


def _heads(game: Game, net: Net, names: Mapping[str, float], seed: int) -> dict[str, nn.Module]:
    for name in names:
        if (needed := AUXILIARY[name].needs) and getattr(game.rules, needed) is None:
            raise UserError(f"auxiliary: expected a game that declares {needed} for '{name}', {game.name} does not")
    if type(net).features is Net.features:
        raise UserError(f"auxiliary: expected a network with features(), '{net.text}' has none")
    was_training = net.training
    with torch.no_grad():
        shape = net.eval().features(torch.zeros(1, *game.rules.observation)).shape[1:]
    net.train(was_training)
    with torch.random.fork_rng(devices=[]):  # torch's layers draw from its global generator
        torch.manual_seed(derive(seed, "auxiliary"))
        return {name: AUXILIARY[name].head(game, shape) for name in names}


def _mean(kind: Auxiliary, output: Tensor, target: Tensor) -> Tensor:
    known = ~target.flatten(1).isnan().any(1)
    count = known.sum().clamp(min=1)
    return kind.loss(output[known], target[known]).sum() / count
