"""Between a leaf and a network: the leaf is observed, looked up among the evaluations already made, and takes the network's answer.

A position may be shown to the network turned: by one of the game's symmetries, chosen by a hash of its key, so that equal positions are
shown alike; the policy is read back through the turn. `leaves(rules, variant)` makes the functions for a game; beside the arguments of
`mcts/phases.py` they share:

    memory     the cache of evaluations (`mcts/cache.py`)
    views      the game's symmetries as tables (`Views`)
    observation, turned      [C, R, K]: what the network sees; scratch of the same shape
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from base.bits import U
from base.seeds import mix
from games import Game, Rules
from mcts.cache import EVALUATIONS, lookup, store
from mcts.tree import NONE
from mcts.types import Array, Edges, Floats, GameState, Lane, Node, Nodes, Planes, Records, Settings
from mcts.variant import Variant

_SALT = U(0x5DEECE66D1CE4E5B)  # turns must not depend on the bits that find a place in the cache


class Views(NamedTuple):
    turned: Planes
    """int32 [T, entries of an observation]: per symmetry, the identity first, where each entry comes from; T = 1: no turning."""
    renamed: Array
    """int32 [T, A]: the number of each action there."""


class Memory(NamedTuple):
    """The arrays of an `EvaluationCache`."""

    entries: Records
    counts: Array


def views(game: Game, are_used: bool) -> Views:
    """Those of a game; the identity alone where symmetries are not used."""
    rules = game.rules
    symmetries = rules.symmetries if are_used else ()
    entries = int(np.prod(rules.observation))
    turned = [np.arange(entries), *(np.ravel(each.observation) for each in symmetries)]
    renamed = [np.arange(rules.actions), *(each.actions for each in symmetries)]
    return Views(np.array(turned, np.int32), np.array(renamed, np.int32))


class Leaves(NamedTuple):
    observe: Callable[..., None]
    recall: Callable[..., bool]
    accept: Callable[..., None]


def leaves(rules: Rules, variant: Variant) -> Leaves:
    observe_state, to_move, key, players = rules.observe, rules.to_move, rules.key, rules.players
    uses_policy, temperature = variant.has_policy, variant.temperature
    has_action_views = rules.action_view is not None
    view = (
        np.zeros((1, 1), np.int32) if rules.action_view is None else np.ascontiguousarray(rules.action_view, np.int32)
    )

    def observe(
        lane: Lane, state: GameState, memory: Memory, views: Views, observation: Planes, turned: Planes
    ) -> None:
        lane.mover = to_move(state)
        observation[:] = 0
        is_keyed = len(memory.entries) > 0 or len(views.turned) > 1
        lane.key = U(key(state)) if is_keyed else U(0)
        lane.turn = np.int64(mix(lane.key ^ _SALT) >> U(32)) % len(views.turned) if is_keyed else 0
        if lane.turn == 0:
            observe_state(state, lane.mover, observation)
            return
        turned[:] = 0
        observe_state(state, lane.mover, turned)
        source, target, sources = (
            turned.reshape(turned.size),
            observation.reshape(observation.size),
            views.turned[lane.turn],
        )
        for i in range(len(sources)):
            target[i] = source[sources[i]]

    def recall(lane: Lane, nodes: Nodes, edges: Edges, settings: Settings, memory: Memory, observation: Planes) -> bool:
        """Whether the leaf, which has been expanded, was found in the cache; then it has its priors, and the lane its utilities."""
        if len(memory.entries) == 0:
            return False
        leaf = nodes[lane.leaf]
        number = lookup(memory.entries, memory.counts, lane.key, observation, leaf, edges)
        if number < 0:
            return False
        entry = memory.entries[number]
        for i in range(leaf.count):
            edges[leaf.edges + i].prior = entry.priors[i]
        add_relative(lane, 1.0 - settings.rollout, entry.utilities)
        return True

    def accept(
        lane: Lane,
        nodes: Nodes,
        edges: Edges,
        settings: Settings,
        memory: Memory,
        views: Views,
        observation: Planes,
        logits: Floats,
        utilities: Floats,
    ) -> None:
        """The network's answer to the lane's leaf: its utilities go to the lane, its policy to a leaf that is new."""
        memory.counts[EVALUATIONS] += 1
        add_relative(lane, 1.0 - settings.rollout, utilities)
        if uses_policy and lane.leaf != NONE and nodes[lane.leaf].visits == 0:
            leaf = nodes[lane.leaf]
            set_priors(leaf, edges, logits, views.renamed[lane.turn], temperature(settings))
            if len(memory.entries) > 0 and leaf.count > 0:
                store(memory.entries, lane.key, observation, leaf, edges, utilities)

    def add_relative(lane: Lane, share: float, relative: Floats) -> None:
        """The one place where utilities counted from the mover become those of players 0, 1, …"""
        for seat in range(players):
            lane.utility[(lane.mover + seat) % players] += share * relative[seat]

    def set_priors(node: Node, edges: Edges, logits: Floats, renamed: Array, temperature: float) -> None:
        """Softmax of logits / temperature over the node's actions."""
        first, mover = node.edges, node.mover
        highest = -np.inf
        for edge in range(first, first + node.count):
            action = edges[edge].action
            edges[edge].prior = logits[renamed[view[mover, action] if has_action_views else action]]
            highest = max(highest, edges[edge].prior)
        total = 0.0
        for edge in range(first, first + node.count):
            total += np.exp((edges[edge].prior - highest) / temperature)
        for edge in range(first, first + node.count):
            edges[edge].prior = np.exp((edges[edge].prior - highest) / temperature) / total

    return Leaves(observe, recall, accept)
