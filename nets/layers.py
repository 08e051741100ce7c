"""Layers that networks are built of, with batch normalization (Ioffe and Szegedy 2015), which inference folds away.

A network's state is float32 tensors only, so that all of them are copied, averaged and stored in the same way.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nets.folding import EPSILON

MOMENTUM = 0.1  # as torch has it


class Normed(nn.Module):
    """A convolution or linear layer without bias, normalized; then another tensor added (optional), then ReLU (optional).

    `Inference` replaces each of these by a folded layer, so build networks from `Normed` where possible.
    """

    layer: nn.Conv2d | nn.Linear
    mean: Tensor
    variance: Tensor

    def __init__(self, layer: nn.Conv2d | nn.Linear, relu: bool = True) -> None:
        super().__init__()
        assert layer.bias is None, "normalization has a bias of its own"
        self.layer, self.relu = layer, relu
        width = layer.weight.shape[0]
        self.scale, self.shift = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))

    def forward(self, x: Tensor, add: Tensor | None = None) -> Tensor:
        x = F.batch_norm(
            self.layer(x), self.mean, self.variance, self.scale, self.shift, self.training, MOMENTUM, EPSILON
        )
        x = x if add is None else x + add
        return F.relu(x) if self.relu else x

    @torch.no_grad()
    def folded(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of the equivalent single layer, with the statistics as they are."""
        factor = self.scale / torch.sqrt(self.variance + EPSILON)
        weight = self.layer.weight * factor.view(-1, *[1] * (self.layer.weight.dim() - 1))
        return weight, self.shift - self.mean * factor


def convolution(inputs: int, outputs: int, board: tuple[int, int], size: int = 3) -> nn.Conv2d:
    """Without bias, keeping the board's size; the window is never wider than the board."""
    rows, columns = (min(size, 2 * extent - 1) for extent in board)
    return nn.Conv2d(inputs, outputs, (rows, columns), padding=(rows // 2, columns // 2), bias=False)


def linear(inputs: int, outputs: int) -> nn.Linear:
    """Without bias."""
    return nn.Linear(inputs, outputs, bias=False)


def pooled(x: Tensor) -> Tensor:
    """Mean and maximum over the board: [B, C, rows, columns] -> [B, 2C]. KataGo's global pooling (Wu 2019), for one size of board."""
    flat = x.flatten(2)
    return torch.cat([flat.mean(2), flat.amax(2)], 1)
