"""Reading a searched tree: its moves in order, its principal variation."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from games import CHANCE
from games.choice import Candidate
from mcts.moves import most_visited
from mcts.tree import EDGE, NONE, Tree
from mcts.types import GameState, Node


class ReadEdge(NamedTuple):
    """What an edge of a tree holds now, in plain numbers (`mcts/tree.py`): NumPy takes microseconds to read a field of a record, and a
    move of go has hundreds of edges to compare."""

    value: float
    prior: float
    action: int
    child: int
    visits: int
    flight: int
    proven: int


assert ReadEdge._fields == EDGE.names


def value_of(tree: Tree, node: Node, edge: ReadEdge, slot: int = 0) -> float | None:
    """The expected utility of `edge` for the player who moves at `node`; None where it has no visits."""
    if edge.proven:
        return float(tree.nodes[slot, edge.child].utility[node.mover])
    return edge.value / edge.visits if edge.visits else None


def utilities_of(tree: Tree, edge: ReadEdge, slot: int = 0) -> tuple[float, ...] | None:
    """Every player's expected utility at the end of `edge`; None where it has no visits."""
    if edge.child == NONE or tree.nodes[slot, edge.child].visits == 0:
        return None
    child = tree.nodes[slot, edge.child]
    return tuple((child.utility if child.proven else child.sums / int(child.visits)).tolist())


def ranked(tree: Tree, node: Node, slot: int = 0, worst: float = -1.0) -> list[ReadEdge]:
    """A decision node's edges: the one to play (`most_visited`), then the others by visits."""
    edges = read_edges(tree, node, slot)
    first = _best(tree, node, edges, slot, worst)
    others = [edge for edge in edges if edge.action != first.action]
    return [first, *sorted(others, key=lambda edge: (-edge.visits, -edge.value, -edge.prior, edge.action))]


def best_of(tree: Tree, node: Node, slot: int = 0, worst: float = -1.0) -> ReadEdge:
    """A decision node's edge to play."""
    return _best(tree, node, read_edges(tree, node, slot), slot, worst)


def _best(tree: Tree, node: Node, edges: list[ReadEdge], slot: int, worst: float) -> ReadEdge:
    at: Any = SimpleNamespace(mover=int(node.mover), edges=0, count=len(edges))
    return edges[most_visited(at, tree.nodes[slot], edges, worst)]


def read_edges(tree: Tree, node: Node, slot: int = 0) -> list[ReadEdge]:
    return [ReadEdge._make(row) for row in tree.children(node, slot).tolist()]


def candidates(
    tree: Tree,
    node: Node,
    edges: Sequence[ReadEdge],
    slot: int = 0,
    with_priors: bool = False,
    lines: int = 0,
    worst: float = -1.0,
) -> tuple[Candidate, ...]:
    """One for each edge, in their order; the first `lines` with the line that they begin."""
    return tuple(
        Candidate(
            edge.action,
            value_of(tree, node, edge, slot),
            "exact" if edge.proven else "estimate",
            edge.visits,
            edge.prior if with_priors else None,
            utilities_of(tree, edge, slot),
            principal_variation(tree, slot, worst, edge) if number < lines else (),
        )
        for number, edge in enumerate(edges)
    )


def principal_variation(
    tree: Tree, slot: int = 0, worst: float = -1.0, first: ReadEdge | None = None
) -> tuple[int, ...]:
    """From the root along the best moves (`first`: the root's edge), to a node never expanded or to a roll of the dice."""
    node = tree.root(slot)
    line: list[int] = []
    while node.count and node.mover != CHANCE:
        edge = first if first is not None and not line else best_of(tree, node, slot, worst)
        if edge.visits == 0:
            break
        line.append(edge.action)
        if edge.child == NONE:
            break
        node = tree.nodes[slot, edge.child]
    return tuple(line)


def restrict(tree: Tree, actions: Sequence[int], slot: int = 0) -> None:
    """Leave only these actions at a root that was evaluated and whose edges have not been walked. The tree then serves this search
    alone: below another move there is nothing to keep."""
    root, about = tree.root(slot), tree.slots[slot]
    if root.count == 0:  # without a policy the root is expanded at its second visit
        first = int(about.edges)
        kept = np.zeros(len(actions), tree.edges.dtype)
        kept["action"], kept["child"], kept["prior"] = actions, NONE, 1.0 / len(actions)
        about.edges += len(kept)
    else:
        first = int(root.edges)
        children = tree.children(root, slot)
        kept = children[np.isin(children["action"], actions)].copy()
    tree.edges[slot, first : first + len(kept)] = kept
    root.edges, root.count = first, len(kept)


def is_same(state: GameState, other: GameState) -> bool:
    """Field by field: records may have gaps between them."""
    return all(np.array_equal(state[name], other[name]) for name in state.dtype.names or ())
