"""What people call the players of a game: White and Black, where the pieces have these colours."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from arena.openings import random_action
from base.errors import UserError
from base.seeds import generator
from games import CHANCE, Game
from games.drawing import changes


def seat_names(game: Game) -> list[str]:
    """`White` and `Black`, in the order of the seats; `player 0`, … in games of other colours."""
    colours = colours_of(game)
    if sorted(colours) == ["black", "white"]:
        return [colour.capitalize() for colour in colours]
    return [f"player {seat}" for seat in range(game.players)]


@functools.lru_cache(maxsize=16)
def colours_of(game: Game) -> Sequence[str]:
    """What each player's moves put on the board in a random game, mostly: a colour, or ''. A piece that is hit is put on a bar, too."""
    counts = [Counter[str]() for _ in range(game.players)]
    rng, state = generator(0, "colours"), game.initial()
    with suppress(UserError):
        for _ in range(min(game.rules.max_plies, 12 * game.players)):
            mover = game.to_move(state)
            if mover is None:
                break
            after = game.result(state, random_action(game, state, rng))
            if mover != CHANCE:
                before, then = game.diagram(state), game.diagram(after)
                kinds = changes(before, then)
                came = [then.symbol(*cell) for cell, kind in kinds.items() if kind == max(kinds.values())]
                counts[mover].update({each.colour for each in came if each is not None and each.shape != "line"})
            state = after
    found = [each.most_common(1)[0][0] if each else "" for each in counts]
    return found if len(set(found)) == len(found) else [""] * game.players
