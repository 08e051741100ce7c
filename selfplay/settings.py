"""How games of self-play are played. The search's own settings are in `mcts/`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from base.errors import UserError, require
from games import Game
from mcts.settings import record_of


@dataclass(frozen=True)
class SelfPlaySettings:
    """Each field is followed by what the papers used."""

    simulations: int = 64
    """Of a full search, whose result is a target for the policy. AlphaZero: 800; KataGo: 600 to 1000."""
    fast_simulations: int = 16
    """Of a fast search, which is no policy target. KataGo: 100 to 200."""
    full: float = 0.25
    """The share of searches that are full (playout-cap randomization). KataGo: 0.25; AlphaZero: 1."""
    slots: int = 32
    """Games that a worker plays side by side; also the fixed size of its batches."""
    cache_mb: float = 64.0
    """Memory of a worker for evaluations to reuse; 0: none. It changes nothing but the time."""
    openings: float = 0.5
    """The share of games that begin with a few plies drawn from the raw policy, for variety. KataGo: all."""
    opening_plies: int = 4
    """The most plies of such an opening; each game draws a number from 1 to this."""
    opening_temperature: float = 2.0
    """Of the policy in the opening: 1 leaves it as it is, larger ones make it more uniform. KataGo: 1."""
    resign: float = 1.0
    """A player resigns whose search expects less than minus this, twice in a row; 1: never. AlphaGo Zero: 0.9, adjusted."""
    played_out: float = 0.1
    """The share of games that are played out instead, to measure how often resigning would have been wrong. AlphaGo Zero: 0.1."""

    def __post_init__(self) -> None:
        require(self, "at least 1", lambda n: n >= 1, "simulations", "fast_simulations", "slots")
        require(self, "0 to 1", lambda x: 0 <= x <= 1, "full", "openings", "resign", "played_out")
        require(self, "more than 0, for only positions searched fully train the policy", lambda x: x > 0, "full")
        require(self, "at least 1", lambda n: n >= 1 or (n == 0 and self.openings == 0), "opening_plies")
        require(self, "a number above 0", lambda x: 0 < x < math.inf, "opening_temperature")
        require(self, "at least 0", lambda x: x >= 0, "cache_mb")

    def record(self) -> Any:
        """What kernels read: a field per number, as they are here."""
        return record_of(self)

    def check(self, game: Game) -> None:
        """Refuse settings that do not fit the game."""
        is_plain = game.players == 2 and game.rules.zero_sum and set(game.rules.values) <= {-1.0, 0.0, 1.0}
        if self.resign < 1 and (game.hides_information or not (is_plain and game.rules.values)):
            kind = "hides information" if game.hides_information else "is not a game of loss, draw and win between two"
            raise UserError(f"resign: expected 1, no resignations, for {game.name} {kind}")
