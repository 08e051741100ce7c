"""Retrograde analysis of any graph of positions: who wins, and in how many plies.

The nodes are decided in the order of their distance n = 0, 1, 2, …, as Ströhlein (1970) did and Thompson ("Retrograde analysis of
certain endgames", 1986) describes it. With v(s) the outcome for the mover of s and d(s) the distance to the end,

    won    d(s) = 1 + min d(s')   over the successors s' that the mover of s wins
    lost   d(s) = 1 + max d(s')   over all successors, when the mover of s loses in each of them

and what is never decided is drawn: neither side can be forced out of it. Going back from a node needs no moves taken back: the
edges were found going forward, and are sorted by where they lead. The mover of a node and of its successor are compared, never
assumed to alternate, so turns of several actions need nothing special.

How it is used: a builder fills `nodes` and `edges` (classical/tables/endgames.py, classical/tables/complete.py), with the outcomes
of finished successors and of those in finished tables put into the nodes by `note`; then `solve(nodes, edges)` puts codes in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from base.compiler import compiled
from base.errors import UserError
from classical.tables.codes import DRAW, LONGEST, loss_in, win_in
from games import Game

FAR = 65_535  # no win yet

_NODE = np.dtype(
    [
        ("code", np.uint16),  # see codes.py; NONE until it is decided
        ("win", np.uint16),  # in how many plies the mover can win, as far as is known; FAR
        ("loss", np.uint16),  # in how many plies the mover loses by the slowest of the moves known to lose
        ("left", np.uint16),  # moves that are not known to lose
        ("mover", np.int8),
        ("open", np.uint8),  # 0: no position, or a finished one
        ("value", np.int8),  # of a finished one, for player 0
    ],
    align=True,
)
NODE = np.dtype((np.record, _NODE))
EDGE = np.dtype((np.record, np.dtype([("source", np.int32), ("target", np.int32)])))  # numbers of nodes


def note(node: Any, value: int, plies: Any) -> None:
    """One more move of `node` is judged: `value` for its mover (1, 0, -1), the game over `plies` after it was made."""
    if value > 0:
        node.win = min(node.win, plies + 1)
    elif value < 0:
        node.loss = max(node.loss, plies + 1)
    if value >= 0:
        node.left += 1  # a move that does not lose is never crossed out


def sort_edges(edges: Any, starts: Any, sources: Any) -> None:
    """sources[starts[t]:starts[t+1]] become the nodes that lead to t."""
    for i in range(len(edges)):
        starts[edges[i].target + 1] += 1
    for node in range(len(starts) - 1):
        starts[node + 1] += starts[node]
    for i in range(len(edges)):  # starts[t] moves on to where t's end, which is where t+1's began
        target = edges[i].target
        sources[starts[target]] = edges[i].source
        starts[target] += 1
    for node in range(len(starts) - 1, 0, -1):
        starts[node] = starts[node - 1]
    starts[0] = 0


def decide(nodes: Any, starts: Any, sources: Any) -> int:
    """Codes for all nodes. Returns the longest distance, or -1 where it is beyond LONGEST."""
    plies, longest = 0, 0
    while plies <= LONGEST:
        waiting = 0
        for number in range(len(nodes)):
            node = nodes[number]
            if node.open == 0 or node.code != 0:
                continue
            is_lost = node.left == 0 and node.win == FAR
            if node.win != plies and not (is_lost and node.loss == plies):
                waiting += int(node.win != FAR or is_lost)
                continue
            longest = plies
            node.code = loss_in(plies) if is_lost else win_in(plies)
            for i in range(starts[number], starts[number + 1]):
                before = nodes[sources[i]]
                if (before.mover == node.mover) == is_lost:
                    before.left -= 1
                    before.loss = max(before.loss, plies + 1)
                else:
                    before.win = min(before.win, plies + 1)
                waiting += 1
        if waiting == 0:
            for number in range(len(nodes)):
                if nodes[number].open and nodes[number].code == 0:
                    nodes[number].code = DRAW
            return longest
        plies += 1
    return -1


_sort_edges = compiled(sort_edges, label="endgame tables")
_decide = compiled(decide, label="endgame tables")


def solve(nodes: Any, edges: Any) -> None:
    """Decide every node: nodes [n] of NODE, edges [m] of EDGE."""
    starts, sources = np.zeros(len(nodes) + 1, np.int64), np.zeros(len(edges), np.int32)
    _sort_edges(edges, starts, sources)
    if _decide(nodes, starts, sources) < 0:
        raise UserError(f"expected games that can be won in {LONGEST} plies, got a longer one")


def grown(array: Any, n: int) -> Any:
    """`array` with room for n entries at least, and for twice what it had."""
    found = np.zeros(max(n, 2 * len(array)), array.dtype)
    found[: len(array)] = array
    return found


def refuse_unsuited(game: Game) -> None:
    """Tables are of two players, who win, draw or lose, and of no dice."""
    rules = game.rules
    if rules.players != 2 or not rules.zero_sum or rules.chance is not None:
        raise UserError(f"{game.name}: expected a game of two players, zero-sum and without chance, for a table")
    if not rules.values or not {-1.0, 0.0, 1.0}.issuperset(rules.values):
        raise UserError(f"{game.name}: expected utilities -1, 0 and 1 for a table, got {tuple(rules.values) or 'any'}")
