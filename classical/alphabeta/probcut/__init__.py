"""What shallow searches foretell of deep ones, per game and EVAL, fitted by `python -m classical.alphabeta.fit_probcut GAME`.

    deep = slope · shallow + offset ± error          scores in the mover's eyes, with EVAL at the leaves and exact organs only

One file per game with its own EVAL stands here; those of other weights are in the user's cache folder. A file says how well each line
fits, and which weights it belongs to: with others, the errors would be others. ProbCut and its form with several depths and checks:
Buro, "ProbCut: An Effective Selective Extension of the Alpha-Beta Algorithm" (1995), "Experiments with Multi-ProbCut" (1997).
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from base.errors import UserError
from base.files import cache_folder, read_json
from classical.eval import Weights
from games import Game

FOLDER = Path(__file__).parent

Pair = tuple[int, float, float, float]  # shallow depth, slope, offset, error


def file_of(game: Game) -> Path:
    """Where the regression for a game's own EVAL is kept: by its name, options as they differ from the file's plain name."""
    return FOLDER / f"{_slug(game)}.json"


def own_file_of(game: Game, weights: Weights) -> Path:
    """Where that for weights of the user's is kept."""
    return cache_folder("probcut") / f"{_slug(game)}-{eval_hash(weights)}.json"


def _slug(game: Game) -> str:
    return game.name.replace(":", "-").replace("=", "-").replace(",", "-")


def eval_hash(weights: Weights) -> str:
    """Of weights as kernels take them."""
    return hashlib.sha256(weights.astype("<f4").tobytes()).hexdigest()[:12]


def foresight(game: Game, weights: Weights) -> tuple[float, list[tuple[int, int, Pair]]]:
    """How many errors make it sure enough, and (deep depth, which, pair)."""
    found = [read_json(path) for path in (own_file_of(game, weights), file_of(game)) if path.exists()]
    if not found:
        raise UserError(
            f"alphabeta: probcut: expected a game whose errors were measured, got {game.name}; "
            f"measure them with python -m classical.alphabeta.fit_probcut {game.spec}"
        )
    data: dict[str, Any] = found[0]
    if (data["game"], data["version"]) != (game.name, game.version):
        raise UserError(
            f"alphabeta: probcut: expected errors of {game.name} version {game.version}, got {data['game']} version {data['version']}"
        )
    if data["eval"] != eval_hash(weights):
        raise UserError(
            f"alphabeta: probcut: expected the EVAL whose errors were measured ({data['eval']}), got another "
            f"({eval_hash(weights)}); measure its own with python -m classical.alphabeta.fit_probcut {game.spec} --eval FILE"
        )
    pairs = []
    seen: dict[int, int] = {}
    for fit in data["fits"]:
        which = seen.get(fit["deep"], 0)
        seen[fit["deep"]] = which + 1
        pairs.append((fit["deep"], which, (fit["shallow"], fit["slope"], fit["offset"], fit["error"])))
    return float(data["errors"]), pairs
