"""A search over many trees side by side, driven in one of two ways over the same four phases (`mcts/phases.py`).

>>> search = Search(load("connect_four"), UCB1(), slots=64)
>>> for slot in range(64):
...     search.begin(slot, game.initial(), generator(seed, "game", slot))
...     search.start(slot, 800)
>>> search.run()                         # inside compiled code: rollouts, EVAL, a compiled network

>>> search = Search(game, PUCT(), slots=64)
>>> ...
>>> while search.step(evaluator):        # one batch of leaves at a time, for an evaluator that answers in batches
...     pass

What a searched root gives: `target` to learn, `choose` to play; `advance` plays an action and keeps its subtree.

**What is deterministic.** A slot's tree, target and choice are a function of the evaluator, the settings, the state and the random
stream given to `begin`, and of the calls made for this slot since; never of its neighbours, of the number of slots, or of the cache.
That holds as long as the answer to an observation depends on that observation alone (fixed batch size) and `leaves` is 1. With one
leaf per tree and step, a batched evaluator and a compiled one that give the same answers give the same tree, bit for bit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np

from base.errors import UserError
from base.seeds import Rng, generator
from base.spinlock import new_lock
from games import Game, Rules
from mcts.batches import gather_factory, scatter_factory
from mcts.cache import EvaluationCache
from mcts.leaves import Memory, views
from mcts.moves import moves
from mcts.phases import EvaluatorFactory, Work, lane_dtype, uniform_evaluator
from mcts.root import ReadEdge, ranked
from mcts.settings import SearchSettings
from mcts.simulation import Network, run_factory, sharing_factory
from mcts.tree import Tree
from mcts.types import GameState, Weights
from mcts.variant import Variant, factors, settings_class, variant_of

Floats = np.ndarray[Any, np.dtype[np.float32]]


class BatchEvaluator(Protocol):
    """A network, or anything that stands for one.

    observations [B, channels, rows, columns], each from its mover's side, always the same B (rows without a leaf are zero)
    -> policy logits [B, A] over the mover's view of the action ids, utilities [B, P] in relative order: 0 = mover, 1 = the next player.
    """

    def __call__(self, observations: Floats, /) -> tuple[Floats, Floats]: ...


class CompiledNetwork(Protocol):
    """A network that runs inside compiled code."""

    @property
    def address(self) -> int:
        """Of compiled code (`base/native.py`): (weights, scratch, observation, logits, utilities) fills the last two for one
        position."""

    @property
    def weights(self) -> Any: ...

    def scratch(self) -> Any:
        """Memory for one thread."""


def is_compiled(network: object) -> bool:
    """Whether it is a `CompiledNetwork`, not a `BatchEvaluator`."""
    return hasattr(network, "address")


@dataclass(frozen=True)
class Target:
    """What there is to learn from a searched root. k legal actions, ascending."""

    actions: np.ndarray[Any, np.dtype[np.int32]]
    """[k]"""
    visits: np.ndarray[Any, np.dtype[np.int64]]
    """[k]: as searched, forced ones included."""
    probabilities: np.ndarray[Any, np.dtype[np.float32]]
    """[k]: the distribution to learn."""
    utilities: np.ndarray[Any, np.dtype[np.float64]]
    """[P]: the root's, absolute: component p is player p's. The mean of its simulations, exact where proven."""
    proven: bool


class Search:
    """Trees over one game, searched by the variant that the settings are for (UCB1 by default)."""

    def __init__(
        self,
        game: Game,
        settings: SearchSettings | None = None,
        *,
        slots: int = 1,
        nodes: int = 100_000,
        edges: int = 0,
        leaves: int = 1,
        evaluator: EvaluatorFactory = uniform_evaluator,
        weights: Weights | None = None,
        network: CompiledNetwork | None = None,
        cache_mb: float = 0,
        symmetry: bool = False,
        threads: int = 1,
        checked: bool = False,
    ) -> None:
        """`nodes` and `edges` are each tree's memory, the subtree kept from move to move included (`edges` 0: see `edges_per_node`).

        For `run`: `evaluator(rules)` gives the plain function that estimates positions, `weights` are its; or a compiled `network`. Of
        one tree several `threads` may make the simulations: more of them in the same time, but never the same ones twice.
        For `step`: `leaves` is how many leaves of one tree a batch may hold. For networks: `cache_mb` keeps evaluations
        (`mcts/cache.py`); with `symmetry` positions are shown turned (`mcts/leaves.py`)."""
        if leaves < 1:
            raise UserError(f"leaves: expected 1 or more per tree and step, got {leaves}")
        if threads < 1 or (threads > 1 and slots > 1):
            raise UserError(f"threads: expected 1, or more with 1 slot, got {threads} with {slots} slots")
        game.must_be_open("tree search")
        rules = game.rules
        self.game = game
        self.settings = (settings or settings_class("ucb1")()).resolved(game)
        self.variant = variant_of(self.settings)
        edges = edges or max(nodes * edges_per_node(self.variant, rules), rules.max_legal)
        self.tree = Tree(game, self.variant, slots, nodes, edges)
        self.roots = self.tree.roots
        self.cache = EvaluationCache(game, cache_mb)
        self.worst = float(min(rules.values, default=-1.0))
        self.record = self.settings.record()
        self.table = factors(self.variant, self.record)
        self.views = views(game, symmetry)
        self.work = scratch_arrays(game, slots * leaves)
        self.weights = np.zeros(0, np.float32) if weights is None else np.ascontiguousarray(weights, np.float32)
        self._networks = [network_arrays(game, network) for _ in range(threads)]
        self._leaves = leaves
        self._targets = np.zeros(rules.max_legal, np.float64)
        self._never = np.zeros(1, np.uint8)
        self._moves = {name: game.kernel(factory, checked) for name, factory in move_factories(self.variant).items()}
        self._helpers = [scratch_arrays(game, 1) for _ in range(threads - 1)]
        self._lock = new_lock()
        factory = run_factory if threads == 1 else sharing_factory
        self._run = game.kernel(factory(self.variant, evaluator, network is not None), checked)
        self._gather = game.kernel(gather_factory(self.variant, evaluator), checked)
        self._scatter = game.kernel(scatter_factory(self.variant), checked)

    def use(self, network: CompiledNetwork) -> None:
        """Another network for `run`."""
        self._networks = [network_arrays(self.game, network) for _ in self._networks]
        self.cache.clear()

    @property
    def network(self) -> Network:
        """As kernels take it."""
        return self._networks[0]

    # ── the steps between searches ──

    def begin(self, slot: int, state: GameState, rng: Rng) -> None:
        """Forget a tree and start one at `state`, drawing from `rng` (copied). Then `start`."""
        if self.game.is_terminal(state):
            raise UserError(f"expected an unfinished game of {self.game.name}, got a finished one")
        self.roots[slot] = state
        self.tree.clear(slot, rng)
        self._forget_lanes(slot)

    def _forget_lanes(self, slot: int) -> None:
        """Nothing is under evaluation in this tree."""
        self.work.lanes["waiting"][slot * self._leaves : (slot + 1) * self._leaves] = 0

    def start(self, slot: int, simulations: int, explore: bool = False) -> None:
        """So many new simulations from the root; to `explore` means noise, forced visits and the rest that self-play needs.

        What is random at the root is drawn once per root: searching on from the same one keeps it. Where the variant keeps no tree,
        every search begins anew.
        """
        if simulations < 1:
            raise UserError(f"simulations: expected 1 or more, got {simulations}")
        if not self.variant.keeps_tree:
            self._forget_lanes(slot)
        self._moves["start"](self.tree.slots[slot], simulations, explore)

    def advance(self, slot: int, action: int) -> bool:
        """Play a legal action (of a player or of chance) at the root and keep its subtree; False where there was none to keep.

        The tree is then empty, and its random stream continues.
        """
        tree = self.tree
        if tree.slots[slot].waiting:
            raise UserError("advance: expected no leaf under evaluation in this tree")
        self.game.result(self.roots[slot], action)  # refuses what is not legal
        return bool(
            self._moves["advance"](
                tree.slots[slot], tree.nodes[slot], tree.edges[slot], self.roots[slot], action, tree.arrays.marks
            )
        )

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
        before = int(self.tree.slots["simulations"].sum())
        stop = self._never if stop is None else stop
        if self._helpers:
            self._run_shared(stop)
        else:
            self._run(*self._arguments(self.work, self.network), stop)
        return int(self.tree.slots["simulations"].sum()) - before

    def _arguments(self, work: Work, network: Network) -> tuple[Any, ...]:
        tree = self.tree.arrays
        return tree, work, self.memory, self.views, self.record, self.table, self.weights, network

    def _run_shared(self, stop: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
        """By several threads, which have streams of their own for random games."""
        seed, calls = int(self.tree.slots[0].rng[0]), []
        for number, work in enumerate((self.work, *self._helpers)):
            rng = generator(seed, "thread", number)
            calls.append((*self._arguments(work, self._networks[number]), stop, rng, self._lock))
        threads = [threading.Thread(target=self._run, args=arguments, daemon=True) for arguments in calls[1:]]
        for thread in threads:
            thread.start()
        self._run(*calls[0])
        for thread in threads:
            thread.join()

    def step(self, evaluator: BatchEvaluator) -> int:
        """One batch: walk to a leaf in every tree that is not done, have them evaluated, back up. How many leaves; 0: all done.

        Leaves that need no evaluator are backed up on the way, and the walk begins again.
        """
        self.cache.belongs_to(evaluator)
        common = self.tree.arrays, self.work, self.memory, self.views, self.record
        found = int(self._gather(*common, self.table, self.weights, self._leaves))
        if found:
            self._scatter(*common, *self._answer(evaluator), self._leaves)
        return found

    @property
    def memory(self) -> Memory:
        return Memory(self.cache.entries, self.cache.counts)

    def _answer(self, evaluator: BatchEvaluator) -> tuple[Floats, Floats]:
        lanes = self.work.lanes
        answers = evaluator(self.work.observations[: len(lanes)])
        logits, utilities = (np.ascontiguousarray(answer, np.float32) for answer in answers)
        expected = (len(lanes), self.game.actions), (len(lanes), self.game.players)
        if (logits.shape, utilities.shape) != expected:
            raise UserError(
                f"evaluator: expected logits {expected[0]} and utilities {expected[1]}, got {logits.shape} and {utilities.shape}"
            )
        waiting = lanes["waiting"] == 1
        if not (np.isfinite(logits[waiting]).all() and np.isfinite(utilities[waiting]).all()):
            raise UserError("evaluator: expected finite logits and utilities, got some that are not")
        return logits, utilities

    # ── what a searched root gives ──

    def best(self, slot: int = 0) -> Any:
        """The root's edge to play. Before any was walked: the likeliest."""
        return self.tree.edges[slot, self._sample(slot, 0.0)]

    def choose(self, slot: int, temperature: float = 0.0) -> int:
        """The action to play: the best one, or drawn from the target sharpened to p^(1/temperature) by the tree's own stream."""
        if temperature > 0.0:
            self._weigh(slot)
        return int(self.tree.edges[slot, self._sample(slot, temperature)].action)

    def ranked(self, slot: int = 0) -> list[ReadEdge]:
        """The root's edges: the one to play, then the others by visits."""
        first = int(self.best(slot).action)
        edges = ranked(self.tree, self.tree.root(slot), slot, self.worst)
        return sorted(edges, key=lambda edge: edge.action != first)

    def utilities(self, slot: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
        """[P]: the root's, absolute."""
        root = self.tree.root(slot)
        return np.array(root.utility if root.proven else root.sums / max(int(root.visits), 1), np.float64)

    def target(self, slot: int = 0) -> Target:
        """What there is to learn from the root, once it has been searched."""
        root, edges = self.tree.root(slot), self.tree.children(self.tree.root(slot), slot)
        if self.tree.slots[slot].nodes == 0 or root.count == 0 or root.mover < 0:
            raise UserError("target: expected a root that has been searched and where a player is to move, got none")
        self._weigh(slot)
        order = np.argsort(edges["action"])
        return Target(
            edges["action"][order].astype(np.int32),
            edges["visits"][order].astype(np.int64),
            self._targets[: len(edges)][order].astype(np.float32),
            self.utilities(slot),
            bool(root.proven),
        )

    def _weigh(self, slot: int) -> None:
        tree = self.tree
        arrays = tree.slots[slot], tree.nodes[slot], tree.edges[slot]
        self._moves["target"](*arrays, self.record, self.table, self._targets)

    def _sample(self, slot: int, temperature: float) -> int:
        tree = self.tree
        arrays = tree.slots[slot], tree.nodes[slot], tree.edges[slot]
        return int(self._moves["sample"](*arrays, self.record, self._targets, float(temperature)))


def scratch_arrays(game: Game, lanes: int) -> Work:
    rules = game.rules
    return Work(
        np.zeros(lanes, lane_dtype(rules)),
        game.blanks(lanes + 1),
        np.zeros(rules.max_legal, np.int32),
        np.zeros(max(1, len(rules.feature_names)), np.float32),
        np.zeros((lanes + 1, *rules.observation), np.float32),
    )


def edges_per_node(variant: Variant, rules: Rules) -> int:
    """Enough in practice: with a policy a node is expanded at its first visit, else at its second (5 edges for each node in go 9×9)."""
    return rules.max_legal if variant.has_policy else min(rules.max_legal, 16)


def network_arrays(game: Game, network: CompiledNetwork | None) -> Network:
    logits, utilities = np.zeros(game.actions, np.float32), np.zeros(game.players, np.float32)
    if network is None:
        return Network(0, np.zeros(0, np.float32), np.zeros(0, np.float32), logits, utilities)
    return Network(network.address, network.weights, network.scratch(), logits, utilities)


# ── kernels ──


@cache
def move_factories(variant: Variant) -> dict[str, Callable[[Rules], Callable[..., Any]]]:
    """Factories of the functions of `mcts/moves.py`, to be called from Python one at a time."""

    def factory(name: str) -> Callable[[Rules], Callable[..., Any]]:
        def make(rules: Rules) -> Callable[..., Any]:
            found: Callable[..., Any] = getattr(moves(rules, variant), name)
            return found

        return make

    return {name: factory(name) for name in ("target", "sample", "start", "advance")}
