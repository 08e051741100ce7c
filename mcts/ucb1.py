"""UCB1 applied to trees (UCT): every action once, in random order, then the one with the highest upper confidence bound.

    Q + 2c √(ln N / n)                Auer, Cesa-Bianchi and Fischer 2002; Kocsis and Szepesvári 2006

Q is the mean utility of the player who moves at the node, n the visits of the edge, N those of the node. UCB1 is stated for rewards r
in [0, 1]: r̄ + c √(ln N / n), c = √2. A utility is u = 2r - 1, an order that survives multiplication by two: hence 2c. Edges not yet
walked come first, in random order (an incremental Fisher-Yates shuffle: walked edges stand in front). A proven edge has its exact
utility and no bonus, so a proven loss is walked only where everything else is as bad.

    python -m mcts.ucb1 60/79 1/10 2/11 --c 1.4         # the bound of moves with so many wins of so many visits
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from base.errors import Arguments, UserError, require, run_command
from base.seeds import below
from mcts.moves import most_visited
from mcts.settings import SearchSettings
from mcts.types import Edge, Edges, Node, Nodes, Settings, Slot, Table, Weights
from mcts.variant import Variant


@dataclass(frozen=True)
class UCB1(SearchSettings):
    method: Literal["ucb1"] = "ucb1"
    rollout: float = 1.0
    """λ: a leaf is worth (1-λ) v + λ z, z the outcome of a random game. UCT: 1."""
    immediate_wins: bool = False
    """Always false: UCB1 tries every action once anyway."""
    c: float = math.sqrt(2.0)
    """Exploration, for rewards in [0, 1]. Auer et al. 2002: √2."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self, "a number of at least 0", lambda x: 0 <= x < math.inf, "c")
        if self.immediate_wins:
            raise UserError("immediate_wins: expected false with method 'ucb1' (it tries every action once), got true")


def factor(settings: Settings, visits: int) -> float:
    return 2.0 * float(settings.c) * math.sqrt(math.log(visits))


def bound(value: float, visits: int, scale: float) -> float:
    """Q + 2c √(ln N / n): `value` is n Q, `scale` the node's `factor`."""
    inverse = 1.0 / visits
    return value * inverse + scale * math.sqrt(inverse)


def score(node: Node, edge: Edge, settings: Settings) -> float:
    """What `choose` maximizes, after the search."""
    return bound(edge.value, edge.visits, factor(settings, int(node.visits))) if edge.visits else math.inf


def choose(slot: Slot, node: Node, nodes: Nodes, edges: Edges, settings: Settings, table: Table) -> int:
    first, mover = node.edges, node.mover
    if node.tried < node.count:
        edge = first + node.tried
        other = edge + below(slot.rng, node.count - node.tried)
        edges[edge].action, edges[other].action = edges[other].action, edges[edge].action
        return int(edge)
    visits = node.visits + node.flight
    scale = table[visits] if visits < len(table) else factor(settings, visits)
    best, best_score = first, -np.inf
    for edge in range(first, first + node.count):
        each = edges[edge]
        if each.proven:
            score = nodes[each.child].utility[mover]
        else:
            score = bound(each.value - each.flight, each.visits + each.flight, scale)
        if score > best_score:
            best, best_score = edge, score
    return int(best)


def weigh(
    slot: Slot, root: Node, nodes: Nodes, edges: Edges, settings: Settings, table: Table, weights: Weights
) -> None:
    """Visits; the priors where there are none."""
    for i in range(root.count):
        each = edges[root.edges + i]
        weights[i] = float(each.visits) if root.tried > 0 else float(each.prior)


def best(slot: Slot, root: Node, nodes: Nodes, edges: Edges, settings: Settings, worst: float) -> int:
    return most_visited(root, nodes, edges, worst)


VARIANT = Variant(UCB1, choose, choose, weigh, best, factor=factor, score=score, has_policy=False)


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("moves", nargs="+", metavar="WINS/VISITS", help="of each move at a node")
    parser.add_argument("--c", type=float, default=UCB1.c, metavar="C", help="exploration, for rewards in [0, 1]")
    options = parser.parse_args(argv)
    settings = UCB1(c=options.c)
    counts = [_counts(text) for text in options.moves]
    total = int(sum(visits for _, visits in counts))
    bounds = [(bound(2.0 * wins - visits, int(visits), factor(settings, total)) + 1.0) / 2.0 for wins, visits in counts]
    for text, (wins, visits), each in zip(options.moves, counts, bounds, strict=True):
        mark = "   <- selected next" if each == max(bounds) else ""
        print(f"{text:>9}  {wins / visits:.3f} + {each - wins / visits:.3f} = {each:.3f}{mark}")
    return 0


def _counts(text: str) -> tuple[float, float]:
    try:
        wins, visits = map(float, text.split("/"))
    except ValueError:
        wins, visits = 1.0, 0.0
    if not (0 <= wins <= visits < 2**31 and visits >= 1 and visits == int(visits)):
        raise UserError(
            f"expected WINS/VISITS with 1 visit or more and no more wins than visits, as in 60/79; got '{text}'"
        )
    return wins, visits


if __name__ == "__main__":
    run_command(main)
