"""The folder of a run of this name, and the default name of a run."""

from __future__ import annotations

import os
import re
from pathlib import Path

from base.errors import UserError, short

RUNS = Path("runs")


def folder_of(name: str) -> Path:
    """`runs/NAME`; a path is taken as it is, but for `..`, which could lead out of a folder that is not there yet."""
    if not name.strip() or not name.isprintable() or name in (".", ".."):
        raise UserError(f"run: expected a name or a folder's path, got {short(name)!r}")
    return Path(os.path.normpath(name)) if "/" in name else RUNS / name


def name_for(game: str) -> str:
    """The default name of a run: the game, in characters that file systems allow."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", game).strip("-.") or "run"
