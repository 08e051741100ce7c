"""What players are called in tables and pictures. Results are stored under a text that says everything; a name says what differs.

brief("alphabeta:depth=4,tt_mb=64,…")                          # alphabeta:depth=4
name_of("net:checkpoint=runs/first/checkpoints/00002560,…")    # net:first@2560,sims=100
weights_of("net:checkpoint=3f2a9c0d1e4b,…")                    # 3f2a9c0d1e4b
series_of("net:first@2560,sims=100")                           # ("net:first,sims=100", 2560)
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from arena.players import kinds, options_of
from base.errors import UserError
from base.options import split
from checkpoints import called
from mcts.puct import PUCT

_OF_RUN = re.compile(r"(net:[^@,]+)@(\d+)((?:,.*)?)", re.DOTALL)


def brief(text: str) -> str:
    """A resolved text without the options that have their default: `alphabeta:depth=4`."""
    return _without_defaults(text, {})


def name_of(text: str) -> str:
    """As `brief`, a network by its run and step, or by its released name. The text has the folder of the checkpoint."""
    found = _resolved(text) or {}
    path = found.get("checkpoint")
    return _without_defaults(text, {"checkpoint": called(Path(path))} if path else {})


def weights_of(text: str) -> str:
    """The hash in the text that a network's results are stored under; '' for other players."""
    found = _resolved(text)
    return str(found["checkpoint"]) if found and "checkpoint" in found else ""


def series_of(name: str) -> tuple[str, int] | None:
    """A checkpoint's name without its step, the same for all of its run that search in the same way; and the step."""
    found = _OF_RUN.fullmatch(name)
    return (found[1] + found[3], int(found[2])) if found else None


def _resolved(text: str) -> dict[str, Any] | None:
    """The options of a text; None where it is one of another version of the program."""
    try:
        kind, given = split(text)
        return options_of(kind).resolve(given) if kind in kinds() else None
    except UserError:
        return None


def _without_defaults(text: str, changes: dict[str, str]) -> str:
    resolved = _resolved(text)
    if resolved is None:
        return text
    kind = split(text)[0]
    options = options_of(kind)
    defaults = {name: each.default for name, each in options.parameters.items()}
    if "method" in defaults:
        defaults["method"] = PUCT.method  # of nearly all runs
    return kind + options.text(
        {name: value for name, value in (resolved | changes).items() if value != defaults.get(name)}
    )
