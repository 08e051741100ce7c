"""Positions in, moves out: what `python -m arena choose` does to each line.

A line is the actions from the start by name (empty: the start itself), or `position:` and the game's own notation. The answer is
one JSON object; a finished game or a line that can't be read gives `{"error": …}`. An answer depends on its line alone: the player
forgets everything in between.
"""

from __future__ import annotations

import functools
import json
import math
from typing import Any

from arena.players import Player, make_player
from base.errors import UserError
from base.lines import whole
from games import Game, load
from games.choice import Candidate, Choice

POSITION = "position:"


def answer(job: tuple[str, str, str]) -> str:
    """(game, player, line) -> one line of JSON. For worker processes: each makes the player once."""
    game, player = _seated(job[0], job[1])
    try:
        state = state_of(game, job[2])
        player.new_game()
        return json.dumps(as_json(game, player.choose(state)), ensure_ascii=False)
    except UserError as error:
        return json.dumps({"error": str(error)}, ensure_ascii=False)


@functools.lru_cache(maxsize=1)
def _seated(game_text: str, player_text: str) -> tuple[Game, Player]:
    game = load(game_text)
    return game, make_player(player_text, game)


def state_of(game: Game, line: str) -> Any:
    """The position that a line says."""
    text = whole(line).strip()
    if text.startswith(POSITION):
        return game.parse(text.removeprefix(POSITION))
    return game.play(text)


def as_json(game: Game, choice: Choice) -> dict[str, Any]:
    """A choice with actions by name; `value` is the mover's utility in [-1, 1]."""
    return {
        "action": game.names[choice.action],
        "value": rounded(choice.value),
        "proven": choice.proven,
        "pv": [game.names[action] for action in choice.pv],
        "depth": choice.depth,
        "nodes": choice.nodes,
        "seconds": round(choice.seconds, 6),
        "actions": {game.names[each.action]: _candidate(each) for each in choice.actions},
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if candidate.value is not None:
        found |= {"value": rounded(candidate.value), "bound": candidate.bound}
    if candidate.visits is not None:
        found["visits"] = candidate.visits
    if candidate.prior is not None:
        found["prior"] = rounded(candidate.prior)
    return found


def rounded(value: float) -> float:
    return round(value, 6) if math.isfinite(value) else value
