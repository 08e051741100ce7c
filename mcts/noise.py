"""Noise at the root of a PUCT search: tempered priors and shaped Dirichlet noise, drawn from the tree's own random stream.

    temper    P ← P^(1/T) / Σ P^(1/T)                                          KataGo: T = 1.1
    mix       P ← (1-ε) P + ε η,  η ~ Dir(α)                                   AlphaZero: ε = 0.25
    shape     α = total · ½ (1/n + s),  s ∝ max(0, l - mean l),  l = log min(P, 0.01)
                                                                               KataGo: total = 10.83 (0.03 on 361 points)

Half of the noise is spread evenly; the other half goes to actions whose prior is above the mean, the likeliest place of a good
move that the policy underrates. Silver et al. 2017, 2018; Wu 2019 and KataGo's code for the shape.
"""

from __future__ import annotations

import math

from base.seeds import uniform
from mcts.types import Edges, Node, Rng, Slot

_CAP, _LEAST = 0.01, 1e-20


def temper(root: Node, edges: Edges, temperature: float) -> None:
    if temperature == 1.0:
        return
    first, last = root.edges, root.edges + root.count
    total = 0.0
    for edge in range(first, last):
        total += float(edges[edge].prior) ** (1.0 / temperature)
    for edge in range(first, last):
        edges[edge].prior = float(edges[edge].prior) ** (1.0 / temperature) / total


def mix_in(slot: Slot, root: Node, edges: Edges, share: float, alpha: float) -> None:
    """Dirichlet noise, shaped by the policy; `alpha` is the sum of its parameters. `slot.draws` is scratch."""
    if share == 0.0:
        return
    first, n = root.edges, root.count
    mean, above = 0.0, 0.0
    for i in range(n):
        mean += log_capped(float(edges[first + i].prior)) / n
    for i in range(n):
        above += max(0.0, log_capped(float(edges[first + i].prior)) - mean)
    total = 0.0
    for i in range(n):
        shape = 1.0 / n
        if above > 1e-9:
            shape = 0.5 * (1.0 / n + max(0.0, log_capped(float(edges[first + i].prior)) - mean) / above)
        slot.draws[i] = gamma(alpha * shape, slot.rng)
        total += float(slot.draws[i])
    for i in range(n):
        noise = float(slot.draws[i]) / total if total > 0.0 else 1.0 / n
        edges[first + i].prior = (1.0 - share) * float(edges[first + i].prior) + share * noise


def log_capped(prior: float) -> float:
    return math.log(min(prior, _CAP) + _LEAST)


def gamma(shape: float, rng: Rng) -> float:
    """Gamma(shape, 1). Marsaglia and Tsang 2000."""
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - uniform(rng)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(rng)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log(1.0 - uniform(rng)) < 0.5 * x * x + d - d * v + d * math.log(v):
            return boost * d * v


def normal(rng: Rng) -> float:
    """Marsaglia's polar method."""
    while True:
        x, y = 2.0 * uniform(rng) - 1.0, 2.0 * uniform(rng) - 1.0
        r = x * x + y * y
        if 0.0 < r < 1.0:
            return x * math.sqrt(-2.0 * math.log(r) / r)
