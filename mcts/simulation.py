"""A simulation inside compiled code, by one thread or by several that share a tree.

How a leaf is evaluated has three steps, so that threads can compute side by side:

    look_up      observes the position and looks for it among the evaluations already made
    compute      a random game, an EVAL, the network: touches nothing but the lane and its scratch arrays
    take         the network's answer goes to the lane and into the tree

**Several threads** (`sharing`) search one tree with a lane each. One at a time selects, looks up, takes and backs up, under a lock
(`base/spinlock.py`); all compute at once. A leaf under evaluation counts as a visit that lost until its answer comes (virtual loss), so
the others walk elsewhere. Which thread comes first differs from run to run, and so do the trees. Chaslot, Winands and van den Herik
2008 ("Parallel Monte-Carlo tree search": tree parallelization).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from base.native import call_native
from base.spinlock import acquire, let_others_run, release
from games import Rules
from mcts.leaves import Leaves, Memory, Views, leaves
from mcts.phases import PENDING, EvaluatorFactory, Phases, Work, phases, uniform_evaluator
from mcts.tree import NONE, ROOT, Trees
from mcts.types import Array, Edges, Nodes, Rng, Settings, Table, Weights
from mcts.variant import Variant


class Network(NamedTuple):
    """A compiled network as kernels take it; empty where there is none."""

    address: Any
    weights: Any
    scratch: Any
    logits: Any
    utilities: Any


class Evaluation(NamedTuple):
    """The steps of an evaluation, for the lane work.lanes[0] whose position is work.states[0]."""

    look_up: Callable[..., bool]
    """look_up(nodes, edges, work, is_expanded, memory, views, settings): whether the network is not needed."""
    compute: Callable[..., None]
    """compute(rng, work, is_known, settings, weights, network)"""
    take: Callable[..., None]
    """take(nodes, edges, work, is_known, memory, views, settings, network)"""


def by_function(phase: Phases) -> Evaluation:
    """A function of the position and random games."""
    estimate, rollout = phase.estimate, phase.rollout

    def look_up(
        nodes: Nodes, edges: Edges, work: Work, is_expanded: bool, memory: Memory, views: Views, settings: Settings
    ) -> bool:
        return False

    def compute(rng: Rng, work: Work, is_known: bool, settings: Settings, weights: Weights, network: Network) -> None:
        lane, state, share = work.lanes[0], work.states[0], settings.rollout
        if share < 1.0:
            estimate(lane, state, 1.0 - share, weights, work.values)
        if share > 0.0:
            rollout(rng, lane, state, work.actions, settings, weights, work.values)

    def take(
        nodes: Nodes, edges: Edges, work: Work, is_known: bool, memory: Memory, views: Views, settings: Settings,
        network: Network,
    ) -> None:  # fmt: skip
        return

    return Evaluation(look_up, compute, take)


def by_network(phase: Phases, leaf: Leaves) -> Evaluation:
    """A compiled network, or the cache of its evaluations; and random games, where the settings have them."""
    rollout, observe, recall, accept = phase.rollout, leaf.observe, leaf.recall, leaf.accept

    def look_up(
        nodes: Nodes, edges: Edges, work: Work, is_expanded: bool, memory: Memory, views: Views, settings: Settings
    ) -> bool:
        lane, observation = work.lanes[0], work.observations[0]
        observe(lane, work.states[0], memory, views, observation, work.observations[1])
        return is_expanded and recall(lane, nodes, edges, settings, memory, observation)

    def compute(rng: Rng, work: Work, is_known: bool, settings: Settings, weights: Weights, network: Network) -> None:
        if settings.rollout > 0.0:
            rollout(rng, work.lanes[0], work.states[0], work.actions, settings, weights, work.values)
        if not is_known:
            answer = network.weights, network.scratch, work.observations[0], network.logits, network.utilities
            call_native(network.address, answer)

    def take(
        nodes: Nodes, edges: Edges, work: Work, is_known: bool, memory: Memory, views: Views, settings: Settings,
        network: Network,
    ) -> None:  # fmt: skip
        if not is_known:
            lane, observation = work.lanes[0], work.observations[0]
            accept(lane, nodes, edges, settings, memory, views, observation, network.logits, network.utilities)

    return Evaluation(look_up, compute, take)


SETTLED, UNEXPANDED, EXPANDED = 0, 1, 2
"""A leaf: its utilities are known exactly; it has to be evaluated, and has no edges for a policy; it has some."""


class Steps(NamedTuple):
    """What a simulation consists of."""

    arrive: Callable[..., int]
    """arrive(s, trees, work, settings, table): walks from the root of tree s to a leaf: SETTLED, UNEXPANDED, EXPANDED or PENDING."""
    look_up: Callable[..., bool]
    compute: Callable[..., None]
    take: Callable[..., None]
    backup: Callable[..., None]
    hold: Callable[..., None]


def steps(rules: Rules, variant: Variant, evaluator: EvaluatorFactory, has_network: bool) -> Steps:
    phase, uses_policy = phases(rules, variant, evaluator), variant.has_policy
    select, is_settled = phase.select, phase.is_settled
    evaluation = by_network(phase, leaves(rules, variant)) if has_network else by_function(phase)

    def arrive(s: int, trees: Trees, work: Work, settings: Settings, table: Table) -> int:
        slot, nodes, edges = trees.slots[s], trees.nodes[s], trees.edges[s]
        lane, state = work.lanes[0], work.states[0]
        work.states[0] = trees.roots[s]
        select(slot, nodes, edges, lane, state, work.actions, settings, table, work.states[len(work.lanes) :])
        if lane.leaf == PENDING:
            return PENDING
        if is_settled(slot, nodes, lane, state, work.actions):
            return SETTLED
        return EXPANDED if uses_policy and lane.leaf != NONE else UNEXPANDED

    return Steps(arrive, *evaluation, phase.backup, phase.hold)


def simulation(rules: Rules, variant: Variant, evaluator: EvaluatorFactory, has_network: bool) -> Callable[..., None]:
    """simulate(s, …): one simulation in tree s; the leaves by a network, or by `evaluator` and random games."""
    arrive, look_up, compute, take, backup, _ = steps(rules, variant, evaluator, has_network)

    def simulate(
        s: int, trees: Trees, work: Work, memory: Memory, views: Views, settings: Settings, table: Table,
        weights: Weights, network: Network,
    ) -> None:  # fmt: skip
        slot, nodes, edges = trees.slots[s], trees.nodes[s], trees.edges[s]
        leaf = arrive(s, trees, work, settings, table)
        if leaf != SETTLED:
            is_known = look_up(nodes, edges, work, leaf == EXPANDED, memory, views, settings)
            compute(slot.rng, work, is_known, settings, weights, network)
            take(nodes, edges, work, is_known, memory, views, settings, network)
        backup(nodes, edges, work.lanes[0], settings)
        slot.simulations += 1

    return simulate


@cache
def run_factory(
    variant: Variant, evaluator: EvaluatorFactory = uniform_evaluator, has_network: bool = False
) -> Callable[[Rules], Callable[..., None]]:
    """All simulations of all trees, by one thread."""

    def run(rules: Rules) -> Callable[..., None]:
        simulate = simulation(rules, variant, evaluator, has_network)

        def run(
            trees: Trees, work: Work, memory: Memory, views: Views, settings: Settings, table: Table,
            weights: Weights, network: Network, stop: Array,
        ) -> None:  # fmt: skip
            for s in range(len(trees.slots)):
                slot = trees.slots[s]
                while slot.simulations < slot.target and stop[0] == 0:
                    if settings.solve and slot.nodes > 0 and trees.nodes[s, ROOT].proven:
                        break
                    simulate(s, trees, work, memory, views, settings, table, weights, network)

        return run

    return run


@cache
def sharing_factory(
    variant: Variant, evaluator: EvaluatorFactory = uniform_evaluator, has_network: bool = False
) -> Callable[[Rules], Callable[..., None]]:
    """All simulations of tree 0, by several threads: each calls the kernel with `work`, `network` and `rng` of its own."""

    def sharing(rules: Rules) -> Callable[..., None]:
        arrive, look_up, compute, take, backup, hold = steps(rules, variant, evaluator, has_network)

        def share(
            trees: Trees, work: Work, memory: Memory, views: Views, settings: Settings, table: Table,
            weights: Weights, network: Network, stop: Array, rng: Rng, lock: Array,
        ) -> None:  # fmt: skip
            slot, nodes, edges, lane = trees.slots[0], trees.nodes[0], trees.edges[0], work.lanes[0]
            acquire(lock)
            while slot.simulations + slot.waiting < slot.target and stop[0] == 0:
                if settings.solve and slot.nodes > 0 and nodes[ROOT].proven:
                    break
                leaf = arrive(0, trees, work, settings, table)
                if leaf == PENDING:
                    release(lock)
                    let_others_run(lock)
                    acquire(lock)
                    continue
                if leaf != SETTLED:
                    is_known = look_up(nodes, edges, work, leaf == EXPANDED, memory, views, settings)
                    hold(nodes, edges, lane, 1)
                    slot.waiting += 1
                    release(lock)
                    compute(rng, work, is_known, settings, weights, network)
                    acquire(lock)
                    slot.waiting -= 1
                    hold(nodes, edges, lane, -1)
                    take(nodes, edges, work, is_known, memory, views, settings, network)
                backup(nodes, edges, lane, settings)
                slot.simulations += 1
            release(lock)

        return share

    return sharing
