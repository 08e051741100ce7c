"""A search over many trees side by side, driven in one of two ways over the same four phases (`mcts/phases.py`).

>>> search = Search(load("connect_four"), Settings(), slots=64)
>>> for slot in range(64):
...     search.begin(slot, game.initial(), generator(seed, "game", slot))
>>> search.run(800)                      # 800 simulations in each tree, inside compiled code: rollouts, EVAL, uniform

>>> search = Search(game, Settings(rule="puct", rollout=0.0), slots=64)
>>> search.add(800)
>>> while search.step(evaluator):        # one batch at a time, for evaluators that work in batches
...     pass

Each tree has a random stream of its own, so what happens in it does not depend on its neighbours. With one leaf per tree and step, a
batched evaluator and a compiled one that say the same give the same tree, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol

import numpy as np

from base.errors import UserError, require
from base.seeds import Rng
from games import Game, Rules
from mcts.batches import gather_factory, scatter, turns
from mcts.cache import EvaluationCache
from mcts.phases import (
    SETTINGS,
    Evaluate,
    EvaluatorFactory,
    lane_dtype,
    phases,
    uniform_evaluator,
)
from mcts.selection import PUCT, UCB1, exploration
from mcts.tree import NONE, ROOT, Tree

__all__ = ["BatchEvaluator", "Evaluate", "EvaluatorFactory", "Search", "Settings"]

_TABLE = 1024  # exploration factors kept, by visits

Floats = np.ndarray[Any, np.dtype[np.float32]]


class BatchEvaluator(Protocol):
    """What `step` asks of a network, or of whatever stands for one.

    observations [B, channels, rows, columns], each in its mover's eyes, always the same B (rows without a leaf are zero)
    -> policy logits [B, A] over the mover's view of the action ids, utilities [B, P] in relative order: 0 = mover, 1 = the next player.
    """

    def __call__(self, observations: Floats, /) -> tuple[Floats, Floats]: ...


@dataclass(frozen=True)
class Settings:
    """How a tree is searched. What the papers used stands behind."""

    rule: Literal["ucb1", "puct"] = "ucb1"
    """Which edge a simulation walks (`mcts/selection.py`)."""
    c: float = math.sqrt(2.0)
    """UCB1: exploration, for rewards in [0, 1]. Auer et al. 2002: √2."""
    c_init: float = 1.25
    """PUCT: exploration at the start. AlphaZero: 1.25."""
    c_base: float = 19652.0
    """PUCT: visits at which exploration begins to grow. AlphaZero: 19652."""
    fpu: float = 0.2
    """PUCT: by how much an action never tried is thought worse than its node, once all others have been tried. KataGo: 0.2."""
    rollout: float = 1.0
    """λ: a leaf is worth (1-λ) v + λ z, z the outcome of a random game. UCT: 1; AlphaGo: 0.5; AlphaZero: 0."""
    rollout_plies: int = 0
    """A random game is cut after so many plies and judged by the estimate there; 0: played to its end."""
    solve: bool = True
    """Carry proven utilities up the tree."""
    glance: bool = False
    """PUCT, with proofs: where the search first goes beyond a position, it looks for an action that wins at once, and takes it."""

    def __post_init__(self) -> None:
        if self.rule not in ("ucb1", "puct"):
            raise UserError(f"rule: expected 'ucb1' or 'puct', got {self.rule!r}")
        require(self, "a number of at least 0", lambda x: 0 <= x < math.inf, "c", "c_init", "fpu")
        require(self, "a number above 0", lambda x: 0 < x < math.inf, "c_base")
        require(self, "the share of random games in a leaf's value, 0 to 1", lambda x: 0 <= x <= 1, "rollout")
        require(self, "0 (to the end) or more", lambda n: n >= 0, "rollout_plies")


class Search:
    """Trees over one game. `evaluator(rules)` gives the plain function that estimates positions inside compiled code."""

    def __init__(
        self,
        game: Game,
        settings: Settings | None = None,
        *,
        slots: int = 1,
        nodes: int = 100_000,
        edges: int = 0,
        leaves: int = 1,
        evaluator: EvaluatorFactory = uniform_evaluator,
        weights: Any = None,
        cache_mb: float = 0,
        symmetry: bool = False,
        checked: bool = False,
    ) -> None:
        """`nodes` and `edges` are each tree's memory (`edges` 0: as many as so many nodes need, see `edges_per_node`); `leaves` is
        how many of one tree a step may hand out; `weights` are the compiled evaluator's. `cache_mb` is for evaluations that a step need
        not ask for again (`mcts/cache.py`); with `symmetry` positions are shown turned, as their key has it (`mcts/batches.py`)."""
        if leaves < 1:
            raise UserError(f"leaves: expected 1 or more per tree and step, got {leaves}")
        rules = game.rules
        self.game, self.settings = game, settings or Settings()
        edges = edges or max(nodes * edges_per_node(self.settings, rules), rules.max_legal)
        self.tree = Tree(game, slots, nodes, edges)
        self.lanes = np.zeros(slots * leaves, lane_dtype(rules))
        self.roots = game.blanks(slots)
        self.observations = np.zeros((slots * leaves, *rules.observation), np.float32)
        self.cache = EvaluationCache(game, cache_mb)
        self._turned, self._renamed = turns(game, symmetry)
        self._leaves = leaves
        self._states = game.blanks(slots * leaves + 1)  # the last one is scratch
        self._actions = np.zeros(rules.max_legal, np.int32)
        self._weights = np.zeros(0, np.float32) if weights is None else np.ascontiguousarray(weights, np.float32)
        self._values = np.zeros(max(1, len(rules.feature_names)), np.float32)
        self._settings, self._table = _as_record(self.settings)
        self._run = game.kernel(run_factory(evaluator), checked)
        self._gather = game.kernel(gather_factory(evaluator), checked)
        self._scatter = game.kernel(scatter, checked)
        self._never = np.zeros(1, np.uint8)

    def begin(self, slot: int, state: Any, rng: Rng) -> None:
        """Forget a tree and start one at `state`, drawing from `rng` (copied)."""
        if self.game.is_terminal(state):
            raise UserError(f"expected an unfinished game of {self.game.name}, got a finished one")
        self.roots[slot] = state
        self.tree.clear(slot, rng)
        self.lanes["waiting"][slot * self._leaves : (slot + 1) * self._leaves] = 0

    def advance(self, slot: int, action: int) -> bool:
        """Play a legal action (of a player or of chance) at the root and keep its subtree; False where there was none to keep.

        The tree is then empty, and its random stream goes on.
        """
        if self.tree.slots[slot].waiting:
            raise UserError("advance: expected no leaf under evaluation in this tree")
        after = self.game.result(self.roots[slot], action)
        kept = self.tree.advance(action, slot)
        if not kept:
            self.tree.clear(slot, self.tree.slots[slot].rng.copy())
        self.roots[slot] = after
        return kept

    def add(self, simulations: int, slot: int | None = None) -> None:
        """So many simulations more, in one tree or in all."""
        which = slice(None) if slot is None else slice(slot, slot + 1)
        slots = self.tree.slots[which]
        slots["target"] = slots["simulations"] + simulations

    def is_done(self, slot: int = 0) -> bool:
        """Nothing left to do in a tree: its simulations are made, or its root is proven."""
        about = self.tree.slots[slot]
        is_proven = bool(self.settings.solve and about.nodes and self.tree.root(slot).proven)
        return is_proven or bool(about.simulations >= about.target)

    # ── the two drivers ──

    def run(self, simulations: int | None = None, stop: np.ndarray[Any, np.dtype[np.uint8]] | None = None) -> int:
        """All simulations that were added (and so many more), in compiled code without the GIL; how many were made.

        Setting stop[0] from another thread ends it after the simulation under way; a tree whose root is proven ends early.
        """
        if simulations is not None:
            self.add(simulations)
        about = self.tree.slots
        before = int(about["simulations"].sum())
        self._run(
            about,
            self.tree.nodes,
            self.tree.edges,
            self.roots,
            self.lanes,
            self._states,
            self._actions,
            self._settings,
            self._table,
            self._weights,
            self._values,
            self._never if stop is None else stop,
        )
        return int(about["simulations"].sum()) - before

    def step(self, evaluator: BatchEvaluator) -> int:
        """One batch: walk to a leaf in every tree that is not done, have them evaluated, back up. How many leaves; 0: all done.

        Leaves that need no evaluator are backed up on the way, and the walk begins again.
        """
        tree = self.tree
        self.cache.belongs_to(evaluator)
        leaves = self._gather(
            tree.slots,
            tree.nodes,
            tree.edges,
            self.roots,
            self.lanes,
            self._states,
            self._actions,
            self._settings,
            self._table,
            self._weights,
            self._values,
            self.observations,
            self._leaves,
            self.cache.entries,
            self.cache.counts,
            self._turned,
        )
        if leaves:
            logits, utilities = self._answer(evaluator)
            self._scatter(
                tree.slots,
                tree.nodes,
                tree.edges,
                self.lanes,
                self._settings,
                logits,
                utilities,
                self.observations,
                self._leaves,
                self.cache.entries,
                self._renamed,
            )
        return int(leaves)

    def _answer(self, evaluator: BatchEvaluator) -> tuple[Floats, Floats]:
        logits, utilities = (np.ascontiguousarray(answer, np.float32) for answer in evaluator(self.observations))
        expected = (len(self.lanes), self.game.actions), (len(self.lanes), self.game.players)
        if (logits.shape, utilities.shape) != expected:
            raise UserError(
                f"evaluator: expected logits {expected[0]} and utilities {expected[1]}, got {logits.shape} and {utilities.shape}"
            )
        waiting = self.lanes["waiting"] == 1
        if not (np.isfinite(logits[waiting]).all() and np.isfinite(utilities[waiting]).all()):
            raise UserError("evaluator: expected finite logits and utilities, got some that are not")
        return logits, utilities


def edges_per_node(settings: Settings, rules: Rules) -> int:
    """Enough in practice: UCB1 expands a node at its second visit (5 edges for each node in go 9×9), PUCT at the first."""
    return rules.max_legal if settings.rule == "puct" else min(rules.max_legal, 16)


def _as_record(settings: Settings) -> tuple[Any, Any]:
    record = np.zeros(1, SETTINGS)[0]
    record.rule = UCB1 if settings.rule == "ucb1" else PUCT
    record.c = settings.c if settings.rule == "ucb1" else settings.c_init
    record.c_base, record.fpu, record.solve = settings.c_base, settings.fpu, settings.solve
    record.glance = settings.glance and settings.solve and settings.rule == "puct"
    record.rollout, record.rollout_plies = settings.rollout, settings.rollout_plies
    rule, c, c_base = int(record.rule), float(record.c), float(record.c_base)
    table = [exploration(rule, c, c_base, max(visits, 1)) for visits in range(_TABLE)]
    return record, np.array(table)


# ── kernels ──


@cache
def run_factory(evaluator: EvaluatorFactory) -> Callable[[Rules], Callable[..., None]]:
    def run(rules: Rules) -> Callable[..., None]:
        phase = phases(rules, evaluator)
        select, expand, is_settled, backup = phase.select, phase.expand, phase.is_settled, phase.backup
        rollout, estimate = phase.rollout, phase.estimate

        def run(
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
            stop: Any,
        ) -> None:
            lane, state, spare, share = lanes[0], states[0], states[len(lanes) :], settings.rollout
            for s in range(len(slots)):
                slot, tree, links = slots[s], nodes[s], edges[s]
                while slot.simulations < slot.target and stop[0] == 0:
                    if settings.solve and slot.nodes > 0 and tree[ROOT].proven:
                        break
                    states[0] = roots[s]
                    select(slot, tree, links, lane, state, actions, settings, table, spare)
                    if not is_settled(slot, tree, lane, state, actions):
                        if settings.rule != UCB1 and lane.leaf != NONE and tree[lane.leaf].count == 0:
                            expand(slot, links, tree[lane.leaf], state, actions)
                        if share < 1.0:
                            estimate(lane, state, 1.0 - share, weights, values)
                        if share > 0.0:
                            rollout(slot, lane, state, actions, settings, weights, values)
                    backup(tree, links, lane, settings)
                    slot.simulations += 1

        return run

    return run
