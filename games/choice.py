"""The result of a search for a move, the same type for all searches: alpha-beta, tree search, solver; and the limits of a search that
is watched and stopped from outside."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from games.engine.game import Game

Bound = Literal["exact", "upper", "lower", "estimate"]


@dataclass(frozen=True)
class Candidate:
    """One action at the root, as the search saw it."""

    action: int
    value: float | None = None
    """The mover's utility in [-1, 1] if this is played; None where the search has no value for it."""
    bound: Bound = "estimate"
    """`exact`: by the search's own definition of value; `upper`, `lower`: at most, at least this."""
    visits: int | None = None
    """Simulations through it, where the search counts them."""
    prior: float | None = None
    """Its probability before the search, where there is a policy."""
    utilities: tuple[float, ...] | None = None
    """Every player's utility if this is played, where the search has them all."""
    pv: tuple[int, ...] = ()
    """The line that begins with it, where it was requested (`Limits.lines`)."""


def error_of_mean(value: float, visits: int) -> float:
    """Twice the standard error of a mean of so many results from -1 to 1."""
    return 2 * math.sqrt(max(1 - value**2, 0.1) / max(visits, 1))


@dataclass(frozen=True)
class Choice:
    """The move chosen, and why."""

    action: int
    value: float
    """The mover's utility in [-1, 1] after `action`, as the search estimates it."""
    proven: bool = False
    """`value` is the game-theoretic one."""
    pv: tuple[int, ...] = ()
    """The line that the search expects, `action` first."""
    depth: int = 0
    """Of the last completed iteration, in actions; for tree search the length of the longest path."""
    nodes: int = 0
    """Positions visited, or simulations."""
    seconds: float = 0.0
    actions: tuple[Candidate, ...] = ()
    """The root's actions, best first."""
    counters: dict[str, int] = field(default_factory=dict)
    """What each part of the search did: cut-offs by kind, table hits, extensions."""
    utilities: tuple[float, ...] | None = None
    """Every player's utility after `action`, where the search has them all."""

    @property
    def has_value(self) -> bool:
        """Whether the search valued anything: a book, an equilibrium and random play choose without."""
        return self.proven or any(each.value is not None for each in self.actions)


def utilities_of(game: Game, mover: int, choice: Choice) -> tuple[float, ...] | None:
    """Every player's after the action, where they are known."""
    return (choice.utilities or shared(game, mover, choice.value)) if choice.has_value else None


def shared(game: Game, mover: int, value: float | None) -> tuple[float, ...] | None:
    """Every player's utility by the mover's, where that decides them."""
    if value is None or game.players != 2 or not game.rules.zero_sum:
        return None
    return (value, 0.0 - value) if mover == 0 else (0.0 - value, value)


@dataclass(frozen=True)
class Limits:
    """Of one search that reports while it runs (`analyse` of a player). None: the player's own limit of that kind."""

    depth: int | None = None
    nodes: int | None = None
    """Positions, or simulations."""
    is_endless: bool = False
    """The player's own limits do not count: only those above, and the request to stop."""
    actions: tuple[int, ...] = ()
    """The only ones to consider at the root; none: all."""
    lines: int = 1
    """So many of the best actions get a value and a line of their own."""
    every: float = math.inf
    """Seconds between reports; a search by depth reports each iteration."""


Report = Callable[[Choice], object]
"""Receives what a search has found so far, on the thread of the search."""
