"""Players, matches, ladders, accuracy, and play at the terminal or in the browser.

python -m arena players
python -m arena match connect_four alphabeta:depth=4 uct:sims=500 --games 200
python -m arena ladder connect_four
python -m arena rate connect_four alphabeta:depth=5,tt=off
python -m arena play connect_four human alphabeta:ms=500
python -m arena serve
python -m arena accuracy connect_four alphabeta:depth=8
python -m arena exploit leduc_poker cfr:iterations=100
echo "4 4" | python -m arena choose connect_four --player alphabeta:depth=10
python -m arena review connect_four game.txt alphabeta:depth=10
python -m arena engine chess alphabeta:ms=1000
echo '{"id": "a", "moves": "4 4", "analyzeTurns": [0, 2]}' | python -m arena analyze connect_four uct:sims=1000
python -m arena explain othello --player alphabeta:depth=6 --moves "d3 c5"
python -m arena explain tree:two_ply.json --player alphabeta:depth=2,quiescence=off --tree two_ply.svg
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Sequence

from base.errors import Arguments, run_command

Run = Callable[[argparse.Namespace], int]

COMMANDS: dict[str, tuple[str, str]] = {
    "players": ("arena.players", "list the kinds of player and their options"),
    "match": ("arena.match", "play two players against each other: score, Elo and their intervals"),
    "ladder": ("arena.ladder.ladder", "rate many players on one Elo scale"),
    "rate": ("arena.ladder.scale", "rate one player, or the checkpoints of a run, on the standard scale of its game"),
    "play": ("arena.terminal", "play at the terminal against players or people, or watch players"),
    "serve": ("arena.page.serve", "play and analyse any game on a page in the browser"),
    "accuracy": ("arena.accuracy", "measure how often a player's moves keep the value of solved positions"),
    "exploit": ("arena.exploit", "how much a best response gains against a player; small games that hide information"),
    "choose": ("arena.choose", "choose a move for each position on standard input; answers in lines of JSON"),
    "explain": ("arena.explain", "show a player's search of one position"),
    "review": ("arena.review", "go through a game that somebody played: values, mistakes, better lines"),
    "analyze": ("arena.analyze", "analyse positions: questions and answers in lines of JSON, several at once"),
    "engine": ("arena.protocols.engine", "a player as an engine for other programs: UCI, GTP, UGI"),
}
"""The module of each, which has the functions `add_COMMAND` and `run_COMMAND`, and its sentence. Only the module of the command that
runs is imported: an engine has to answer before what the others need is loaded."""


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    for name, (module, text) in COMMANDS.items():
        if list(argv[:1]) == [name]:
            found = importlib.import_module(module)
            getattr(found, f"add_{name}")(parser.command(name, checked(getattr(found, f"run_{name}")), text))
        else:
            parser.command(name, lambda options: 0, text)
    return parser.run(argv)


def checked(run: Run) -> Run:
    """The command, after a check of its numbers."""

    def run_checked(options: argparse.Namespace) -> int:
        from arena.commands import check_numbers

        check_numbers(options)
        return run(options)

    return run_checked


if __name__ == "__main__":
    run_command(main)
