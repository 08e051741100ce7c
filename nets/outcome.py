"""How a value head's numbers are laid out; known without torch. `nets.heads.Outcome` makes utilities and losses of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from games import Rules

FEW = 32
"""Most declared utilities that a distribution is learned over; a game that declares more of them gets one number per player."""


@dataclass(frozen=True)
class OutcomeLayout:
    """With few declared utilities a distribution over them, else tanh of one number: for the viewer alone where two players
    share a zero sum, else for each player, the viewer first. V = seats · max(1, len(values))."""

    players: int
    seats: int
    """Players whose utility is predicted: 1 where the other one's utility is the negative."""
    values: tuple[float, ...]
    """The declared utilities, ascending; none where any number is possible."""

    @classmethod
    def of(cls, rules: Rules) -> Self:
        seats = 1 if rules.players == 2 and rules.zero_sum else rules.players
        return cls(rules.players, seats, tuple(rules.values) if len(rules.values) <= FEW else ())

    @property
    def size(self) -> int:
        """V, how many numbers the network gives."""
        return self.seats * max(1, len(self.values))
