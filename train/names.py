"""Where the run of a name lies, and what a run is called."""

from __future__ import annotations

import re
from pathlib import Path

from base.errors import UserError

RUNS = Path("runs")


def folder_of(name: str) -> Path:
    """`runs/NAME`; a path is taken as it is."""
    if not name or not name.isprintable():
        raise UserError(f"run: expected a name, got {name!r}")
    return Path(name) if "/" in name else RUNS / name


def name_for(game: str) -> str:
    """What a run is called where nobody says: the game, in letters that file systems know."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", game).strip("-.") or "run"
