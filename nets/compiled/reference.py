"""The same networks in plain numpy: slow, short, and independent of packing and kernels. What a compiled network is checked against."""

from __future__ import annotations

from typing import Any

import numpy as np

from nets.folding import Floats, Weights
from nets.outcome import OutcomeLayout


class Reference:
    """`form.FormLayers` that computes, for a batch of observations [B, channels, rows, columns]."""

    def __init__(self, weights: Weights, outcome: OutcomeLayout, observations: Floats) -> None:
        self._weights, self._outcome, self._observations = weights, outcome, observations
        self.logits: Floats = np.zeros(0, np.float32)
        self.utilities: Floats = np.zeros(0, np.float32)

    def has(self, name: str) -> bool:
        return self._weights.has(name)

    def observation(self, flat: bool = False) -> Floats:
        return self._observations.reshape(len(self._observations), -1) if flat else self._observations

    def normed(self, name: str, x: Floats, add: Floats | None = None, exact: bool = False) -> Floats:
        x = _layer(x, *self._weights.folded(name))
        return np.maximum(x if add is None else x + add, 0)

    def linear(self, name: str, x: Floats) -> Floats:
        return _layer(x, *self._weights.plain(name))

    def pooled(self, x: Floats, channels: int | None = None) -> Floats:
        x = x[:, :channels]
        return np.concatenate([x.mean((2, 3)), x.max((2, 3))], 1)

    def spread(self, x: Floats, vector: Floats) -> Floats:
        return x + vector[:, :, None, None]

    def policy(self, x: Floats, rest: Floats | None = None) -> None:
        parts = [x.reshape(len(x), -1), *([] if rest is None else [rest])]
        self.logits = np.concatenate(parts, 1)

    def value(self, x: Floats) -> None:
        self.utilities = utilities(self._outcome, x)


def utilities(outcome: OutcomeLayout, outputs: Floats) -> Floats:
    """As `nets.heads.Outcome.utilities`, in numpy."""
    if outcome.values:
        x = outputs.reshape(len(outputs), outcome.seats, -1)
        shares = np.exp(x - x.max(2, keepdims=True))
        means = (shares / shares.sum(2, keepdims=True)) @ np.array(outcome.values, np.float32)
        means = means.clip(outcome.values[0], outcome.values[-1])
    else:
        means = np.tanh(outputs)
    return np.concatenate([means, -means], 1) if outcome.seats < outcome.players else means


def _layer(x: Floats, weight: Floats, bias: Floats) -> Floats:
    """A convolution that keeps the board's size, or a linear map of everything."""
    if weight.ndim == 2:
        found: Any = x.reshape(len(x), -1) @ weight.T + bias
        return found  # type: ignore[no-any-return]
    rows, columns = x.shape[2:]
    high, wide = weight.shape[2:]
    padded = np.pad(x, ((0, 0), (0, 0), (high // 2, high // 2), (wide // 2, wide // 2)))
    total = np.zeros((len(x), rows, columns, len(weight)), np.float32)
    for i in range(high):
        for j in range(wide):
            window = padded[:, :, i : i + rows, j : j + columns].transpose(0, 2, 3, 1)
            total += window @ weight[:, :, i, j].T
    return (total + bias).transpose(0, 3, 1, 2)
