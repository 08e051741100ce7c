"""What the page may show where players see less than everything: the game as one seat sees it.

    sight = Sight(tree, seat)            # seat: a player's, NOBODY's, or None: everything
    sight.state(node)                    # a view
    sight.number(node), sight.node(3)    # positions by the numbers that the page is sent

Positions that the seat cannot tell apart are one position here, with a number of its own: an action that the seat does not notice
leaves the number as it is. So what is sent depends on nothing but what the seat has noticed, the numbers included.
"""

from __future__ import annotations

from functools import cached_property

from arena.page.tree import Node, Tree
from base.errors import UserError
from games.types import GameState

NOBODY = -1  # sees what everybody sees of a position, and no move


class Sight:
    """One seat's, of a table as it is now."""

    def __init__(self, tree: Tree, seat: int | None, at: Node | None = None) -> None:
        self.tree, self.seat, self.at = tree, seat, at or tree.root

    @property
    def groups(self) -> list[list[Node]]:
        """By number, the positions that are one for the seat."""
        return [[node] for node in self.tree.nodes] if self.seat is None else self._grouped[0]

    @cached_property
    def _grouped(self) -> tuple[list[list[Node]], list[int]]:
        """The groups, and the number of each node's."""
        groups, numbers, known = list[list[Node]](), list[int](), dict[tuple[int, str], int]()
        for node in self.tree.nodes:
            before, event = -1 if node.parent is None else numbers[node.parent.number], self.name(node)
            number = before if before >= 0 and not event else known.setdefault((before, event), len(groups))
            if number == len(groups):
                groups.append([])
            groups[number].append(node)
            numbers.append(number)
        return groups, numbers

    def number(self, node: Node) -> int:
        return node.number if self.seat is None else self._grouped[1][node.number]

    def node(self, number: int) -> Node:
        """The position of that number: one of the line that is shown, where the line has one."""
        if self.seat is None:
            return self.tree.at(number)
        if not 0 <= number < len(self.groups):  # how many positions there really are is not for this seat
            raise UserError(f"expected a position from 0 to {len(self.groups) - 1}, got {number}")
        group = self.groups[number]
        if self.at in group:
            return self.at
        line = self.tree.line(self.at)
        return next((node for node in reversed(line) if node in group), group[-1])

    def before(self, node: Node) -> Node | None:
        """The last position before it that the seat can tell from it."""
        number, found = self.number(node), node.parent
        while found is not None and self.number(found) == number:
            found = found.parent
        return found

    def name(self, node: Node) -> str:
        """Of the move that led to the position, as the seat noticed it."""
        if self.seat is None or node.parent is None:
            return node.name
        return "" if self.seat == NOBODY else node.noticed[self.seat]

    def state(self, node: Node) -> GameState:
        """The position as the seat sees it."""
        return node.state if self.seat is None else self.tree.game.view(node.state, self.seat)

    def is_own(self, node: Node) -> bool:
        """Whether the seat is to move there: only then does it see the moves, and what a search finds."""
        return self.seat is None or node.mover == self.seat
