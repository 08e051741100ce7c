"""Counterfactual regret minimization: strategies that approach an equilibrium of a two-player zero-sum game.

    solver = CFR(tree, plus=True)
    solver.run(1000)
    strategy = solver.average()

Players take turns. One's iteration walks the whole tree with the current strategies and adds to the *regret* of each action, at each of
its information sets, what the action would have gained there, weighted by the probability that chance and the others lead there. The
next strategy plays actions in proportion to their positive regret. The *average* of the strategies, weighted by the probability that
the player itself leads to the set, is the result. CFR+ keeps no negative regret and gives iteration t the weight t.

Zinkevich, Johanson, Bowling and Piccione, "Regret minimization in games with incomplete information" (2007); Tammelin, "Solving large
imperfect information games using CFR+" (2014). With more players than two, or a general sum, nothing is guaranteed.
"""

from __future__ import annotations

import functools

import numpy as np

from base.compiler import compiled
from base.threads import interruptible
from classical.equilibrium.game_tree import GameTree, Paths
from classical.types import Kernel
from games import CHANCE
from games.types import Array, Counts, Utilities


class CFR:
    """A solver of one game, which continues where it stopped."""

    def __init__(self, tree: GameTree, plus: bool = True) -> None:
        self.tree, self.plus, self.iterations = tree, plus, 0
        self._current = tree.uniform()
        self._regrets, self._sums = np.zeros_like(self._current), np.zeros_like(self._current)
        self._scratch = np.zeros((3, tree.nodes))
        self._stop = np.zeros(1, np.int64)
        self._set_movers = np.ascontiguousarray(tree.sets["mover"])
        self._payoffs = np.ascontiguousarray(tree.utilities.T)

    def run(self, iterations: int) -> None:
        """So many more iterations."""
        tree, kernel = self.tree, _kernel()
        self._stop[0] = 0
        done = interruptible(
            lambda: kernel(
                tree.paths,
                self._payoffs,
                self._set_movers,
                self._current,
                self._regrets,
                self._sums,
                self._scratch,
                self._stop,
                self.iterations,
                iterations,
                self.plus,
            ),
            stop=lambda: self._stop.fill(1),
        )
        self.iterations += int(done)

    def average(self) -> Array:
        """The average strategy so far."""
        return normalized(self.tree, self._sums)


def normalized(tree: GameTree, sums: Array) -> Array:
    """The strategy in proportion to `sums`; uniform where they are 0."""
    totals = np.add.reduceat(sums, tree.entries[:-1])
    sizes = np.diff(tree.entries)
    wide = np.repeat(totals, sizes)
    return np.where(wide > 0, sums / np.where(wide > 0, wide, 1.0), np.repeat(1.0 / sizes, sizes))


@functools.cache
def _kernel() -> Kernel:
    return compiled(iterate, label="CFR")


def iterate(
    tree: Paths,
    payoffs: Utilities,
    set_movers: Counts,
    current: Utilities,
    regrets: Utilities,
    sums: Utilities,
    scratch: Utilities,
    stop: Counts,
    before: int,
    iterations: int,
    plus: bool,
) -> int:
    """Iterations before+1, …; returns how many were made. One is an update of each player in turn."""
    movers, firsts, counts, odds, set_of, entries = tree
    own, others, values = scratch[0], scratch[1], scratch[2]
    nodes, sets, players = len(movers), len(set_movers), len(payoffs)
    for number in range(iterations):
        if stop[0]:
            return number
        weight = float(before + number + 1) if plus else 1.0
        for player in range(players):
            own[0], others[0] = 1.0, 1.0
            for node in range(nodes):
                first, mover = firsts[node], movers[node]
                if mover == player:
                    entry = entries[set_of[node]]
                    for i in range(counts[node]):
                        own[first + i], others[first + i] = own[node] * current[entry + i], others[node]
                elif mover == CHANCE:
                    for i in range(counts[node]):
                        own[first + i], others[first + i] = own[node], others[node] * odds[first + i]
                elif counts[node] > 0:
                    entry = entries[set_of[node]]
                    for i in range(counts[node]):
                        own[first + i], others[first + i] = own[node], others[node] * current[entry + i]
            for node in range(nodes - 1, -1, -1):
                first, mover, value = firsts[node], movers[node], 0.0
                if counts[node] == 0:
                    values[node] = payoffs[player, node]
                    continue
                if mover == CHANCE:
                    for i in range(counts[node]):
                        value += odds[first + i] * values[first + i]
                else:
                    entry = entries[set_of[node]]
                    for i in range(counts[node]):
                        value += current[entry + i] * values[first + i]
                    if mover == player:
                        for i in range(counts[node]):
                            regrets[entry + i] += others[node] * (values[first + i] - value)
                            sums[entry + i] += weight * own[node] * current[entry + i]
                values[node] = value
            for each in range(sets):
                if set_movers[each] == player:
                    match_regrets(regrets, current, entries[each], entries[each + 1], plus)
    return iterations


def match_regrets(regrets: Utilities, current: Utilities, first: int, last: int, plus: bool) -> None:
    """Actions in proportion to their positive regret; all alike where none has any."""
    total = 0.0
    for i in range(first, last):
        if plus and regrets[i] < 0.0:
            regrets[i] = 0.0
        total += max(regrets[i], 0.0)
    for i in range(first, last):
        current[i] = max(regrets[i], 0.0) / total if total > 0.0 else 1.0 / (last - first)
