"""What learns: a network, its optimizer, and the running mean of its weights, which plays.

    learner = Learner(game, net, settings)
    learned = learner.learn(window, steps, rng, progress)
    learner.mean                                        # the net that plays next
    learner.tensors() / learner.restore(tensors, steps) # everything, to resume exactly there

The losses and their weights are train/losses.py. AdamW (Loshchilov and Hutter 2019) with warm-up, a constant rate, and a cosine down at
the end of the budget.

Equal weights, batches and settings give equal bits on one type of machine: the number of threads is a setting, and an operation of
torch without a reproducible order is an error.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from base.errors import UserError, require
from games import Game
from nets import Net
from nets.inference import device_of, resolve_precision
from train.auxiliary import AUXILIARY
from train.losses import Losses, Targets, auxiliary_weights
from train.window import Array, Batch, Window

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # what AdamW remembers of each weight


@dataclass(frozen=True)
class LearningSettings:
    """Each field is followed by what the papers used."""

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
    auxiliary: tuple[str, ...] = ()
    """Auxiliary targets (reply, ownership, score: train/auxiliary.py) and their weights, each NAME=WEIGHT. KataGo: reply 0.15,
    ownership 1.5."""
    mean: float = 0.99
    """How much of the mean of the weights stays at each step. KataGo: 0.75 per 250,000 samples."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """bf16: the forward pass multiplies in bf16 (autocast), weights stay fp32. auto: bf16 where the processor has it."""
    threads: int = 2
    """Of torch while it learns. The bits depend on it, so it does not follow the machine."""
    shards: int = 1
    """Parts of a batch whose gradients the workers compute side by side; 1: this process alone learns. The bits depend on it, not on
    how many workers there are."""

    def __post_init__(self) -> None:
        require(self, "at least 1", lambda n: n >= 1, "batch", "threads", "shards")
        require(self, "a number above 0", lambda x: x > 0, "rate", "clip")
        require(self, "0 to 1", lambda x: 0 <= x <= 1, "cooldown", "rate_end", "search_share")
        require(self, "at least 0 and below 1", lambda x: 0 <= x < 1, "mean")
        require(self, "at least 0", lambda x: x >= 0, "warmup", "weight_decay", "value_weight")
        auxiliary_weights(self.auxiliary)
        if self.batch % self.shards:
            raise UserError(f"shards: expected a divisor of the batch, {self.batch}, got {self.shards}")

    def rate_at(self, step: int, progress: float) -> float:
        """The rate of a step, at a share `progress` of the budget."""
        warm = min(1.0, (step + 1) / (self.warmup + 1))
        into = max(0.0, (min(progress, 1.0) - (1 - self.cooldown)) / self.cooldown) if self.cooldown else 0.0
        return self.rate * warm * (self.rate_end + (1 - self.rate_end) * 0.5 * (1 + math.cos(math.pi * into)))


class Learned(NamedTuple):
    """Means over the steps of a call of `learn`; NaN, as the rate is, where it took none."""

    losses: Mapping[str, float]
    """By name, as in train/losses.py."""
    total: float
    """Times their weights."""
    entropy: float
    """Of the policy targets: the policy loss of a perfect network."""
    gradient: float
    """Its length before clipping."""
    rate: float
    """Of the last step."""
    weights: float
    """The length of all of the net's weights together, at the end."""
    update: float
    """The length of what they moved from the first step to the last, as a share of their own."""
    steps: int
    """Of the learner so far."""

    def metrics(self) -> dict[str, float]:
        found = {f"loss/{name}": value for name, value in self.losses.items()}
        return found | {
            "loss/total": self.total,
            "loss/entropy": self.entropy,
            "loss/divergence": self.losses["policy"] - self.entropy,
            "learning/rate": self.rate,
            "learning/gradient": self.gradient,
            "learning/weights": self.weights,
            "learning/update": self.update,
            "learning/steps": float(self.steps),
        }


