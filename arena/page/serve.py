"""`python -m arena serve [GAME]`: the page in the browser."""

from __future__ import annotations

import argparse
import webbrowser

from arena.page.server import PageServer
from arena.players import make_player
from base.errors import INTERRUPTED, UserError
from games import load

PORT = 8321


def add_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("game", nargs="?", metavar="GAME", help="the game to begin with; a file of rules, too")
    parser.add_argument(
        "--port", type=int, metavar="N", help=f"default: {PORT}, or a free one where that is taken; 0: a free one"
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument(
        "--player",
        action="append",
        default=[],
        metavar="PLAYER",
        help="one more player for the page, such as an engine's command, which the page itself cannot name; repeatable",
    )


def run_serve(options: argparse.Namespace) -> int:
    if options.port is not None and not 0 <= options.port < 2**16:
        raise UserError(f"port: expected 0 to {2**16 - 1}, got {options.port}")
    game = None if options.game is None else load(options.game)
    for text in options.player:
        if game is None:
            raise UserError("player: expected a game before it, for which it plays")
        make_player(text, game, ready=False)
    server = opened(options.port, () if options.game is None else (options.game,), tuple(options.player))
    print(f"{server.url}\nplay and analyse in the browser, on this machine only; Ctrl-C ends it", flush=True)
    if not options.no_browser:
        webbrowser.open(server.url)
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        print("\nbye")
        return INTERRUPTED
    finally:
        server.server_close()
    return 0


def opened(port: int | None, games: tuple[str, ...] = (), players: tuple[str, ...] = ()) -> PageServer:
    """At the port, or where none is given, at the usual one or a free one."""
    try:
        return PageServer(PORT if port is None else port, games, players)
    except OSError as error:
        if port is not None:
            raise UserError(f"port {port}: expected one that is free: {error.strerror}") from None
        return PageServer(0, games, players)
