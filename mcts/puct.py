"""PUCT, as in AlphaZero and KataGo: the policy's priors guide the search, noise and forced visits explore at the root of self-play.

    Q + c(N) P √N' / (1 + n),  N' = Σ n                      Silver et al. 2017, 2018
    c(N) = c_init + ln((1 + N + c_base) / c_base)

Q is the mean utility of the player who moves at the node, n the visits of the edge, N those of the node. An edge not yet walked has
the node's own mean less fpu · √(sum of the priors walked) in place of Q ("first play urgency", reduced). A proven edge has its exact
utility and no bonus. Where the root is explored (`slot.explore`):

    noise     once per root (`mcts/noise.py`)
    force     an edge once walked is walked again while n < √(k P Σ n)          KataGo: k = 2 (Wu 2019, 3.2)
    prune     what is learned is the visits without those that only forcing explains

The noise is drawn when the first simulation starts at an evaluated root. The priors below were never touched: when the root advances,
the new root gets noise of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from base.errors import require
from mcts.moves import most_visited
from mcts.noise import mix_in, temper
from mcts.settings import SearchSettings
from mcts.tree import NONE
from mcts.types import Edge, Edges, Node, Nodes, Settings, Slot, Table, Weights
from mcts.variant import Variant


@dataclass(frozen=True)
class PUCT(SearchSettings):
    method: Literal["puct"] = "puct"
    temperature: float = 0.8
    """At ply 0. AlphaZero: 1; KataGo: 0.8."""
    temperature_end: float = 0.2
    """Its limit. AlphaZero: 0; KataGo: 0.2."""
    c_init: float = 1.25
    """Exploration at the start. AlphaZero: 1.25."""
    c_base: float = 19652.0
    """Visits at which exploration begins to grow. AlphaZero: 19652."""
    fpu: float = 0.2
    """By how much an action not yet tried is estimated below its node, once all others have been tried. KataGo: 0.2."""
    prior_temperature: float = 1.0
    """Priors are flattened to P^(1/T) in the whole tree; for play, with a network whose policy is sharp. Leela Chess Zero: 1.36."""

    # ── at an explored root ──
    fpu_root: float = 0.0
    """`fpu` at an explored root. KataGo: 0 where there is noise."""
    noise: float = 0.25
    """At an explored root, the share of Dirichlet noise in the priors. AlphaZero: 0.25."""
    noise_total: float = 10.83
    """The sum of the noise's parameters α over the legal actions. KataGo: 10.83, which is 0.03 on 361 points."""
    policy_temperature: float = 1.1
    """Priors of an explored root are flattened to P^(1/T), beside `prior_temperature`. KataGo: 1.1."""
    forced: float = 2.0
    """At an explored root, an action once tried gets at least √(k P N) visits; the target is pruned of them. 0: neither. KataGo: 2."""

    def __post_init__(self) -> None:
        super().__post_init__()
        temperatures = ("prior_temperature", "policy_temperature")
        require(self, "a number of at least 0", lambda x: 0 <= x < math.inf, "c_init", "fpu", "fpu_root", "forced")
        require(self, "a number above 0", lambda x: 0 < x < math.inf, "c_base", "noise_total", *temperatures)
        require(self, "the share of noise in the priors, 0 to 1", lambda x: 0 <= x <= 1, "noise")


def factor(settings: Settings, visits: int) -> float:
    """c(N) √N' of a node with N visits."""
    c_init, c_base = float(settings.c_init), float(settings.c_base)
    return (c_init + math.log((1.0 + visits + c_base) / c_base)) * math.sqrt(max(visits - 1, 1))


def factor_at(node: Node, settings: Settings, table: Table) -> float:
    visits = node.visits + node.flight
    return float(table[visits]) if visits < len(table) else factor(settings, visits)


# ── selection ──


def choose(slot: Slot, node: Node, nodes: Nodes, edges: Edges, settings: Settings, table: Table) -> int:
    return highest(node, nodes, edges, factor_at(node, settings, table), settings.fpu)


def choose_root(slot: Slot, root: Node, nodes: Nodes, edges: Edges, settings: Settings, table: Table) -> int:
    if slot.explore == 0:
        return choose(slot, root, nodes, edges, settings, table)
    edge = owed(root, edges, settings.forced)
    if edge != NONE:
        return edge
    return highest(root, nodes, edges, factor_at(root, settings, table), settings.fpu_root)


def bound(mean: float, prior: float, visits: int, scale: float) -> float:
    """Q + c(N) P √N' / (1 + n)"""
    return mean + scale * prior / (1 + visits)


