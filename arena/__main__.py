"""Players at work: matches between them, games against people, their accuracy, their choices, their thinking.

python -m arena players
python -m arena match connect_four alphabeta:depth=4 uct:sims=500 --games 200
python -m arena ladder connect_four
python -m arena rate connect_four alphabeta:depth=5,tt=off
python -m arena play connect_four human alphabeta:ms=500
python -m arena accuracy connect_four alphabeta:depth=8
echo "4 4" | python -m arena choose connect_four --player alphabeta:depth=10
python -m arena explain othello --player alphabeta:depth=6 --moves "d3 c5"
python -m arena explain tree:two_ply.json --player alphabeta:depth=2,quiescence=off --tree two_ply.svg
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from arena.choosing import answer, state_of
from arena.drawing import tree_of, write_tree
from arena.explaining import explanation
from arena.laddering import add_ladder, add_rate, run_ladder, run_rate
from arena.matching import add_match, run_match
from arena.measuring import add_accuracy, run_accuracy
from arena.players import FACTORIES, files_of, make_player, options_of, summary_of
from arena.terminal import add_play, run_play
from base.errors import Arguments, UserError, run_command
from base.lines import Lines
from base.local_workers import cores, run_jobs
from base.workers import NOTHING_YET
from games import load


def main(argv: Sequence[str]) -> int:
    return parser().run(argv)


def parser() -> Arguments:
    found = Arguments(description=__doc__)
    found.command("players", run_players, "the kinds of player that there are, and their options")

    add_match(
        found.command("match", run_match, "two players against each other: who is stronger, by how much, how sure")
    )
    add_ladder(found.command("ladder", run_ladder, "many players on one scale of Elo"))
    add_rate(found.command("rate", run_rate, "one player's place on its game's standard scale, or a run's curve"))
    add_play(found.command("play", run_play, "at the terminal, against a player or a person, or as a spectator"))
    add_accuracy(found.command("accuracy", run_accuracy, "how often a player's moves keep what positions are worth"))

    added = found.command("choose", run_choose, "one position per line of standard input, one move per line as JSON")
    added.add_argument("game", metavar="GAME")
    added.add_argument("--player", required=True, metavar="SPEC", help="who chooses, as in alphabeta:depth=6")
    added.add_argument("--workers", type=int, default=cores(), metavar="N", help="processes; 0: this one alone")

    added = found.command("explain", run_explain, "how a player thinks about one position, for people")
    added.add_argument("game", metavar="GAME")
    added.add_argument("--player", required=True, metavar="SPEC", help="who thinks, as in alphabeta:depth=6")
    added.add_argument(
        "--moves", default="", metavar="TEXT", help="actions from the start (or from --position), by name"
    )
    added.add_argument("--position", metavar="TEXT", help="a position in the game's own notation")
    added.add_argument("--tree", metavar="FILE.svg", help="draw the searched tree, where it is small (alphabeta)")
    return found


def run_players(options: argparse.Namespace) -> int:
    for kind in FACTORIES:
        print(f"{kind}: {summary_of(kind)}")
        for name, words in options_of(kind).words().items():
            print(f"    {name}: {words}")
    return 0


def run_choose(options: argparse.Namespace) -> int:
    if options.workers < 0:
        raise UserError(f"workers: expected 0 or more, got {options.workers}")
    game = load(options.game)
    player = make_player(options.player, game)  # refuses a wrong one, and compiles before the workers start
    code, sent = 0, files_of(game, player.text)
    jobs = Jobs(game.spec, player.text, Lines(sys.stdin))
    for _, found in run_jobs(answer, jobs, options.workers, initializer=sent.unpack, ordered=True):
        code = 1 if found.startswith('{"error"') else code
        print(found, flush=True)
    return code


class Jobs:
    """What `answer` wants, for each line as it comes."""

    def __init__(self, game: str, player: str, lines: Lines) -> None:
        self.game, self.player, self.lines = game, player, lines

    def fileno(self) -> int:
        return self.lines.fileno()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        line = next(self.lines)
        return line if line is NOTHING_YET else (self.game, self.player, line)


def run_explain(options: argparse.Namespace) -> int:
    game = load(options.game)
    player = make_player(options.player, game)
    start = game.initial() if options.position is None else state_of(game, f"position:{options.position}")
    state = game.play(options.moves, start)
    if options.tree:
        choice, edges = tree_of(player, state)
        write_tree(options.tree, game, state, edges)
    else:
        choice = player.choose(state)
    print(explanation(game, state, choice, player.text))
    if options.tree:
        print(f"\nthe searched tree is drawn in {options.tree}")
    return 0


if __name__ == "__main__":
    run_command(main)
