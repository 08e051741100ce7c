"""A player that searches a tree, with rollouts, an EVAL or a network at the leaves. It answers with a `games.choice.Choice`.

>>> player = TreePlayer(load("connect_four"), UCB1(), simulations=10_000, seed=1)       # UCT
>>> player = TreePlayer(game, PUCT(), network=network, simulations=200)
>>> choice = player.choose(state)
>>> player.advance(choice.action)        # and the opponent's: what was searched below is kept for the next move

Limits: so many new simulations a move (0: the raw policy, no search), or milliseconds, or whichever comes first. A network is compiled
(`address`) or answers in batches; for one position that is to be searched fast, `leaves=8` or more of its tree are then evaluated at a
time, each counting as a visit that lost until its answer comes (virtual loss). No noise, no temperature: the same seed gives the same
game, except by the clock.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from base.errors import UserError
from base.seeds import generator
from base.threads import Stop, interruptible
from games import CHANCE, Game
from games.choice import Choice, Limits, Report
from mcts.phases import EvaluatorFactory, uniform_evaluator
from mcts.root import candidates, is_same, principal_variation, restrict
from mcts.search import BatchEvaluator, CompiledNetwork, Search, is_compiled
from mcts.settings import SearchSettings
from mcts.tree import bytes_per_node
from mcts.types import GameState, Weights
from mcts.variant import settings_class, variant_of

MOST = 2**31 - 2
"""Simulations in one tree: visits are 32 bits."""
EDGES_PER_NODE = {False: 4, True: 48}
"""Of large trees, by whether there is a policy: 2 in connect four and othello, 5 in go 9×9 at 100,000 simulations of UCB1; with
priors, 7 in connect four and about 35 in chess."""


SLICE = 0.1  # seconds of simulations, at most, between two looks at what ends a search
FIRST = 16
"""Simulations of the first of several searches, where the variant needs to have a number."""

Flag = np.ndarray[Any, np.dtype[np.uint8]]


class _Begun(NamedTuple):
    """A search under way."""

    start: float
    kept: int
    """Visits of the root that were there before."""
    cache: np.ndarray[Any, Any]
    """The counts of the cache at its beginning."""


class TreePlayer:
    """One player of one game. `reuse`: what was searched below the moves played is kept."""

    def __init__(
        self,
        game: Game,
        settings: SearchSettings | None = None,
        *,
        simulations: int | None = None,
        ms: float | None = None,
        evaluator: EvaluatorFactory = uniform_evaluator,
        weights: Weights | None = None,
        network: CompiledNetwork | BatchEvaluator | None = None,
        leaves: int = 1,
        reuse: bool = True,
        symmetry: bool = False,
        memory_mb: int = 512,
        cache_mb: float = 64,
        threads: int = 1,
        seed: int = 0,
    ) -> None:
        """`evaluator(rules)` gives the function that estimates leaves (`mcts/phases.py`), `weights` are its; or a `network`, which in
        batches takes `leaves` observations. What is compiled can use several `threads` in one tree (`mcts/simulation.py`). Memory is
        what tree and cache may grow to."""
        settings = settings or settings_class("ucb1")()
        variant = variant_of(settings)
        self.game, self.reuse = game, reuse
        self.simulations, self.ms, self.seed = simulations, ms, seed
        self._kind = "net" if variant.has_policy else "uct"
        """Of the player, in its messages and random streams."""
        self._check_limits(settings, variant.has_policy, variant.keeps_tree)
        each = min(game.rules.max_legal, EDGES_PER_NODE[variant.has_policy])
        nodes = int(memory_mb * 2**20 / bytes_per_node(game, each))
        if nodes * each < 2 * game.rules.max_legal:
            raise UserError(f"memory_mb: expected room for 2 positions of {game.name} at least, got {memory_mb}")
        runs_compiled = network is None or is_compiled(network)
        self._batches: Any = None if runs_compiled else network
        self.search = Search(
            game,
            settings,
            nodes=nodes,
            edges=nodes * each,
            leaves=leaves,
            evaluator=evaluator,
            weights=weights,
            network=network if runs_compiled else None,  # type: ignore[arg-type]
            cache_mb=0 if network is None else cache_mb,
            symmetry=symmetry,
            threads=threads if runs_compiled else 1,
        )
        self._leaves = leaves
        self._follows = False  # the tree's root is the position of the game, and may be searched on
        self._has_root = False

    def _check_limits(self, settings: SearchSettings, has_policy: bool, keeps_tree: bool) -> None:
        if self.simulations is None and self.ms is None:
            raise UserError(f"{self._kind}: expected a limit, sims or ms, got none")
        least = 0 if has_policy else 1
        if self.simulations is not None and not least <= self.simulations <= MOST:
            raise UserError(f"sims: expected {least} to {MOST}, got {self.simulations}")
        if self.ms is None:
            return
        if not 0 < self.ms < 1e9:
            raise UserError(f"ms: expected milliseconds above 0, got {self.ms}")
        if not keeps_tree or self.simulations == 0:
            what = "sims=0" if keeps_tree else f"method '{settings.method}', which shares out a known number"
            raise UserError(f"ms: expected a limit in sims alone with {what}, got {self.ms}")

    def prepare(self) -> None:
        """Compile, and warm the network up: no move is charged for it."""
        state = self.game.initial()
        while self.game.to_move(state) == CHANCE:
            state = self.game.result(state, self.game.legal_actions(state)[0])
        self.search.begin(0, state, generator(self.seed, self._kind))
        self.search.start(0, 2)  # without a policy the second one expands the root
        self._until_done(None)
        self.search.advance(0, self.search.choose(0))
        self.search.cache.clear()
        self.new_game()

    def new_game(self) -> None:
        """Forget the game so far."""
        self._follows = self._has_root = False
        if self._leaves > 1:
            self.search.cache.clear()  # with several leaves at a time a search depends on what the cache holds

    def advance(self, action: int) -> None:
        """A move (or roll) has been played in the game whose position was searched last: keep what is known of its consequences."""
        if not self._has_root:
            return
        kept = self.search.advance(0, action)
        self._follows = kept and self.reuse
        self._has_root = not self.game.is_terminal(self.search.roots[0])

    def resume(self) -> None:
        """The next search is of the position searched last, and continues there."""
        self._follows = self._has_root and self.search.variant.keeps_tree

    def choose(self, state: GameState) -> Choice:
        """Search, and the move to play."""
        begun = self._begin(state, self._follows)
        self._simulate(begun.start, begun.kept)
        self._has_root = True
        return self._found(begun)

    def analyse(self, state: GameState, limits: Limits, report: Report, stop: Stop) -> Choice:
        """The same under other limits, on this thread, until `stop`; with reports on the way. The tree of a position that was searched
        last is searched on.

        Gumbel's search shares out a known number of simulations. Without one it is repeated with twice as many each time, and the
        last complete one counts."""
        variant = self.search.variant
        if limits.actions and not variant.keeps_tree:
            raise UserError(
                f"method '{self.search.settings.method}': expected a search of all actions, got some of them"
            )
        own = MOST if limits.is_endless or self.simulations is None else self.simulations
        most = 1 if self.simulations == 0 else own if limits.nodes is None else limits.nodes
        begun = self._begin(state, self.reuse and self._has_root and variant.keeps_tree and not limits.actions)
        flag = np.zeros(1, np.uint8)
        with stop.calling(lambda: flag.fill(1)):
            if variant.keeps_tree:
                self._in_slices(begun, min(most, MOST - begun.kept), limits, report, flag)
            else:
                known = most if limits.nodes is not None or not limits.is_endless else None
                return self._by_doubling(begun, known, limits, report, flag)
        self._has_root = not limits.actions
        return self._found(begun, limits.lines)

    # ── inside ──

    def _begin(self, state: GameState, may_follow: bool) -> _Begun:
        """The tree is that of `state`: a new one, unless it may follow what was searched last and has this root."""
        start = time.perf_counter()
        follows = self._is_root(state) and may_follow
        search, tree = self.search, self.search.tree
        self._follows = self._has_root = False  # unless the search comes to its end
        if not follows:
            search.begin(0, state, generator(self.seed, self._kind))
        kept = int(tree.root().visits) if tree.slots[0].nodes else 0
        return _Begun(start, kept, search.cache.counts.copy())

    def _found(self, begun: _Begun, lines: int = 0) -> Choice:
        """What the tree holds now."""
        search, tree = self.search, self.search.tree
        about, root, edges = tree.slots[0], tree.root(), search.ranked()
        actions = candidates(tree, root, edges, with_priors=search.variant.has_policy, lines=lines, worst=search.worst)
        means = tuple(map(float, search.utilities()))
        nodes, links = tree.used()
        counters = {
            "visits kept": begun.kept,
            "tree nodes": nodes,
            "tree edges": links,
            "expansions refused": int(about.refused),
        }
        if len(search.cache.entries):
            lookups, hits, _ = search.cache.counts - begun.cache
            counters |= {"cache lookups": int(lookups), "cache hits": int(hits)}
        return Choice(
            action=actions[0].action,
            value=means[root.mover] if actions[0].value is None else actions[0].value,
            proven=bool(root.proven),
            pv=principal_variation(tree, worst=search.worst, first=edges[0]) or (actions[0].action,),
            depth=int(about.depth),
            nodes=int(about.simulations),
            seconds=time.perf_counter() - begun.start,
            actions=actions,
            counters=counters,
            utilities=actions[0].utilities or means,
        )

    def _is_root(self, state: GameState) -> bool:
        """Is it the position of the tree's root? A position without a choice is refused."""
        if self.game.is_terminal(state):
            raise UserError(f"expected an unfinished game of {self.game.name}, got a finished one")
        if self.game.to_move(state) == CHANCE:
            raise UserError(
                f"expected a position of {self.game.name} where a player is to move, got a roll of the dice"
            )
        return is_same(state, self.search.roots[0])

    def _in_slices(self, begun: _Begun, most: int, limits: Limits, report: Report, flag: Flag) -> None:
        """Simulations in slices; between two of them the tree stands still, and is read for a report."""
        search, about = self.search, self.search.tree.slots[0]
        search.start(0, 1)
        self._simulate_until(flag, once=True)
        if limits.actions:
            restrict(search.tree, limits.actions)
        began, due, size = time.perf_counter(), time.perf_counter() + limits.every, 1
        while not flag[0] and about.simulations < most and not search.tree.root().proven:
            if limits.depth is not None and about.depth >= limits.depth:
                break
            search.add(min(size, most - int(about.simulations)), 0)
            self._simulate_until(flag)
            now = time.perf_counter()
            rate = int(about.simulations) / max(now - began, 1e-6)
            size = int(min(max(rate * min(limits.every, SLICE), 1), 2 * size + 8))
            if now >= due and self._has_move():
                due = now + limits.every
                report(self._found(begun, limits.lines))
        about.target = about.simulations
        while not self._has_move():
            search.add(1, 0)
            self._simulate_until(np.zeros(1, np.uint8))

    def _by_doubling(self, begun: _Begun, known: int | None, limits: Limits, report: Report, flag: Flag) -> Choice:
        search, about = self.search, self.search.tree.slots[0]
        found, size = None, FIRST if known is None else known
        while True:
            search.start(0, size)
            self._simulate_until(flag)
            if found is not None and about.simulations < size and not search.tree.root().proven:
                return found
            while not self._has_move():
                search.add(1, 0)
                self._simulate_until(np.zeros(1, np.uint8))
            found = self._found(begun, limits.lines)
            is_deep = limits.depth is not None and about.depth >= limits.depth
            if flag[0] or known is not None or is_deep or search.tree.root().proven or 2 * size > MOST:
                return found
            report(found)
            size *= 2

    def _simulate_until(self, flag: Flag, once: bool = False) -> None:
        """All simulations that were added, or those before the flag is set; `once`: regardless of it."""
        if self._batches is None:
            self.search.run(None, None if once else flag)
            return
        while (once or not flag[0]) and self.search.step(self._batches):
            pass

    def _simulate(self, start: float, kept: int) -> None:
        most = min(MOST if self.simulations is None else max(self.simulations, 1), MOST - kept)
        deadline = None if self.ms is None else start + self.ms / 1000
        if self._batches is not None and deadline is not None:
            self._batches_by_the_clock(deadline, most)
            return
        search = self.search
        search.start(0, most)
        self._until_done(deadline)
        search.tree.slots[0].target = search.tree.slots[0].simulations
        while not self._has_move():
            search.run(1)  # the clock was faster

    def _until_done(self, deadline: float | None) -> None:
        search = self.search
        if self._batches is None:
            stop = np.zeros(1, np.uint8)
            interruptible(
                lambda: search.run(None, stop), lambda: stop.fill(1), np.inf if deadline is None else deadline
            )
            return
        while search.step(self._batches):
            pass

    def _has_move(self) -> bool:
        tree = self.search.tree
        if tree.slots[0].nodes == 0 or tree.root().count == 0:
            return False
        return self.search.variant.has_policy or bool(tree.children(tree.root())["visits"].any())

    def _batches_by_the_clock(self, deadline: float, most: int) -> None:
        search, about = self.search, self.search.tree.slots[0]
        chunk = 64 + 8 * self._leaves  # what needs no evaluator must not keep a step from the clock
        search.start(0, 1)
        while True:
            before = time.perf_counter()
            search.step(self._batches)
            now = time.perf_counter()
            made = int(about.simulations)
            if made >= most or search.tree.root().proven or now + (now - before) > deadline:
                return
            search.add(min(chunk, most - made), 0)
