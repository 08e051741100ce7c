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
| explore     | int8    | 1: the variant explores at the root (noise, forced visits, Gumbel's draws)                 |
| prepared    | int8    | 1: the root is prepared for this search                                                    |
|             |         | and the fields of the variant (`slot_fields`)                                              |

`nodes [S, N]`: positions reached, without the positions: a simulation replays its path from the root.

| field   | type    |                                                                                                |
|---------|---------|------------------------------------------------------------------------------------------------|
| sums    | float64 | [P]: sum over visits of the utilities backed up, absolute: component p is player p's           |
| utility | float64 | [P]: the evaluator's utilities of the position; once proven, its exact utilities               |
| visits  | int32   | simulations that came here                                                                     |
| edges   | int32   | its first edge; the others follow                                                              |
| count   | int32   | how many; 0 before it is expanded and at the end of a game                                     |
| tried   | int32   | edges that have been walked                                                                    |
| mass    | float32 | sum of the priors of edges that have been walked                                               |
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

Laws, which the tests check by walking the arrays. A decision node's visits are 1 (its own evaluation) and those of its edges, those of
its edges alone at a chance node and, with a policy, where one action is legal; after it is proven, more, for simulations end there.
`sums` are `utility` and what came back through the edges: for the mover m of a node not proven, sums[m] = utility[m] + Σ value. An edge
has its child's visits. Children stand behind their parents.

**Memory is bounded.** Where nodes or edges are used up, nothing is added any more, and the search continues: positions beyond are
evaluated anew at each visit, their edge keeps visits and value. Memory is given back when the root advances: the subtree that
is kept moves to the front of the arrays, in place. Rows that were never used cost no memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from base.errors import UserError
from base.seeds import Rng
from games import Game
from games.types import Record
from mcts.types import Array, Edges, GameStates, Node, Nodes, Slot, Slots
from mcts.variant import Variant

ROOT, NONE = 0, -1
OVER = -2
"""The mover of a finished game."""

EDGE = np.dtype(
    (
        Record,
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


def slot_dtype(max_legal: int, variant: Variant) -> np.dtype[Any]:
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
    ]
    # The variant's fields come first: numba takes a record that begins like another one for a subtype of it.
    fields = [*variant.slot_fields(max_legal), *fields]
    return np.dtype((Record, np.dtype(fields, align=True)))


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
    return np.dtype((Record, np.dtype(fields, align=True)))


class Trees(NamedTuple):
    """The arrays of a `Tree` and the positions at the roots, as kernels take them."""

    slots: Slots
    nodes: Nodes
    edges: Edges
    roots: GameStates
    marks: Array
    """int32 [N + E]: scratch of `keep`."""


class Tree:
    """The arrays of `slots` trees. Anyone may read them; only the phases write."""

    def __init__(self, game: Game, variant: Variant, slots: int, nodes: int, edges: int) -> None:
        if slots < 1 or nodes < 1 or edges < game.rules.max_legal:
            most = game.rules.max_legal
            raise UserError(
                f"expected a tree or more, of 1 node and {most} edges at least, got {slots} of {nodes} and {edges}"
            )
        self.slots = np.zeros(slots, slot_dtype(game.rules.max_legal, variant))
        self.nodes = np.zeros((slots, nodes), node_dtype(game.players))
        self.edges = np.zeros((slots, edges), EDGE)
        self.roots = game.blanks(slots)
        self.arrays = Trees(self.slots, self.nodes, self.edges, self.roots, np.zeros(nodes + edges, np.int32))

    def clear(self, slot: int, rng: Rng) -> None:
        """An empty tree with a random stream."""
        self.slots[slot] = np.zeros(1, self.slots.dtype)[0]
        self.slots[slot].rng[:] = rng

    def root(self, slot: int = 0) -> Any:
        return self.nodes[slot, ROOT]

    def children(self, node: Node, slot: int = 0) -> np.ndarray[Any, Any]:
        """A node's edges: a view."""
        return self.edges[slot, node.edges : node.edges + node.count]

    def used(self, slot: int = 0) -> tuple[int, int]:
        """Nodes and edges in use."""
        return int(self.slots[slot].nodes), int(self.slots[slot].edges)


def bytes_per_node(game: Game, edges_per_node: float) -> float:
    return node_dtype(game.players).itemsize + EDGE.itemsize * edges_per_node


# ── kernels ──


def clear(slot: Slot) -> None:
    """An empty tree whose random stream continues."""
    slot.nodes, slot.edges, slot.simulations, slot.target = 0, 0, 0, 0
    slot.waiting, slot.depth, slot.refused, slot.explore, slot.prepared = 0, 0, 0, 0, 0


def keep(slot: Slot, nodes: Nodes, edges: Edges, root: int, marks: Array) -> None:
    """Drop all but the subtree of `root` and move that to the front. Children stand behind their parents, so one pass marks it."""
    used = slot.nodes
    new = marks[:used]  # [node]: its new number
    owner = marks[used : used + slot.edges]  # [edge]: the new number of the node whose first edge it is
    for i in range(used):
        new[i] = NONE
    for edge in range(slot.edges):
        owner[edge] = NONE
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
