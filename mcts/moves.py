"""From one search to the next: what a searched root gives to play and to learn, and the steps between two searches of a game.

`moves(rules, variant)` makes the functions for a game; drivers of self-play and players call them from compiled code or from Python.

    target(…, weights)     what to learn, per edge of the root, summing to 1. Temperature never touches it. Actions proven to lose get
                           nothing while there are others. Where the root is proven: the shares of visits among the actions proven to
                           be as good as the root
    sample(…)              the edge to play: the best one, or drawn from the target sharpened to p^(1/temperature) by the tree's own
                           stream
    start(…)               prepares a tree for more simulations
    advance(…)             plays an action at the root and keeps its subtree
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from base.seeds import uniform
from games import Rules
from mcts.tree import NONE, ROOT, clear, keep
from mcts.types import Array, Edge, Edges, GameState, Node, Nodes, Rng, Settings, Slot, Table, Weights
from mcts.variant import Variant

TIE = 1e-9  # utilities this close are the same: means of chance nodes are rounded
COLD = 0.01  # a temperature below it is taken for 0


# ── the edges of a root ──


def is_lost(edge: Edge, nodes: Nodes, mover: int, worst: float) -> bool:
    return bool(edge.proven == 1 and nodes[edge.child].utility[mover] <= worst)


def is_before(edge: Edge, other: Edge) -> bool:
    """The order of a root's edges: by visits, value, prior, and the lowest action id."""
    if edge.visits != other.visits:
        return bool(edge.visits > other.visits)
    if edge.value != other.value:
        return bool(edge.value > other.value)
    if edge.prior != other.prior:
        return bool(edge.prior > other.prior)
    return bool(edge.action < other.action)


def most_visited(node: Node, nodes: Nodes, edges: Edges, worst: float) -> int:
    """The edge to play at a decision node: the most visited one (visits are steadier than values), except that a proven value counts
    as it is: the best proven edge is played where it is worth at least the mean of the most visited unproven one. So a proven win is
    always played, and a proven loss (a utility of `worst`) only where there is nothing else, not even an action never tried."""
    unproven, proven, known = NONE, NONE, 0.0
    for edge in range(node.edges, node.edges + node.count):
        if edges[edge].proven:
            value = nodes[edges[edge].child].utility[node.mover]
            if proven == NONE or value > known or (value == known and is_before(edges[edge], edges[proven])):
                proven, known = edge, float(value)
        elif unproven == NONE or is_before(edges[edge], edges[unproven]):
            unproven = edge
    if proven == NONE or unproven == NONE:
        return max(proven, unproven)
    if edges[unproven].visits == 0:
        return proven if known > worst else unproven
    return proven if known >= edges[unproven].value / edges[unproven].visits else unproven


def draw(root: Node, edges: Edges, weights: Weights, temperature: float, rng: Rng) -> int:
    """An edge by its weight^(1/temperature), from one random number."""
    highest, total, found = 0.0, 0.0, root.edges
    for i in range(root.count):
        highest = max(highest, weights[i])
    for i in range(root.count):
        total += sharpened(weights[i] / highest, temperature)
    left = uniform(rng) * total
    for i in range(root.count):
        share = sharpened(weights[i] / highest, temperature)
        if share > 0.0:
            found = root.edges + i
            left -= share
            if left < 0.0:
                break
    return int(found)


def sharpened(share: float, temperature: float) -> float:
    return math.exp(math.log(share) / temperature) if share > 0.0 else 0.0


class Moves(NamedTuple):
    target: Callable[..., None]
    sample: Callable[..., int]
    start: Callable[..., None]
    advance: Callable[..., bool]


def moves(rules: Rules, variant: Variant) -> Moves:
    weigh, best, keeps_tree, result = variant.weigh, variant.best, variant.keeps_tree, rules.result
    worst = float(min(rules.values, default=-1.0))

    def target(slot: Slot, nodes: Nodes, edges: Edges, settings: Settings, table: Table, weights: Weights) -> None:
        root = nodes[ROOT]
        mover, first = root.mover, root.edges
        if root.proven:
            for i in range(root.count):
                each = edges[first + i]
                is_best = each.proven == 1 and nodes[each.child].utility[mover] >= root.utility[mover] - TIE
                weights[i] = float(each.visits) if is_best else 0.0
        else:
            weigh(slot, root, nodes, edges, settings, table, weights)
            hopeful = 0.0
            for i in range(root.count):
                if not is_lost(edges[first + i], nodes, mover, worst):
                    hopeful += weights[i]
            if hopeful > 0.0:
                for i in range(root.count):
                    if is_lost(edges[first + i], nodes, mover, worst):
                        weights[i] = 0.0
        total = 0.0
        for i in range(root.count):
            total += weights[i]
        for i in range(root.count):
            weights[i] /= total

    def sample(slot: Slot, nodes: Nodes, edges: Edges, settings: Settings, weights: Weights, temperature: float) -> int:
        root = nodes[ROOT]
        if temperature < COLD:
            return int(best(slot, root, nodes, edges, settings, worst))
        return draw(root, edges, weights, temperature, slot.rng)

    def start(slot: Slot, simulations: int, explore: bool) -> None:
        if not keeps_tree and slot.nodes > 0:
            clear(slot)
        if explore and slot.explore == 0:
            slot.prepared = 0
        slot.explore = 1 if explore else 0
        slot.simulations, slot.target, slot.depth, slot.refused = 0, simulations, 0, 0

    def advance(slot: Slot, nodes: Nodes, edges: Edges, state: GameState, action: int, marks: Array) -> bool:
        """False where no subtree was kept: then the tree is empty, and its random stream continues."""
        child = NONE
        if slot.nodes > 0 and keeps_tree:
            root = nodes[ROOT]
            for edge in range(root.edges, root.edges + root.count):
                if edges[edge].action == action:
                    child = edges[edge].child
        result(state, action)
        slot.explore = 0
        if child != NONE:
            keep(slot, nodes, edges, child, marks)
        else:
            clear(slot)
        return bool(child != NONE)

    return Moves(target, sample, start, advance)
