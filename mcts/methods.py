"""The methods by which self-play improves a network's policy: the variants of tree search where players see everything, and magnetic
mirror descent where information is hidden.
"""

from __future__ import annotations

import functools

from base.errors import UserError, nearest
from games import Game
from mcts import variant
from mcts.mirror import Mirror
from mcts.settings import MethodSettings

OTHERS: dict[str, type[MethodSettings]] = {Mirror.method: Mirror}
"""Methods that are no variants of tree search."""


@functools.cache
def methods() -> tuple[str, ...]:
    return tuple(sorted([*variant.names(), *OTHERS]))


def settings_of(method: str) -> type[MethodSettings]:
    """The settings of the method of that name."""
    if method not in methods():
        raise UserError(f"method: expected one of {', '.join(methods())}, got '{method}'{nearest(method, methods())}")
    return OTHERS[method] if method in OTHERS else variant.settings_class(method)


def check_method(settings: MethodSettings, game: Game) -> None:
    """Refuse a method that sees too much of a game, or makes nothing of what it sees."""
    if (settings.method in OTHERS) != game.hides_information:
        fit = [each for each in methods() if (each in OTHERS) == game.hides_information]
        sees = "in which players do not see everything" if game.hides_information else "in which players see everything"
        raise UserError(f"search.method: expected {' or '.join(fit)} for {game.name}, {sees}, got {settings.method}")
