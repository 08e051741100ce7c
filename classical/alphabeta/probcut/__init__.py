"""What shallow searches foretell of deep ones, per game, fitted by `python -m classical.alphabeta.fit_probcut GAME`.

    deep = slope · shallow + offset ± error          scores in the mover's eyes, with EVAL at the leaves and exact organs only

One file per game (`othello.json`), with how well each line fits. ProbCut and its form with several depths and checks:
Buro, "ProbCut: An Effective Selective Extension of the Alpha-Beta Algorithm" (1995), "Experiments with Multi-ProbCut" (1997).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from base.errors import UserError
from base.files import read_json
from games import Game

FOLDER = Path(__file__).parent

Pair = tuple[int, float, float, float]  # shallow depth, slope, offset, error


def file_of(game: Game) -> Path:
    """Where a game's regression is kept: by its name, options as they differ from the file's plain name."""
    return FOLDER / f"{game.name.replace(':', '-').replace('=', '-').replace(',', '-')}.json"


def foresight(game: Game) -> tuple[float, list[tuple[int, int, Pair]]]:
    """How many errors make it sure enough, and (deep depth, which, pair)."""
    path = file_of(game)
    if not path.exists():
        raise UserError(
            f"alphabeta: probcut: expected a game whose errors were measured, got {game.name}; "
            f"measure them with python -m classical.alphabeta.fit_probcut {game.spec}"
        )
    data: dict[str, Any] = read_json(path)
    if (data["game"], data["version"]) != (game.name, game.version):
        raise UserError(
            f"alphabeta: probcut: expected errors of {game.name} version {game.version}, got {data['game']} version {data['version']}"
        )
    found = []
    seen: dict[int, int] = {}
    for fit in data["fits"]:
        which = seen.get(fit["deep"], 0)
        seen[fit["deep"]] = which + 1
        found.append((fit["deep"], which, (fit["shallow"], fit["slope"], fit["offset"], fit["error"])))
    return float(data["errors"]), found
