"""The standard rungs of a game, the scale on which `python -m arena rate` measures: `configs/ladders/GAME.toml`.

    anchor = "random"                       # whose Elo is 0
    rungs = ["random", "uct:sims=100", …]   # players, as everywhere
    openings = "plies=8"                    # as in a match; left out: what suits the game

Rungs have to be near enough to take points off each other. Without UCT at 10 simulations nobody stood near the random player of connect
four: it lost 124 of 124 games, and how far away the rest of the ladder was hung on the prior alone.

A file is for all sizes of its game: `othello:size=6` has a scale of its own, with the rungs of othello.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from base.errors import UserError, nearest
from games import Game

FOLDER = Path(__file__).resolve().parent.parent / "configs" / "ladders"
_KEYS = ("anchor", "rungs", "openings")


@dataclass(frozen=True)
class Rungs:
    """What a file says."""

    players: tuple[str, ...]
    anchor: str
    openings: str = ""


def standard_openings(game: Game) -> str:
    """Of a game's file, where there is one: whoever plays is to be comparable with the rungs."""
    path = _file_of(game)
    return read_rungs(path).openings if path.exists() else ""


def _file_of(game: Game) -> Path:
    return FOLDER / f"{game.name.partition(':')[0]}.toml"


def standard_rungs(game: Game) -> Rungs:
    """Those of a game that has a file."""
    known = sorted(path.stem for path in FOLDER.glob("*.toml"))
    name = _file_of(game).stem
    if name not in known:
        raise UserError(
            f"{game.name}: expected a game with standard rungs ({', '.join(known)}){nearest(name, known)}; "
            "a ladder of others is given its players: python -m arena ladder GAME PLAYER PLAYER…"
        )
    return read_rungs(_file_of(game))


def read_rungs(path: Path) -> Rungs:
    """A file's."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: expected TOML: {error}") from None
    for key in found:
        if key not in _KEYS:
            raise UserError(f"{path}: expected {', '.join(_KEYS)}, got {key!r}{nearest(key, _KEYS)}")
    players, anchor, openings = found.get("rungs"), found.get("anchor", ""), found.get("openings", "")
    if not isinstance(players, list) or len(players) < 2 or not all(isinstance(each, str) for each in players):
        raise UserError(f"{path}: rungs: expected a list of two players or more, got {players!r:.80}")
    if anchor not in players:
        raise UserError(f"{path}: anchor: expected one of the rungs, got {anchor!r}")
    if not isinstance(openings, str):
        raise UserError(f"{path}: openings: expected text, got {openings!r:.80}")
    return Rungs(tuple(players), anchor, openings)
