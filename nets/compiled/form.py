"""What a kind of network is made of, layer by layer: the interface between `form` functions and what they are used for.

A kind of network has a compiled form when this folder has a file of its name with a function `form(layers, size, /, option=default)`.
The parameters are those of the kind's `net`; the body calls `layers` in the order of the network's `forward`, by the names that the
weights have in its state. The same function packs the weights (`packing.py`) and computes reference values (`reference.py`).
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol, TypeVar

from base.errors import UserError
from base.options import Options, split
from nets.names import compiled_kinds

T = TypeVar("T")


class CannotCompile(UserError):
    """A network that has no compiled form here; `nets.Inference` can run it."""


class FormLayers(Protocol[T]):
    """The layers that have a compiled form. T stands for planes or a vector; sizes come from the weights."""

    def has(self, name: str) -> bool:
        """Whether the network has a layer of that name."""

    def observation(self, flat: bool = False) -> T:
        """The network's input: planes, or all numbers as one vector."""

    def normed(self, name: str, x: T, add: T | None = None, exact: bool = False) -> T:
        """`nets.layers.Normed` with ReLU: a convolution of planes or a linear map. `add` is used up: the result takes its place,
        and the place of `x` is free again. `exact`: the result is kept as float32 in either precision."""

    def linear(self, name: str, x: T) -> T:
        """A linear map or a 1×1 convolution with a bias, without normalization; the result is float32."""

    def pooled(self, x: T, channels: int | None = None) -> T:
        """Mean and maximum of the first so many channels over the board."""

    def spread(self, x: T, vector: T) -> T:
        """x + vector at every position; x is used up."""

    def policy(self, x: T, rest: T | None = None) -> None:
        """Logits: of planes, then of a vector."""

    def value(self, x: T) -> None:
        """What `nets.outcome.Outcome` makes utilities of."""


def apply_form(text: str, layers: FormLayers[Any]) -> None:
    """Call the form of the network that `text` names with `layers`."""
    kind, given = split(text)
    if kind not in compiled_kinds():
        raise CannotCompile(
            f"{text}: expected a network with a compiled form ({', '.join(compiled_kinds())}), got {kind}"
        )
    form: Any = importlib.import_module(f"nets.compiled.{kind}").form
    options = Options(kind, form, skip=("layers",))
    options.call(form, options.resolve(given), layers)
