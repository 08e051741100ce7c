"""How long a move may take, so that no game is lost on time.

A move costs more than its search: pipes, threads, a busy machine. This lag is measured at each move. A reserve of several lags is never
planned with, and the plan for a move is a share of the rest and most of the increment.
"""

from __future__ import annotations

OVERHEAD = 0.1
"""Seconds of a move that are not the engine's: pipes, the controller."""
SHARE = 25
"""The rest of a game is taken for so many moves, unless their number is known."""
LAGS = 8
"""So many of them at once must not lose the game."""
FADING = 0.9
"""Of an observed lag, at each move."""


class Clock:
    """The lag of this engine so far. Seconds everywhere."""

    def __init__(self, overhead: float = OVERHEAD) -> None:
        self.overhead = overhead
        self.lag = 0.005

    def budget(self, left: float, increment: float = 0.0, moves: int | None = None) -> float:
        """Of a search, when so much is left on the clock; `moves`: to the next time control."""
        usable = left - min(self.overhead + LAGS * self.lag, left / 2)
        share = usable / min(max(moves or SHARE, 1), SHARE * 2)
        wanted = share + 0.75 * increment - self.lag
        return max(0.0, min(wanted, 0.5 * usable if moves != 1 else 0.9 * usable))

    def fixed(self, seconds: float) -> float:
        """Of a search that has so much time for this one move."""
        return max(0.0, seconds - self.lag)

    def took(self, planned: float, seconds: float) -> None:
        """A search of so many planned seconds took so long, from the request to the answer."""
        self.lag = max(FADING * self.lag, min(seconds - planned, 1.0), 0.002)
