"""The two kernels of `Search.step`: `gather` walks every tree to a leaf that an evaluator has to judge, `scatter` takes the answers.

Between them stands one padded batch, a row per lane. What needs no evaluator (ends of games, proven positions, positions in the
cache of evaluations) is backed up at once and the walk begins again. A position may be shown to the evaluator turned: by one of the
game's symmetries, chosen by a hash of its key, so that equal positions are shown alike; the policy is read back through the turn.

Arguments beside those of `mcts/phases.py`:

    entries, counts      the cache (`mcts/cache.py`); no entries: none
    turned, renamed      [T, entries of an observation], [T, A]: per symmetry, the identity first, where each entry comes from and what
                         each action is called; T = 1: positions are shown as they are
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from base.bits import U
from base.seeds import mix
from games import Game, Rules
from mcts.cache import lookup, store
from mcts.phases import PENDING, EvaluatorFactory, phases
from mcts.selection import UCB1
from mcts.tree import NONE, ROOT

_SALT = U(0x5DEECE66D1CE4E5B)  # turns are not to depend on the bits that find a place in the cache


def turns(game: Game, are_used: bool) -> tuple[Any, Any]:
    """`turned` and `renamed` of a game; the identity alone where symmetries are not used."""
    rules = game.rules
    symmetries = rules.symmetries if are_used else ()
    entries = int(np.prod(rules.observation))
    turned = [np.arange(entries), *(np.ravel(each.observation) for each in symmetries)]
    renamed = [np.arange(rules.actions), *(each.actions for each in symmetries)]
    return np.array(turned, np.int32), np.array(renamed, np.int32)


@cache
def gather_factory(evaluator: EvaluatorFactory) -> Callable[[Rules], Callable[..., int]]:
    def gather(rules: Rules) -> Callable[..., int]:
        phase = phases(rules, evaluator)
        select, expand, is_settled, backup = phase.select, phase.expand, phase.is_settled, phase.backup
        rollout, hold, observe, to_move, key = phase.rollout, phase.hold, rules.observe, rules.to_move, rules.key
        add_relative = relative_to_absolute(rules)

        def gather(
            slots: Any,
            nodes: Any,
            edges: Any,
            roots: Any,
            lanes: Any,
            states: Any,
            actions: Any,
            settings: Any,
            table: Any,
            weights: Any,
            values: Any,
            observations: Any,
            leaves: int,
            entries: Any,
            counts: Any,
            turned: Any,
        ) -> int:
            found, spare = 0, states[len(lanes) :]
            for number in range(len(lanes)):  # left over where an evaluator failed
                if lanes[number].waiting:
                    s = number // leaves
                    hold(nodes[s], edges[s], lanes[number], -1)
                    slots[s].waiting -= 1
                    lanes[number].waiting = 0
            for number in range(len(lanes)):
                s = number // leaves
                slot, tree, links, lane, state = slots[s], nodes[s], edges[s], lanes[number], states[number]
                observations[number] = 0
                while slot.simulations + slot.waiting < slot.target:
                    if settings.solve and slot.nodes > 0 and tree[ROOT].proven:
                        break
                    states[number] = roots[s]
                    select(slot, tree, links, lane, state, actions, settings, table, spare)
                    if lane.leaf == PENDING:  # the other lane's evaluation has to come first
                        break
                    if is_settled(slot, tree, lane, state, actions):
                        backup(tree, links, lane, settings)
                        slot.simulations += 1
                        continue
                    has_policy = settings.rule != UCB1 and lane.leaf != NONE
                    if has_policy and tree[lane.leaf].count == 0:
                        has_policy = expand(slot, links, tree[lane.leaf], state, actions)
                    lane.mover = to_move(state)
                    observe(state, lane.mover, observations[number])
                    if len(entries) > 0 or len(turned) > 1:
                        lane.key = U(key(state))
                        lane.turn = np.int64(mix(lane.key ^ _SALT) >> U(32)) % len(turned)
                        turn_over(observations[number], turned[lane.turn], lane.turn)
                    if settings.rollout > 0.0:
                        rollout(slot, lane, state, actions, settings, weights, values)
                    if has_policy and len(entries) > 0:
                        leaf = tree[lane.leaf]
                        entry = lookup(entries, counts, lane.key, observations[number], leaf, links)
                        if entry >= 0:
                            for i in range(leaf.count):
                                links[leaf.edges + i].prior = entries[entry].priors[i]
                            add_relative(lane, 1.0 - settings.rollout, entries[entry].utilities)
                            backup(tree, links, lane, settings)
                            slot.simulations += 1
                            observations[number] = 0
                            continue
                    hold(tree, links, lane, 1)
                    lane.waiting = 1
                    slot.waiting += 1
                    found += 1
                    break
            return found

        return gather

    return gather


def turn_over(observation: Any, turned: Any, turn: int) -> None:
    """Entry i of the turned planes comes from turned[i]."""
    if turn == 0:
        return
    before = observation.copy().ravel()
    after = observation.reshape(observation.size)
    for i in range(len(turned)):
        after[i] = before[turned[i]]


def relative_to_absolute(rules: Rules) -> Callable[[Any, float, Any], None]:
    players = rules.players

    def add_relative(lane: Any, share: float, relative: Any) -> None:
        """The one place where utilities counted from the mover become those of players 0, 1, …"""
        for seat in range(players):
            lane.utility[(lane.mover + seat) % players] += share * relative[seat]

    return add_relative


def scatter(rules: Rules) -> Callable[..., None]:
    phase = phases(rules)
    backup, hold, add_relative = phase.backup, phase.hold, relative_to_absolute(rules)
    views = rules.action_view
    has_views = views is not None
    view = np.zeros((1, 1), np.int32) if views is None else np.ascontiguousarray(views, np.int32)

    def set_priors(node: Any, edges: Any, logits: Any, renamed: Any) -> None:
        """Softmax over the node's actions."""
        first, mover = node.edges, node.mover
        highest = -np.inf
        for edge in range(first, first + node.count):
            action = edges[edge].action
            edges[edge].prior = logits[renamed[view[mover, action] if has_views else action]]
            highest = max(highest, edges[edge].prior)
        total = 0.0
        for edge in range(first, first + node.count):
            total += np.exp(edges[edge].prior - highest)
        for edge in range(first, first + node.count):
            edges[edge].prior = np.exp(edges[edge].prior - highest) / total

    def scatter(
        slots: Any,
        nodes: Any,
        edges: Any,
        lanes: Any,
        settings: Any,
        logits: Any,
        utilities: Any,
        observations: Any,
        leaves: int,
        entries: Any,
        renamed: Any,
    ) -> None:
        for number in range(len(lanes)):
            lane = lanes[number]
            if lane.waiting == 0:
                continue
            s = number // leaves
            slot, tree, links = slots[s], nodes[s], edges[s]
            add_relative(lane, 1.0 - settings.rollout, utilities[number])
            if settings.rule != UCB1 and lane.leaf != NONE and tree[lane.leaf].visits == 0:
                leaf = tree[lane.leaf]
                set_priors(leaf, links, logits[number], renamed[lane.turn])
                if len(entries) > 0 and leaf.count > 0:
                    store(entries, lane.key, observations[number], leaf, links, utilities[number])
            hold(tree, links, lane, -1)
            backup(tree, links, lane, settings)
            lane.waiting = 0
            slot.waiting -= 1
            slot.simulations += 1

    return scatter
