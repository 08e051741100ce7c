"""The player `cfr:iterations=N,plus=on`: the average strategy of counterfactual regret minimization (classical/equilibrium/cfr.py).

It solves the whole game before its first move, so it fits small games of hidden information. Moves are drawn from the strategy.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from arena.players import plays_views
from base.seeds import generator, uniform
from classical.equilibrium import CFR, action_values, unfold
from games import Game
from games.choice import Candidate, Choice
from games.types import GameState


class Equilibrium:
    """Draws its moves from a strategy that is computed when it is first needed."""

    def __init__(self, game: Game, iterations: int, plus: bool, seed: int) -> None:
        self.iterations, self.plus, self.seed = iterations, plus, seed
        self.tree = unfold(game)
        self.solver: CFR | None = None
        self.new_game()

    def new_game(self) -> None:
        self.rng = generator(self.seed, "cfr player")

    def prepare(self) -> None:
        if self.solver is None:
            self.solver = CFR(self.tree, self.plus)
            self.solver.run(self.iterations)
            self.average = self.solver.average()
            self.values = action_values(self.tree, self.average)

    def policy(self, state: GameState) -> dict[int, float]:
        self.prepare()
        return self.tree.by_action(self.average, state)

    def choose(self, state: GameState) -> Choice:
        shares = self.policy(state)
        action = drawn(shares, uniform(self.rng))
        values = self.tree.by_action(self.values, state)
        ranked = sorted(shares, key=lambda each: -shares[each])
        actions = tuple(Candidate(each, values[each], prior=shares[each]) for each in ranked)
        return Choice(action, values[action], pv=(action,), actions=actions)


def drawn(shares: dict[int, float], number: float) -> int:
    """The action at a point of [0, 1) of a distribution."""
    actions, sums = list(shares), np.cumsum(list(shares.values()))
    at = int(np.searchsorted(sums, number * sums[-1], side="right"))
    return actions[min(at, len(actions) - 1)]


@plays_views
def player(
    game: Game, /, iterations: Annotated[int, range(1, 2**31 - 1)] = 1000, plus: bool = True, seed: int = 0
) -> Any:
    """an equilibrium by counterfactual regret minimization, CFR+ or (plus=off) CFR; small games that hide information"""
    return Equilibrium(game, iterations, plus, seed)
