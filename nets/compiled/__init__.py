"""A whole network as one compiled kernel, without torch: for one position as fast as for a thousand.

>>> net = CompiledNet.of(weights, "resnet:5x64,pool=off", load("connect_four"))      # weights: {name: float32 array}
>>> logits, utilities = net(observations)                                             # any number of positions

A search's kernel calls `net.address`, the compiled code for one position, with `net.weights` and a `net.scratch()`.

In dependency order: `program` (a network as data), `instructions` (instruction sets), `vectors` (LLVM vector code), `layers` and
`portable` (the operations with it and without), `winograd` and `tiles` (convolutions in fewer products, by AMX), `forward` (all
operations of a network), `form` (what kinds of networks provide) with `heads`, `resnet` and `mlp`, `packing` and
`reference` (what is made of a form), `compiled_net` (the class).
"""

from nets.compiled.compiled_net import CompiledNet
from nets.compiled.form import CannotCompile

__all__ = ["CannotCompile", "CompiledNet"]
