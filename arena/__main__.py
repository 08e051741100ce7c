"""Players, matches, ladders, accuracy, and play at the terminal or in the browser.

python -m arena players
python -m arena match connect_four alphabeta:depth=4 uct:sims=500 --games 200
python -m arena ladder connect_four
python -m arena rate connect_four alphabeta:depth=5,tt=off
python -m arena play connect_four human alphabeta:ms=500
python -m arena serve
python -m arena accuracy connect_four alphabeta:depth=8
echo "4 4" | python -m arena choose connect_four --player alphabeta:depth=10
python -m arena explain othello --player alphabeta:depth=6 --moves "d3 c5"
python -m arena explain tree:two_ply.json --player alphabeta:depth=2,quiescence=off --tree two_ply.svg
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from arena.accuracy import add_accuracy, run_accuracy
from arena.choose import add_choose, run_choose
from arena.commands import check_numbers
from arena.explain import add_explain, run_explain
from arena.ladder.ladder import add_ladder, run_ladder
from arena.ladder.scale import add_rate, run_rate
from arena.match import add_match, run_match
from arena.page.serve import add_serve, run_serve
from arena.players import kinds, options_of, summary_of
from arena.terminal import add_play, run_play
from base.errors import Arguments, run_command

Add = Callable[[argparse.ArgumentParser], None]
Run = Callable[[argparse.Namespace], int]


def run_players(options: argparse.Namespace) -> int:
    for kind in kinds():
        print(f"{kind}: {summary_of(kind)}")
        for name, words in options_of(kind).words().items():
            print(f"    {name}: {words}")
    return 0


COMMANDS: dict[str, tuple[Add, Run, str]] = {
    "players": (lambda parser: None, run_players, "list the kinds of player and their options"),
    "match": (add_match, run_match, "play two players against each other: score, Elo and their intervals"),
    "ladder": (add_ladder, run_ladder, "rate many players on one Elo scale"),
    "rate": (add_rate, run_rate, "rate one player, or the checkpoints of a run, on the standard scale of its game"),
    "play": (add_play, run_play, "play at the terminal against players or people, or watch players"),
    "serve": (add_serve, run_serve, "play and analyse any game on a page in the browser"),
    "accuracy": (add_accuracy, run_accuracy, "measure how often a player's moves keep the value of solved positions"),
    "choose": (add_choose, run_choose, "choose a move for each position on standard input; answers in lines of JSON"),
    "explain": (add_explain, run_explain, "show a player's search of one position"),
}


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    for name, (add, run, text) in COMMANDS.items():
        add(parser.command(name, checked(run), text))
    return parser.run(argv)


def checked(run: Run) -> Run:
    """The command, after a check of its numbers."""

    def run_checked(options: argparse.Namespace) -> int:
        check_numbers(options)
        return run(options)

    return run_checked


if __name__ == "__main__":
    run_command(main)
