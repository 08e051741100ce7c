"""Positions in, moves out: what `python -m arena choose` does to each line.

A line is the actions from the start by name (empty: the start itself), or `position:` and the game's own notation. The answer is
one JSON object; a finished game or a line that can't be read gives `{"error": …}`. An answer depends on its line alone: the player
forgets everything in between.
"""

from __future__ import annotations

import functools
import json
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
    return rounded(
        {
            "action": game.names[choice.action],
            "value": choice.value,
            "proven": choice.proven,
            "pv": [game.names[action] for action in choice.pv],
            "depth": choice.depth,
            "nodes": choice.nodes,
            "seconds": choice.seconds,
            "actions": {game.names[each.action]: _candidate(each) for each in choice.actions},
        }
    )


def _candidate(candidate: Candidate) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if candidate.value is not None:
        found |= {"value": candidate.value, "bound": candidate.bound}
    if candidate.visits is not None:
        found["visits"] = candidate.visits
    if candidate.prior is not None:
        found["prior"] = candidate.prior
    return found


def rounded(found: dict[str, Any]) -> dict[str, Any]:
    """For JSON: floats to six digits behind the point, however deep in lists and objects they are."""
    return {key: _rounded(value) for key, value in found.items()}


def _rounded(found: Any) -> Any:
    if isinstance(found, dict):
        return rounded(found)
    if isinstance(found, list):
        return [_rounded(each) for each in found]
    return round(found, 6) if isinstance(found, float) else found
