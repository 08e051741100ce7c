"""Tables of a game's endgame classes: `build_class(game, table, name)` gives the code of every index of a class.

Classes are built in the order of the rules' `endgames`, since captures and promotions lead to earlier ones. The graph of each class is
generated forward (`linker`) and solved (classical/tables/graph.py). Positions in the middle of a turn have no index: they become nodes
after those of the class. Where the rules have `endgame_predecessors`, the graph's edges are counted and not kept: a position takes 12
bytes instead of some hundreds.

The history of a position is ignored: counters and repetitions start at zero, and endless play is drawn. The probe therefore compares
the distance with `plies_to_draw` (classical/tables/probe.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from base.errors import UserError
from classical.tables.codes import NONE, plies_of, value_of
from classical.tables.graph import EDGE, FAR, NODE, decider, grown, note, refuse_unsuited, require_short, solve
from classical.types import Codes, Kernel, Positions, Records
from games import Game, Rules
from games.types import Actions, Array, Counts

CHUNK = 50_000  # positions between two reports of progress
LATER, ASTRAY, STUCK, MISSING = -1, -2, -3, -4  # a later class; no class; no action; an earlier class without codes
COMPLAINTS = {
    LATER: "leads to a later class",
    ASTRAY: "leads to a position of the other player in no class",
    STUCK: "has no action and is not finished",
    MISSING: "leads to a class that is not built yet",
}


class Links(NamedTuple):
    """The graph of one class, and what is needed to write it down."""

    states: Positions
    """[3]: scratch space; the last one stays blank"""
    actions: Actions
    """[max_legal]: scratch space"""
    targets: Array
    """int64 [max_legal]: scratch space"""
    table: Codes
    """Codes of earlier classes."""
    nodes: Records
    """NODE: the indices of the class, then the positions in the middle of a turn"""
    middles: Positions
    """Positions in the middle of a turn."""
    edges: Records
    """EDGE"""
    counts: Counts
    """How many middles and edges there are, and the node that is at fault."""


def linker(rules: Rules) -> Kernel:
    """The graph of one class, whose indices are `first` to `last` - 1.

    link(links, first, last, start, stop) -> nodes completed. Node i < last - first is index first + i; the others are positions in the
    middle of a turn. Stops early where an array is too short; a mistake in the rules is one of COMPLAINTS.
    """
    legal_actions, result, to_move, is_terminal = rules.legal_actions, rules.result, rules.to_move, rules.is_terminal
    utility, index_of, position_of, most = rules.utility, rules.endgame_index, rules.endgame_position, rules.max_legal
    assert index_of is not None and position_of is not None
    is_kept = rules.endgame_predecessors is None

    def link(links: Links, first: int, last: int, start: int, stop: int) -> int:
        states, actions, targets, table, nodes, middles, edges, counts = links
        size = last - first
        for number in range(start, stop):
            if counts[0] + most > len(middles) or counts[1] + most > len(edges) or size + counts[0] + most > len(nodes):
                return number
            counts[2] = number
            if number >= size:
                states[0] = middles[number - size]
            else:
                states[0] = states[2]
                if not position_of(states[0], first + number):
                    continue
            if is_terminal(states[0]):
                continue
            mover, node = to_move(states[0]), nodes[number]
            n = legal_actions(states[0], actions)
            if n == 0:
                return STUCK
            node.open, node.mover, node.win = 1, mover, FAR
            different = 0
            for i in range(n):
                states[1] = states[0]
                result(states[1], actions[i])
                if is_terminal(states[1]):
                    note(node, int(np.rint(utility(states[1], mover))), 0)
                    continue
                is_same = to_move(states[1]) == mover
                index = index_of(states[1])
                if index >= last:
                    return LATER
                if 0 <= index < first:
                    if table[index] == NONE:
                        return MISSING
                    value = value_of(table[index])
                    note(node, value if is_same else -value, plies_of(table[index]))
                    continue
                if index < 0 and (not is_same or not is_kept):
                    return ASTRAY
                target = index - first
                if index < 0:
                    target = size + counts[0]
                    middles[counts[0]] = states[1]
                    counts[0] += 1
                if is_kept:
                    node.left += 1
                    edges[counts[1]].source = number
                    edges[counts[1]].target = target
                    counts[1] += 1
                else:
                    targets[different] = target
                    different += int(is_new(targets, different))
            node.left += different
        return stop

    return link


def is_new(targets: Array, last: int) -> bool:
    """Whether targets[last] is none of those before it. Actions that mirror each other lead to one index."""
    for i in range(last):
        if targets[i] == targets[last]:
            return False
    return True


def undoing(rules: Rules) -> Kernel:
    """predecessors(nodes, context, number, before), as `decider` takes it; context: states [2], the last one blank; the first index."""
    position_of, predecessors_of = rules.endgame_position, rules.endgame_predecessors
    assert position_of is not None and predecessors_of is not None

    def predecessors(nodes: Records, context: tuple[Positions, int], number: int, before: Array) -> int:
        states, first = context
        states[0] = states[1]
        position_of(states[0], first + number)
        n = predecessors_of(states[0], before)
        for i in range(n):
            before[i] -= first
        return n

    return predecessors


def deciding(rules: Rules) -> Kernel:
    return decider(undoing(rules))


def spans(game: Game) -> dict[str, tuple[int, int]]:
    """The indices of each class: from, to."""
    found, first = {}, 0
    for name, size in game.rules.endgames:
        found[name] = first, first + size
        first += size
    return found


def build_class(
    game: Game, table: Codes, name: str, report: Callable[[str, int], object] = lambda name, positions: None
) -> Codes:
    """The codes of one class, uint16 [its size]; `table` has those of the classes that it leads to, by index."""
    refuse_unsuited(game)
    if name not in spans(game) or game.rules.endgame_index is None or game.rules.endgame_position is None:
        raise UserError(f"{game.name}: expected rules with endgame classes (endgames, endgame_index, endgame_position)")
    first, last = spans(game)[name]
    nodes, edges = _linked(game, table, name, first, last, report)
    if game.rules.endgame_predecessors is None:
        solve(nodes, edges)
    else:
        before = np.zeros(game.rules.max_legal, np.int64)
        require_short(game.kernel(deciding)(nodes, (game.blanks(2), first), before))
    codes: Codes = nodes["code"][: last - first].copy()
    return codes


def _linked(
    game: Game, table: Codes, name: str, first: int, last: int, report: Callable[[str, int], object]
) -> tuple[Array, Array]:
    """Nodes and edges of one class."""
    link, most, size = game.kernel(linker), game.rules.max_legal, last - first
    room = 8 * size if game.rules.endgame_predecessors is None else 0
    nodes, edges = np.zeros(size + 2 * most, NODE), np.zeros(room + 2 * most, EDGE)
    middles, states, actions = game.blanks(2 * most), game.blanks(3), np.zeros(most, np.int32)
    targets, counts = np.zeros(most, np.int64), np.zeros(3, np.int64)
    at = 0
    while at < size + counts[0]:
        stop = min(at + CHUNK, size + int(counts[0]))
        done = int(link(Links(states, actions, targets, table, nodes, middles, edges, counts), first, last, at, stop))
        if done < 0:
            where = f"{game.text(states[0])} (index {first + int(counts[2])})"
            raise UserError(f"{game.name}: class {name}: {where} {COMPLAINTS[done]}")
        report(name, max(0, min(done, size) - min(at, size)))
        if done < stop:
            middles = grown(middles, int(counts[0]) + most)
            edges = grown(edges, int(counts[1]) + most)
            nodes = grown(nodes, size + len(middles))
        at = done
    return nodes[: size + int(counts[0])], edges[: int(counts[1])]
