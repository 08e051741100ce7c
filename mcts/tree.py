"""The tree of a search: structured arrays with a row per tree, so that many games grow their trees side by side.

`slots [S]`: one tree each.

| field       | type    |                                                                                            |
|-------------|---------|--------------------------------------------------------------------------------------------|
| nodes       | int32   | how many rows of `nodes[slot]` are in use; the root is number 0                            |
| edges       | int32   | how many rows of `edges[slot]` are in use                                                  |
| simulations | int32   | finished since the search began, in this tree                                              |
| target      | int32   | how many there shall be                                                                    |
| waiting     | int32   | leaves handed out whose evaluation has not come back                                       |
| depth       | int32   | actions on the longest path walked since the search began                                  |
| refused     | int32   | expansions that there was no memory for                                                    |
| rng         | uint64  | [1]: the tree's own random stream                                                          |
| explore     | int8    | 1: what is done at the root to explore is to be done (`mcts/noise.py`, `mcts/gumbel.py`)    |
| prepared    | int8    | 1: its random part has been drawn                                                          |
| considered  | int32   | Gumbel: how many of the root's actions are still in the race                               |
| level       | int32   | Gumbel: visits that each of them has at least                                              |
| rounds      | int32   | Gumbel: visits that each of them will still get before half of them drop out                |
| budget      | int32   | Gumbel: simulations that the race shall take                                               |
| draws       | float32 | [max_legal]: Gumbel: g(a) of the root's edges in their order; else scratch space            |

`nodes [S, N]`: positions reached, without the positions: a simulation replays its path from the root.

| field   | type    |                                                                                                |
|---------|---------|------------------------------------------------------------------------------------------------|
| sums    | float64 | [P]: sum over visits of the utilities backed up, absolute: component p is player p's           |
| utility | float64 | [P]: what the evaluator said of the position; once proven, its exact utilities                 |
| visits  | int32   | simulations that came here                                                                     |
| edges   | int32   | its first edge; the others follow                                                              |
| count   | int32   | how many; 0 before it is expanded and at the end of a game                                     |
| tried   | int32   | UCB1: the first so many edges have been walked                                                 |
| mass    | float32 | PUCT: sum of the priors of edges that have been walked                                         |
| flight  | int16   | leaves at or below it that are being evaluated                                                 |
| mover   | int8    | 0 … P-1, CHANCE (-1), or OVER (-2) at the end of a game                                        |
| proven  | int8    | 1: `utility` is exact                                                                          |

`edges [S, E]`: the actions of expanded nodes, those of a node side by side.

| field  | type    |                                                                                                 |
|--------|---------|-------------------------------------------------------------------------------------------------|
| value  | float64 | sum over visits of the utility of *the player who moves here*; at a chance node the probability |
| prior  | float32 | P(action), from the evaluator or uniform; at a chance node the probability                      |
| action | int32   |                                                                                                 |
| child  | int32   | its node, or NONE (-1)                                                                          |
| visits | int32   |                                                                                                 |
| flight | int16   | leaves below it that are being evaluated: each counts as a visit that lost (virtual loss)       |
| proven | int8    | 1: its child is proven                                                                          |

Laws, which the tests check by walking the arrays. A decision node's visits are 1 (its own evaluation) and those of its edges, a
chance node's those of its edges; after it is proven, more, for simulations end there. `sums` are `utility` and what came back
through the edges: for the mover m of a node not proven, sums[m] = utility[m] + Σ value. An edge has its child's visits. Children
stand behind their parents.

**Memory is bounded.** Where nodes or edges are used up, nothing is added any more, and the search goes on: what lies beyond is
evaluated anew at each visit, its edge keeps visits and value. Memory is given back when the root advances: the subtree that
is kept moves to the front of the arrays, in place. Rows that were never used cost no memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from base.compiler import compiled
from base.errors import UserError
from base.seeds import Rng
from games import Game

ROOT, NONE = 0, -1
OVER = -2
"""The mover of a finished game."""

EDGE = np.dtype(
    (
        np.record,
        np.dtype(
            [
                ("value", np.float64),
                ("prior", np.float32),
                ("action", np.int32),
                ("child", np.int32),
                ("visits", np.int32),
                ("flight", np.int16),
                ("proven", np.int8),
            ],
            align=True,
        ),
    )
)
assert EDGE.itemsize == 32  # two to a cache line


def slot_dtype(max_legal: int) -> np.dtype[Any]:
    fields = [
        ("nodes", np.int32),
        ("edges", np.int32),
        ("simulations", np.int32),
        ("target", np.int32),
        ("waiting", np.int32),
        ("depth", np.int32),
        ("refused", np.int32),
        ("rng", np.uint64, 1),
        ("explore", np.int8),
        ("prepared", np.int8),
        ("considered", np.int32),
        ("level", np.int32),
        ("rounds", np.int32),
        ("budget", np.int32),
        ("draws", np.float32, (max_legal,)),
    ]
    return np.dtype((np.record, np.dtype(fields, align=True)))


def node_dtype(players: int) -> np.dtype[Any]:
    fields = [
        ("sums", np.float64, players),
        ("utility", np.float64, players),
        ("visits", np.int32),
        ("edges", np.int32),
        ("count", np.int32),
        ("tried", np.int32),
        ("mass", np.float32),
        ("flight", np.int16),
        ("mover", np.int8),
        ("proven", np.int8),
    ]
    return np.dtype((np.record, np.dtype(fields, align=True)))


class Tree:
    """The arrays of `slots` trees. Reading them is everybody's; only the phases write."""

    def __init__(self, game: Game, slots: int, nodes: int, edges: int) -> None:
        if slots < 1 or nodes < 1 or edges < game.rules.max_legal:
            most = game.rules.max_legal
            raise UserError(
                f"expected a tree or more, of 1 node and {most} edges at least, got {slots} of {nodes} and {edges}"
            )
        self.slots = np.zeros(slots, slot_dtype(game.rules.max_legal))
        self.nodes = np.zeros((slots, nodes), node_dtype(game.players))
        self.edges = np.zeros((slots, edges), EDGE)
        self._keep = compiled(keep, label="the search tree")

    def prepare(self) -> None:
        """Compile what `advance` needs, on a tree of one node."""
        slots: Any = np.zeros(1, self.slots.dtype)
        slots["nodes"] = 1
        self._keep(slots[0], np.zeros(1, self.nodes.dtype), np.zeros(1, EDGE), 0)

    def clear(self, slot: int, rng: Rng) -> None:
        """An empty tree with a random stream."""
        self.slots[slot] = np.zeros(1, self.slots.dtype)[0]
        self.slots[slot].rng[:] = rng

    def root(self, slot: int = 0) -> Any:
        return self.nodes[slot, ROOT]

    def children(self, node: Any, slot: int = 0) -> np.ndarray[Any, Any]:
        """A node's edges: a view."""
        return self.edges[slot, node.edges : node.edges + node.count]

    def advance(self, action: int, slot: int = 0) -> bool:
        """Make the root's child after `action` the root. False where there is none: then nothing has changed."""
        if self.slots[slot].nodes == 0:
            return False
        edges = self.children(self.root(slot), slot)
        found = edges[(edges["action"] == action) & (edges["child"] != NONE)]
        if len(found) == 0:
            return False
        self._keep(self.slots[slot], self.nodes[slot], self.edges[slot], int(found[0]["child"]))
        return True

    def used(self, slot: int = 0) -> tuple[int, int]:
        """Nodes and edges in use."""
        return int(self.slots[slot].nodes), int(self.slots[slot].edges)


