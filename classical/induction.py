"""Backward induction over every reachable position: any number of players, any payoffs, with or without chance.

>>> from games import load
>>> game = load("tree:three_players.json")
>>> Induction(game).utilities(game.initial())
(0.125, 0.25, 0.75)

The definition itself (max^n of Luckhardt and Irani 1986, expectation where chance moves), each position valued once. The mover takes
the action of its highest utility, the first listed of equal ones: with more than two players, or payoffs that do not sum to zero, the
others' utilities can depend on that. For small games: it is plain Python, without pruning.
"""

from __future__ import annotations

from base.errors import UserError
from games import CHANCE, Game
from games.types import GameState

EQUAL = 1e-12  # rounding error of a sum of probabilities times utilities


class Induction:
    """Values of all positions visited so far, at most `positions`."""

    def __init__(self, game: Game, positions: int = 100_000) -> None:
        self.game, self.positions = game, positions
        self._known: dict[bytes, tuple[float, ...]] = {}

    @property
    def size(self) -> int:
        """Positions valued."""
        return len(self._known)

    def utilities(self, state: GameState) -> tuple[float, ...]:
        """Under best play, one per player."""
        game, known = self.game, self._known
        waiting = [state]  # a position is valued once all its successors are
        while waiting:
            top = waiting[-1]
            key = top.tobytes()
            if key in known:
                waiting.pop()
            elif game.is_terminal(top):
                self._remember(key, game.utility(top))
            else:
                after = {action: game.result(top, action) for action in game.legal_actions(top)}
                unknown = [child for child in after.values() if child.tobytes() not in known]
                if unknown:
                    waiting += unknown
                else:
                    self._remember(key, self._backed_up(top, after))
        return known[state.tobytes()]

    def _backed_up(self, state: GameState, after: dict[int, GameState]) -> tuple[float, ...]:
        game = self.game
        mover = game.to_move(state)
        assert mover is not None
        values = {action: self._known[child.tobytes()] for action, child in after.items()}
        if mover == CHANCE:
            odds = {action: game.chance(state, action) for action in after}
            return tuple(sum(odds[a] * values[a][player] for a in after) for player in range(game.players))
        best = max(value[mover] for value in values.values())
        return next(value for value in values.values() if value[mover] >= best - EQUAL)

    def _remember(self, key: bytes, utilities: tuple[float, ...]) -> None:
        if len(self._known) == self.positions:
            raise UserError(
                f"{self.game.name}: expected a game of at most {self.positions} positions, or one of two players, zero-sum, "
                "without chance and with few declared utilities"
            )
        self._known[key] = utilities
