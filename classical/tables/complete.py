"""A table of every position of a tiny game: `build_complete(game)` for tic-tac-toe, nim, dots and boxes on 2×2.

The positions reachable from the start are listed breadth first, equal keys being equal positions, and their graph is solved
(classical/tables/graph.py). That requires that a position's history has no effect on what can be played; where two paths to one key
allow different actions, the game is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from base.bits import U
from base.compiler import compiled
from base.errors import UserError
from base.seeds import mix
from classical.tables.codes import NONE
from classical.tables.graph import EDGE, FAR, NODE, grown, note, refuse_unsuited, solve
from classical.tables.probe import ENTRY, first_slot
from classical.types import Codes, Kernel, Positions, Records
from games import Game, Rules
from games.types import Actions, Array, Bits, Counts, GameState, Integer, Words

LIMIT = 1_000_000  # positions
TOO_MANY, AMBIGUOUS = -1, -2


class Graph(NamedTuple):
    """Positions by number in order of discovery, the start being 0, and what leads where."""

    states: Positions
    """[2]: scratch space"""
    actions: Array
    """int32 [2, max_legal]: scratch space"""
    slots: Array
    """int32: a hash table from keys to numbers, -1 where free"""
    found: Positions
    """The positions."""
    keys: Words
    marks: Words
    """What the rules allow in each, as a hash."""
    nodes: Records
    """NODE"""
    edges: Records
    """EDGE"""
    counts: Counts
    """How many positions and edges there are."""


def explorer(rules: Rules) -> Kernel:
    """explore(graph, start) -> positions completed: from number `start` on. Stops early where an array is too short."""
    legal_actions, result, to_move, is_terminal = rules.legal_actions, rules.result, rules.to_move, rules.is_terminal
    utility, key, most = rules.utility, rules.key, rules.max_legal

    def mark(state: GameState, actions: Actions) -> Bits:
        """A hash of what the rules allow in a position: equal for two paths to the same one."""
        if is_terminal(state):
            return U(mix(U(int(np.rint(utility(state, 0))) + 2)))
        word = U(to_move(state) + 8)
        for i in range(legal_actions(state, actions)):
            word += mix(U(actions[i] + 16))
        return U(word)

    def explore(graph: Graph, start: int) -> Integer:
        states, actions, slots, found, keys, marks, nodes, edges, counts = graph
        number = np.int64(start)
        while number < counts[0]:
            if counts[0] + most > len(found) or counts[1] + most > len(edges):
                return number
            states[0] = found[number]
            if not is_terminal(states[0]):
                mover, node = to_move(states[0]), nodes[number]
                node.open, node.mover, node.win = 1, mover, FAR
                n = legal_actions(states[0], actions[0])
                for i in range(n):
                    states[1] = states[0]
                    result(states[1], actions[0, i])
                    word, seen = U(key(states[1])), mark(states[1], actions[1])
                    slot = first_slot(word, len(slots))
                    while slots[slot] >= 0 and keys[slots[slot]] != word:
                        slot = (slot + 1) & (len(slots) - 1)
                    target = slots[slot]
                    if target < 0:
                        target = counts[0]
                        if 2 * target >= len(slots):
                            return TOO_MANY
                        slots[slot] = target
                        found[target] = states[1]
                        keys[target], marks[target] = word, seen
                        counts[0] += 1
                    elif marks[target] != seen:
                        return AMBIGUOUS
                    if is_terminal(states[1]):
                        note(node, int(np.rint(utility(states[1], mover))), 0)
                    else:
                        node.left += 1
                        edges[counts[1]].source = number
                        edges[counts[1]].target = target
                        counts[1] += 1
            number += 1
        return number

    return explore


def fill(table: Records, keys: Words, nodes: Records) -> None:
    """The hash table of all positions that are not finished."""
    for number in range(len(keys)):
        if nodes[number].code == NONE:
            continue
        slot = first_slot(keys[number], len(table))
        while table[slot].code != 0:
            slot = (slot + 1) & (len(table) - 1)
        table[slot].key = keys[number]
        table[slot].code = nodes[number].code


_fill = compiled(fill, label="endgame tables")


def build_complete(game: Game, report: Callable[[str, int], object] = lambda name, positions: None) -> Codes:
    """The codes of all positions by key, an array of ENTRY. `report(class, positions)` is called with the progress."""
    refuse_unsuited(game)
    explore, most = game.kernel(explorer), game.rules.max_legal
    room = 4096
    slots = np.full(1 << (2 * LIMIT - 1).bit_length(), -1, np.int32)
    found, keys, marks = game.blanks(room + most), np.zeros(room + most, np.uint64), np.zeros(room + most, np.uint64)
    nodes, edges = np.zeros(room + most, NODE), np.zeros(4 * room + most, EDGE)
    states, actions, counts = game.blanks(2), np.zeros((2, most), np.int32), np.array([1, 0], np.int64)
    found[0] = game.initial()
    keys[0] = game.key(found[0])
    slots[first_slot(keys[0], len(slots))] = 0
    at = 0
    while at < counts[0]:
        done = int(explore(Graph(states, actions, slots, found, keys, marks, nodes, edges, counts), at))
        if done == TOO_MANY or counts[0] > LIMIT:
            raise UserError(
                f"{game.name}: expected a game of at most {LIMIT:,} positions for a complete table, got more"
            )
        if done == AMBIGUOUS:
            raise UserError(
                f"{game.name}: expected positions whose history has no effect, for a complete table; "
                f"but two paths to one of them allow different actions: {game.text(states[1])}"
            )
        report("complete", done - at)
        if done < counts[0]:
            n = int(counts[0]) + most
            found, keys, marks, nodes = (grown(array, n) for array in (found, keys, marks, nodes))
            edges = grown(edges, int(counts[1]) + most)
        at = done
    positions = int(counts[0])
    nodes = nodes[:positions]
    solve(nodes, edges[: int(counts[1])])
    table = np.zeros(1 << max(1, 2 * positions - 1).bit_length(), ENTRY)
    _fill(table, keys[:positions], nodes)
    return table
