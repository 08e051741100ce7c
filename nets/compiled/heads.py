"""The compiled form of the heads in `nets/heads.py`, for networks whose `policy` and `value` are a PolicyHead and a ValueHead."""

from __future__ import annotations

from nets.compiled.form import FormLayers, T


def heads(layers: FormLayers[T], x: T) -> None:
    """Both of them, of planes x."""
    mixed = layers.normed("policy.mix", x)
    if layers.has("policy.flat"):
        layers.policy(layers.linear("policy.flat", mixed))
    elif layers.has("policy.rest"):
        layers.policy(layers.linear("policy.planes", mixed), layers.linear("policy.rest", layers.pooled(mixed)))
    else:
        layers.policy(layers.linear("policy.planes", mixed))
    hidden = layers.normed("value.hidden", layers.normed("value.mix", x), exact=True)
    layers.value(layers.linear("value.out", hidden))
