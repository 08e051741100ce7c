"""The tensors of a network in numpy, batch normalization folded in: the start of inference without torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from base.errors import UserError

EPSILON = 1e-5  # of batch normalization, as torch has it

Floats = np.ndarray[Any, np.dtype[np.float32]]


class Weights:
    """The tensors of a network by name. `finish` refuses tensors that were not taken."""

    def __init__(self, tensors: Mapping[str, Floats]) -> None:
        self._tensors = dict(tensors)
        self._left = set(tensors)

    def take(self, name: str, *shape: int | None) -> Floats:
        """The tensor of that name, of that shape (None: any number)."""
        found = self._tensors.get(name)
        fits = found is not None and (
            not shape
            or (len(shape) == found.ndim and all(n in (None, m) for n, m in zip(shape, found.shape, strict=True)))
        )
        if found is None or not fits or found.dtype != np.float32:
            came = "none" if found is None else f"{found.dtype} of shape {found.shape}"
            expected = "float32" + (f" of shape {tuple('any' if n is None else n for n in shape)}" if shape else "")
            raise UserError(f"weights: expected the tensor {name}, {expected}; got {came}")
        self._left.discard(name)
        return found

    def has(self, name: str) -> bool:
        """Whether there is a layer of that name."""
        return f"{name}.weight" in self._tensors

    def folded(self, name: str) -> tuple[Floats, Floats]:
        """Weight and bias of the single layer that is equivalent to the `Normed` of that name."""
        weight = self.take(f"{name}.layer.weight")
        scale, shift, mean, variance = (
            self.take(f"{name}.{each}", len(weight)) for each in ("scale", "shift", "mean", "variance")
        )
        factor = scale / np.sqrt(variance + np.float32(EPSILON))
        return weight * factor.reshape(-1, *[1] * (weight.ndim - 1)), shift - mean * factor

    def plain(self, name: str) -> tuple[Floats, Floats]:
        """Weight and bias of a layer without normalization."""
        weight = self.take(f"{name}.weight")
        return weight, self.take(f"{name}.bias", len(weight))

    def finish(self) -> None:
        if self._left:
            raise UserError(f"weights: expected no tensor {min(self._left)}, got one")
