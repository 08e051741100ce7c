"""How much a best response gains against a strategy: its exploitability.

    found = measure(tree, strategy)
    found.values, found.best_responses, found.exploitability

A best response of one player knows the others' strategies, not what is hidden: at each of its information sets it plays the action
of the greatest value over all the nodes of the set, weighted by the probability that chance and the others lead to each. NashConv is
what all players together gain by best responses, each against the unchanged others; exploitability is NashConv divided by the number
of players. In a two-player zero-sum game it is 0 for an equilibrium only, and bounds what a strategy loses against anyone.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from base.compiler import compiled
from base.threads import interruptible
from classical.equilibrium.game_tree import GameTree, Paths
from classical.types import Kernel
from games import CHANCE
from games.types import Actions, Array, Integer, Utilities


class Search(NamedTuple):
    """Of a best response of one player; n nodes, I information sets."""

    order: Actions
    starts: Actions
    """`GameTree.members`."""
    payoffs: Utilities
    """[n]: the player's at ends."""
    strategy: Utilities
    """What the others play."""
    others: Utilities
    """[n], filled in: how often chance and the others lead to a node."""
    values: Utilities
    """[n], all NaN at first: what the player gets from a node on."""
    best: Actions
    """[I], all -1 at first: the best action of an information set, by its place."""


@dataclass(frozen=True)
class Measure:
    """Utilities, by player."""

    values: tuple[float, ...]
    """If all play the strategy."""
    best_responses: tuple[float, ...]
    """If this player alone plays a best response to it."""

    @property
    def nash_conv(self) -> float:
        return sum(best - value for best, value in zip(self.best_responses, self.values, strict=True))

    @property
    def exploitability(self) -> float:
        return self.nash_conv / len(self.values)


def measure(tree: GameTree, strategy: Array) -> Measure:
    """What a strategy is worth, and what best responses to it are."""
    if not np.isfinite(strategy).all() or (strategy < 0).any():
        raise ValueError("strategy: expected probabilities, got negative or infinite numbers")
    sums = np.add.reduceat(strategy, tree.entries[:-1])
    if abs(sums - 1).max() > 1e-6:
        raise ValueError(f"strategy: expected probabilities that sum to 1, got {sums[abs(sums - 1).argmax()]}")
    expected, responses = [], []
    order, starts = tree.members
    played = np.array(strategy, np.float64)
    for player in range(tree.game.players):
        payoffs = np.ascontiguousarray(tree.utilities[:, player])
        best = np.full(len(tree.sets), -1, np.int32)
        search = Search(order, starts, payoffs, played, np.zeros(tree.nodes), np.full(tree.nodes, np.nan), best)
        responses.append(float(interruptible(functools.partial(_kernel(), tree.paths, search, player))))
        expected.append(float(_expected()(tree.paths, payoffs, played, np.zeros(tree.nodes))))
    return Measure(tuple(expected), tuple(responses))


def action_values(tree: GameTree, strategy: Array) -> Array:
    """What each entry of a strategy is worth to its mover if all play the strategy afterwards: the mean over the nodes of the
    information set, by the probability that chance and the others lead to each; where they never do, over all alike."""
    found = np.zeros(len(strategy))
    weights = np.zeros((2, len(tree.sets)))
    sums = np.zeros((2, len(strategy)))
    for player in range(tree.game.players):
        payoffs = np.ascontiguousarray(tree.utilities[:, player])
        values, others = np.zeros(tree.nodes), np.zeros(tree.nodes)
        _expected()(tree.paths, payoffs, strategy, values)
        _added()(tree.paths, strategy, values, others, sums, weights, player)
    per_entry = np.repeat(weights, np.diff(tree.entries), axis=1)
    np.divide(sums[1], per_entry[1], out=found)
    np.divide(sums[0], per_entry[0], out=found, where=per_entry[0] > 0)
    return found


@functools.cache
def _kernel() -> Kernel:
    return compiled(respond, label="best response")


@functools.cache
def _expected() -> Kernel:
    return compiled(expected_value, label="best response")


@functools.cache
def _added() -> Kernel:
    return compiled(add_values, label="action values")


def respond(tree: Paths, search: Search, player: int) -> float:
    """The value of a best response of `player`."""
    reach(tree, search.strategy, player, search.others)
    return value_of(np.int64(0), tree, search, np.int64(player))


def reach(tree: Paths, strategy: Utilities, player: int, others: Utilities) -> None:
    """How often chance and the others lead to each node."""
    others[0] = 1.0
    for node in range(len(tree.movers)):
        for i in range(tree.counts[node]):
            child, share = tree.firsts[node] + i, 1.0
            if tree.movers[node] != player:
                share = share_of(tree, strategy, node, i)
            others[child] = others[node] * share


def share_of(tree: Paths, strategy: Utilities, node: Integer, i: int) -> float:
    """How often the i-th child follows, by chance or by the mover's strategy."""
    if tree.movers[node] == CHANCE:
        return float(tree.odds[tree.firsts[node] + i])
    return float(strategy[tree.entries[tree.set_of[node]] + i])


def value_of(node: np.int64, tree: Paths, search: Search, player: np.int64) -> float:
    """What the player gets from a node on. The first visit of an information set settles the best action of all its nodes; perfect
    recall makes sure that these never lead to one another."""
    if not np.isnan(search.values[node]):
        return float(search.values[node])
    found = 0.0
    if tree.counts[node] == 0:
        found = search.payoffs[node]
    elif tree.movers[node] != player:
        for i in range(tree.counts[node]):
            share = share_of(tree, search.strategy, node, i)
            if share > 0.0:
                found += share * value_of(np.int64(tree.firsts[node] + i), tree, search, player)
    else:
        each, most = tree.set_of[node], -np.inf
        if search.best[each] < 0:
            for i in range(tree.counts[node]):
                total = 0.0
                for at in range(search.starts[each], search.starts[each + 1]):
                    member = search.order[at]
                    if search.others[member] > 0.0:
                        child = np.int64(tree.firsts[member] + i)
                        total += search.others[member] * value_of(child, tree, search, player)
                if total > most:
                    most, search.best[each] = total, i
        found = value_of(np.int64(tree.firsts[node] + search.best[each]), tree, search, player)
    search.values[node] = found
    return found


def expected_value(tree: Paths, payoffs: Utilities, strategy: Utilities, values: Utilities) -> float:
    """What a player gets if all play `strategy`; `payoffs` are the player's at the ends."""
    for node in range(len(tree.movers) - 1, -1, -1):
        total = payoffs[node] if tree.counts[node] == 0 else 0.0
        for i in range(tree.counts[node]):
            total += share_of(tree, strategy, node, i) * values[tree.firsts[node] + i]
        values[node] = total
    return float(values[0])


def add_values(
    tree: Paths,
    strategy: Utilities,
    values: Utilities,
    others: Utilities,
    sums: Utilities,
    weights: Utilities,
    player: int,
) -> None:
    """Adds up the values below the nodes of `player`, and their weights: in row 0 how often the others lead there, in row 1 one."""
    reach(tree, strategy, player, others)
    for node in range(len(tree.movers)):
        if tree.movers[node] == player:
            each = tree.set_of[node]
            weights[0, each] += others[node]
            weights[1, each] += 1.0
            for i in range(tree.counts[node]):
                entry, value = tree.entries[each] + i, values[tree.firsts[node] + i]
                sums[0, entry] += others[node] * value
                sums[1, entry] += value
