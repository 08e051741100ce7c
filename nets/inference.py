"""Inference by torch, on any device: batches of one fixed size, numpy in, numpy out.

>>> evaluate = Inference(net, batch=64)
>>> logits, utilities = evaluate(observations)        # float32: [64, A] over the mover's numbers, [64, P] relative, 0 = mover

The size is fixed because a network's output depends, in its last bits, on the size of the batch; it depends neither on the row nor on
other rows. An `Inference` is a copy of the net: later training does not change it. Calls share no state, so threads may share it.

Batch normalization is folded into the layers before it. On a CPU, a convolution with its bias, sum and ReLU is one call of oneDNN,
its weights laid out for this batch beforehand. For single positions `nets.compiled` is several times faster.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from base.errors import UserError, short
from nets.layers import Normed
from nets.names import Precision, choose_precision
from nets.net import Net

Floats = np.ndarray[Any, np.dtype[np.float32]]

_onednn: Any = torch.ops.mkldnn


class Inference:
    """A copy of `net` for batches of `batch` positions."""

    def __init__(
        self, net: Net, batch: int, device: str = "cpu", precision: Precision = "auto", threads: int = 1
    ) -> None:
        """Precision `auto` is bf16 where the processor multiplies in it, else fp32; `threads` are those of a CPU."""
        for name, number in (("batch", batch), ("threads", threads)):
            if number < 1:
                raise UserError(f"{name}: expected 1 or more, got {number}")
        self.device = device_of(device)
        self.precision = resolve_precision(precision, self.device)
        self.batch, self.threads, self.shape = batch, threads, (batch, *net.observation)
        self._outcome = net.outcome
        self._dtype = torch.bfloat16 if self.precision == "bf16" else torch.float32
        self._net = _folded(copy.deepcopy(net).eval().requires_grad_(False), self.device, self._dtype)
        self(np.zeros(self.shape, np.float32))  # lays the weights out

    def __call__(self, observations: Floats, /) -> tuple[Floats, Floats]:
        """Observations float32 [batch, channels, rows, columns] -> logits [batch, A], utilities [batch, P] relative to the mover."""
        if observations.shape != self.shape or observations.dtype != np.float32:
            came = f"{observations.dtype} of shape {observations.shape}"
            raise UserError(f"observations: expected float32 of shape {self.shape}, got {came}")
        with _threads(self.threads if self.device.type == "cpu" else None), torch.inference_mode():
            planes = torch.from_numpy(np.require(observations, None, ["C", "W"]))  # torch warns about others
            planes = planes.to(self.device, self._dtype, memory_format=torch.channels_last)
            logits, values = self._net(planes)
            utilities = self._outcome.utilities(values.float())
            return logits.float().cpu().numpy(), utilities.cpu().numpy()


class Folded(nn.Module):
    """A layer with its bias, normalization folded in: one call of oneDNN where that is possible."""

    weight: Tensor
    bias: Tensor

    def __init__(self, layer: nn.Module, weight: Tensor, bias: Tensor, relu: bool, fuse: bool) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("bias", bias)
        self.relu, self.fuse = relu, fuse
        self.padding = [int(each) for each in layer.padding] if isinstance(layer, nn.Conv2d) else None
        self.laid_out: Tensor | None = None

    @classmethod
    def of(cls, module: nn.Module, fuse: bool) -> Folded | None:
        """The replacement of a module; None where it stays."""
        if isinstance(module, Normed):
            return cls(module.layer, *module.folded(), module.relu, fuse)
        if isinstance(module, nn.Linear | nn.Conv2d) and module.bias is not None:
            return cls(module, module.weight.detach(), module.bias.detach(), False, fuse)
        return None

    def forward(self, x: Tensor, add: Tensor | None = None) -> Tensor:
        if not self.fuse:
            x = self._layer(x)
        elif self.padding is None:
            x = self._fused_linear(x)
        else:
            return self._fused_convolution(x, self.padding, add)
        x = x if add is None else x.add_(add)
        return x.relu_() if self.relu else x

    def _layer(self, x: Tensor) -> Tensor:
        if self.padding is None:
            return F.linear(x, self.weight, self.bias)
        return F.conv2d(x, self.weight, self.bias, padding=self.padding)

    # These are the calls that torch's own compiler makes.

    def _fused_linear(self, x: Tensor) -> Tensor:
        """Not for speed: the bits of a row of `F.linear` depend, for some sizes, on its place in the batch."""
        if self.laid_out is None:
            self.laid_out = _onednn._reorder_linear_weight(self.weight, len(x))
        found: Tensor = _onednn._linear_pointwise(x, self.laid_out, self.bias, "none", [], "")
        return found

    def _fused_convolution(self, x: Tensor, padding: list[int], add: Tensor | None) -> Tensor:
        once = [1, 1]  # stride, dilation
        if self.laid_out is None:
            reorder: Any = torch._C._nn.mkldnn_reorder_conv2d_weight
            self.laid_out = reorder(self.weight.to_mkldnn(), padding, once, once, 1, list(x.shape))
        how = (self.laid_out, self.bias, padding, once, once, 1)
        found: Tensor
        if add is None:
            found = _onednn._convolution_pointwise(x, *how, "relu" if self.relu else "none", [], None)
        else:
            after = "relu" if self.relu else None
            found = _onednn._convolution_pointwise.binary(x, add, *how, "add", None, after, [], None)
        return found


def _folded(net: Net, device: torch.device, dtype: torch.dtype) -> Net:
    """`net` itself, its layers replaced by folded ones, on the device and in the type it will run in."""
    fuse = fuses(device, dtype)
    for parent in list(net.modules()):
        for name, child in list(parent.named_children()):
            folded = None if isinstance(parent, Normed) else Folded.of(child, fuse)
            if folded is not None:
                setattr(parent, name, folded)
    net = net.to(device, dtype)
    return net.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def fuses(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether this torch has oneDNN and its fused convolutions for this type."""
    return (
        device.type == "cpu"
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and hasattr(_onednn, "_convolution_pointwise")
        and hasattr(torch._C._nn, "mkldnn_reorder_conv2d_weight")
        and (dtype == torch.float32 or cpu_has_bf16())
    )


def cpu_has_bf16() -> bool:
    """Whether the processor multiplies in bf16: avx512_bf16 or AMX."""
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def resolve_precision(precision: str, device: torch.device) -> str:
    """`fp32` or `bf16`."""
    has_bf16 = cpu_has_bf16() if device.type == "cpu" else device.type == "cuda" and torch.cuda.is_bf16_supported()
    return choose_precision(precision, has_bf16)


def device_of(text: str) -> torch.device:
    """The device of that name; an error where torch cannot use it."""
    try:
        device = torch.device(text)
        torch.zeros(1, device=device).cpu()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = short(str(error).strip().splitlines()[0])
        raise UserError(f"device: expected one that torch can use here, such as cpu, got '{text}': {reason}") from None
    return device


@contextmanager
def _threads(wanted: int | None) -> Iterator[None]:
    """Set the number of torch's threads inside the block."""
    before = torch.get_num_threads()
    if wanted in (None, before):
        yield
        return
    assert wanted is not None
    torch.set_num_threads(wanted)
    try:
        yield
    finally:
        torch.set_num_threads(before)
