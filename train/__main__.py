"""A training run: self-play, learning, evaluation, over and over.

python -m train connect_four --minutes 10
python -m train tic_tac_toe --games 5000 --run first --set net=mlp:2x64 --set selfplay.simulations=32
python -m train connect_four --run first                   # resumes where it stopped, whatever stopped it
python -m train chess --show-config                        # every key of its configuration, and what it means
python -m train report first                               # the run as one HTML page
python -m train compare first second                       # runs drawn together, several seeds as one line
python -m train sweep width.toml                           # a grid of settings and seeds, drawn together
python -m train chess --from-games lichess.pgn             # learns from recorded games first, then from its own
python -m train chess --eval-only --from-games lichess.pgn # the linear EVAL alone, in seconds

A run lives in runs/NAME; its configuration is composed of configs/base.toml, configs/GAME.toml (or --config) and --set. Ctrl-C loses
nothing: the same command resumes the run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from base.errors import Arguments, UserError, run_command
from cluster.options import add_workers, check_workers


def main(argv: Sequence[str]) -> int:
    if argv[:1] == ["report"]:
        from monitor.report.page import main as report
        from train.run_reader import find

        return report(argv[1:], find)
    if argv[:1] == ["compare"]:
        from monitor.report.compare import main as compare
        from train.run_reader import find

        return compare(argv[1:], find)
    if argv[:1] == ["sweep"]:
        from train.sweep import main as sweep

        return sweep(argv[1:])
    options = parser().parse_args(argv)
    check_workers(options)
    for name in ("records", "out"):
        if getattr(options, name) and not options.eval_only:
            raise UserError(f"--{name}: expected --eval-only with it")
    if options.records and options.from_games:
        raise UserError("--eval-only: expected --from-games or --records, got both")
    if options.eval_only:
        from train.fitting import fit_only

        return fit_only(options)
    from train.start import (
        show,
        start,
    )  # torch takes seconds to load, which --help and a wrong option need not wait for

    return show(options) if options.show_config else start(options)


def parser() -> Arguments:
    found = Arguments(description=__doc__)
    found.add_argument(
        "game",
        metavar="GAME",
        help="a game with its options, or a file.py; or `report RUN`, `compare RUN RUN`, `sweep FILE`",
    )
    found.add_argument("--run", metavar="NAME", help="its folder is runs/NAME; without it, the name of the game")
    found.add_argument("--config", metavar="FILE", help="TOML, instead of configs/GAME.toml")
    found.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="one key of the configuration, as in search.c_init=1.5; --show-config lists them",
    )
    budget = found.add_mutually_exclusive_group()
    budget.add_argument("--minutes", type=positive, metavar="M", help="how long it runs (default of a new run: 10)")
    budget.add_argument(
        "--games", type=positive_whole, metavar="N", help="or how many games it plays, in whole iterations"
    )
    add_workers(found)
    found.add_argument(
        "--from-games",
        nargs="+",
        metavar="FILE",
        help="recorded games to learn from first: logs, lists of moves, .pgn, .sgf, folders of them",
    )
    found.add_argument("--show-config", action="store_true", help="show the configuration and stop")
    found.add_argument("--eval-only", action="store_true", help="fit the linear EVAL to games and stop; no network")
    found.add_argument("--records", metavar="RUN", help="with --eval-only: the games of a run, or a folder of them")
    found.add_argument("--out", metavar="PATH", help="with --eval-only: where the weights go")
    found.add_argument(
        "--trust", action="store_true", help="start the programs that the configuration of someone else's run names"
    )
    found.add_argument("--device", metavar="D", help="where the network runs and learns, as torch names it")
    return found


def positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text!r}")
    return number


def positive_whole(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 60:
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, got {text!r}")
    return int(text)


if __name__ == "__main__":
    run_command(main)
