"""The moves of a game with their variations: a tree of positions, of which one is shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from base.errors import UserError
from games import CHANCE, Game
from games.formats.words import written
from games.types import GameState

MOST = 20_000  # positions of one table


class Score(NamedTuple):
    """Of one action."""

    value: float
    error: float
    """Twice the standard error, where simulations make the value."""


@dataclass
class Node:
    """A position, and what is known of it."""

    number: int
    parent: Node | None
    action: int | None
    """The one that leads there."""
    name: str
    """Of that action, as people read it."""
    state: GameState
    ply: int
    mover: int | None
    children: list[Node] = field(default_factory=list)
    chosen: Node | None = None
    """The child visited last: the line continues there."""
    utilities: tuple[float, ...] | None = None
    """Every player's, as a search expects them."""
    error: float = 0.0
    """Of these, by the search's own count."""
    scores: dict[int, Score] = field(default_factory=dict)
    """For the mover, of the actions that the same search compared."""
    exact: tuple[float, ...] | None = None
    """Every player's, from the solver."""
    unsolved: bool = False
    """The solver's limit was too small."""
    target: dict[int, float] | None = None
    """The policy that was learned from this position."""
    is_taken_back: bool = False
    """Its move was taken back: what is played instead is the main line."""
    hints: int = 0
    """How often a hint was looked at."""
    ending: str = ""
    outcome: tuple[float, ...] | None = None
    noticed: tuple[str, ...] = ()
    """What each player noticed of that action, by name, where the game hides information; empty: nothing."""

    @property
    def is_choice(self) -> bool:
        """A player is to move, not chance, and the game is not over."""
        return self.outcome is None and self.mover is not None and self.mover != CHANCE


class Tree:
    """Nodes by number; `root` is the first position."""

    def __init__(self, game: Game, start: GameState | None = None) -> None:
        self.game = game
        self.has_own_start = start is not None
        state = game.initial() if start is None else start
        self.root = Node(0, None, None, "", state, 0, game.to_move(state))
        self.nodes = [self.root]
        self._settle(self.root)

    def play(self, node: Node, action: int) -> Node:
        """The node behind an action: the one that is there, or a new one."""
        for child in node.children:
            if child.action == action:
                node.chosen = child
                return child
        if node.outcome is not None:
            raise UserError("the game is over here")
        if len(self.nodes) >= MOST:
            raise UserError(f"expected at most {MOST} positions in one game, got more; begin another")
        state = self.game.result(node.state, action)
        name = written(self.game, node.state, [action])[0]
        child = Node(len(self.nodes), node, action, name, state, node.ply + 1, self.game.to_move(state))
        if self.game.hides_information:
            child.noticed = tuple(self.game.event(node.state, action, player) for player in range(self.game.players))
        self.nodes.append(child)
        node.children.append(child)
        node.chosen = child
        self._settle(child)
        return child

    def _settle(self, node: Node) -> None:
        game = self.game
        if node.mover is None:
            node.outcome = game.utility(node.state)
        elif node.ply >= game.rules.max_plies:
            node.outcome, node.ending = game.utility(node.state, stopped=True), "max_plies"

    def at(self, number: int) -> Node:
        if not 0 <= number < len(self.nodes):
            raise UserError(f"expected a position from 0 to {len(self.nodes) - 1}, got {number}")
        return self.nodes[number]

    def choose(self, node: Node) -> None:
        """The line from the root leads through this node."""
        while node.parent is not None:
            node.parent.chosen = node
            node = node.parent

    def path(self, node: Node) -> list[Node]:
        """From the root to the node."""
        found = [node]
        while found[-1].parent is not None:
            found.append(found[-1].parent)
        return found[::-1]

    def line(self, node: Node) -> list[Node]:
        """The path to the node, and on from there."""
        found = self.path(node)
        while found[-1].chosen is not None:
            found.append(found[-1].chosen)
        return found

    def actions(self, node: Node) -> list[int]:
        return [each.action for each in self.path(node)[1:] if each.action is not None]
