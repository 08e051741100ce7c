"""EVAL by hand: a game's features and weights, a file of weights to edit, and what each feature contributes in a position.

python -m classical.eval chess                                  # the weights of the game's file
python -m classical.eval chess --export mine.eval.json          # the same as a file, for: alphabeta:eval=mine.eval.json
python -m classical.eval chess --moves "1. e4 d5 2. exd5"       # of a position: each feature, its weight, their product
python -m classical.eval chess --eval mine.eval.json --position "8/8/4k3/8/8/3QK3/8/8 w - - 0 1"
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from base.errors import Arguments, UserError, run_command
from classical.eval.weights import Eval, default_eval
from games import CHANCE, Game, load
from games.formats.words import played


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("--eval", metavar="FILE", help="weights; default: those of the game's file")
    parser.add_argument("--export", metavar="FILE", help="write the weights there, to be edited")
    parser.add_argument("--moves", metavar="TEXT", help="moves from the start or from --position")
    parser.add_argument("--position", metavar="TEXT", help="a position in the game's own notation")
    options = parser.parse_args(argv)
    game = load(options.game)
    if not game.rules.feature_names:
        raise UserError(f"{game.name}: expected a game with features, got one without")
    weights = default_eval(game) if options.eval is None else Eval.load(options.eval, game)
    if options.export is not None:
        if Path(options.export).exists():
            raise UserError(f"--export: expected a new file, but {options.export} is there; remove it, or name another")
        weights.save(options.export)
        print(f"{options.export}: {len(weights.weights)} weights of {game.name}")
    elif options.moves is None and options.position is None:
        print(weights)
    else:
        start = None if options.position is None else game.parse(options.position)
        print(account(game, weights, played(game, options.moves or "", start)))
    return 0


def account(game: Game, weights: Eval, state: Any) -> str:
    """The features of a position, their weights and products, and EVAL."""
    mover = game.to_move(state)
    if mover is None or mover == CHANCE:
        raise UserError(f"expected a position of {game.name} where a player is to move, got none")
    rows = [("feature", "value", "weight", "product")]
    total = 0.0
    for name, value, weight, product in weights.contributions(game, state, mover):
        total += product
        rows.append((name, f"{value:g}", f"{weight:g}", f"{product:+.3f}"))
    rows.append(("sum", "", "", f"{total + 0.0:+.3f}"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "  ".join([f"{row[0]:<{widths[0]}}", *(f"{row[i]:>{widths[i]}}" for i in (1, 2, 3))]).rstrip() for row in rows
    ]
    found = weights.value(game, state, mover)
    head = f"{game.name}, player {mover} to move; features from that player's side\n\n{game.render(state)}\n"
    return "\n".join([head, *lines, f"EVAL = 0.999 · tanh({weights.unit:g} · sum) = {found:+.3f}"])


if __name__ == "__main__":
    run_command(main)
