"""A person at the board: `python -m arena play othello human alphabeta:ms=500`.

One PLAYER for each seat, in the order in which they move; `human` is whoever sits at the terminal, and there may be several, or none to
watch. A move is typed by its name, several in a row where a turn has several; anything else is a command:

    m           the legal moves                      board       draw it again
    ?           a hint: how a player sees it         undo        take back your last move
    save FILE   FILE.log: a record of the game, to   resign      the game is lost
                learn from; else its moves as text   quit        leave; so does the end of input
    help        this

Where a move has the name of a command, the command is written `:m`. Dice roll by themselves, the same ones after an undo; with
--ask-dice the person rolls real ones and types what they show. All values are utilities (1 wins, -1 loses), and it is said for whom.
"""

from __future__ import annotations

import argparse
import io
import sys
from contextlib import suppress
from pathlib import Path

from arena.table import Left, Table, check_target
from base.errors import INTERRUPTED, UserError
from games import load


def add_play(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("players", nargs="+", metavar="PLAYER", help="one for each seat: human, or as in uct:ms=500")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the dice and of random players")
    parser.add_argument("--save", metavar="FILE", help="where the finished game goes: FILE.log, or its moves as text")
    parser.add_argument("--position", metavar="TEXT", help="begin from a position in the game's own notation")
    parser.add_argument("--moves", default="", metavar="TEXT", help="actions already played, by name")
    parser.add_argument("--hint", metavar="SPEC", help="who gives hints; the opponent, if not said")
    parser.add_argument("--ask-dice", action="store_true", help="type what the dice show")


def run_play(options: argparse.Namespace) -> int:
    """`python -m arena play`."""
    game = load(options.game)
    start = None if options.position is None else game.parse(options.position)
    if options.seed < 0:
        raise UserError(f"seed: expected 0 or more, got {options.seed}")
    if options.save is not None:
        check_target(Path(options.save), start is not None)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    table = Table(
        game,
        options.players,
        start,
        seed=options.seed,
        hint=options.hint,
        ask_dice=options.ask_dice,
        ask=typed,
        say=lambda text: print(text, flush=True),
    )
    table.begin_with(options.moves)
    try:
        table.play()
    except (EOFError, Left, KeyboardInterrupt) as leaving:
        print("\nbye; the game is not finished" + ("" if table.saved else ", and not saved"))
        return INTERRUPTED if isinstance(leaving, KeyboardInterrupt) else 0
    if options.save is not None:
        table.save(options.save)
        print(f"saved in {options.save}")
    return 0


def typed(prompt: str) -> str:
    """A line from the person; where nobody types, it is shown as if it had been typed."""
    if sys.stdin is None:
        raise EOFError
    if sys.stdin.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401  (lines can then be edited, and earlier ones fetched back)
        return input(prompt)
    print(prompt, end="", flush=True)
    text = sys.stdin.readline()
    if not text:
        raise EOFError
    print(text.rstrip("\n"), flush=True)
    return text
