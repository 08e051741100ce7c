"""Settings of a search: one frozen dataclass per variant, and the record that its kernels read, derived from it.

>>> from mcts.variant import settings_class
>>> settings_class("puct")(c_init=2.0).record().c_init
np.float64(2.0)

A variant's dataclass extends `SearchSettings`; each of its numbers becomes a field of the record, under the same name.
"""

from __future__ import annotations

import functools
import math
import typing
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from base.errors import require
from games import Game

LONGEST_HALFLIFE = 19.0
"""Plies: KataGo's on the full board, where games last hundreds of plies."""

_TYPES = {float: np.float64, int: np.int32, bool: np.int8}


@dataclass(frozen=True)
class MethodSettings:
    """Of a method by which self-play improves a policy: a variant of tree search, or another (`mcts/methods.py`)."""

    method: str = ""
    """The variant: the name of its file in `mcts/`."""

    def record(self) -> Any:
        """What kernels read: a field per number, as they are here."""
        return record_of(self)


@dataclass(frozen=True)
class SearchSettings(MethodSettings):
    """What every variant of tree search has. The values of the papers stand in the sentences."""

    rollout: float = 0.0
    """λ: a leaf is worth (1-λ) v + λ z, z the outcome of a random game. UCT: 1; AlphaGo: 0.5; AlphaZero: 0."""
    rollout_plies: int = 0
    """A random game is cut after so many plies and evaluated there; 0: played to its end."""
    solve: bool = True
    """Carry proven utilities up the tree: a proven win is played, a proven loss avoided, a proven root searched no further."""
    immediate_wins: bool = True
    """With `solve`: the first simulation that goes beyond a position tries all its actions and takes one that wins at once, however
    small its prior. The cost is little beside that of a network."""

    # ── choosing the move in self-play; never in the target ──
    temperature: float = 0.0
    """At ply 0. AlphaZero: 1; KataGo: 0.8."""
    temperature_end: float = 0.0
    """Its limit. AlphaZero: 0; KataGo: 0.2."""
    temperature_halflife: float = 0.0
    """Plies in which it goes half the way; 0: a quarter of the longest game, 19 at most. KataGo: the side of the board, 19."""

    def __post_init__(self) -> None:
        require(self, "the share of random games in a leaf's value, 0 to 1", lambda x: 0 <= x <= 1, "rollout")
        require(self, "0 (to the end) or more", lambda n: n >= 0, "rollout_plies")
        temperatures = ("temperature", "temperature_end", "temperature_halflife")
        require(self, "a number of at least 0", lambda x: 0 <= x < math.inf, *temperatures)

    def resolved(self, game: Game) -> Self:
        """For this game: what depends on it is filled in."""
        halflife = self.temperature_halflife or min(game.rules.max_plies / 4, LONGEST_HALFLIFE)
        return replace(self, temperature_halflife=halflife)


def record_of(settings: Any) -> Any:
    """A dataclass as a record: a field per number."""
    kind: Any = type(settings)
    record = np.zeros(1, _record_type(kind))[0]
    for name in record.dtype.names:
        record[name] = getattr(settings, name)
    return record


@functools.cache
def _record_type(kind: type) -> np.dtype[Any]:
    hints = typing.get_type_hints(kind)
    known = [(each.name, _TYPES[hints[each.name]]) for each in fields(kind) if hints[each.name] in _TYPES]
    return np.dtype((np.record, np.dtype(known, align=True)))


def temperature_at(settings: Any, ply: int) -> float:
    """For choosing the move at a ply of a game of self-play; the settings or their record, resolved."""
    share = 2.0 ** (-ply / settings.temperature_halflife)
    return float(settings.temperature_end + (settings.temperature - settings.temperature_end) * share)
