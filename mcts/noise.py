"""What makes self-play explore at the root of a PUCT search: tempered priors, shaped Dirichlet noise, forced visits.

    temper    P ← P^(1/T) / Σ P^(1/T)                                          KataGo: T = 1.1
    mix       P ← (1-ε) P + ε η,  η ~ Dir(α)                                   AlphaZero: ε = 0.25
    shape     α = total · ½ (1/n + s),  s ∝ max(0, l - mean l),  l = log min(P, 0.01)
                                                                               KataGo: total = 10.83 (0.03 on 361 points)
    force     an edge once walked is walked again while n < √(k P Σ n)         KataGo: k = 2

So half of the noise is spread evenly, half goes to actions that the policy finds better than most, a blind spot's likeliest place.
All of it is drawn from the tree's own stream when the first simulation starts at an evaluated root; when a root advances, priors
below were never touched, and the new root's get noise of their own. `pruned` takes forced visits out of what is learned from.

Silver et al. 2017, 2018; Wu 2019 ("Accelerating Self-Play Learning in Go", 3.2) and KataGo's code for the shape.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from base.seeds import uniform
from mcts.gumbel import begin_race
from mcts.selection import GUMBEL
from mcts.tree import NONE

_CAP, _LEAST = 0.01, 1e-20


def prepare(slot: Any, root: Any, edges: Any, settings: Any) -> None:
    """Draws the random part of a search at its root, once."""
    slot.prepared = 1
    if settings.rule == GUMBEL:
        begin_race(slot, root, settings)
    elif slot.explore == 1 and root.mover >= 0:
        temper(root, edges, settings.policy_temperature)
        mix_in(slot, root, edges, settings.noise, settings.noise_total)
        root.mass = 0.0
        for edge in range(root.edges, root.edges + root.count):
            if edges[edge].visits + edges[edge].flight > 0:
                root.mass += edges[edge].prior


def temper(root: Any, edges: Any, temperature: float) -> None:
    if temperature == 1.0:
        return
    first, last = root.edges, root.edges + root.count
    total = 0.0
    for edge in range(first, last):
        total += float(edges[edge].prior) ** (1.0 / temperature)
    for edge in range(first, last):
        edges[edge].prior = float(edges[edge].prior) ** (1.0 / temperature) / total


def mix_in(slot: Any, root: Any, edges: Any, share: float, alpha: float) -> None:
    """Dirichlet noise, shaped by the policy; `alpha` is the sum of its parameters."""
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


def gamma(shape: float, rng: Any) -> float:
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


def normal(rng: Any) -> float:
    """Marsaglia's polar method."""
    while True:
        x, y = 2.0 * uniform(rng) - 1.0, 2.0 * uniform(rng) - 1.0
        r = x * x + y * y
        if 0.0 < r < 1.0:
            return x * math.sqrt(-2.0 * math.log(r) / r)


def forced(node: Any, edges: Any, k: float) -> int:
    """An edge that has fewer visits than it is owed, NONE if all have theirs. What is proven is owed nothing."""
    if k > 0.0:
        total = node.visits + node.flight - 1
        for edge in range(node.edges, node.edges + node.count):
            each = edges[edge]
            visits = each.visits + each.flight
            if each.visits > 0 and each.proven == 0 and visits * visits < k * each.prior * total:
                return int(edge)
    return NONE


Visits = np.ndarray[Any, np.dtype[np.float64]]


def pruned(edges: Any, k: float, scale: float) -> Visits:
    """Visits of a root's edges without those that only forcing explains. `scale` is c(N) √N' of PUCT (`mcts/selection.py`).

    From every edge but the most visited one up to √(k P Σ n) visits are taken, as long as PUCT would still prefer the most
    visited one to it; what is left with a single visit was never wanted and goes as well. Proven edges stay as they are.
    """
    visits: Visits = edges["visits"].astype(np.float64)
    if k == 0.0 or visits.sum() == 0:
        return visits
    prior = edges["prior"].astype(np.float64)
    value = edges["value"] / np.maximum(visits, 1.0)
    most = int(np.lexsort((value, visits))[-1])
    best = value[most] + scale * prior[most] / (1.0 + visits[most])
    gap = best - value
    wanted = np.where(
        gap > 0.0, scale * prior / np.where(gap > 0.0, gap, 1.0) - 1.0, np.inf
    )  # PUCT equals `best` with so many
    least = np.maximum(visits - np.sqrt(k * prior * visits.sum()), np.minimum(wanted, visits))
    least = np.where((least < visits) & (least <= 1.0), 0.0, least)
    keep = (edges["proven"] == 1) | (visits == 0.0)
    keep[most] = True
    return np.where(keep, visits, least)
