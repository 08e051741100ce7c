"""Policy/value networks and their inference: by torch, or as a compiled kernel without torch.

>>> net = make_net("resnet:3x32", load("connect_four"))        # a torch module; `nets/heads.py` has its losses
>>> evaluate = Inference(net, batch=64)                        # numpy in, numpy out, on any device
>>> logits, utilities = evaluate(observations)
>>> evaluate = CompiledNet.of_net(net, load("connect_four"))   # the same on this CPU; `nets/compiled/`

A file of this folder that defines a function `net` is a kind of network, called like the file. torch is imported when a name that
needs it is used first.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nets.compiled import CannotCompile, CompiledNet
    from nets.inference import Inference
    from nets.net import Net, make_net
    from nets.symmetries import Symmetries

__all__ = ["CannotCompile", "CompiledNet", "Inference", "Net", "Symmetries", "make_net"]

_MODULES = {
    "CannotCompile": "nets.compiled",
    "CompiledNet": "nets.compiled",
    "Inference": "nets.inference",
    "Net": "nets.net",
    "Symmetries": "nets.symmetries",
    "make_net": "nets.net",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'nets' has no attribute '{name}'")
    return getattr(importlib.import_module(_MODULES[name]), name)
