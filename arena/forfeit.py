"""How a player loses a game without a move: `raise Forfeit("the engine ended with exit code 1")`."""

from __future__ import annotations


class Forfeit(Exception):
    """The player who was asked for a move loses the game; `reason` goes into the record."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
