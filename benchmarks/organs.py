"""What each selective organ of alpha-beta, and sorting by EVAL, is worth: matches of the search with it against itself without.

    python -m benchmarks.organs                                  # every organ, chess, othello, checkers and connect four
    python -m benchmarks.organs chess --organs null lmr --games 400 --nodes 20000

Both sides visit the same number of positions per move and differ in one switch; every opening, so many random actions, is played twice,
with colours changed. So the result depends on nothing but the program: no clock is involved, and a busy machine only takes longer.
What a search has proven ends a game; at a length of 300 it counts as drawn. Score and Elo are those of the side with the organ, ± is
twice the standard error of the score over pairs of games.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from base.errors import Arguments, UserError, run_command
from base.pool import cores, run_jobs
from base.seeds import below, generator
from classical.alphabeta import AlphaBeta, AlphaBetaSettings
from classical.alphabeta.probcut import file_of
from games import Game, load

GAMES = {"chess": 8, "othello": 10, "checkers": 8, "connect_four": 5}  # random actions before the match
ORGANS: dict[str, dict[str, Any]] = {
    "quiescence": {"quiescence": True},
    "checks": {"checks": True},
    "null": {"null": True},
    "lmr": {"lmr": True},
    "futility": {"futility": True},
    "singular": {"singular": True},
    "probcut": {"probcut": True},
    "presort=3": {"presort": 3},
    "beam=4": {"beam": 4},
    "beam=8": {"beam": 8},
}
LONGEST = 300  # actions, then drawn
COLUMNS = {"game": 16, "organ": 12, "games": 7, "won": 6, "drawn": 7, "lost": 6, "score": 8, "±": 7, "Elo": 7}


@dataclass(frozen=True)
class Pair:
    """Two games from one opening, colours changed."""

    game: str
    organ: str
    number: int
    nodes: int


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("games", nargs="*", metavar="GAME", help=f"some of {', '.join(GAMES)}; none: all")
    parser.add_argument("--organs", nargs="+", metavar="ORGAN", help=f"some of {', '.join(ORGANS)}; left out: all")
    parser.add_argument(
        "--games", type=count, default=200, metavar="N", dest="number", help="per organ; an even number"
    )
    parser.add_argument("--nodes", type=count, default=20_000, metavar="N", help="per move")
    parser.add_argument("--workers", type=count, default=cores(), metavar="N", help="processes")
    options = parser.parse_args(argv)
    for name in options.games:
        if name not in GAMES:
            raise UserError(f"unknown game '{name}': expected some of {', '.join(GAMES)}")
    for organ in options.organs or ():
        if organ not in ORGANS:
            raise UserError(f"unknown organ '{organ}': expected some of {', '.join(ORGANS)}")
    print(f"{options.nodes} nodes per move, {options.number} games per line\n\n{line(COLUMNS)}", flush=True)
    for name in options.games or GAMES:
        game = load(name)
        organs = [organ for organ in options.organs or ORGANS if concerns(game, organ)]
        AlphaBeta(game, AlphaBetaSettings(depth=1)).prepare()  # compiled before the workers start
        for organ in organs:
            pairs = [Pair(name, organ, number, options.nodes) for number in range(options.number // 2)]
            found = dict(run_jobs(play, pairs, options.workers))
            print(shown(name, organ, np.array([found[number] for number in range(len(pairs))])), flush=True)
    return 0


def count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text!r}")
    return int(text)


def concerns(game: Game, organ: str) -> bool:
    """Can the organ make a difference in this game?"""
    needs = {
        "quiescence": game.rules.gain is not None,
        "lmr": game.rules.gain is not None,
        "checks": game.rules.in_check is not None,
        "null": game.rules.null_result is not None,
        "probcut": file_of(game).exists(),
    }
    return needs.get(organ, True)


def play(pair: Pair) -> tuple[float, float]:
    """Points of the side with the organ: it begins the first game, and not the second."""
    game = load(pair.game)
    switches = ORGANS[pair.organ]
    without: dict[str, Any] = {name: type(value)(0) for name, value in switches.items()}
    sides = [
        AlphaBeta(game, AlphaBetaSettings(nodes=pair.nodes, tt_mb=2, **settings)) for settings in (switches, without)
    ]
    start = opening(game, GAMES[pair.game], pair.number)
    return points(game, start, sides), 1 - points(game, start, sides[::-1])


def opening(game: Game, plies: int, number: int) -> Any:
    """The same for every organ; never finished."""
    rng = generator(number, "organs", game.name)
    while True:
        state = game.initial()
        for _ in range(plies):
            legal = game.legal_actions(state)
            if not legal:
                break
            state = game.result(state, legal[int(below(rng, len(legal)))])
        if not game.is_terminal(state):
            return state


def points(game: Game, state: Any, sides: Sequence[AlphaBeta]) -> float:
    """One game, won (1), drawn or lost for the side that moves first."""
    first = game.to_move(state)
    assert first is not None
    for side in sides:
        side.new_game()
    for _ in range(LONGEST):
        mover = game.to_move(state)
        if mover is None:
            return (game.utility(state)[first] + 1) / 2
        choice = sides[mover != first].choose(state)
        if choice.proven:
            value = choice.value if mover == first else -choice.value
            return (value + 1) / 2
        state = game.result(state, choice.action)
    return 0.5


def shown(name: str, organ: str, pairs: np.ndarray[Any, Any]) -> str:
    score, spread = float(pairs.mean()), 2 * float(pairs.mean(axis=1).std()) / math.sqrt(max(1, len(pairs)))
    elo = -400 * math.log10(1 / score - 1) if 0 < score < 1 else math.copysign(math.inf, score - 0.5)
    counts = [int((pairs > 0.5).sum()), int((pairs == 0.5).sum()), int((pairs < 0.5).sum())]
    cells = [name, organ, pairs.size, *counts, f"{100 * score:.1f} %", f"{100 * spread:.1f} %", f"{elo:+.0f}"]
    return line(cells)


def line(cells: Any) -> str:
    return "".join(f"{cell:>{room}}" for cell, room in zip(cells, COLUMNS.values(), strict=True))


if __name__ == "__main__":
    run_command(main)
