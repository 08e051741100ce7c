"""Policy/value networks and their inference. torch starts here.

>>> net = make_net("resnet:3x32", load("connect_four"))        # a torch module; `nets/heads.py` has its losses
>>> evaluate = Inference(net, batch=64)                        # numpy in, numpy out: what a search asks
>>> logits, utilities = evaluate(observations)

A file of this folder that defines a function `net` is a kind of network, called like the file.
"""

from nets.inference import Inference
from nets.net import Net, make_net
from nets.symmetries import Symmetries

__all__ = ["Inference", "Net", "Symmetries", "make_net"]
