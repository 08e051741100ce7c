"""A whole game as arrays: every path from the start, and the information sets of the players. For games of some million paths.

    tree = unfold(load("kuhn_poker"))
    len(tree.sets), tree.nodes                     # 12 information sets, 58 nodes

A node is a path. Nodes are numbered level by level, so that a parent comes before its children, and the children of a node stand side
by side in the order of `legal_actions`. An *information set* is all the nodes that their mover cannot tell apart. A *strategy* is one
array of probabilities: those of an information set's actions stand side by side from its first entry on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from base.errors import UserError
from games import CHANCE, Game, Rules
from games.engine.information import viewer
from games.types import Actions, Array, Counts, GameState, GameStates, Utilities

END = -2
"""The mover where a game is over."""
MOST_NODES = 6_000_000


class Paths(NamedTuple):
    """What kernels read of a tree; the fields are those of `GameTree`."""

    movers: Array
    firsts: Actions
    counts: Actions
    odds: Utilities
    set_of: Actions
    entries: Actions


@dataclass(frozen=True, eq=False)
class GameTree:
    """n nodes, P players, I information sets, k actions of all information sets together."""

    game: Game
    movers: Array
    """[n] int8: a player, CHANCE or END."""
    parents: Array
    """[n] int32: -1 at the root."""
    actions: Array
    """[n] int32: the action that leads to the node; -1 at the root."""
    firsts: Array
    """[n] int32: the first child."""
    counts: Array
    """[n] int32: how many children."""
    odds: Array
    """[n]: the probability of the outcome of chance that leads to the node; 1 for a player's action."""
    utilities: Array
    """[n, P]: of ends; 0 elsewhere."""
    sets: Array
    """[I]: mover and key of each information set, by mover and key."""
    set_of: Array
    """[n] int32: the information set of a decision; -1 elsewhere."""
    entries: Array
    """[I + 1] int32: the first entry of each information set in a strategy."""

    @property
    def nodes(self) -> int:
        return len(self.movers)

    @property
    def paths(self) -> Paths:
        return Paths(self.movers, self.firsts, self.counts, self.odds, self.set_of, self.entries)

    @cached_property
    def members(self) -> tuple[Array, Array]:
        """The nodes ordered by information set, and where each set begins [I + 1]."""
        order = np.argsort(self.set_of, kind="stable").astype(np.int32)
        order = order[np.count_nonzero(self.set_of < 0) :]
        return order, np.searchsorted(self.set_of[order], np.arange(len(self.sets) + 1)).astype(np.int32)

    @cached_property
    def _numbers(self) -> dict[tuple[int, int], int]:
        return {(int(each["mover"]), int(each["key"])): number for number, each in enumerate(self.sets)}

    @cached_property
    def views(self) -> GameStates:
        """[I]: what the mover of each information set sees there."""
        order, starts = self.members
        found = self.game.blanks(len(self.sets))
        path = np.zeros(self.game.rules.max_plies, np.int32)
        self.game.kernel(watcher)(found, order, starts, self.parents, self.actions, self.sets["mover"], path)
        return found

    def path(self, node: int) -> list[int]:
        """The actions that lead to a node."""
        found: list[int] = []
        while node > 0:
            found.append(int(self.actions[node]))
            node = int(self.parents[node])
        return found[::-1]

    def actions_of(self, number: int) -> list[int]:
        """The legal actions of an information set."""
        order, starts = self.members
        node = order[starts[number]]
        first = int(self.firsts[node])
        return [int(action) for action in self.actions[first : first + self.counts[node]]]

    def uniform(self) -> Array:
        """The strategy in which every action of an information set is equally likely."""
        sizes = np.diff(self.entries)
        return np.repeat(1.0 / sizes, sizes)

    def strategy(self, policy: Callable[[GameState], Mapping[int, float]]) -> Array:
        """The strategy of what gives the probabilities of actions for a mover's view of a position."""
        found = np.zeros(int(self.entries[-1]))
        for number in range(len(self.sets)):
            given = policy(self.views[number])
            found[self.entries[number] : self.entries[number + 1]] = [
                given.get(action, 0.0) for action in self.actions_of(number)
            ]
        return found

    def by_action(self, entries: Array, view: GameState) -> dict[int, float]:
        """The entries of a view's information set, of its mover: what a strategy plays there, or what its actions are worth."""
        mover = self.game.to_move(view)
        number = self._numbers.get((-1 if mover is None else mover, int(view.information[mover or 0])))
        if number is None:
            raise UserError(
                f"expected a view of {self.game.name} that its rules lead to from the start, got another one"
            )
        found = entries[self.entries[number] : self.entries[number + 1]].tolist()
        return dict(zip(self.actions_of(number), found, strict=True))