class Learner:
    def __init__(self, game: Game, net: Net, settings: LearningSettings, device: str = "cpu", seed: int = 0) -> None:
        """`seed`: of the heads of auxiliary targets."""
        self.game, self.settings = game, settings
        self.device = device_of(device)
        self._is_half = resolve_precision(settings.precision, self.device) == "bf16"
        self.losses = Losses(game, net, settings, seed)
        self.losses.heads.to(self.device)
        self.net = net.to(self.device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._begin()

    def _begin(self) -> None:
        """At step 0: a mean that equals the net, an optimizer without memory."""
        self.steps = 0
        self.mean: Net = copy.deepcopy(self.net).eval().requires_grad_(False)
        weights = self._all_weights()
        plain = [each for each in weights if each.dim() > 1]
        spared = [each for each in weights if each.dim() <= 1]
        decay = self.settings.weight_decay
        groups = [{"params": plain, "weight_decay": decay}, {"params": spared, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=self.settings.rate, fused=True)

    def begin_again(self) -> None:
        """A new task: start from the mean of the weights, with a rate that warms up again."""
        self.net.load_state_dict(self.mean.state_dict())
        self._begin()

    def learn(
        self,
        window: Window,
        steps: int,
        rng: np.random.Generator,
        progress: float | Callable[[], float],
        on_step: Callable[[], object] = lambda: None,
        has_time: Callable[[], bool] = lambda: True,
        gradient: Callable[[Batch], Array] | None = None,
    ) -> Learned:
        """So many steps on batches drawn from the window, fewer without time. `progress` is the share of the budget that is used up, or
        a function of it where the clock decides. `gradient`: where it is computed by others (train/shards.py)."""
        sums = np.zeros(len(self.losses.weights) + 2)
        rate, first = math.nan, self.steps
        before = self._weights()
        extra = {name: AUXILIARY[name] for name in self.losses.heads}
        self.net.train()
        with reproducible(self.settings.threads):
            while self.steps < first + steps and has_time():
                rate = self.settings.rate_at(self.steps, progress() if callable(progress) else progress)
                batch = window.batch(rng, self.settings.batch, extra)
                sums += self._step(batch, rate, gradient or self.gradient)
                on_step()
        done = self.steps - first
        *means, entropy, length = (sums / done if done else np.full(len(sums), np.nan)).tolist()
        losses = dict(zip(self.losses.weights, means, strict=True))
        after = self._weights()
        size = float(after.norm())
        update = float((after - before).norm()) / max(size, 1e-12)
        return Learned(losses, self.losses.total(losses), entropy, length, rate, size, update, self.steps)

    def _named_weights(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Those of the net, then those of the auxiliary heads."""
        yield from self.net.named_parameters()
        yield from self.losses.heads.named_parameters(prefix="auxiliary")

    def _all_weights(self) -> list[nn.Parameter]:
        return [weight for _, weight in self._named_weights()]

    def _running(self) -> list[Tensor]:
        return [each for each in self.net.buffers() if each.is_floating_point()]

    def _weights(self) -> Tensor:
        return torch.cat([each.detach().flatten() for each in self.net.parameters()])

    def _step(self, batch: Batch, rate: float, gradient: Callable[[Batch], Array]) -> Array:
        """The losses in their order, the entropy of the policy targets, the length of the gradient."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        losses = gradient(batch)
        length = nn.utils.clip_grad_norm_(self._all_weights(), self.settings.clip)
        if not torch.isfinite(length):
            raise UserError(
                f"step {self.steps}: expected a finite gradient, got {float(length)}; try a lower learning.rate"
            )
        self.optimizer.step()
        self.steps += 1
        self._follow()
        return np.append(losses, float(length))

    def gradient(self, batch: Batch) -> Array:
        """Sets the gradient of the weights; float64: the losses in their order and the entropy of the policy targets."""
        self.optimizer.zero_grad()
        losses, entropy = self.losses_of(batch)
        self.losses.total(losses).backward()  # type: ignore[no-untyped-call]
        return np.array([float(each.detach()) for each in (*losses.values(), entropy)])

    def losses_of(self, batch: Batch) -> tuple[dict[str, Tensor], Tensor]:
        """The losses by name, means over positions; and the entropy of the policy targets."""
        arrays = [torch.from_numpy(each).to(self.device) for each in batch[:5]]
        extra = {name: torch.from_numpy(each).to(self.device) for name, each in batch.auxiliary.items()}
        observations = arrays[0].to(memory_format=torch.channels_last)
        policies, legal, outcomes, searched = arrays[1:]
        targets = Targets(policies, legal, outcomes, searched, extra)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._is_half):
            outputs = self.losses.outputs(self.net, observations)
        count = targets.policies.sum(1).sum().clamp(min=1)
        entropy = -torch.xlogy(targets.policies, targets.policies).sum() / count
        return self.losses.of(self.net, outputs, targets), entropy

    def guess(self, batch: Batch, size: int = 256) -> tuple[Array, Array]:
        """By the mean of the weights: policies [n, A] over the legal actions, utilities [n, P], relative to the mover."""
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

    # ── to compute a gradient elsewhere (train/shards.py) ──

    def flat_state(self) -> Array:
        """float32: all weights, then the running state."""
        return np.append(_flat(self._all_weights()), self.running_state())

    def running_state(self) -> Array:
        """float32: of batch normalization."""
        return _flat(self._running())

    def set_state(self, state: Array) -> None:
        _fill([*self._all_weights(), *self._running()], state)

    def set_running_state(self, state: Array) -> None:
        _fill(self._running(), state)

    def flat_gradient(self) -> Array:
        """float32: of all weights."""
        return _flat([torch.zeros_like(each) if each.grad is None else each.grad for each in self._all_weights()])

    def set_gradient(self, gradient: Array) -> None:
        for weight in self._all_weights():
            weight.grad = torch.empty_like(weight)
        _fill([weight.grad for weight in self._all_weights() if weight.grad is not None], gradient)

    # ── to resume exactly there ──

    def tensors(self) -> dict[str, Tensor]:
        """Net, mean, auxiliary heads and optimizer by name. `steps` is a number beside them."""
        found = {
            prefix + name: value for prefix, module in self._modules() for name, value in module.state_dict().items()
        }
        for name, weight in self._named_weights():
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
        for prefix, module in self._modules():
            module.load_state_dict(_below(tensors, prefix))
        for name, weight in self._named_weights() if steps else ():
            self.optimizer.state[weight] = {moment: _beside(tensors[f"{moment}.{name}"], weight) for moment in _MOMENTS}
        self.steps = steps

    def _modules(self) -> list[tuple[str, nn.Module]]:
        """What has a state, with what its names begin with in a saved one."""
        return [("net.", self.net), ("mean.", self.mean), ("auxiliary.", self.losses.heads)]

    def _shapes(self, steps: int) -> dict[str, tuple[int, ...]]:
        found = {
            prefix + name: tuple(value.shape)
            for prefix, module in self._modules()
            for name, value in module.state_dict().items()
        }
        for name, weight in self._named_weights() if steps else ():
            found |= {f"{moment}.{name}": () if moment == "step" else tuple(weight.shape) for moment in _MOMENTS}
        return found


@contextmanager
def reproducible(threads: int) -> Iterator[None]:
    """torch with the same order of operations in every run, on so many threads."""
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])


def _flat(tensors: Sequence[Tensor]) -> Array:
    if not tensors:
        return np.zeros(0, np.float32)
    return torch.cat([each.detach().flatten() for each in tensors]).cpu().numpy()


def _fill(tensors: Sequence[Tensor], flat: Array) -> None:
    first = 0
    with torch.no_grad():
        for each in tensors:
            part = torch.from_numpy(flat[first : first + each.numel()])
            each.copy_(part.view(each.shape))
            first += each.numel()


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
