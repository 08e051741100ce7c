"""Gumbel AlphaZero: a search that improves the policy with any number of simulations, as few as two.

At the root, `considered` actions are drawn without replacement by the Gumbel-top-k trick and share the simulations by sequential
halving: each gets as many visits as the others, then the worse half drops out. Below the root, visits follow the improved policy
without randomness. Logits are log P, up to a constant; q is the mover's utility, mapped to [0, 1].

    root      drawn and ranked by g(a) + logits(a) + σ(q̂(a)),  g(a) ~ Gumbel(0)                  (Algorithm 2)
    σ(q)      (c_visit + max_b N(b)) · c_scale · q                                               (8)
    complete  q̂(a) where a has no visits: v_mix = (v̂ + ΣN · Σ P q / Σ P) / (1 + ΣN), sums over visited actions           (10, 33)
    improve   π' = softmax(logits + σ(q̂))                                                        (11), the target to learn
    interior  argmax π'(a) - N(a) / (1 + ΣN)                                                     (14)

The evaluation of the root is a simulation too: of n simulations the actions share n - 1, and with one the policy alone decides. Without
exploration g = 0: the likeliest actions are considered, and nothing is random. Proven utilities are exact q.

Danihelka, Guez, Schrittwieser and Silver 2022 ("Policy improvement by planning with Gumbel").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from base.errors import require
from base.seeds import uniform
from mcts.moves import is_lost, most_visited
from mcts.settings import SearchSettings
from mcts.types import Edge, Edges, Node, Nodes, Settings, Slot, Table, Weights
from mcts.variant import Variant

_LEAST = 1e-38  # a prior of zero has a logarithm too


@dataclass(frozen=True)
class Gumbel(SearchSettings):
    method: Literal["gumbel"] = "gumbel"
    considered: int = 16
    """How many actions share the simulations at the root. Danihelka et al.: 16."""
    c_visit: float = 50.0
    """σ(q) = (c_visit + most visits) c_scale q, q in [0, 1]. Danihelka et al.: 50."""
    c_scale: float = 1.0
    """The scale of σ(q), see `c_visit`. Danihelka et al.: 1 for board games."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self, "a number of at least 0", lambda x: 0 <= x < math.inf, "c_visit", "c_scale")
        require(self, "1 action or more", lambda n: n >= 1, "considered")


# ── completed values ──


def q_of(edge: Edge, nodes: Nodes, mover: int, unknown: float) -> float:
    """The mover's, in [0, 1]; `unknown` is the utility of an action without visits."""
    if edge.proven:
        utility = nodes[edge.child].utility[mover]
    elif edge.visits > 0:
        utility = edge.value / edge.visits
    else:
        utility = unknown
    return 0.5 * (1.0 + float(utility))


def mixed_value(node: Node, nodes: Nodes, edges: Edges) -> float:
    """v_mix: the estimated utility, for the mover, of an action without visits."""
    mover = node.mover
    visits, mass, mean = 0, 0.0, 0.0
    for edge in range(node.edges, node.edges + node.count):
        each = edges[edge]
        if each.visits > 0:
            visits += each.visits
            mass += float(each.prior)
            mean += float(each.prior) * (2.0 * q_of(each, nodes, mover, 0.0) - 1.0)
    if mass == 0.0:
        return float(node.utility[mover])
    return float((node.utility[mover] + visits * mean / mass) / (1 + visits))


def sharpness(node: Node, edges: Edges, settings: Settings) -> float:
    """σ(q) / q."""
    most = 0
    for edge in range(node.edges, node.edges + node.count):
        most = max(most, edges[edge].visits)
    return float((settings.c_visit + most) * settings.c_scale)


# ── the improved policy ──


def improvement(node: Node, nodes: Nodes, edges: Edges, settings: Settings) -> tuple[float, float, float, float]:
    """(v_mix, σ(q) / q, the highest σ, the sum): π'(a) = P(a) exp(σ(q̂(a)) - highest) / sum."""
    unknown, sharp = mixed_value(node, nodes, edges), sharpness(node, edges, settings)
    highest, total = -np.inf, 0.0
    for edge in range(node.edges, node.edges + node.count):
        if edges[edge].prior > 0.0:
            highest = max(highest, sharp * q_of(edges[edge], nodes, node.mover, unknown))
    for edge in range(node.edges, node.edges + node.count):
        total += weight(edges[edge], nodes, node.mover, unknown, sharp, highest)
    return unknown, sharp, highest, total


def weight(edge: Edge, nodes: Nodes, mover: int, unknown: float, sharp: float, highest: float) -> float:
    if edge.prior == 0.0:
        return 0.0
    return float(edge.prior) * math.exp(sharp * q_of(edge, nodes, mover, unknown) - highest)


