"""What learns: a network, its optimizer, and the running mean of its weights, which plays.

    learner = Learner(game, net, settings, seed)
    losses = learner.learn(window, steps, rng, progress)
    learner.mean                                        # the net that plays next
    learner.tensors() / learner.restore(tensors)        # everything, to go on exactly there

The loss is that of AlphaZero (Silver et al. 2018): cross-entropy of the policy with the search's distribution over the legal actions,
plus that of the value with how the game ended, mixed with what the search expected. Positions without a policy to learn train the value
alone. AdamW (Loshchilov and Hutter 2019) with warm-up, a constant rate, and a cosine down at the end of the budget.

Equal weights, batches and settings give equal bits on one type of machine: the number of threads is a setting, and what torch can only
do in an order of its own is an error.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from base.errors import UserError, require
from games import Game
from nets import Net
from nets.heads import policy_loss
from nets.inference import device_of
from train.window import Array, Batch, Window

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # what AdamW remembers of each weight


@dataclass(frozen=True)
class LearningSettings:
    """What the papers used stands behind."""

    batch: int = 256
    """Positions of a step. AlphaZero: 4096; KataGo: 256."""
    rate: float = 2e-3
    """Of AdamW. AlphaZero: 0.2 of plain gradient descent with momentum; KataGo: 6e-5 per sample."""
    warmup: int = 100
    """Steps in which the rate rises to its full height."""
    cooldown: float = 0.5
    """The last share of the budget, in which the rate falls as a cosine. AlphaZero: three steps down."""
    rate_end: float = 0.02
    """What is left of the rate at the end, as a share of it."""
    weight_decay: float = 1e-2
    """Of AdamW, decoupled; biases and normalization are spared. AlphaZero: 1e-4 in the loss."""
    clip: float = 1.0
    """The length of the gradient at most."""
    value_weight: float = 1.0
    """Of the value's loss against the policy's. AlphaGo Zero: 1; KataGo: 1.5."""
    search_share: float = 0.25
    """Of the search's own value in the target of the value, the rest is how the game ended. AlphaZero: 0."""
    mean: float = 0.99
    """How much of the mean of the weights stays at each step. KataGo: 0.75 per 250,000 samples."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """bf16: the forward pass multiplies in bf16 (autocast), weights stay fp32."""
    threads: int = 2
    """Of torch while it learns. The bits depend on it, so it does not follow the machine."""

    def __post_init__(self) -> None:
        require(self, "at least 1", lambda n: n >= 1, "batch", "threads")
        require(self, "a number above 0", lambda x: x > 0, "rate", "clip")
        require(self, "0 to 1", lambda x: 0 <= x <= 1, "cooldown", "rate_end", "search_share")
        require(self, "at least 0 and below 1", lambda x: 0 <= x < 1, "mean")
        require(self, "at least 0", lambda x: x >= 0, "warmup", "weight_decay", "value_weight")

    def rate_at(self, step: int, progress: float) -> float:
        """The rate of a step, at a share `progress` of the budget."""
        warm = min(1.0, (step + 1) / (self.warmup + 1))
        into = max(0.0, (min(progress, 1.0) - (1 - self.cooldown)) / self.cooldown) if self.cooldown else 0.0
        return self.rate * warm * (self.rate_end + (1 - self.rate_end) * 0.5 * (1 + math.cos(math.pi * into)))


class Losses(NamedTuple):
    """Means over the steps of a call of `learn`; NaN, as the rate is, where it took none."""

    policy: float
    """Cross-entropy of the policy, in nats, over positions that have one to learn."""
    value: float
    entropy: float
    """Of the policies to learn: what is left of `policy` if the network were perfect."""
    gradient: float
    """Its length before clipping."""
    rate: float
    """Of the last step."""
    weights: float
    """The length of all of the net's weights together, at the end."""
    update: float
    """The length of what they moved from the first step to the last, as a share of their own."""


