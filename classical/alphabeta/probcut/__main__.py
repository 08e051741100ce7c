"""Fits ProbCut's predictions: the score of a deep search as a linear function of a shallow one's.

    python -m classical.alphabeta.probcut othello                    # writes classical/alphabeta/probcut/othello-size-8.json
    python -m classical.alphabeta.probcut othello --positions 2000 --eval strong.eval.json      # into the cache folder

Positions come from random play followed by a few actions of the program itself, so that they are varied and yet plausible. Each is
searched to every depth with exact enhancements only, and for every pair of depths a line is fitted by least squares:

    deep = slope · shallow + offset,    error = standard deviation of the residuals

Scores beyond EVAL (wins, losses) are left out, since ProbCut is not applied to them. Pairs are those of Buro's Multi-ProbCut: shallow
depths of about half and a quarter of the deep one, of the same parity, since EVAL depends on which side moved last.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from base.errors import Arguments, UserError, run_command
from base.files import write_json
from base.seeds import below, generator
from classical.alphabeta.player import AlphaBeta
from classical.alphabeta.probcut import eval_hash, file_of, own_file_of
from classical.alphabeta.settings import AlphaBetaSettings
from classical.eval import Eval, default_eval
from games import Game, load
from games.types import Array, GameState, Rng

ERRORS = 1.5  # how many errors beyond the window a prediction must be (Buro's threshold for othello)
FEWEST = 30  # positions that a fit needs
PLAYED = 4  # actions of the program itself after the random ones


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("game", metavar="GAME", help="for example othello")
    parser.add_argument("--positions", type=whole, default=600, metavar="N", help="how many are searched")
    parser.add_argument("--depth", type=whole, default=9, metavar="D", help="the deepest search")
    parser.add_argument("--random", type=whole, default=44, metavar="PLIES", help="random actions at most")
    parser.add_argument("--seed", type=whole, default=1, metavar="S", help="of the positions")
    parser.add_argument("--eval", metavar="FILE", help="weights of EVAL; default: the game's own")
    parser.add_argument("--out", metavar="FILE", help="default: where the player looks for it")
    options = parser.parse_args(argv)
    game = load(options.game)
    weights = Eval.load(options.eval, game) if options.eval else default_eval(game)
    if not any(weights.weights.values()):
        raise UserError(f"{game.name}: expected an EVAL with weights, got none; give --eval FILE")
    array = weights.array(game)
    scores = measured(game, weights, options.positions, options.depth, options.random, options.seed)
    data = {
        "game": game.name,
        "version": game.version,
        "positions": options.positions,
        "seed": options.seed,
        "eval": eval_hash(array),
        "weights": dict(weights.weights),
        "unit": weights.unit,
        "errors": ERRORS,
        "fits": fits(scores),
    }
    path = Path(options.out) if options.out else own_file_of(game, array) if options.eval else file_of(game)
    write_json(path, data)
    print(f"{path}: {len(data['fits'])} fits")
    return 0


def whole(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, got {text!r}")
    return int(text)


def measured(game: Game, weights: Eval, positions: int, depth: int, plies: int, seed: int) -> Array:
    """The mover's scores [positions, depth + 1], by depth; nan beyond EVAL. Column 0 is EVAL itself."""
    players = [
        AlphaBeta(game, AlphaBetaSettings(depth=each, exact=True, tt_mb=8), weights) for each in range(1, depth + 1)
    ]
    guide = AlphaBeta(game, AlphaBetaSettings(depth=2, exact=True, tt_mb=1), weights)
    rng = generator(seed, "probcut", game.name)
    scores = np.full((positions, depth + 1), np.nan)
    for row in range(positions):
        state = position(game, guide, rng, plies)
        mover = game.to_move(state)
        assert mover is not None
        scores[row, 0] = weights.value(game, state, mover)
        for each, player in enumerate(players, 1):
            player.new_game()
            choice = player.choose(state)
            if choice.proven:
                break
            scores[row, each] = choice.value
        if row % 50 == 49:
            print(f"{row + 1} of {positions}", file=sys.stderr, flush=True)
    return scores * 1e6


def position(game: Game, guide: AlphaBeta, rng: Rng, plies: int) -> GameState:
    """An unfinished position: after random actions, then some of the program itself."""
    while True:
        state = game.initial()
        for ply in range(int(below(rng, plies)) + PLAYED):
            legal = game.legal_actions(state)
            if not legal:
                break
            action = legal[int(below(rng, len(legal)))] if ply % 4 == 0 else guide.choose(state).action
            state = game.result(state, action)
        if game.legal_actions(state):
            return state


def pairs(depth: int) -> list[tuple[int, int]]:
    """(deep, shallow): about half and a quarter, of the same parity; the shallowest, which costs least, first."""
    found = []
    for deep in range(3, depth + 1):
        shallows = {(deep - 1) // 2 - ((deep - 1) // 2 - deep) % 2, deep // 4 - (deep // 4 - deep) % 2}
        found += [(deep, shallow) for shallow in sorted(shallows) if 0 < shallow < deep]
    return found


def fits(scores: Array) -> list[dict[str, Any]]:
    """One line per pair of depths; `r2` is the share of the deep score's variance that it explains."""
    found = []
    for deep, shallow in pairs(scores.shape[1] - 1):
        known = ~np.isnan(scores[:, deep]) & ~np.isnan(scores[:, shallow])
        x, y = scores[known, shallow], scores[known, deep]
        if len(x) < FEWEST or np.ptp(x) == 0:
            continue
        slope, offset = np.polyfit(x, y, 1)
        left = y - (slope * x + offset)
        error, variance = float(np.sqrt((left**2).sum() / (len(x) - 2))), float(y.var())
        found.append(
            {
                "deep": deep,
                "shallow": shallow,
                "slope": round(float(slope), 4),
                "offset": round(float(offset), 1),
                "error": round(error, 1),
                "r2": round(1 - float((left**2).mean()) / variance, 4) if variance else 1.0,
                "positions": int(known.sum()),
            }
        )
    return found


if __name__ == "__main__":
    run_command(main)
