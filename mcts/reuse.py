"""What players share who keep their tree from one move of a game to the next."""

from __future__ import annotations

from typing import Any

from base.errors import UserError
from games import CHANCE, Game
from mcts.root import is_same
from mcts.search import Search
from mcts.tree import bytes_per_node

MOST = 2**31 - 2  # simulations in one tree: visits are 32 bits


def check_ms(ms: float | None) -> None:
    """A limit by the clock, where there is one."""
    if ms is not None and not 0 < ms < 1e9:
        raise UserError(f"ms: expected milliseconds above 0, got {ms}")


def room(game: Game, memory_mb: float, edges: int) -> int:
    """How many nodes, of so many edges each, fit into the memory."""
    nodes = int(memory_mb * 2**20 / bytes_per_node(game, edges))
    if nodes * edges < 2 * game.rules.max_legal:
        raise UserError(f"memory_mb: expected room for 2 positions of {game.name} at least, got {memory_mb}")
    return nodes


class TreePlayer:
    """A player of one game whose search has one tree. `reuse`: what was searched below the moves played is kept."""

    def __init__(self, game: Game, search: Search, reuse: bool) -> None:
        self.game, self.search, self.reuse = game, search, reuse
        search.tree.prepare()
        self._follows = False  # the tree's root is the position of the game, and may be searched on
        self._has_root = False

    def new_game(self) -> None:
        """Forget the game so far."""
        self._follows = self._has_root = False

    def advance(self, action: int) -> None:
        """A move (or roll) has been played in the game whose position was searched last: keep what is known of its consequences."""
        if not self._has_root:
            return
        kept = self.search.advance(0, action)
        self._follows = kept and self.reuse
        self._has_root = not self.game.is_terminal(self.search.roots[0])

    def _follows_to(self, state: Any) -> bool:
        """Is the tree that of `state`, where somebody is to move?"""
        if self.game.is_terminal(state):
            raise UserError(f"expected an unfinished game of {self.game.name}, got a finished one")
        if self.game.to_move(state) == CHANCE:
            raise UserError(
                f"expected a position of {self.game.name} where a player is to move, got a roll of the dice"
            )
        return self._follows and is_same(state, self.search.roots[0])
