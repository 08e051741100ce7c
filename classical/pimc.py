"""Perfect-information Monte Carlo: hidden information searched as if it were not hidden, in one world after the other.

    search = PIMC(load("kuhn_poker"), worlds=20, depth=8)
    search.choose(view)

Each world fits what the mover has noticed (chance by its probabilities, the others' past actions uniformly). A search that sees
everything values all actions in it: alpha-beta for two players and zero sum without chance, else max^n. The action of the greatest mean
is played, always: it is a mixture only where several are equal. It wins many card games and is wrong in principle, since it expects to
see in every world what to do there: it never pays for information, and hides none.

Levy, "The million pound bridge program" (1989); Ginsberg (2001); Long, Sturtevant, Buro and Furtak, "Understanding the success of
perfect information Monte Carlo sampling in game tree search" (2010).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

from base.errors import UserError
from base.seeds import below, derive, generator
from classical.alphabeta import AlphaBeta, AlphaBetaSettings
from classical.eval import Eval
from classical.maxn import MaxN
from games import CHANCE, Game
from games.choice import Candidate, Choice
from games.types import GameState

NEAR = 1e-9


class PIMC:
    """A search of one game. Its strategy in a view depends on the view and the seed alone."""

    def __init__(self, game: Game, worlds: int, depth: int, eval: Eval | None = None, seed: int = 0) -> None:
        if not game.hides_information:
            raise UserError(f"pimc: expected a game that hides information, got {game.name}")
        if worlds < 1:
            raise UserError(f"worlds: expected 1 or more, got {worlds}")
        self.game, self.worlds, self.seed = game, worlds, seed
        self._search: Callable[[GameState], Choice]
        self._forget: Callable[[], None] = lambda: None
        if game.players == 2 and game.rules.zero_sum and game.rules.chance is None:
            search = AlphaBeta(game.opened, AlphaBetaSettings(depth=depth, multipv="all"), eval)
            self._search, self._forget = search.choose, search.new_game
        else:
            self._search = MaxN(game.opened, depth, eval).choose
        self.new_game()

    def new_game(self) -> None:
        self.rng = generator(self.seed, "pimc player")

    def policy(self, view: GameState) -> dict[int, float]:
        """The probability of each action: equal for those of the greatest mean."""
        means, _ = self._valued(view)
        best = max(means.values())
        chosen = [action for action, value in means.items() if value >= best - NEAR]
        return {action: (action in chosen) / len(chosen) for action in means}

    def choose(self, view: GameState) -> Choice:
        """An action of the greatest mean value, any of equal ones."""
        start = time.perf_counter()
        means, nodes = self._valued(view)
        ranked = sorted(means, key=lambda action: -means[action])
        best = [action for action in ranked if means[action] >= means[ranked[0]] - NEAR]
        action = best[below(self.rng, len(best))]
        candidates = tuple(Candidate(each, value=means[each], prior=(each in best) / len(best)) for each in ranked)
        seconds = time.perf_counter() - start
        return Choice(action, means[action], pv=(action,), nodes=nodes, seconds=seconds, actions=candidates)

    def _valued(self, view: GameState) -> tuple[dict[int, float], int]:
        """The mean value of each action for the mover over the worlds, and the positions searched."""
        mover = self.game.to_move(view)
        if mover is None or mover == CHANCE:
            raise UserError(f"pimc: expected a view of {self.game.name} with a move to choose, got none")
        sums, nodes = dict.fromkeys(self.game.legal_actions(view), 0.0), 0
        if len(sums) == 1:
            return sums, 0
        rng = generator(derive(self.seed, "pimc", int(view.information[mover])), "worlds")
        self._forget()
        for world in itertools.islice(self.game.worlds(view, mover, rng), self.worlds):
            found = self._search(world)
            nodes += found.nodes
            for each in found.actions:
                sums[each.action] += each.value or 0.0
        return {action: total / self.worlds for action, total in sums.items()}, nodes
