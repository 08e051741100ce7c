"""How a player loses without being beaten at the board."""

from __future__ import annotations

from base.errors import UserError


class Forfeit(UserError):
    """Raised by `choose`: the player crashed, was silent too long, named an illegal move, or resigned. Whoever plays a game with it
    counts it as lost and keeps the reason; outside a game it is one line like any other mistake."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
