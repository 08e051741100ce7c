"""`python -m arena engine GAME PLAYER`: a player as an engine for other people's programs (docs/engines.md).

Chess speaks UCI, go GTP, every other game of two players without dice UGI; `--protocol` chooses another one. The player's text is as
everywhere, `net:chess/mine,sims=800`. Its limits hold for a move where the other program sends none of the same kind.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys

from arena.protocols.service import Service
from base.errors import UserError
from base.options import split

PROTOCOLS = {"uci": "Uci", "gtp": "Gtp", "ugi": "Ugi"}
"""The class of each, in the file of the same name."""
USUAL = {"chess": "uci", "go": "gtp"}


def add_engine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("player", metavar="PLAYER", help="as in alphabeta:ms=1000")
    parser.add_argument("--protocol", choices=sorted(PROTOCOLS), help="another than the usual one of the game")


def run_engine(options: argparse.Namespace) -> int:
    name = options.protocol or USUAL.get(split(options.game)[0], "ugi")
    protocol = getattr(importlib.import_module(f"arena.protocols.{name}"), PROTOCOLS[name])(
        options.game, options.player
    )
    code = Service(protocol, sys.stdin.fileno(), sys.stdout.fileno()).run()
    if protocol.failure:
        raise UserError(protocol.failure)
    if protocol.is_at_work:  # compiled code must not run on while the interpreter takes itself down
        os._exit(code)
    return code