def choose(slot: Slot, node: Node, nodes: Nodes, edges: Edges, settings: Settings, table: Table) -> int:
    """Visits follow π'. Leaves under evaluation count as visits."""
    unknown, sharp, highest, total = improvement(node, nodes, edges, settings)
    visits = node.visits + node.flight
    best, best_score = node.edges, -np.inf
    for edge in range(node.edges, node.edges + node.count):
        each = edges[edge]
        score = weight(each, nodes, node.mover, unknown, sharp, highest) / total
        score -= (each.visits + each.flight) / visits
        if score > best_score:
            best, best_score = edge, score
    return int(best)


def weigh(
    slot: Slot, root: Node, nodes: Nodes, edges: Edges, settings: Settings, table: Table, weights: Weights
) -> None:
    """π'."""
    unknown, sharp, highest, total = improvement(root, nodes, edges, settings)
    for i in range(root.count):
        weights[i] = weight(edges[root.edges + i], nodes, root.mover, unknown, sharp, highest) / total


# ── sequential halving at the root ──


def prepare(slot: Slot, root: Node, edges: Edges, settings: Settings) -> None:
    """Draws g, and sets the number of visits that each considered action gets before the first half drops out."""
    for i in range(root.count):
        slot.draws[i] = -math.log(-math.log(max(uniform(slot.rng), 1e-300))) if slot.explore == 1 else 0.0
    slot.considered = min(settings.considered, root.count)
    slot.level = 0
    slot.budget = slot.target - slot.simulations
    slot.rounds = visits_each(slot.budget, halvings(slot.considered), slot.considered)


def halvings(considered: int) -> int:
    """⌈log2⌉."""
    n = 0
    while 1 << n < considered:
        n += 1
    return max(n, 1)


def visits_each(budget: int, rounds: int, considered: int) -> int:
    return max(1, budget // (rounds * considered))


def choose_root(slot: Slot, root: Node, nodes: Nodes, edges: Edges, settings: Settings, table: Table) -> int:
    """Of the actions still considered, the best of those that have fewest visits."""
    ahead = 0
    for edge in range(root.edges, root.edges + root.count):
        if edges[edge].visits + edges[edge].flight > slot.level:
            ahead += 1
    if ahead >= slot.considered:
        slot.level += 1
        slot.rounds -= 1
        if slot.rounds == 0:
            rounds = halvings(min(settings.considered, root.count))
            slot.considered = min(slot.considered, max(2, slot.considered // 2))
            slot.rounds = visits_each(slot.budget, rounds, slot.considered)
    return leader(slot, root, nodes, edges, settings, slot.level)


def leader(slot: Slot, root: Node, nodes: Nodes, edges: Edges, settings: Settings, visits: int) -> int:
    """The best by g + logits + σ(q̂) of the edges with so many visits: the edge to walk, and at the end the edge to play."""
    unknown, sharp = mixed_value(root, nodes, edges), sharpness(root, edges, settings)
    best, best_score = root.edges, -np.inf
    for i in range(root.count):
        each = edges[root.edges + i]
        if each.visits + each.flight == visits:
            score = float(slot.draws[i]) + math.log(max(float(each.prior), _LEAST))
            score += sharp * q_of(each, nodes, root.mover, unknown)
            if score > best_score:
                best, best_score = root.edges + i, score
    return int(best)


def best(slot: Slot, root: Node, nodes: Nodes, edges: Edges, settings: Settings, worst: float) -> int:
    """The leader of the most visited edges; where all of those are proven losses, the edge that π' gives most among the others."""
    if root.proven:
        return most_visited(root, nodes, edges, worst)
    most = 0
    for edge in range(root.edges, root.edges + root.count):
        most = max(most, edges[edge].visits)
    winner = leader(slot, root, nodes, edges, settings, most)
    if not is_lost(edges[winner], nodes, root.mover, worst):
        return winner
    unknown, sharp, highest, _ = improvement(root, nodes, edges, settings)
    hope, hope_weight = winner, 0.0
    for edge in range(root.edges, root.edges + root.count):
        if is_lost(edges[edge], nodes, root.mover, worst):
            continue
        share = weight(edges[edge], nodes, root.mover, unknown, sharp, highest)
        if share > hope_weight or (share == hope_weight and edges[edge].action < edges[hope].action):
            hope, hope_weight = edge, share
    return int(hope)


def slot_fields(max_legal: int) -> list[Any]:
    return [
        ("considered", np.int32),  # how many of the root's actions are still considered
        ("level", np.int32),  # visits that each of them has at least
        ("rounds", np.int32),  # visits that each of them will still get before half of them drop out
        ("budget", np.int32),  # simulations to be shared
        ("draws", np.float32, (max_legal,)),  # g(a) of the root's edges, in their order
    ]


VARIANT = Variant(Gumbel, choose_root, choose, weigh, best, prepare, slot_fields=slot_fields, keeps_tree=False)
