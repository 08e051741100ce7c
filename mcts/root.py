"""What a searched tree says: its moves in order, the line it expects."""

from __future__ import annotations

from typing import Any

import numpy as np

from games import CHANCE
from games.choice import Candidate
from mcts.tree import NONE, Tree


def value_of(tree: Tree, node: Any, edge: Any, slot: int = 0) -> float | None:
    """The utility that the player who moves at `node` can expect from `edge`; None where nothing is known."""
    if edge.proven:
        return float(tree.nodes[slot, edge.child].utility[node.mover])
    return float(edge.value) / int(edge.visits) if edge.visits else None


def ranked(tree: Tree, node: Any, slot: int = 0, worst: float = -1.0) -> list[Any]:
    """A decision node's edges, the one to play first, the others by visits.

    The most visited one is played (visits are steadier than values), except that a proven value counts for what it is: the best
    proven action is played where it is worth at least the mean of the most visited unproven one. So a proven win is always
    played, and a proven loss (a utility of `worst`) only where there is nothing else, not even an action never tried.
    """
    edges = sorted(
        tree.children(node, slot),
        key=lambda edge: (-int(edge.visits), -float(edge.value), -float(edge.prior), int(edge.action)),
    )
    unproven = next((edge for edge in edges if not edge.proven), None)
    proven = [edge for edge in edges if edge.proven]
    if proven:
        best = max(proven, key=lambda edge: value_of(tree, node, edge, slot) or 0.0)
        known = value_of(tree, node, best, slot) or 0.0
        hoped = None if unproven is None else value_of(tree, node, unproven, slot)
        beaten = known > worst if hoped is None else known >= hoped
        first = best if unproven is None or beaten else unproven
    else:
        first = edges[0]
    return [first, *(edge for edge in edges if edge.action != first.action)]


def candidates(
    tree: Tree, node: Any, edges: list[Any], slot: int = 0, with_priors: bool = False
) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(
            int(edge.action),
            value_of(tree, node, edge, slot),
            "exact" if edge.proven else "estimate",
            int(edge.visits),
            float(edge.prior) if with_priors else None,
        )
        for edge in edges
    )


def principal_variation(tree: Tree, slot: int = 0, worst: float = -1.0, first: Any = None) -> tuple[int, ...]:
    """From the root along the moves it would play (`first`: the root's edge), to a node never expanded or to a roll of the dice."""
    node = tree.root(slot)
    line: list[int] = []
    while node.count and node.mover != CHANCE:
        edge = ranked(tree, node, slot, worst)[0] if first is None or line else first
        if edge.visits == 0:
            break
        line.append(int(edge.action))
        if edge.child == NONE:
            break
        node = tree.nodes[slot, edge.child]
    return tuple(line)


def is_same(state: Any, other: Any) -> bool:
    """Field by field: records may have gaps between them."""
    return all(np.array_equal(state[name], other[name]) for name in state.dtype.names)
