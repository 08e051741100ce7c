"""The compiled form of `nets/mlp.py`."""

from __future__ import annotations

from nets.compiled.form import FormLayers, T
from nets.names import parse_size


def form(layers: FormLayers[T], size: str, /) -> None:
    count, _ = parse_size("mlp", size, "LAYERSxWIDTH")
    x = layers.observation(flat=True)
    for number in range(count):
        x = layers.normed(f"hidden.{number}", x)
    layers.policy(layers.linear("policy", x))
    layers.value(layers.linear("value", x))
