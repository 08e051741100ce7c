"""The sets of solved positions that come with the program, one per game: the same positions in every measurement.

    python -m arena accuracy connect_four alphabeta:depth=8                                    # on the whole set
    python -m arena.released_positions connect_four --count 2400 --seed 1 --first-stage 1      # how it was made

    released(load("connect_four")).positions          # arena/solved_positions.py: Solved

The command draws and solves the positions (arena/drawn_positions.py) and writes the file of the game in `arena/positions/`: a header
with the command, the counts and a SHA-256 of the lines, and a line of JSON for each position. Its moves from the start, the exact value
of every move for the mover, the moves that are quickest, its fifth of the game, its source, and whether it is hard. A file belongs to
one version of the game. The same command writes the same file on every machine, as long as the rules, the solver's order and
alpha-beta's defaults stay the same.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from arena.commands import check_numbers, progress_bar
from arena.drawn_positions import draw_positions
from arena.solved_positions import STAGES, Sample, read_sample, write_sample
from base.errors import Arguments, UserError, run_command
from base.options import split
from cluster.options import add_workers, opened_workers
from games import Game, load
from games.engine.registry import builtin_games

FOLDER = Path(__file__).parent / "positions"


def file_of(game: Game) -> Path:
    """The file of a game's set."""
    return FOLDER / f"{game.name.translate(str.maketrans(':=,', '---'))}.jsonl"


def released(game: Game) -> Sample | None:
    """The set of a game; None where it has none."""
    path = file_of(game)
    if not path.is_file():
        return None
    sample = read_sample(path, game)
    if sample is None:
        raise UserError(
            f"{path}: expected positions of {game.name}, version {game.version}, with the checksum of their header"
        )
    return Sample(sample.positions)  # what was left out when it was made does not matter any more


def evenly(sample: Sample, count: int) -> Sample:
    """`count` of its positions, or all, at equal distances: each fifth, source and stratum keeps its share."""
    positions = sample.positions
    count = min(count, len(positions))
    return replace(sample, positions=[positions[i * len(positions) // count] for i in range(count)])


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("game", metavar="GAME")
    parser.add_argument(
        "--count", type=int, default=2000, metavar="N", help="number of positions, if there are as many"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the sample")
    parser.add_argument(
        "--first-stage", type=int, default=0, metavar="K", help="leave out the first K fifths of the game"
    )
    parser.add_argument("--out", metavar="FILE", help="instead of the game's file in arena/positions/")
    add_workers(parser)
    options = parser.parse_args(argv)
    check_numbers(options)
    return make(options)


def make(options: argparse.Namespace) -> int:
    game = load(options.game)
    if split(options.game)[0] not in builtin_games():
        raise UserError(f"expected a game of the folder games/, got {options.game}")
    if not 0 <= options.first_stage < STAGES:
        raise UserError(f"first-stage: expected 0 to {STAGES - 1}, got {options.first_stage}")
    with opened_workers(options) as workers, progress_bar("solving", "position") as progress:
        sample = draw_positions(game, options.count, options.seed, workers, progress, first_stage=options.first_stage)
    words = ["python", "-m", "arena.released_positions", options.game, "--count", options.count, "--seed", options.seed]
    words += ["--first-stage", options.first_stage] if options.first_stage else []
    hard = sum(each.is_hard is True for each in sample.positions)
    path = file_of(game) if options.out is None else Path(options.out)
    write_sample(path, game, sample, {"command": shlex.join(map(str, words)), "hard": hard})
    print(f"{path}: {len(sample.positions)} positions, {hard} of them hard")
    return 0


if __name__ == "__main__":
    run_command(main)