def bytes_per_node(game: Game, edges_per_node: float) -> float:
    return node_dtype(game.players).itemsize + EDGE.itemsize * edges_per_node


def keep(slot: Any, nodes: Any, edges: Any, root: int) -> None:
    """Drop all but the subtree of `root` and move that to the front. Children stand behind their parents, so one pass marks it."""
    used = slot.nodes
    new = np.full(used, NONE, np.int32)  # [node]: its new number
    owner = np.full(slot.edges, NONE, np.int32)  # [edge]: the new number of the node whose first edge it is
    new[root] = 0
    count = 0
    for i in range(root, used):
        if new[i] == NONE:
            continue
        new[i] = count
        if nodes[i].count > 0:
            owner[nodes[i].edges] = count
        for edge in range(nodes[i].edges, nodes[i].edges + nodes[i].count):
            if edges[edge].child != NONE:
                new[edges[edge].child] = 0  # marked; numbered when its turn comes
        nodes[count] = nodes[i]
        count += 1
    slot.nodes, slot.prepared = count, 0
    first = 0
    for edge in range(slot.edges):
        if owner[edge] != NONE:
            node = nodes[owner[edge]]
            node.edges = first
            for i in range(node.count):
                edges[first] = edges[edge + i]
                if edges[first].child != NONE:
                    edges[first].child = new[edges[first].child]
                first += 1
    slot.edges = first
