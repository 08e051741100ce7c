"""What networks are called in tables and pictures. Results are stored under a text that says everything; a name says what differs.

name_of("net:runs/first/checkpoints/00002560,sims=100,…")    # net:first@2560,sims=100
weights_of("net:3f2a9c0d1e4b,sims=100,…")                    # 3f2a9c0d1e4b
series_of("net:first@2560,sims=100")                         # ("net:first,sims=100", 2560)
"""

from __future__ import annotations

import re
from pathlib import Path

from arena.players import brief, known_player
from checkpoints import called

_OF_RUN = re.compile(r"(net:[^@,]+)@(\d+)((?:,.*)?)", re.DOTALL)


def name_of(text: str) -> str:
    """As `brief`, a network by its run and step, or by its released name. The text has the folder of the checkpoint."""
    known = known_player(text)
    if known is None or "checkpoint" not in known[2]:
        return brief(text)
    kind, options, resolved = known
    return brief(kind + options.text(resolved | {"checkpoint": called(Path(resolved["checkpoint"]))}))


def weights_of(text: str) -> str:
    """The hash in the text that a network's results are stored under; '' for other players."""
    known = known_player(text)
    return str(known[2].get("checkpoint", "")) if known else ""


def series_of(name: str) -> tuple[str, int] | None:
    """A checkpoint's name without its step, the same for all of its run that search in the same way; and the step."""
    found = _OF_RUN.fullmatch(name)
    return (found[1] + found[3], int(found[2])) if found else None