def score(node: Node, edge: Edge, settings: Settings) -> float:
    """What `choose` maximizes, after the search."""
    if edge.visits:
        mean = float(edge.value) / int(edge.visits)
    else:
        mean = float(node.sums[node.mover]) / max(int(node.visits), 1) - settings.fpu * math.sqrt(node.mass)
    return bound(mean, float(edge.prior), int(edge.visits), factor(settings, int(node.visits)))


def highest(node: Node, nodes: Nodes, edges: Edges, scale: float, fpu: float) -> int:
    first, mover = node.edges, node.mover
    unvisited = node.sums[mover] / max(node.visits, 1) - fpu * math.sqrt(node.mass)
    best, best_score = first, -np.inf
    for edge in range(first, first + node.count):
        each = edges[edge]
        visits = each.visits + each.flight
        if each.proven:
            score = nodes[each.child].utility[mover]
        else:
            q = unvisited if visits == 0 else (each.value - each.flight) / visits
            score = bound(q, each.prior, visits, scale)
        if score > best_score:
            best, best_score = edge, score
    return int(best)


def owed(root: Node, edges: Edges, k: float) -> int:
    """An edge that has fewer visits than it is forced to have, NONE if there is none. A proven edge is forced to nothing."""
    if k > 0.0:
        total = root.visits + root.flight - 1
        for edge in range(root.edges, root.edges + root.count):
            each = edges[edge]
            visits = each.visits + each.flight
            if each.visits > 0 and each.proven == 0 and visits * visits < k * each.prior * total:
                return int(edge)
    return NONE


def temperature(settings: Settings) -> float:
    return float(settings.prior_temperature)


# ── the root ──


def prepare(slot: Slot, root: Node, edges: Edges, settings: Settings) -> None:
    if slot.explore == 0 or root.mover < 0:
        return
    temper(root, edges, settings.policy_temperature)
    mix_in(slot, root, edges, settings.noise, settings.noise_total)
    root.mass = 0.0
    for edge in range(root.edges, root.edges + root.count):
        if edges[edge].visits + edges[edge].flight > 0:
            root.mass += edges[edge].prior


def weigh(
    slot: Slot, root: Node, nodes: Nodes, edges: Edges, settings: Settings, table: Table, weights: Weights
) -> None:
    """Visits without the forced ones; the priors where there are no visits."""
    if root.tried == 0:
        for i in range(root.count):
            weights[i] = float(edges[root.edges + i].prior)
        return
    k = settings.forced if slot.explore == 1 else 0.0
    prune(root, edges, k, factor(settings, root.visits), weights)


def prune(root: Node, edges: Edges, k: float, scale: float, weights: Weights) -> None:
    """Visits of the root's edges without those that only forcing explains; `scale` is c(N) √N'.

    From every edge but the most visited one up to √(k P Σ n) visits are taken, as long as PUCT would still prefer the most
    visited one to it; an edge left with a single visit goes as well. Proven edges stay as they are.
    """
    first, total, most = root.edges, 0, root.edges
    for edge in range(first, first + root.count):
        each = edges[edge]
        weights[edge - first] = float(each.visits)
        total += each.visits
        if each.visits > edges[most].visits or (each.visits == edges[most].visits and mean(each) >= mean(edges[most])):
            most = edge
    if k == 0.0 or total == 0:
        return
    best = mean(edges[most]) + scale * float(edges[most].prior) / (1.0 + edges[most].visits)
    for edge in range(first, first + root.count):
        each = edges[edge]
        if edge == most or each.proven == 1 or each.visits == 0:
            continue
        visits, prior, gap = float(each.visits), float(each.prior), best - mean(each)
        wanted = scale * prior / gap - 1.0 if gap > 0.0 else np.inf  # PUCT equals `best` with so many
        left = max(visits - math.sqrt(k * prior * total), min(wanted, visits))
        weights[edge - first] = 0.0 if left < visits and left <= 1.0 else left


def mean(edge: Edge) -> float:
    return float(edge.value) / max(float(edge.visits), 1.0)


def best(slot: Slot, root: Node, nodes: Nodes, edges: Edges, settings: Settings, worst: float) -> int:
    return most_visited(root, nodes, edges, worst)


def slot_fields(max_legal: int) -> list[Any]:
    return [("draws", np.float32, (max_legal,))]  # of the noise, before it is normalized


VARIANT = Variant(PUCT, choose_root, choose, weigh, best, prepare, factor, temperature, slot_fields, score=score)
