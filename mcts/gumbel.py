"""Gumbel AlphaZero: a search that improves the policy with any number of simulations, two or sixteen included.

At the root, `considered` actions are drawn without replacement by the Gumbel-top-k trick and race for the simulations by sequential
halving: each gets as many visits as the others, then the half that looks worse drops out. Below, visits follow the improved policy
without randomness. Logits are log P, up to a constant; q is the mover's utility, brought to [0, 1].

    root      drawn and ranked by g(a) + logits(a) + σ(q̂(a)),  g(a) ~ Gumbel(0)                  (Algorithm 2)
    σ(q)      (c_visit + max_b N(b)) · c_scale · q                                               (8)
    complete  q̂(a) where a has no visits: v_mix = (v̂ + ΣN · Σ P q / Σ P) / (1 + ΣN), sums over those that have          (10, 33)
    improve   π' = softmax(logits + σ(q̂))                                                        (11), the target to learn
    interior  argmax π'(a) - N(a) / (1 + ΣN)                                                     (14)

The evaluation of the root is a simulation too: with n of them the race takes n - 1, and with one the policy alone is asked. Without
exploration g = 0: the race is among the likeliest actions, and nothing is random. Proven utilities are exact q. These functions are
rules of selection (`mcts/phases.py`), so players, chance and memory are as everywhere.

Danihelka, Guez, Schrittwieser and Silver 2022 ("Policy improvement by planning with Gumbel").
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from base.seeds import uniform

_LEAST = 1e-38  # a prior of zero has a logarithm too


# ── completed values ──


def q_of(edge: Any, nodes: Any, mover: int, unknown: float) -> float:
    """In [0, 1], in the mover's eyes; `unknown` is the utility of an action without visits."""
    if edge.proven:
        utility = nodes[edge.child].utility[mover]
    elif edge.visits > 0:
        utility = edge.value / edge.visits
    else:
        utility = unknown
    return 0.5 * (1.0 + float(utility))


def mixed_value(node: Any, nodes: Any, edges: Any) -> float:
    """v_mix: what the mover may expect of an action without visits, as a utility."""
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


def sharpness(node: Any, edges: Any, settings: Any) -> float:
    """σ(q) / q."""
    most = 0
    for edge in range(node.edges, node.edges + node.count):
        most = max(most, edges[edge].visits)
    return float((settings.c_visit + most) * settings.c_scale)


# ── the improved policy ──


def improvement(node: Any, nodes: Any, edges: Any, settings: Any) -> tuple[float, float, float, float]:
    """(v_mix, σ(q) / q, the highest σ, the sum): π'(a) = P(a) exp(σ(q̂(a)) - highest) / sum."""
    unknown, sharp = mixed_value(node, nodes, edges), sharpness(node, edges, settings)
    highest, total = -np.inf, 0.0
    for edge in range(node.edges, node.edges + node.count):
        if edges[edge].prior > 0.0:
            highest = max(highest, sharp * q_of(edges[edge], nodes, node.mover, unknown))
    for edge in range(node.edges, node.edges + node.count):
        total += weight(edges[edge], nodes, node.mover, unknown, sharp, highest)
    return unknown, sharp, highest, total


def weight(edge: Any, nodes: Any, mover: int, unknown: float, sharp: float, highest: float) -> float:
    if edge.prior == 0.0:
        return 0.0
    return float(edge.prior) * math.exp(sharp * q_of(edge, nodes, mover, unknown) - highest)


def improved(node: Any, nodes: Any, edges: Any, settings: Any) -> int:
    """The rule below the root: visits follow π'. Leaves under evaluation count as visits."""
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


def improved_policy(node: Any, nodes: Any, edges: Any, settings: Any, policy: Any) -> None:
    """π' over the node's edges, in their order."""
    unknown, sharp, highest, total = improvement(node, nodes, edges, settings)
    for i in range(node.count):
        policy[i] = weight(edges[node.edges + i], nodes, node.mover, unknown, sharp, highest) / total


# ── the race at the root ──


def begin_race(slot: Any, root: Any, settings: Any) -> None:
    """Draws g, and the number of visits that each action considered gets before the first half drops out."""
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


def race(slot: Any, root: Any, nodes: Any, edges: Any, settings: Any) -> int:
    """The rule at the root: of the actions in the race, the best of those that have fewest visits."""
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


def leader(slot: Any, root: Any, nodes: Any, edges: Any, settings: Any, visits: int) -> int:
    """The best by g + logits + σ(q̂) of the edges with so many visits: the edge to walk, and at the end the one to play."""
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
