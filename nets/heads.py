"""The two heads of a network, policy and value, and their losses.

logits, values = net(observations)                                       # [B, A], [B, V]
net.outcome.utilities(values)                                            # [B, P], relative: 0 = the viewer, 1 = the next player
policy_loss(logits, policies, legal)                                     # [B]
net.outcome.value_loss(values, net.outcome.value_targets(utilities))     # [B]
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from games import Rules
from nets.layers import Normed, convolution, linear, pooled
from nets.outcome import OutcomeLayout

_NEVER = -1e9  # a logit


class Outcome(OutcomeLayout):
    """What a network predicts about the end of a game, and the only place that turns its outputs into utilities."""

    def utilities(self, outputs: Tensor) -> Tensor:
        """[B, V] -> [B, P] in [-1, 1], relative: 0 = the viewer."""
        if self.values:
            shares = outputs.view(-1, self.seats, len(self.values)).softmax(2)
            means = (shares * outputs.new_tensor(self.values)).sum(2).clamp(self.values[0], self.values[-1])
        else:
            means = outputs.tanh()
        return torch.cat([means, -means], 1) if self.seats < self.players else means

    def value_targets(self, utilities: Tensor) -> Tensor:
        """Utilities [B, P], relative, -> training targets: [B, seats, values], or [B, seats] where there is no distribution.

        A utility between two declared ones becomes the distribution over these two that has it as its mean. So mix an outcome with
        a search's value after this call: a mixture of targets keeps both distributions, a mixture of utilities loses them.
        """
        wanted = utilities[:, : self.seats]
        if not self.values:
            return wanted
        values = wanted.new_tensor(self.values)
        if len(values) == 1:
            return torch.ones_like(wanted).unsqueeze(2)
        below = (torch.searchsorted(values, wanted.contiguous(), right=True) - 1).clamp(0, len(values) - 2)
        low, high = values[below], values[below + 1]
        upper = ((wanted - low) / (high - low)).clamp(0, 1).unsqueeze(2)
        targets = wanted.new_zeros(*wanted.shape, len(values))
        targets.scatter_(2, below.unsqueeze(2), 1 - upper)
        return targets.scatter_(2, below.unsqueeze(2) + 1, upper)

    def value_loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """[B]: cross-entropy with the target distribution, or the squared error of tanh; the mean over seats."""
        if not self.values:
            return F.mse_loss(outputs.float().tanh(), targets, reduction="none").mean(1)
        log_shares = outputs.float().view(-1, self.seats, len(self.values)).log_softmax(2)
        return -(targets * log_shares).sum(2).mean(1)


def policy_loss(logits: Tensor, targets: Tensor, legal: Tensor | None = None) -> Tensor:
    """[B]: cross-entropy with the target distribution [B, A], over the `legal` entries (bool [B, A]) or all of them.

    A search takes the softmax over legal actions only; with the same here, the network need not learn which actions are illegal.
    """
    logits = logits.float() if legal is None else logits.float().masked_fill(~legal, _NEVER)
    return -(targets * logits.log_softmax(1)).sum(1)


class PolicyHead(nn.Module):
    """[B, channels, rows, columns] -> logits [B, A]: a 1×1 convolution onto the game's policy planes and, for the entries after
    them, a linear map of the channels pooled over the board; a linear map of all cells where the game declares no layout."""

    def __init__(self, rules: Rules, channels: int) -> None:
        super().__init__()
        _, rows, columns = rules.observation
        planes, cells = rules.policy_planes, rows * columns
        self.flat: nn.Linear | None = None
        self.planes: nn.Conv2d | None = None
        self.rest: nn.Linear | None = None
        width = channels if planes else narrow(channels)
        self.mix = Normed(convolution(channels, width, (rows, columns), size=1))
        if not planes:
            self.flat = nn.Linear(width * cells, rules.actions)
            return
        self.planes = nn.Conv2d(width, planes, 1)
        if rules.actions > planes * cells:
            self.rest = nn.Linear(2 * width, rules.actions - planes * cells)

    def forward(self, x: Tensor) -> Tensor:
        x = self.mix(x)
        if self.planes is None:
            assert self.flat is not None
            logits: Tensor = self.flat(x.flatten(1))
            return logits
        logits = self.planes(x).flatten(1)
        return logits if self.rest is None else torch.cat([logits, self.rest(pooled(x))], 1)


class ValueHead(nn.Module):
    """[B, channels, rows, columns] -> [B, V], in the layout of `Outcome`."""

    def __init__(self, rules: Rules, channels: int) -> None:
        super().__init__()
        _, rows, columns = rules.observation
        width = narrow(channels)
        self.mix = Normed(convolution(channels, width, (rows, columns), size=1))
        self.hidden = Normed(linear(width * rows * columns, 2 * channels))
        self.out = nn.Linear(2 * channels, Outcome.of(rules).size)

    def forward(self, x: Tensor) -> Tensor:
        values: Tensor = self.out(self.hidden(self.mix(x).flatten(1)))
        return values


def policy_head(rules: Rules, features: Sequence[int]) -> nn.Module:
    """A head with logits [B, A] for features of that shape: planes of the board, or one vector."""
    return PolicyHead(rules, features[0]) if len(features) == 3 else nn.Linear(math.prod(features), rules.actions)


def narrow(channels: int) -> int:
    """Channels before a linear map of the whole board: few, as it has a weight for each cell and channel."""
    return min(channels, max(8, channels // 4))
