"""The kernel of `Search.run`: all simulations of all trees inside compiled code. The leaves are evaluated there, too: by random
games and a plain function, or by a compiled network. `mcts/batches.py` has the kernels of `Search.step`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from base.native import call_native
from games import Rules
from mcts.leaves import Leaves, Memory, Views, leaves
from mcts.phases import EvaluatorFactory, Phases, Work, phases, uniform_evaluator
from mcts.tree import NONE, ROOT, Trees
from mcts.types import Array, Edges, Floats, Lane, Nodes, Settings, Slot, Table, Weights
from mcts.variant import Variant


class Network(NamedTuple):
    """A compiled network as kernels take it; empty where there is none."""

    address: Any
    weights: Weights
    scratch: Any
    logits: Floats
    utilities: Floats


def by_function(phase: Phases) -> Callable[..., None]:
    """evaluate(…): what a leaf is worth by a function of the position and by random games."""
    estimate, rollout = phase.estimate, phase.rollout

    def evaluate(
        slot: Slot, nodes: Nodes, edges: Edges, lane: Lane, work: Work, is_expanded: bool,
        memory: Memory, views: Views, settings: Settings, weights: Weights, network: Network,
    ) -> None:  # fmt: skip
        state, share = work.states[0], settings.rollout
        if share < 1.0:
            estimate(lane, state, 1.0 - share, weights, work.values)
        if share > 0.0:
            rollout(slot, lane, state, work.actions, settings, weights, work.values)

    return evaluate


def by_network(phase: Phases, leaf: Leaves) -> Callable[..., None]:
    """The same by a compiled network, or by the cache of its evaluations."""
    rollout, observe, recall, accept = phase.rollout, leaf.observe, leaf.recall, leaf.accept

    def evaluate(
        slot: Slot, nodes: Nodes, edges: Edges, lane: Lane, work: Work, is_expanded: bool,
        memory: Memory, views: Views, settings: Settings, weights: Weights, network: Network,
    ) -> None:  # fmt: skip
        observation = work.observations[0]
        observe(lane, work.states[0], memory, views, observation, work.observations[1])
        if settings.rollout > 0.0:
            rollout(slot, lane, work.states[0], work.actions, settings, weights, work.values)
        if is_expanded and recall(lane, nodes, edges, settings, memory, observation):
            return
        answer = network.weights, network.scratch, observation, network.logits, network.utilities
        call_native(network.address, answer)
        accept(lane, nodes, edges, settings, memory, views, observation, network.logits, network.utilities)

    return evaluate


def simulation(rules: Rules, variant: Variant, evaluator: EvaluatorFactory, has_network: bool) -> Callable[..., None]:
    """simulate(s, …): one simulation in tree s, inside compiled code; the leaves by a network, or by `evaluator` and random games."""
    phase, uses_policy = phases(rules, variant, evaluator), variant.has_policy
    select, expand, is_settled, backup = phase.select, phase.expand, phase.is_settled, phase.backup
    evaluate = by_network(phase, leaves(rules, variant)) if has_network else by_function(phase)

    def simulate(
        s: int,
        trees: Trees,
        work: Work,
        memory: Memory,
        views: Views,
        settings: Settings,
        table: Table,
        weights: Weights,
        network: Network,
    ) -> None:
        slot, nodes, edges = trees.slots[s], trees.nodes[s], trees.edges[s]
        lane, state, spare = work.lanes[0], work.states[0], work.states[len(work.lanes) :]
        work.states[0] = trees.roots[s]
        select(slot, nodes, edges, lane, state, work.actions, settings, table, spare)
        if not is_settled(slot, nodes, lane, state, work.actions):
            is_expanded = uses_policy and lane.leaf != NONE
            if is_expanded and nodes[lane.leaf].count == 0:
                is_expanded = expand(slot, edges, nodes[lane.leaf], state, work.actions)
            evaluate(slot, nodes, edges, lane, work, is_expanded, memory, views, settings, weights, network)
        backup(nodes, edges, lane, settings)
        slot.simulations += 1

    return simulate


@cache
def run_factory(
    variant: Variant, evaluator: EvaluatorFactory = uniform_evaluator, has_network: bool = False
) -> Callable[[Rules], Callable[..., None]]:
    def run(rules: Rules) -> Callable[..., None]:
        simulate = simulation(rules, variant, evaluator, has_network)

        def run(
            trees: Trees,
            work: Work,
            memory: Memory,
            views: Views,
            settings: Settings,
            table: Table,
            weights: Weights,
            network: Network,
            stop: Array,
        ) -> None:
            for s in range(len(trees.slots)):
                slot = trees.slots[s]
                while slot.simulations < slot.target and stop[0] == 0:
                    if settings.solve and slot.nodes > 0 and trees.nodes[s, ROOT].proven:
                        break
                    simulate(s, trees, work, memory, views, settings, table, weights, network)

        return run

    return run
