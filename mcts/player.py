"""A player that searches with a network, or plays its policy as it is. It answers with a `games.choice.Choice`.

>>> player = LearnedPlayer(game, evaluator, simulations=200)
>>> choice = player.choose(state)
>>> player.advance(choice.action)        # and the opponent's: what was searched below is kept for the next move

Limits: so many new simulations a move (0: the raw policy, no search), or milliseconds, or whichever comes first. For one position that
is to be searched fast, `leaves=8` or more of its tree are judged at a time, each counting as a visit that lost until its answer comes
(virtual loss); the evaluator gets batches of exactly that many. No noise, no temperature: the same seed gives the same game, except
by the clock.
"""

from __future__ import annotations

import time
from typing import Any

from base.errors import UserError
from base.seeds import generator
from games import Game
from games.choice import Choice
from mcts.learned import LearnedSearch, LearnedSettings
from mcts.reuse import MOST, TreePlayer, check_ms, room
from mcts.root import candidates, principal_variation
from mcts.search import BatchEvaluator

_EDGES_PER_NODE = 48  # of large trees: 7 in connect four, about 35 in chess


class LearnedPlayer(TreePlayer):
    """One player of one game."""

    search: LearnedSearch

    def __init__(
        self,
        game: Game,
        evaluator: BatchEvaluator,
        how: LearnedSettings | None = None,
        *,
        simulations: int | None = None,
        ms: float | None = None,
        leaves: int = 1,
        reuse: bool = True,
        symmetry: bool = False,
        memory_mb: int = 512,
        cache_mb: float = 64,
        seed: int = 0,
    ) -> None:
        """`evaluator` takes batches of `leaves` observations. Memory is what trees and cache may grow to."""
        how = how or LearnedSettings()
        if simulations is None and ms is None:
            raise UserError("net: expected a limit, sims or ms, got none")
        if simulations is not None and not 0 <= simulations <= MOST:
            raise UserError(f"sims: expected 0 (the raw policy) to {MOST}, got {simulations}")
        check_ms(ms)
        if ms is not None and (how.method == "gumbel" or simulations == 0):
            what = "method 'gumbel', which shares out a known number" if how.method == "gumbel" else "sims=0"
            raise UserError(f"ms: expected a limit in sims alone with {what}, got {ms}")
        self.evaluator = evaluator
        self.simulations, self.ms, self.seed = simulations, ms, seed
        each = min(game.rules.max_legal, _EDGES_PER_NODE)
        nodes = room(game, memory_mb, each)
        search = LearnedSearch(
            game, how, nodes=nodes, edges=nodes * each, leaves=leaves, cache_mb=cache_mb, symmetry=symmetry
        )
        super().__init__(game, search, reuse)
        self._leaves = leaves

    def prepare(self) -> None:
        """Compile, and have the evaluator warm up: no move is charged for it."""
        self.search.begin(0, self.game.initial(), generator(self.seed, "net"))
        self.search.start(0, 1)
        self.search.step(self.evaluator)
        self.search.cache.clear()
        self.new_game()

    def new_game(self) -> None:
        super().new_game()
        if self._leaves > 1:
            self.search.cache.clear()  # only with one leaf at a time a search is the same whatever it holds

    def choose(self, state: Any) -> Choice:
        """Search, and the move to play."""
        start = time.perf_counter()
        follows = self._follows_to(state)
        search, tree = self.search, self.search.tree
        self._follows = self._has_root = False  # unless the search comes to its end
        if not follows:
            search.begin(0, state, generator(self.seed, "net"))
        kept = int(tree.root().visits) if tree.slots[0].nodes else 0
        asked, hits = search.cache.counts
        self._simulate(start)
        self._has_root = True
        root, edges = tree.root(), search.ranked()
        actions = candidates(tree, root, edges, with_priors=True)
        mean = float(search.utilities()[root.mover])
        nodes, links = tree.used()
        return Choice(
            action=actions[0].action,
            value=mean if actions[0].value is None else actions[0].value,
            proven=bool(root.proven),
            pv=principal_variation(tree, worst=search.worst, first=edges[0]) or (actions[0].action,),
            depth=int(tree.slots[0].depth),
            nodes=int(tree.slots[0].simulations),
            seconds=time.perf_counter() - start,
            actions=actions,
            counters={
                "visits kept": kept,
                "tree nodes": nodes,
                "tree edges": links,
                "expansions refused": int(tree.slots[0].refused),
                "cache lookups": int(search.cache.counts[0] - asked),
                "cache hits": int(search.cache.counts[1] - hits),
            },
        )

    def _simulate(self, start: float) -> None:
        search, about = self.search, self.search.tree.slots[0]
        if self.ms is None:
            search.start(0, self.simulations or 1)
            while search.step(self.evaluator):
                pass
            return
        kept = int(search.tree.root().visits) if about.nodes else 0
        deadline, most = start + self.ms / 1000, min(self.simulations or MOST, MOST - kept)
        chunk = 64 + 8 * self._leaves  # what needs no evaluator must not keep a step from the clock
        search.start(0, 1)
        while True:
            before = time.perf_counter()
            search.step(self.evaluator)
            now = time.perf_counter()
            made = int(about.simulations)
            if made >= most or search.tree.root().proven or now + (now - before) > deadline:
                return
            search.add(min(chunk, most - made), 0)
