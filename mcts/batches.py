"""The two kernels of `Search.step`: `gather` walks every tree to a leaf that the evaluator has to evaluate, `scatter` takes the
answers.

Between them stands one padded batch, a row per lane. What needs no evaluator (ends of games, proven positions, positions in the
cache of evaluations) is backed up at once and the walk begins again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from games import Rules
from mcts.leaves import Memory, Views, leaves
from mcts.phases import PENDING, EvaluatorFactory, Work, phases
from mcts.tree import NONE, ROOT, Trees
from mcts.types import Floats, Settings, Table, Weights
from mcts.variant import Variant


@cache
def gather_factory(variant: Variant, evaluator: EvaluatorFactory) -> Callable[[Rules], Callable[..., int]]:
    uses_policy = variant.has_policy

    def gather(rules: Rules) -> Callable[..., int]:
        phase, leaf = phases(rules, variant, evaluator), leaves(rules, variant)
        select, is_settled, backup = phase.select, phase.is_settled, phase.backup
        rollout, hold, observe, recall = phase.rollout, phase.hold, leaf.observe, leaf.recall

        def gather(
            trees: Trees,
            work: Work,
            memory: Memory,
            views: Views,
            settings: Settings,
            table: Table,
            weights: Weights,
            per_tree: int,
        ) -> int:
            """`per_tree` lanes belong to each tree. How many lanes wait for an answer."""
            found, lanes, spare, turned = 0, work.lanes, work.states[len(work.lanes) :], work.observations[-1]
            for number in range(len(lanes)):  # left over where an evaluator failed
                if lanes[number].waiting:
                    s = number // per_tree
                    hold(trees.nodes[s], trees.edges[s], lanes[number], -1)
                    trees.slots[s].waiting -= 1
                    lanes[number].waiting = 0
            for number in range(len(lanes)):
                s = number // per_tree
                slot, nodes, edges = trees.slots[s], trees.nodes[s], trees.edges[s]
                lane, state, observation = lanes[number], work.states[number], work.observations[number]
                observation[:] = 0
                while slot.simulations + slot.waiting < slot.target:
                    if settings.solve and slot.nodes > 0 and nodes[ROOT].proven:
                        break
                    work.states[number] = trees.roots[s]
                    select(slot, nodes, edges, lane, state, work.actions, settings, table, spare)
                    if lane.leaf == PENDING:  # the other lane's evaluation has to come first
                        break
                    if is_settled(slot, nodes, lane, state, work.actions):
                        backup(nodes, edges, lane, settings)
                        slot.simulations += 1
                        continue
                    observe(lane, state, memory, views, observation, turned)
                    if settings.rollout > 0.0:
                        rollout(slot.rng, lane, state, work.actions, settings, weights, work.values)
                    if uses_policy and lane.leaf != NONE and recall(lane, nodes, edges, settings, memory, observation):
                        backup(nodes, edges, lane, settings)
                        slot.simulations += 1
                        observation[:] = 0
                        continue
                    hold(nodes, edges, lane, 1)
                    lane.waiting = 1
                    slot.waiting += 1
                    found += 1
                    break
            return found

        return gather

    return gather


@cache
def scatter_factory(variant: Variant) -> Callable[[Rules], Callable[..., None]]:
    def scatter(rules: Rules) -> Callable[..., None]:
        phase, accept = phases(rules, variant), leaves(rules, variant).accept
        backup, hold = phase.backup, phase.hold

        def scatter(
            trees: Trees,
            work: Work,
            memory: Memory,
            views: Views,
            settings: Settings,
            logits: Floats,
            utilities: Floats,
            per_tree: int,
        ) -> None:
            for number in range(len(work.lanes)):
                lane = work.lanes[number]
                if lane.waiting == 0:
                    continue
                s = number // per_tree
                slot, nodes, edges = trees.slots[s], trees.nodes[s], trees.edges[s]
                observation = work.observations[number]
                accept(lane, nodes, edges, settings, memory, views, observation, logits[number], utilities[number])
                hold(nodes, edges, lane, -1)
                backup(nodes, edges, lane, settings)
                lane.waiting = 0
                slot.waiting -= 1
                slot.simulations += 1

        return scatter

    return scatter
