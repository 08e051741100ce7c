"""Evaluations already made: a table that is looked up before a network evaluates a leaf, so that a position met again costs no
evaluation.

    Search(game, settings, cache_mb=64)       # `search.cache.counts`, `search.cache.clear()`

`entries`: one per place in the table, found by the position's key; a new one takes the place of the old.

| field       | type    |                                                                                             |
|-------------|---------|---------------------------------------------------------------------------------------------|
| key         | uint64  | of the position                                                                             |
| count       | int32   | how many actions are legal; 0 in an empty place                                             |
| observation | float32 | as the evaluator got it                                                                     |
| actions     | int32   | the legal actions, in the order of the edges                                                |
| priors      | float32 | their probabilities                                                                         |
| utilities   | float32 | [P]: as the evaluator gave them, 0 = mover                                                  |

An entry is used only where key, observation and actions are all equal: positions that share a key, or look alike but allow other
actions (as a ban on repetitions does), are distinguished. The evaluator's answer to an observation does not depend on its row or its
neighbours, so a hit gives the bits that a fresh evaluation would. With one leaf per tree, then, a search is the same with the cache,
without it, and whatever it holds. (With several, an answer that comes at once leads the next leaf elsewhere.)

A table belongs to one net: `step` empties it when it is given another evaluator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from base.errors import UserError
from base.seeds import mix
from games import Game, Rules
from mcts.types import Array, Edges, Floats, Node, Planes, Records

LOOKUPS, HITS, EVALUATIONS = 0, 1, 2
"""What is counted."""


def entry_dtype(rules: Rules) -> np.dtype[Any]:
    fields = [
        ("key", np.uint64),
        ("count", np.int32),
        ("observation", np.float32, (int(np.prod(rules.observation)),)),
        ("actions", np.int32, (rules.max_legal,)),
        ("priors", np.float32, (rules.max_legal,)),
        ("utilities", np.float32, (rules.players,)),
    ]
    return np.dtype((np.record, np.dtype(fields, align=True)))


class EvaluationCache:
    """As many entries as fit into so many megabytes; 0 switches it off."""

    def __init__(self, game: Game, megabytes: float) -> None:
        if not 0 <= megabytes < 2**20:
            raise UserError(f"cache_mb: expected megabytes from 0 (no cache) to {2**20}, got {megabytes}")
        self._dtype = entry_dtype(game.rules)
        self._size = int(megabytes * 2**20 / self._dtype.itemsize)
        if megabytes and not self._size:
            raise UserError(f"cache_mb: expected room for an entry of {self._dtype.itemsize} bytes, got {megabytes}")
        self.counts = np.zeros(3, np.int64)
        """Lookups, hits and the network's evaluations so far, over all networks."""
        self._owner: Any = None
        self.clear()

    def clear(self) -> None:
        """Empty it. To be called where an evaluator's weights are changed in place."""
        self.entries = np.zeros(self._size, self._dtype)

    def belongs_to(self, evaluator: Any) -> None:
        """Empty it unless its entries came from this evaluator."""
        if evaluator is not self._owner:
            if self._owner is not None:
                self.clear()
            self._owner = evaluator


# ── kernels ──


def place(entries: Records, key: Any) -> int:
    return int(np.int64(mix(key) % np.uint64(len(entries))))


def lookup(entries: Records, counts: Array, key: Any, observation: Planes, node: Node, edges: Edges) -> int:
    """The entry's number, -1 if there is none. The node has been expanded."""
    counts[LOOKUPS] += 1
    number = place(entries, key)
    entry = entries[number]
    if entry.key != key or entry.count != node.count:
        return -1
    for i in range(node.count):
        if entry.actions[i] != edges[node.edges + i].action:
            return -1
    flat = observation.reshape(observation.size)
    for i in range(len(flat)):
        if entry.observation[i] != flat[i]:
            return -1
    counts[HITS] += 1
    return number


def store(entries: Records, key: Any, observation: Planes, node: Node, edges: Edges, utilities: Floats) -> None:
    """Keeps the priors that the node has just got and the utilities as the evaluator gave them."""
    entry = entries[place(entries, key)]
    entry.key, entry.count = key, node.count
    flat = observation.reshape(observation.size)
    for i in range(len(flat)):
        entry.observation[i] = flat[i]
    for i in range(node.count):
        entry.actions[i], entry.priors[i] = edges[node.edges + i].action, edges[node.edges + i].prior
    for seat in range(len(utilities)):
        entry.utilities[seat] = utilities[seat]
