"""Retrograde analysis of any graph of positions: who wins, and in how many plies.

Nodes are decided in the order of their distance n = 0, 1, 2, …, as in Ströhlein (1970) and Thompson ("Retrograde analysis of
certain endgames", 1986). With v(s) the outcome for the mover of s and d(s) the distance to the end,

    won    d(s) = 1 + min d(s')   over the successors s' that the mover of s wins
    lost   d(s) = 1 + max d(s')   over all successors, when the mover of s loses in each of them

and the nodes that are never decided are drawn. The movers of a node and its successor are compared, not assumed to alternate, so turns
of several actions need no special case.

A builder (classical/tables/endgames.py, classical/tables/complete.py) fills `nodes`, and adds the outcomes of finished successors and
of those in finished tables by `note`. A decided node changes those before it, which come from one of two places:

    solve(nodes, edges)      the graph's edges, generated forward and sorted by their targets; no game has to take a move back
    decider(predecessors)    a function of the game, where edges would fill the memory
"""

from __future__ import annotations

from typing import Any

import numpy as np

from base.compiler import compiled
from base.errors import UserError
from classical.tables.codes import DRAW, LONGEST, loss_in, win_in
from classical.types import Kernel, Records
from games import Game
from games.types import Array, Counts, Integer, Record

FAR = 65_535  # no win yet

_NODE = np.dtype(
    [
        ("code", np.uint16),  # see codes.py; NONE until it is decided
        ("win", np.uint16),  # in how many plies the mover can win, as known so far; FAR: unknown
        ("loss", np.uint16),  # in how many plies the slowest of the moves known to lose does so
        ("left", np.uint16),  # moves that are not known to lose
        ("mover", np.int8),
        ("open", np.uint8),  # 0: no position, or a finished one
        ("value", np.int8),  # of a finished one, for player 0
    ],
    align=True,
)
NODE = np.dtype((np.record, _NODE))
EDGE = np.dtype((np.record, np.dtype([("source", np.int32), ("target", np.int32)])))  # numbers of nodes


def note(node: Record, value: Integer, plies: Integer) -> None:
    """Add a move of known outcome to `node`: `value` for its mover (1, 0, -1), `plies` from the position after it to the end."""
    if value > 0:
        node.win = min(node.win, plies + 1)
    elif value < 0:
        node.loss = max(node.loss, plies + 1)
    if value >= 0:
        node.left += 1  # stays counted: only moves known to lose are subtracted


def sort_edges(edges: Records, starts: Counts, sources: Array) -> None:
    """sources[starts[t]:starts[t+1]] become the nodes that lead to t."""
    for i in range(len(edges)):
        starts[edges[i].target + 1] += 1
    for node in range(len(starts) - 1):
        starts[node + 1] += starts[node]
    for i in range(len(edges)):  # starts[t] advances to the end of t's range, the start of t+1's
        target = edges[i].target
        sources[starts[target]] = edges[i].source
        starts[target] += 1
    for node in range(len(starts) - 1, 0, -1):
        starts[node] = starts[node - 1]
    starts[0] = 0


def decider(predecessors: Kernel) -> Kernel:
    """decide(nodes, context, before) -> the longest distance, -1 if it exceeds LONGEST. Writes the codes of all nodes.

    predecessors(nodes, context, number, before) -> n: writes the numbers of the nodes that lead to one.
    """

    def decide(nodes: Records, context: Any, before: Array) -> int:
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
                for i in range(predecessors(nodes, context, number, before)):
                    earlier = nodes[before[i]]
                    if (earlier.mover == node.mover) == is_lost:
                        earlier.left -= 1
                        earlier.loss = max(earlier.loss, plies + 1)
                    else:
                        earlier.win = min(earlier.win, plies + 1)
                    waiting += 1
            if waiting == 0:
                for number in range(len(nodes)):
                    if nodes[number].open and nodes[number].code == 0:
                        nodes[number].code = DRAW
                return longest
            plies += 1
        return -1

    return decide


def stored_predecessors(nodes: Records, context: tuple[Counts, Array], number: int, before: Array) -> int:
    """By `sort_edges`."""
    starts, sources = context
    first, n = starts[number], starts[number + 1] - starts[number]
    for i in range(n):
        before[i] = sources[first + i]
    return int(n)


_sort_edges = compiled(sort_edges, label="endgame tables")
_decide = compiled(decider(stored_predecessors), label="endgame tables")


def solve(nodes: Array, edges: Array) -> None:
    """Decide every node: nodes [n] of NODE, edges [m] of EDGE."""
    starts, sources = np.zeros(len(nodes) + 1, np.int64), np.zeros(len(edges), np.int32)
    _sort_edges(edges, starts, sources)
    before = np.zeros(int(np.diff(starts).max(initial=0)), np.int64)
    require_short(_decide(nodes, (starts, sources), before))


def require_short(longest: int) -> None:
    """Of what a decider returns."""
    if longest < 0:
        raise UserError(f"expected games that can be won in {LONGEST} plies, got a longer one")


def grown(array: Array, n: int) -> Array:
    """`array` with room for at least n entries, and at least twice as many as before."""
    found = np.zeros(max(n, 2 * len(array)), array.dtype)
    found[: len(array)] = array
    return found


def refuse_unsuited(game: Game) -> None:
    """Tables are for two players, zero sum, wins, draws and losses, no chance."""
    rules = game.rules
    if rules.players != 2 or not rules.zero_sum or rules.chance is not None:
        raise UserError(f"{game.name}: expected a game of two players, zero-sum and without chance, for a table")
    if not rules.values or not {-1.0, 0.0, 1.0}.issuperset(rules.values):
        raise UserError(f"{game.name}: expected utilities -1, 0 and 1 for a table, got {tuple(rules.values) or 'any'}")
