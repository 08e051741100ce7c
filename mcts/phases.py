"""The four phases of a simulation over one tree: select, expand, evaluate, backup. Drivers put them in sequence
(`mcts/simulation.py`, `mcts/batches.py`).

    select     from the root along the edges that the variant chooses, playing their actions in `state`, to a leaf: a position that
               is new, whose utilities are proven, or for which there is no memory. A new position becomes a node here
    expand     lists the legal actions of the leaf's position as its edges, priors uniform
    evaluate   what the leaf is worth to each player: its exact utilities, an estimate v, the outcome z of a random game, or
               (1-λ) v + λ z
    backup     adds that to every node and edge of the path, and carries proofs up

Nodes hold no positions: `state` starts as a copy of the root's and arrives as the leaf's. Chance is walked by its probabilities, drawn
from the tree's own random stream; a chance node is expanded as soon as it is met and never evaluated. Coulom 2006; Kocsis and
Szepesvári 2006; Browne et al. 2012.

**Proofs** (Winands, Björnsson and Saito 2008, carried over to vectors of utilities). The end of a game is proven. A decision node is
proven when an action is proven to give its mover the most that the game can give, or when all its actions are proven: its utilities are
then those of the best for the mover, among equals of the one with the lowest action id of those proven so far. A chance node is proven
when all outcomes are, and is worth their mean. Above a node that has just been proven its exact utilities are backed up.

**Forced moves.** With a policy, a position with one legal action is walked through like a chance node, and never evaluated: the network
judges positions where there is a choice, and those behind an exchange instead of in its midst.

**Immediate wins.** With `settings.immediate_wins`, the first simulation that goes beyond a decision tries its actions and takes one
that ends the game with the most that it can give the mover, if there is one. That proves the node, so no low prior can hide such a
win. Otherwise a win is found only when its edge is walked.

`phases(rules, variant, evaluator)` makes the functions for a game. They share their arguments:

    slot, nodes, edges   one tree (`mcts/tree.py`)
    lane                 one simulation under way (`lane_dtype`)
    state, actions       scratch: a record of the game; int32 [max_legal]
    spare                [1]: scratch, one more record
    settings, table      the record of the variant's settings; its exploration factors by visits (`mcts/variant.py`)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from base.seeds import uniform
from games import CHANCE, Rules
from games.engine.kernels import sampler
from mcts.moves import TIE
from mcts.tree import NONE, OVER, ROOT
from mcts.types import (
    Actions,
    Edge,
    Edges,
    Features,
    GameState,
    GameStates,
    Lane,
    Lanes,
    Node,
    Nodes,
    Planes,
    Rng,
    Settings,
    Slot,
    Table,
    Weights,
)
from mcts.variant import Variant

PENDING = -2
"""In the place of a leaf: a node whose evaluation another lane waits for."""


class Work(NamedTuple):
    """Scratch arrays of a search with L lanes."""

    lanes: Lanes
    """[L]: simulations under way."""
    states: GameStates
    """[L + 1]: their positions, and one to try actions in."""
    actions: Actions
    """int32 [max_legal]"""
    values: Features
    """float32: the features of an EVAL."""
    observations: Planes
    """float32 [L + 1, C, R, K]: the leaves as a network sees them, and one to turn them in."""


def lane_dtype(rules: Rules) -> np.dtype[Any]:
    """A simulation under way: its path of `length` (node, edge) pairs, the leaf behind them, and what that is worth."""
    longest = rules.max_plies + 1
    fields = [
        ("utility", np.float64, rules.players),
        ("leaf", np.int32),  # a node, NONE where there was no memory for one, or PENDING
        ("length", np.int32),
        ("mover", np.int8),  # of the leaf, while it waits for an evaluator
        ("waiting", np.int8),
        ("turn", np.int8),  # how the board was turned for the evaluator
        ("key", np.uint64),  # of the leaf's position
        ("nodes", np.int32, longest),
        ("edges", np.int32, longest),
    ]
    return np.dtype((np.record, np.dtype(fields, align=True)))


Evaluate = Callable[[Any, Any, Any, Any], Any]
"""evaluate(state, player, weights, values) -> the utility that `player` can expect. Plain Python, to be compiled."""
EvaluatorFactory = Callable[[Rules], Evaluate]


def uniform_evaluator(rules: Rules) -> Evaluate:
    """Every position is worth 0 to every player."""

    def evaluate(state: GameState, player: int, weights: Weights, values: Features) -> float:
        return 0.0

    return evaluate


class Phases(NamedTuple):
    select: Callable[..., None]
    expand: Callable[..., bool]
    is_settled: Callable[..., bool]
    rollout: Callable[..., None]
    estimate: Callable[..., None]
    backup: Callable[..., None]
    hold: Callable[..., None]


def phases(rules: Rules, variant: Variant, evaluator: EvaluatorFactory = uniform_evaluator) -> Phases:
    prepare, choose_root, choose = variant.prepare, variant.choose_root, variant.choose
    uses_policy = variant.has_policy
    is_terminal, to_move, utility, legal_actions = rules.is_terminal, rules.to_move, rules.utility, rules.legal_actions
    result, sample, evaluate = rules.result, sampler(rules), evaluator(rules)
    chance = rules.chance or (lambda state, action: 0.0)
    players, most_plies = rules.players, rules.max_plies
    is_mirrored = players == 2 and rules.zero_sum
    best_possible = max(rules.values) if rules.values else 1.0

    # ── 1. select ──

    def select(
        slot: Slot,
        nodes: Nodes,
        edges: Edges,
        lane: Lane,
        state: GameState,
        actions: Actions,
        settings: Settings,
        table: Table,
        spare: GameStates,
    ) -> None:
        at, length = ROOT, 0
        if slot.nodes == 0:
            add_node(slot, nodes, edges, state, actions, 0)
        elif slot.prepared == 0 and nodes[ROOT].visits > 0:
            slot.prepared = 1
            prepare(slot, nodes[ROOT], edges, settings)
        while nodes[at].proven == 0:
            node = nodes[at]
            if node.mover == CHANCE:
                edge = roll(node, edges, slot.rng)
            elif uses_policy and node.count == 1:
                edge = node.edges
            elif node.visits == 0:
                if node.flight > 0:
                    at = PENDING
                break
            elif node.count == 0 and not expand(slot, edges, node, state, actions):
                break
            else:
                edge = NONE
                if settings.immediate_wins and settings.solve and node.visits + node.flight == 1:
                    edge = immediate_win(node, edges, state, spare)
                if edge == NONE and at == ROOT:
                    edge = choose_root(slot, node, nodes, edges, settings, table)
                elif edge == NONE:
                    edge = choose(slot, node, nodes, edges, settings, table)
                if edges[edge].visits + edges[edge].flight == 0:
                    node.tried += 1
                    node.mass += edges[edge].prior
            lane.nodes[length], lane.edges[length] = at, edge
            length += 1
            at = edges[edge].child
            if at == NONE or nodes[at].proven == 0:  # the position of a proven node is not needed
                result(state, edges[edge].action)
            if at == NONE:
                at = add_node(slot, nodes, edges, state, actions, length)
                if at == NONE:
                    break
                edges[edge].child = at
        lane.leaf, lane.length = at, length
        slot.depth = max(slot.depth, length)

    def roll(node: Node, edges: Edges, rng: Rng) -> int:
        """An outcome of a chance node, by its probability."""
        left = uniform(rng)
        last = node.edges + node.count - 1
        for edge in range(node.edges, last):
            left -= edges[edge].value
            if left < 0.0:
                return int(edge)
        return int(last)

    def immediate_win(node: Node, edges: Edges, state: GameState, spare: GameStates) -> int:
        """An edge that ends the game with the most that it can give to the mover; NONE where there is none."""
        for edge in range(node.edges, node.edges + node.count):
            spare[0] = state
            after = spare[0]
            result(after, edges[edge].action)
            if is_terminal(after) and utility(after, node.mover) >= best_possible - TIE:
                return int(edge)
        return NONE

    def add_node(slot: Slot, nodes: Nodes, edges: Edges, state: GameState, actions: Actions, plies: int) -> int:
        """A node for the position, evaluated where the game is over, expanded where chance moves or there is a policy; NONE without
        memory. `plies` from the root: no path gets longer than a game."""
        if slot.nodes == len(nodes):
            slot.refused += 1
            return NONE
        number = int(slot.nodes)
        node = nodes[number]
        over = plies >= most_plies or is_terminal(state)
        node.mover = OVER if over else to_move(state)
        node.proven = 1 if over else 0
        node.visits, node.edges, node.count, node.tried, node.flight, node.mass = 0, 0, 0, 0, 0, 0.0
        for player in range(players):
            node.sums[player] = 0.0
            node.utility[player] = utility(state, player) if over else 0.0
        is_expanded = node.mover == CHANCE or (uses_policy and not over)
        if is_expanded and not expand(slot, edges, node, state, actions):
            return NONE
        slot.nodes += 1
        return number

    # ── 2. expand ──

    def expand(slot: Slot, edges: Edges, node: Node, state: GameState, actions: Actions) -> bool:
        """False without memory."""
        n = legal_actions(state, actions)
        first = slot.edges
        if first + n > len(edges):
            slot.refused += 1
            return False
        for i in range(n):
            edge = edges[first + i]
            probability = chance(state, actions[i]) if node.mover == CHANCE else 0.0
            edge.value = probability
            edge.prior = probability if node.mover == CHANCE else 1.0 / n
            edge.action, edge.child = actions[i], NONE
            edge.visits, edge.flight, edge.proven = 0, 0, 0
        node.edges, node.count = first, n
        slot.edges += n
        return True

    # ── 3. evaluate ──

    def is_settled(slot: Slot, nodes: Nodes, lane: Lane, state: GameState, actions: Actions) -> bool:
        """Whether the leaf's utilities are known exactly; then they stand in the lane. Else `state` is a decision, the lane zero."""
        for player in range(players):
            lane.utility[player] = 0.0
        if lane.leaf != NONE:
            if nodes[lane.leaf].proven:
                for player in range(players):
                    lane.utility[player] = nodes[lane.leaf].utility[player]
                return True
            return False
        while not is_terminal(state):  # beyond the memory: chance has no node here
            if to_move(state) != CHANCE:
                return False
            result(state, sample(state, actions, slot.rng))
        for player in range(players):
            lane.utility[player] = utility(state, player)
        return True

    def estimate(lane: Lane, state: GameState, share: float, weights: Weights, values: Features) -> None:
        """Adds the compiled evaluator's utilities of a decision to the lane."""
        if is_mirrored:
            mover = to_move(state)
            value = share * evaluate(state, mover, weights, values)
            lane.utility[mover] += value
            lane.utility[1 - mover] -= value
        else:
            for player in range(players):
                lane.utility[player] += share * evaluate(state, player, weights, values)

    def rollout(
        rng: Rng,
        lane: Lane,
        state: GameState,
        actions: Actions,
        settings: Settings,
        weights: Weights,
        values: Features,
    ) -> None:
        """Adds λ times the outcome of random play to the lane; where that is cut short, λ times the estimate there."""
        share = settings.rollout
        plies = 0
        while plies < most_plies and not is_terminal(state):
            if plies >= settings.rollout_plies > 0 and to_move(state) != CHANCE:
                estimate(lane, state, share, weights, values)
                return
            result(state, sample(state, actions, rng))
            plies += 1
        for player in range(players):
            lane.utility[player] += share * utility(state, player)

    # ── 4. backup ──

    def backup(nodes: Nodes, edges: Edges, lane: Lane, settings: Settings) -> None:
        is_proven = False
        if lane.leaf != NONE:
            leaf = nodes[lane.leaf]
            if leaf.visits == 0:
                for player in range(players):
                    leaf.utility[player] = lane.utility[player]
            leaf.visits += 1
            for player in range(players):
                leaf.sums[player] += lane.utility[player]
            is_proven = leaf.proven == 1
        for step in range(lane.length - 1, -1, -1):
            node, edge = nodes[lane.nodes[step]], edges[lane.edges[step]]
            node.visits += 1
            edge.visits += 1
            if node.mover != CHANCE:
                edge.value += lane.utility[node.mover]
            for player in range(players):
                node.sums[player] += lane.utility[player]
            is_proven = is_proven and settings.solve and edge.proven == 0
            if is_proven:
                edge.proven = 1
                is_proven = prove(node, nodes, edges, edge)
                if is_proven:
                    for player in range(players):
                        lane.utility[player] = node.utility[player]

    def prove(node: Node, nodes: Nodes, edges: Edges, fresh: Edge) -> bool:
        """Whether the proof of its edge `fresh` proves the node; then it is marked so."""
        mover, first = node.mover, node.edges
        best = nodes[fresh.child]
        if mover == CHANCE or best.utility[mover] < best_possible - TIE:
            for edge in range(first, first + node.count):
                if edges[edge].proven == 0:
                    return False
        if mover == CHANCE:
            for player in range(players):
                node.utility[player] = 0.0
            for edge in range(first, first + node.count):
                for player in range(players):
                    node.utility[player] += edges[edge].value * nodes[edges[edge].child].utility[player]
        else:
            action = fresh.action
            for edge in range(first, first + node.count):
                if edges[edge].proven:
                    other = nodes[edges[edge].child]
                    lead = other.utility[mover] - best.utility[mover]
                    if lead > TIE or (lead > -TIE and edges[edge].action < action):
                        best, action = other, edges[edge].action
            for player in range(players):
                node.utility[player] = best.utility[player]
        node.proven = 1
        return True

    # ── several leaves at once ──

    def hold(nodes: Nodes, edges: Edges, lane: Lane, change: int) -> None:
        """Counts the lane's leaf in (1) or out (-1) of flight along its path."""
        if lane.leaf >= 0:
            nodes[lane.leaf].flight += change
        for step in range(lane.length):
            nodes[lane.nodes[step]].flight += change
            edges[lane.edges[step]].flight += change

    return Phases(select, expand, is_settled, rollout, estimate, backup, hold)
