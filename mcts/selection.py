"""Which edge a simulation walks: UCB1 and PUCT, two small functions of one shape. They never look below the node they stand on.
Gumbel's rules stand in `mcts/gumbel.py`.

Both add to an edge's Q, the mean utility of the player who moves there, a bonus that shrinks with the visits n of the edge
and grows with the visits N of its node; its factor that depends on N alone is `exploration`.

    UCB1   Q + 2c √(ln N / n)                          Auer, Cesa-Bianchi and Fischer 2002; Kocsis and Szepesvári 2006 (UCT)
    PUCT   Q + c(N) P √N' / (1 + n),  N' = Σ n,        Silver et al. 2017, 2018
           c(N) = c_init + ln((1 + N + c_base) / c_base)

UCB1 is stated for rewards r in [0, 1]: r̄ + c √(ln N / n), c = √2. A utility is u = 2r - 1, an order that survives multiplication by
two: hence 2c. Edges never walked come first, in random order (an incremental Fisher-Yates shuffle: walked edges stand in front).
For PUCT they are judged by the node's own mean less fpu · √(sum of the priors walked), "first play urgency" reduced.

A proven edge has its exact utility and no bonus: there is nothing to explore. So a proven loss is walked only where all else is as bad.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from base.seeds import below, uniform

UCB1, PUCT, GUMBEL = 0, 1, 2


def exploration(rule: int, c: float, c_base: float, visits: int) -> float:
    """The part of the bonus that depends on the node alone; `c` is UCB1's c or PUCT's c_init."""
    if rule == UCB1:
        return 2.0 * c * math.sqrt(math.log(visits))
    return (c + math.log((1.0 + visits + c_base) / c_base)) * math.sqrt(max(visits - 1, 1))


def ucb1(node: Any, nodes: Any, edges: Any, scale: float, rng: Any) -> int:
    first, mover = node.edges, node.mover
    if node.tried < node.count:
        edge = first + node.tried
        other = edge + below(rng, node.count - node.tried)
        edges[edge].action, edges[other].action = edges[other].action, edges[edge].action
        node.tried += 1
        return int(edge)
    best, best_score = first, -np.inf
    for edge in range(first, first + node.count):
        each = edges[edge]
        if each.proven:
            score = nodes[each.child].utility[mover]
        else:
            inverse = 1.0 / (each.visits + each.flight)
            score = (each.value - each.flight) * inverse + scale * math.sqrt(inverse)
        if score > best_score:
            best, best_score = edge, score
    return int(best)


def puct(node: Any, nodes: Any, edges: Any, scale: float, fpu: float) -> int:
    first, mover = node.edges, node.mover
    unvisited = node.sums[mover] / max(node.visits, 1) - fpu * math.sqrt(node.mass)
    best, best_score = first, -np.inf
    for edge in range(first, first + node.count):
        each = edges[edge]
        visits = each.visits + each.flight
        if each.proven:
            score = nodes[each.child].utility[mover]
        elif visits == 0:
            score = unvisited + scale * each.prior
        else:
            score = (each.value - each.flight) / visits + scale * each.prior / (1 + visits)
        if score > best_score:
            best, best_score = edge, score
    if edges[best].visits + edges[best].flight == 0:
        node.mass += edges[best].prior
    return int(best)


def roll(node: Any, edges: Any, rng: Any) -> int:
    """An outcome of a chance node, by its probability."""
    left = uniform(rng)
    last = node.edges + node.count - 1
    for edge in range(node.edges, last):
        left -= edges[edge].value
        if left < 0.0:
            return int(edge)
    return int(last)
