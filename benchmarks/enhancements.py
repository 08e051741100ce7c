"""What each search enhancement of alpha-beta is worth: matches of the default player with it against the same without it.

    python -m benchmarks.enhancements                            # all, in chess, othello, checkers and connect four, 10 ms a move
    python -m benchmarks.enhancements chess --only null lmr --games 400 --ms 50
    python -m benchmarks.enhancements othello --nodes 10000      # no clock: the result is reproducible

Both sides have the same time, or the same positions, per move and differ in one switch; every opening, of random plies, is played from
both sides. Score, Elo and their intervals are those of the side with the enhancement, as `python -m arena match` computes them: an
enhancement that costs more time than it saves loses. The default player has those marked *.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import fields

from arena.ladder.standings import signed
from arena.match import Match
from arena.tally import Tally
from base.errors import Arguments, UserError, run_command
from base.local_workers import cores
from classical.alphabeta import AlphaBetaSettings
from classical.alphabeta.probcut import file_of
from games import Game, load

GAMES = {"chess": 8, "othello": 10, "checkers": 8, "connect_four": 5}  # random plies of an opening
NOT_COMPARED = ("iterative", "exact", "bare")  # the first is needed by the clock, the others are no enhancements
ENHANCEMENTS = {  # settings of the side with it, and of the side without
    **{
        each.name: (f"{each.name}=on", f"{each.name}=off")
        for each in fields(AlphaBetaSettings)
        if isinstance(each.default, bool) and each.name not in NOT_COMPARED
    },
    "presort": ("presort=3", "presort=0"),
    "beam=4": ("beam=4", "beam=0"),
    "beam=8": ("beam=8", "beam=0"),
}
COLUMNS = {
    "game": 14,
    "enhancement": 13,
    "games": 7,
    "won": 6,
    "drawn": 7,
    "lost": 6,
    "score": 8,
    "95 %": 16,
    "Elo": 7,
    " ": 16,
}


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("games", nargs="*", metavar="GAME", help=f"some of {', '.join(GAMES)}; default: all")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"some of {', '.join(ENHANCEMENTS)}; default: all")
    parser.add_argument(
        "--games", type=count, default=200, metavar="N", dest="number", help="per enhancement; an even number"
    )
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--ms", type=count, default=10, metavar="N", help="a move, each side (default: 10)")
    limit.add_argument("--nodes", type=count, metavar="N", help="a move, each side, instead of time")
    parser.add_argument("--workers", type=count, default=cores(), metavar="N", help="processes")
    options = parser.parse_args(argv)
    for name in options.games:
        if name not in GAMES:
            raise UserError(f"unknown game '{name}': expected some of {', '.join(GAMES)}")
    for name in options.only or ():
        if name not in ENHANCEMENTS:
            raise UserError(f"unknown enhancement '{name}': expected some of {', '.join(ENHANCEMENTS)}")
    limited = f"nodes={options.nodes}" if options.nodes else f"ms={options.ms}"
    print(f"{limited} a move, {options.number} games per line\n\n{line(COLUMNS)}", flush=True)
    for name in options.games or GAMES:
        game = load(name)
        for enhancement in options.only or ENHANCEMENTS:
            if concerns(game, enhancement):
                tally = play(game, enhancement, limited, options.number, options.workers)
                print(shown(name, enhancement, tally), flush=True)
    return 0


def count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text!r}")
    return int(text)


def concerns(game: Game, enhancement: str) -> bool:
    """Whether it can make a difference in this game."""
    needs = {
        "quiescence": game.rules.gain is not None,
        "lmr": game.rules.gain is not None,
        "checks": game.rules.in_check is not None,
        "null": game.rules.null_result is not None,
        "probcut": file_of(game).exists(),
        "tables": game.rules.endgame_index is not None,
    }
    return needs.get(enhancement, True)


def play(game: Game, enhancement: str, limit: str, games: int, workers: int) -> Tally:
    """The side with it against the side without."""
    plies = next(plies for name, plies in GAMES.items() if game.name.startswith(name))
    a, b = (f"alphabeta:{limit},tt_mb=4,{switch}" for switch in ENHANCEMENTS[enhancement])
    return Match(game, a, b, openings=f"plies={plies}").play((games + 1) // 2, workers)


def is_default(enhancement: str) -> bool:
    """Whether the default player has it."""
    return bool(getattr(AlphaBetaSettings(depth=1), enhancement.partition("=")[0]))


def shown(name: str, enhancement: str, tally: Tally) -> str:
    score, elo = tally.score(), tally.elo()
    interval = "[-, -]" if elo.low is None or elo.high is None else f"[{elo.low:+.0f}, {elo.high:+.0f}]"
    cells = [
        name,
        enhancement + (" *" if is_default(enhancement) else ""),
        tally.games,
        *tally.results.sum(axis=0).tolist(),
    ]
    cells += [
        f"{score.value:.1%}",
        f"[{score.low:.1%}, {score.high:.1%}]",
        "-" if elo.value is None else signed(elo.value),
        interval,
    ]
    return line(cells)


def line(cells: Iterable[object]) -> str:
    return "".join(f"{cell:>{room}}" for cell, room in zip(cells, COLUMNS.values(), strict=True))


if __name__ == "__main__":
    run_command(main)
