"""`python -m arena choose`: positions in, moves out, a line each.

A line of input is the moves from the start (empty: the start itself), or `position:`, the game's own notation and perhaps `moves` with
moves from there: `position:8/8/8/8/8/3QK3/8/4k3 w - - 0 1 moves Qd7`. Moves have their names; in chess SAN is read as well. The answer
is one JSON object; for a finished game or a line that cannot be read it is `{"error": …}`. An answer depends on its line alone: every
position is a new game for the player.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from arena.commands import add_threads
from arena.players import PackedPlayer, Player, make_player, pack_player, unpack_player
from base.errors import UserError
from base.lines import Lines, whole
from base.local_workers import Threads
from base.workers import Caller, InProcess, Worker
from games import Game, load
from games.choice import Candidate, Choice
from games.formats.words import played

POSITION, MOVES = "position:", " moves "


def add_choose(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("--player", required=True, metavar="PLAYER", help="as in alphabeta:depth=6")
    add_threads(parser, "threads")


def run_choose(options: argparse.Namespace) -> int:
    game = load(options.game)
    task = Choosing(game.spec, pack_player(make_player(options.player, game)))  # compiled before the workers start
    code = 0
    with InProcess() if options.workers == 0 else Threads(options.workers) as workers:
        for _, found in workers.run(task, Lines(sys.stdin), ordered=True):
            code = 1 if found.startswith('{"error"') else code
            print(found, flush=True)
    return code


@dataclass(frozen=True)
class Choosing:
    """The task whose jobs are lines and whose results are the answers. A search is compiled code without the GIL, so threads do: they
    have nothing to load."""

    spec: str
    player: PackedPlayer
    in_hand: int = 1

    def prepared(self, workers: int) -> AbstractContextManager[Choosing]:
        return nullcontext(self)

    def worker(self) -> Worker[str, str]:
        game = load(self.spec)
        return Caller(functools.partial(answer, game, unpack_player(self.player, game)))

    def exact(self, result: object) -> None:
        return None


def answer(game: Game, player: Player, line: str) -> str:
    """The player's choice in the position of a line, as one line of JSON."""
    try:
        state = state_of(game, line)
        player.new_game()
        return json.dumps(as_json(game, player.choose(state)), ensure_ascii=False)
    except UserError as error:
        return json.dumps({"error": str(error)}, ensure_ascii=False)


def state_of(game: Game, line: str) -> Any:
    """The position that a line describes."""
    text = whole(line).strip()
    if text.startswith(POSITION):
        position, _, moves = text.removeprefix(POSITION).partition(MOVES)
        return played(game, moves, game.parse(position))
    return played(game, text)


def as_json(game: Game, choice: Choice) -> dict[str, Any]:
    """A choice as JSON: actions by name, values as the mover's utility in [-1, 1]."""
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
    """For JSON: all floats in it, at any depth, rounded to six decimals."""
    return {key: _rounded(value) for key, value in found.items()}


def _rounded(found: Any) -> Any:
    if isinstance(found, dict):
        return rounded(found)
    if isinstance(found, list):
        return [_rounded(each) for each in found]
    return round(found, 6) if isinstance(found, float) else found
