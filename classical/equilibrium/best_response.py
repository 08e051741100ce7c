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

import numpy as np

from base.compiler import compiled
from base.threads import interruptible
from classical.equilibrium.game_tree import GameTree
from classical.types import Kernel
from games import CHANCE
from games.types import Actions, Array, Utilities


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
    fixed = tree.movers, tree.firsts, tree.counts, tree.odds, tree.set_of, tree.entries
    for player in range(tree.game.players):
        payoffs = np.ascontiguousarray(tree.utilities[:, player])
        others, values = np.zeros(tree.nodes), np.full(tree.nodes, np.nan)
        best = np.full(len(tree.sets), -1, np.int32)
        scratch = others, values, best, order, starts, payoffs, np.array(strategy, np.float64)
        run = functools.partial(_kernel(), *fixed, *scratch, player)
        responses.append(float(interruptible(run)))
        expected.append(float(_expected()(*fixed, payoffs, scratch[-1], np.zeros(tree.nodes))))
    return Measure(tuple(expected), tuple(responses))


def action_values(tree: GameTree, strategy: Array) -> Array:
    """What each entry of a strategy is worth to its mover if all play the strategy afterwards: the mean over the nodes of the
    information set, by the probability that chance and the others lead to each; where they never do, over all alike."""
    found = np.zeros(len(strategy))
    fixed = tree.movers, tree.firsts, tree.counts, tree.odds, tree.set_of, tree.entries
    weights = np.zeros((2, len(tree.sets)))
    sums = np.zeros((2, len(strategy)))
    for player in range(tree.game.players):
        payoffs = np.ascontiguousarray(tree.utilities[:, player])
        values, others = np.zeros(tree.nodes), np.zeros(tree.nodes)
        _expected()(*fixed, payoffs, strategy, values)
        _added()(*fixed, strategy, values, others, sums, weights, player)
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


def respond(
    movers: Array,
    firsts: Actions,
    counts: Actions,
    odds: Utilities,
    set_of: Actions,
    entries: Actions,
    others: Utilities,
    values: Utilities,
    best: Actions,
    order: Actions,
    starts: Actions,
    payoffs: Utilities,
    strategy: Utilities,
    player: int,
) -> float:
    """The value of a best response of `player`. `values` arrives all NaN, `best` all -1."""
    reach(movers, firsts, counts, odds, set_of, entries, strategy, player, others)
    return value_of(
        np.int64(0), movers, firsts, counts, odds, set_of, entries, others, values, best, order, starts, payoffs,
        strategy, np.int64(player),
    )  # fmt: skip


def reach(
    movers: Array,
    firsts: Actions,
    counts: Actions,
    odds: Utilities,
    set_of: Actions,
    entries: Actions,
    strategy: Utilities,
    player: int,
    others: Utilities,
) -> None:
    """How often chance and the others lead to each node."""
    others[0] = 1.0
    for node in range(len(movers)):
        for i in range(counts[node]):
            child, share = firsts[node] + i, 1.0
            if movers[node] == CHANCE:
                share = odds[child]
            elif movers[node] != player:
                share = strategy[entries[set_of[node]] + i]
            others[child] = others[node] * share


def value_of(
    node: np.int64,
    movers: Array,
    firsts: Actions,
    counts: Actions,
    odds: Utilities,
    set_of: Actions,
    entries: Actions,
    others: Utilities,
    values: Utilities,
    best: Actions,
    order: Actions,
    starts: Actions,
    payoffs: Utilities,
    strategy: Utilities,
    player: np.int64,
) -> float:
    """What the player gets from a node on. The first visit of an information set settles the best action of all its nodes; perfect
    recall makes sure that these never lead to one another."""
    if not np.isnan(values[node]):
        return float(values[node])
    found = 0.0
    if counts[node] == 0:
        found = payoffs[node]
    elif movers[node] != player:
        for i in range(counts[node]):
            child = np.int64(firsts[node] + i)
            share = odds[child] if movers[node] == CHANCE else strategy[entries[set_of[node]] + i]
            if share > 0.0:
                found += share * value_of(
                    child, movers, firsts, counts, odds, set_of, entries, others, values, best, order, starts, payoffs,
                    strategy, player,
                )  # fmt: skip
    else:
        each, most = set_of[node], -np.inf
        if best[each] < 0:
            for i in range(counts[node]):
                total = 0.0
                for at in range(starts[each], starts[each + 1]):
                    if others[order[at]] > 0.0:
                        total += others[order[at]] * value_of(
                            np.int64(firsts[order[at]] + i), movers, firsts, counts, odds, set_of, entries, others, values,
                            best, order, starts, payoffs, strategy, player,
                        )  # fmt: skip
                if total > most:
                    most, best[each] = total, i
        found = value_of(
            np.int64(firsts[node] + best[each]), movers, firsts, counts, odds, set_of, entries, others, values, best, order,
            starts, payoffs, strategy, player,
        )  # fmt: skip
    values[node] = found
    return found


def expected_value(
    movers: Array,
    firsts: Actions,
    counts: Actions,
    odds: Utilities,
    set_of: Actions,
    entries: Actions,
    payoffs: Utilities,
    strategy: Utilities,
    values: Utilities,
) -> float:
    """What a player gets if all play `strategy`; `payoffs` are the player's at the ends."""
    for node in range(len(movers) - 1, -1, -1):
        total = payoffs[node] if counts[node] == 0 else 0.0
        for i in range(counts[node]):
            child = firsts[node] + i
            share = odds[child] if movers[node] == CHANCE else strategy[entries[set_of[node]] + i]
            total += share * values[child]
        values[node] = total
    return float(values[0])


def add_values(
    movers: Array,
    firsts: Actions,
    counts: Actions,
    odds: Utilities,
    set_of: Actions,
    entries: Actions,
    strategy: Utilities,
    values: Utilities,
    others: Utilities,
    sums: Utilities,
    weights: Utilities,
    player: int,
) -> None:
    """Adds up the values below the nodes of `player`, and their weights: in row 0 how often the others lead there, in row 1 one."""
    reach(movers, firsts, counts, odds, set_of, entries, strategy, player, others)
    for node in range(len(movers)):
        if movers[node] == player:
            each = set_of[node]
            weights[0, each] += others[node]
            weights[1, each] += 1.0
            for i in range(counts[node]):
                sums[0, entries[each] + i] += others[node] * values[firsts[node] + i]
                sums[1, entries[each] + i] += values[firsts[node] + i]
