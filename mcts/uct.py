"""Monte Carlo tree search with random games: UCT as a player who answers with a `games.choice.Choice`.

>>> player = UCT(load("connect_four"), simulations=10_000, seed=1)
>>> choice = player.choose(state)
>>> player.advance(choice.action)        # and the opponent's: what was searched below is kept for the next move

For any number of players, chance and general sums. A leaf is worth the outcome z of a random game, the word v of an evaluator such as
a linear EVAL, or (1-λ) v + λ z (`Settings.rollout` is λ; 1 and 0 leave the other out). The same seed gives the same search, except by
the clock. Kocsis and Szepesvári 2006 (UCT); Winands, Björnsson and Saito 2008 (proofs).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from base.errors import UserError
from base.seeds import generator
from base.threads import interruptible
from games import Game
from games.choice import Choice
from mcts.phases import EvaluatorFactory, uniform_evaluator
from mcts.reuse import MOST, TreePlayer, check_ms, room
from mcts.root import candidates, principal_variation, ranked
from mcts.search import Search, Settings, edges_per_node
from mcts.tree import ROOT

_EDGES_PER_NODE = 4  # of large UCB1 trees: 2 in connect four and othello, 5 in go 9×9, at 100,000 simulations


class UCT(TreePlayer):
    """One player of one game. Limits: so many new simulations a move, or milliseconds, or whichever comes first."""

    def __init__(
        self,
        game: Game,
        settings: Settings | None = None,
        *,
        simulations: int | None = None,
        ms: float | None = None,
        evaluator: EvaluatorFactory = uniform_evaluator,
        weights: Any = None,
        reuse: bool = True,
        memory_mb: int = 512,
        seed: int = 0,
    ) -> None:
        """`evaluator(rules)` gives evaluate(state, player, weights, values) for the leaves; see `mcts/phases.py`."""
        if simulations is None and ms is None:
            raise UserError("uct: expected a limit, simulations or ms, got none")
        if simulations is not None and not 1 <= simulations <= MOST:
            raise UserError(f"simulations: expected 1 to {MOST}, got {simulations}")
        check_ms(ms)
        self.settings = settings or Settings()
        self.simulations, self.ms, self.seed = simulations, ms, seed
        each = edges_per_node(self.settings, game.rules)
        if self.settings.rule == "ucb1":
            each = min(each, _EDGES_PER_NODE)
        nodes = room(game, memory_mb, each)
        search = Search(game, self.settings, nodes=nodes, edges=nodes * each, evaluator=evaluator, weights=weights)
        super().__init__(game, search, reuse)
        self.search.run(0)  # compiles: no move is charged for it
        self._worst = min(game.rules.values, default=-1.0)

    def choose(self, state: Any) -> Choice:
        """Search, and the move to play. There is always one: at the least a few simulations are made."""
        start = time.perf_counter()
        follows = self._follows_to(state)
        search, tree = self.search, self.search.tree
        about = tree.slots[0]
        if follows:
            about.simulations = about.target = about.depth = about.refused = 0
        else:
            search.begin(0, state, generator(self.seed, "uct"))
        self._follows, self._has_root = False, True
        kept = int(tree.root().visits) if about.nodes else 0
        self._simulate()
        root = tree.root()
        edges = ranked(tree, root, worst=self._worst)
        actions = candidates(tree, root, edges, with_priors=self.settings.rule == "puct")
        nodes, links = tree.used()
        return Choice(
            action=actions[0].action,
            value=actions[0].value or 0.0,
            proven=bool(root.proven),
            pv=principal_variation(tree, worst=self._worst),
            depth=int(about.depth),
            nodes=int(about.simulations),
            seconds=time.perf_counter() - start,
            actions=actions,
            counters={
                "visits kept": kept,
                "tree nodes": nodes,
                "tree edges": links,
                "expansions refused": int(about.refused),
            },
        )

    def _simulate(self) -> None:
        search, about = self.search, self.search.tree.slots[0]
        stop = np.zeros(1, np.uint8)
        room = MOST - (int(search.tree.root().visits) if about.nodes else 0)
        most = min(self.simulations or MOST, room)
        deadline = np.inf if self.ms is None else time.perf_counter() + self.ms / 1000
        interruptible(lambda: search.run(most, stop), lambda: stop.fill(1), deadline)
        about.target = about.simulations
        while search.tree.nodes[0, ROOT].count == 0 or not search.tree.children(search.tree.root())["visits"].any():
            search.run(1)  # the clock was faster
