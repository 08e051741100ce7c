"""The search's signature: one number over fixed positions, the same on every machine until the search itself changes.

    python -m benchmarks.signature            # the number
    python -m benchmarks.signature --cases    # nodes, value and depth per position and settings as well
    python -m benchmarks.signature --write    # stores it in tests/data/signature.json, which a test compares

It hashes the nodes visited, the value and the principal variation of every search below. A commit that changes the search states its
new signature; all other commits keep it. Weights of EVAL are fixed here, so that tuning them changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from base.errors import Arguments, run_command
from base.files import write_json
from base.seeds import below, generator, uniform
from classical.alphabeta import AlphaBeta, AlphaBetaSettings
from classical.eval import Eval
from games import Game, load
from games.types import GameState

STORED = Path(__file__).parent.parent / "tests" / "data" / "signature.json"

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {"depth": 4, "plain": True},
    "exact": {"depth": 5, "exact": True},
    "usual": {"depth": 6},
    "selective": {"depth": 7, "singular": True, "null": True, "lmr": True, "futility": True},
    "narrow": {"depth": 6, "beam": 4, "presort": 2},
    "few nodes": {"nodes": 15_000},
}
GAMES = {"connect_four": 6, "othello": 12, "checkers": 14, "chess": 16}  # random actions before the search
POSITIONS = 3


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("--cases", action="store_true", help="show every search")
    parser.add_argument("--write", action="store_true", help="store the number for the test")
    options = parser.parse_args(argv)
    found = list(cases())
    if options.cases:
        for case in found:
            print(json.dumps(case), file=sys.stderr)
    number = digest(found)
    if options.write:
        write_json(STORED, {"signature": number})
    print(number)
    return 0


def signature() -> int:
    return digest(list(cases()))


def digest(found: list[dict[str, Any]]) -> int:
    data = json.dumps(found, sort_keys=True).encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=6).digest(), "big")


def cases() -> Iterator[dict[str, Any]]:
    for name, plies in GAMES.items():
        game = load(name)
        weights = fixed_eval(game)
        states = [position(game, plies, number) for number in range(POSITIONS)]
        for label, settings in SETTINGS.items():
            limits = {name: value for name, value in settings.items() if name != "plain"}
            make = AlphaBetaSettings.plain if "plain" in settings else AlphaBetaSettings
            player = AlphaBeta(game, make(tt_mb=1, **limits), weights)
            for number, state in enumerate(states):
                choice = player.choose(state)
                yield {
                    "game": name,
                    "settings": label,
                    "position": number,
                    "nodes": choice.nodes,
                    "value": round(choice.value * 1e6),
                    "depth": choice.depth,
                    "pv": [game.names[action] for action in choice.pv],
                }


def position(game: Game, plies: int, number: int) -> GameState:
    rng = generator(number, "signature", game.name)
    state = game.initial()
    for _ in range(plies):
        legal = game.legal_actions(state)
        state = game.result(state, legal[int(below(rng, len(legal)))])
    return state


def fixed_eval(game: Game) -> Eval:
    """Fixed random weights."""
    rng = generator(1, "weights", game.name)
    return Eval(game.name, game.version, {name: uniform(rng) * 0.2 - 0.05 for name in game.rules.feature_names})


if __name__ == "__main__":
    run_command(main)