def unfold(game: Game, most: int = MOST_NODES) -> GameTree:
    """The tree of a game. Refuses one of more than `most` nodes."""
    if not game.hides_information:
        raise UserError(f"information sets: expected a game that hides information, got {game.name}")
    expand, count = game.kernel(expander), game.kernel(counter)
    actions = np.zeros(game.rules.max_legal, np.int32)
    level = game.scratch(game.initial(), 1)
    levels: list[Array] = []
    size, parents, led, odds = 1, np.array([-1], np.int32), np.array([-1], np.int32), np.ones(1)
    while len(level):
        nodes = np.zeros(len(level), _node(game.players))
        nodes["parent"], nodes["action"], nodes["odds"] = parents, led, odds
        n = int(count(level, actions, nodes))
        nodes["first"] = size + np.cumsum(nodes["count"]) - nodes["count"]
        levels.append(nodes)
        before, size = size - len(level), size + n
        if size > most:
            raise UserError(
                f"information sets: expected a game of at most {most:,} paths, got {game.name}, which has more"
            )
        following, parents, led, odds = game.blanks(n), np.zeros(n, np.int32), np.zeros(n, np.int32), np.ones(n)
        expand(level, following, actions, before, parents, led, odds)
        level = following
    found = np.concatenate(levels)
    decides = found["mover"] >= 0
    names = np.zeros(int(decides.sum()), [("mover", np.int64), ("key", np.uint64)])
    names["mover"], names["key"] = found["mover"][decides], found["key"][decides]
    sets, first, numbers = np.unique(names, return_index=True, return_inverse=True)
    set_of = np.full(size, -1, np.int32)
    set_of[decides] = numbers
    sizes = found["count"][decides]
    if not np.array_equal(sizes, sizes[first][numbers]):
        raise UserError(
            f"information sets: expected equal actions for equal information in {game.name}; see the doctor"
        )
    entries = np.concatenate([[0], np.cumsum(sizes[first])]).astype(np.int32)
    columns = {name: np.ascontiguousarray(found[name]) for name in found.dtype.names or ()}
    return GameTree(
        game,
        movers=columns["mover"],
        parents=columns["parent"],
        actions=columns["action"],
        firsts=columns["first"],
        counts=columns["count"],
        odds=columns["odds"],
        utilities=columns["utility"],
        sets=sets,
        set_of=set_of,
        entries=entries,
    )


def _node(players: int) -> np.dtype[np.void]:
    return np.dtype(
        [
            ("mover", np.int8),
            ("parent", np.int32),
            ("action", np.int32),
            ("first", np.int32),
            ("count", np.int32),
            ("odds", np.float64),
            ("key", np.uint64),
            ("utility", np.float64, players),
        ]
    )


def counter(rules: Rules) -> Callable[..., int]:
    """count(states [n], actions [max_legal], nodes [n]) -> children of all; fills in each node's mover, count, key and utilities."""
    is_terminal, to_move, legal_actions, utility, players = (
        rules.is_terminal,
        rules.to_move,
        rules.legal_actions,
        rules.utility,
        rules.players,
    )

    def count(states: GameStates, actions: Actions, nodes: Array) -> int:
        total = 0
        for i in range(len(states)):
            if is_terminal(states[i]):
                nodes[i].mover = END
                for player in range(players):
                    nodes[i].utility[player] = utility(states[i], player)
                continue
            nodes[i].mover = to_move(states[i])
            nodes[i].count = legal_actions(states[i], actions)
            total += nodes[i].count
            if nodes[i].mover != CHANCE:
                nodes[i].key = states[i].information[nodes[i].mover]
        return total

    return count


def watcher(rules: Rules) -> Callable[..., None]:
    """watch(views [I], order [n], starts [I + 1], parents [n], led [n], movers [I], path [max_plies]): fills in the views."""
    initial, result, view = rules.initial, rules.result, viewer(rules)

    def watch(
        views: GameStates,
        order: Actions,
        starts: Actions,
        parents: Actions,
        led: Actions,
        movers: Counts,
        path: Actions,
    ) -> None:
        for i in range(len(views)):
            node, plies = np.int64(order[starts[i]]), 0
            while node > 0:
                path[plies] = led[node]
                node = np.int64(parents[node])
                plies += 1
            initial(views[i])
            for ply in range(plies - 1, -1, -1):
                result(views[i], path[ply])
            view(views[i], movers[i])

    return watch


def expander(rules: Rules) -> Callable[..., None]:
    """expand(states [n], children [m], actions [max_legal], first, parents [m], led [m], odds [m]): plays every action of each state;
    `first` is the number of the first state's node."""
    is_terminal, to_move, legal_actions, result = rules.is_terminal, rules.to_move, rules.legal_actions, rules.result
    probability = rules.chance or (lambda state, action: 1.0)

    def expand(
        states: GameStates,
        children: GameStates,
        actions: Actions,
        first: int,
        parents: Counts,
        led: Actions,
        odds: Array,
    ) -> None:
        at = 0
        for i in range(len(states)):
            if is_terminal(states[i]):
                continue
            is_chance = to_move(states[i]) == CHANCE
            for j in range(legal_actions(states[i], actions)):
                parents[at], led[at] = first + i, actions[j]
                if is_chance:
                    odds[at] = probability(states[i], actions[j])
                children[at] = states[i]
                result(children[at], actions[j])
                at += 1

    return expand