class Learner:
    def __init__(self, game: Game, net: Net, settings: LearningSettings, device: str = "cpu") -> None:
        self.game, self.settings, self.steps = game, settings, 0
        self.device = device_of(device)
        self.net = net.to(self.device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.mean: Net = copy.deepcopy(self.net).eval().requires_grad_(False)
        plain = [each for each in self.net.parameters() if each.dim() > 1]
        spared = [each for each in self.net.parameters() if each.dim() <= 1]
        groups = [{"params": plain, "weight_decay": settings.weight_decay}, {"params": spared, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=settings.rate, fused=True)

    def learn(
        self,
        window: Window,
        steps: int,
        rng: np.random.Generator,
        progress: float,
        on_step: Callable[[], object] = lambda: None,
    ) -> Losses:
        """So many steps on batches drawn from the window; `progress` is the share of the budget that is used up."""
        sums = np.zeros(4)
        rate = math.nan
        before = self._weights()
        self.net.train()
        with reproducible(self.settings.threads):
            for _ in range(steps):
                rate = self.settings.rate_at(self.steps, progress)
                sums += self._step(window.batch(rng, self.settings.batch), rate)
                on_step()
        policy, value, entropy, gradient = (sums / steps if steps else np.full(4, np.nan)).tolist()
        after = self._weights()
        length = float(after.norm())
        return Losses(
            policy, value, entropy, gradient, rate, length, float((after - before).norm()) / max(length, 1e-12)
        )

    def _weights(self) -> Tensor:
        return torch.cat([each.detach().flatten() for each in self.net.parameters()])

    def _step(self, batch: Batch, rate: float) -> list[float]:
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad()
        policy, value, entropy = self.losses(batch)
        (policy + self.settings.value_weight * value).backward()  # type: ignore[no-untyped-call]
        gradient = nn.utils.clip_grad_norm_(self.net.parameters(), self.settings.clip)
        if not torch.isfinite(gradient):
            raise UserError(
                f"step {self.steps}: expected a finite gradient, got {float(gradient)}; try a lower learning.rate"
            )
        self.optimizer.step()
        self.steps += 1
        self._follow()
        return [float(each.detach()) for each in (policy, value, entropy, gradient)]

    def losses(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Of the policy, of the value; and the entropy of the policies to learn. Means over positions."""
        observations, policies, legal, outcomes, searched = (torch.from_numpy(each).to(self.device) for each in batch)
        observations = observations.to(memory_format=torch.channels_last)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.settings.precision == "bf16"):
            logits, values = self.net(observations)
        taught = policies.sum(1)  # 1, or 0 where there is nothing to learn
        count = taught.sum().clamp(min=1)
        policy = policy_loss(logits, policies, legal).sum() / count
        entropy = -torch.xlogy(policies, policies).sum() / count
        share, outcome = self.settings.search_share, self.net.outcome
        targets = (1 - share) * outcome.value_targets(outcomes) + share * outcome.value_targets(searched)
        return policy, outcome.value_loss(values, targets).mean(), entropy

    def guess(self, batch: Batch, size: int = 256) -> tuple[Array, Array]:
        """What the mean of the weights makes of positions: policies [n, A] over the legal actions, utilities [n, P], relative."""
        policies, utilities = [], []
        with torch.no_grad(), reproducible(self.settings.threads):
            for first in range(0, len(batch.observations), size):
                observations = torch.from_numpy(batch.observations[first : first + size]).to(self.device)
                legal = torch.from_numpy(batch.legal[first : first + size]).to(self.device)
                logits, values = self.mean(observations.to(memory_format=torch.channels_last))
                policies.append(logits.float().masked_fill(~legal, -torch.inf).softmax(1).cpu().numpy())
                utilities.append(self.mean.outcome.utilities(values.float()).cpu().numpy())
        return np.concatenate(policies), np.concatenate(utilities)

    def _follow(self) -> None:
        """The mean takes a step after the net; at the start it follows closely, so that first weights are soon forgotten."""
        stays = min(self.settings.mean, (1 + self.steps) / (10 + self.steps))
        with torch.no_grad():
            for mean, now in zip(_tensors_of(self.mean), _tensors_of(self.net), strict=True):
                if mean.is_floating_point():
                    mean.lerp_(now, 1 - stays)
                else:
                    mean.copy_(now)

    # ── to go on exactly there ──

    def tensors(self) -> dict[str, Tensor]:
        """Net, mean and optimizer by name. `steps` is a number beside them."""
        found = {f"net.{name}": value for name, value in self.net.state_dict().items()}
        found |= {f"mean.{name}": value for name, value in self.mean.state_dict().items()}
        for name, weight in self.net.named_parameters():
            moments = self.optimizer.state.get(weight) or {}
            found |= {f"{moment}.{name}": moments[moment] for moment in _MOMENTS if moment in moments}
        return {name: value.detach().cpu().contiguous() for name, value in found.items()}

    def restore(self, tensors: Mapping[str, Tensor], steps: int) -> None:
        """The inverse; what does not fit is refused."""
        expected = self._shapes(steps)
        came = {name: tuple(value.shape) for name, value in tensors.items()}
        if came != expected:
            wrong = sorted(name for name in came.keys() | expected.keys() if came.get(name) != expected.get(name))[0]
            raise UserError(f"state: {wrong}: expected shape {expected.get(wrong)}, got {came.get(wrong)}")
        self.net.load_state_dict(_below(tensors, "net."))
        self.mean.load_state_dict(_below(tensors, "mean."))
        for name, weight in self.net.named_parameters() if steps else ():
            self.optimizer.state[weight] = {moment: _beside(tensors[f"{moment}.{name}"], weight) for moment in _MOMENTS}
        self.steps = steps

    def _shapes(self, steps: int) -> dict[str, tuple[int, ...]]:
        nets = {"net.": self.net, "mean.": self.mean}
        found = {
            prefix + name: tuple(value.shape)
            for prefix, net in nets.items()
            for name, value in net.state_dict().items()
        }
        for name, weight in self.net.named_parameters() if steps else ():
            found |= {f"{moment}.{name}": () if moment == "step" else tuple(weight.shape) for moment in _MOMENTS}
        return found


@contextmanager
def reproducible(threads: int) -> Iterator[None]:
    """torch in an order that does not change from run to run, on so many threads."""
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])


def _tensors_of(net: nn.Module) -> Iterator[Tensor]:
    yield from net.parameters()
    yield from net.buffers()


def _below(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _beside(value: Tensor, weight: Tensor) -> Tensor:
    """A copy where and as the optimizer keeps it: laid out in memory like the weight, the step on the CPU."""
    if value.dim() == 0:
        return value.clone()
    return torch.empty_like(weight, memory_format=torch.preserve_format).copy_(value).detach()
