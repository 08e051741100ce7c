"""The compiled form of `nets/resnet.py`."""

from __future__ import annotations

from nets.compiled.form import FormLayers, T
from nets.compiled.heads import heads
from nets.names import parse_size


def pooling(blocks: int, pool: bool) -> list[bool]:
    """Which blocks pool: every other one, the last always."""
    return [pool and number % 2 == (blocks - 1) % 2 for number in range(blocks)]


def form(layers: FormLayers[T], size: str, /, pool: bool = False) -> None:
    blocks, channels = parse_size("resnet", size, "BLOCKSxCHANNELS")
    x = layers.normed("stem", layers.observation())
    for number, pools in enumerate(pooling(blocks, pool)):
        name = f"tower.{number}"
        hidden = layers.normed(f"{name}.first", x)
        if pools:
            board = layers.pooled(hidden, max(1, channels // 4))
            hidden = layers.spread(hidden, layers.linear(f"{name}.tell", board))
        x = layers.normed(f"{name}.second", hidden, add=x)
    heads(layers, x)
