"""ProbCut: a shallow search far enough outside the window replaces the deep one (Buro 1995; several depths: Multi-ProbCut, 1997).

    deep = slope · shallow + offset ± error          scores of the mover, with EVAL at the leaves and exact enhancements only

The lines are fitted per game and EVAL by `python -m classical.alphabeta.probcut GAME`. One file per game with its own EVAL is kept
here; those of other weights are in the user's cache folder. A file states how well each line fits, and the weights that it belongs
to: with others, the errors would be others.

Off by default: it needs such a file, and at equal time its gain is within the noise (docs/results.md). To remove it: this folder, step
4c of `search.py`, its switch in `settings.py`, its fields and counters in `workspace.py`, its lines in `player.py`.

Buro, "ProbCut: An Effective Selective Extension of the Alpha-Beta Algorithm" (1995), "Experiments with Multi-ProbCut" (1997).
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from base.errors import UserError
from base.files import cache_folder, read_json
from classical.alphabeta.workspace import PAIRS, PROBCUT_DEPTHS, Workspace
from classical.eval import Weights
from classical.scores import LARGEST_EVAL
from classical.types import Score
from games import Game
from games.types import Integer

FOLDER = Path(__file__).parent

Pair = tuple[int, float, float, float]  # shallow depth, slope, offset, error


def file_of(game: Game) -> Path:
    """Where the lines for a game's own EVAL are kept."""
    return FOLDER / f"{_slug(game)}.json"


def own_file_of(game: Game, weights: Weights) -> Path:
    """Where those for other weights are kept."""
    return cache_folder("probcut") / f"{_slug(game)}-{eval_hash(weights)}.json"


def _slug(game: Game) -> str:
    return game.name.replace(":", "-").replace("=", "-").replace(",", "-")


def eval_hash(weights: Weights) -> str:
    """A hash of weights as kernels take them."""
    return hashlib.sha256(weights.astype("<f4").tobytes()).hexdigest()[:12]


# ── in the search ──


def prediction(ws: Workspace, depth: Integer, which: Integer, edge: Score, is_above: bool) -> tuple[Integer, Score]:
    """(a shallow depth, the score at which a search of that depth puts the deep score beyond `edge`); depth 0 for no prediction."""
    if ws.probcut == 0 or depth >= PROBCUT_DEPTHS:
        return np.int64(0), np.int64(0)
    pair = ws.pairs[depth, which]
    if pair.shallow <= 0:
        return np.int64(0), np.int64(0)
    sign = 1 if is_above else -1
    wanted = np.int64(np.rint((edge + sign * (ws.probcut_errors * pair.error) - pair.offset) / pair.slope))
    if abs(wanted) >= LARGEST_EVAL:
        return np.int64(0), np.int64(0)
    ws.probcut_tries += 1
    return np.int64(pair.shallow), wanted


# ── the fitted lines ──


def set_up(ws: Workspace, game: Game, weights: Weights) -> None:
    """Put the lines of a game and EVAL into the workspace."""
    errors, pairs = fitted(game, weights)
    ws["probcut_errors"] = errors
    for depth, which, pair in pairs:
        if depth < PROBCUT_DEPTHS and which < PAIRS:
            ws["pairs"][depth, which] = pair


def fitted(game: Game, weights: Weights) -> tuple[float, list[tuple[int, int, Pair]]]:
    """How many errors a prediction must be beyond the window, and (deep depth, which, pair)."""
    found = [read_json(path) for path in (own_file_of(game, weights), file_of(game)) if path.exists()]
    if not found:
        raise UserError(
            f"alphabeta: probcut: expected a game whose errors were measured, got {game.name}; "
            f"measure them with python -m classical.alphabeta.probcut {game.spec}"
        )
    data: dict[str, Any] = found[0]
    if (data["game"], data["version"]) != (game.name, game.version):
        raise UserError(
            f"alphabeta: probcut: expected errors of {game.name} version {game.version}, got {data['game']} version {data['version']}"
        )
    if data["eval"] != eval_hash(weights):
        raise UserError(
            f"alphabeta: probcut: expected the EVAL whose errors were measured ({data['eval']}), got another "
            f"({eval_hash(weights)}); measure its own with python -m classical.alphabeta.probcut {game.spec} --eval FILE"
        )
    pairs = []
    seen: dict[int, int] = {}
    for fit in data["fits"]:
        which = seen.get(fit["deep"], 0)
        seen[fit["deep"]] = which + 1
        pairs.append((fit["deep"], which, (fit["shallow"], fit["slope"], fit["offset"], fit["error"])))
    return float(data["errors"]), pairs
