"""`python -m train GAME --eval-only`: the linear EVAL fitted to games that are there already. No network, no torch.

python -m train chess --eval-only --from-games lichess.pgn
python -m train othello --eval-only --records first         # the games of runs/first, or any folder or file of records
python -m train othello --eval-only --run first             # the same
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from base.errors import UserError
from base.options import written
from classical.eval import game_arrays, positions, study
from games import Game, load
from games.record import GameRecord, finished, read_records
from train.names import RUNS, folder_of, name_for
from train.recorded import existing

MOST = 4_000_000
"""Plies at most: what fits into memory, and more than a few dozen weights can use."""


def fit_only(options: argparse.Namespace) -> int:
    game = load(options.game)
    if game.rules.features is None:
        raise UserError(f"--eval-only: expected a game with features, {game.name} has none, and so it has no EVAL")
    files, source = sources(game, options)
    records = list(enough(finished(chain.from_iterable(read_records(file, game) for file in files))))
    games = game_arrays(game, records)
    if not len(games):
        raise UserError(f"--eval-only: expected finished games of {game.name} in {source}, found none")
    quiet = positions(game, games).quiet()
    if not len(quiet):
        raise UserError(f"--eval-only: expected quiet positions in the {len(games)} games of {source}, found none")
    found = study(game, quiet, source, len(games))
    path = Path(options.out or RUNS / f"{name_for(game.name)}.eval.json")
    found.weights.save(path)
    print(found.text(game))
    rows = commands(game, path)
    width = max(len(name) for name, _ in rows) + 3
    print("\n".join(["", *(f"{name:{width}}{text}" for name, text in rows)]))
    return 0


def sources(game: Game, options: argparse.Namespace) -> tuple[Sequence[Path], str]:
    """The files that are meant, and what they are called."""
    if options.from_games:
        return existing(options.from_games), ", ".join(options.from_games)
    name = options.records or options.run or name_for(game.name)
    own = folder_of(name) / "games"
    if own.is_dir():
        return [own], str(own.parent)
    if options.records and Path(name).exists():
        return [Path(name)], name
    raise UserError(f"--eval-only: expected --from-games FILES, or --records with a run, got '{name}': no {own}")


def enough(records: Iterator[GameRecord]) -> Iterator[GameRecord]:
    """As many as fit."""
    plies = 0
    for number, record in enumerate(records):
        plies += len(record)
        if plies > MOST:
            print(f"the first {number:,} games are taken, which have {MOST:,} plies")
            return
        yield record


def commands(game: Game, path: Path) -> list[tuple[str, str]]:
    """What can be done with the weights."""
    spec, file = shlex.quote(game.spec), written(str(path))
    rows = [("the weights", str(path))]
    if game.players == 2 and game.rules.zero_sum and game.rules.chance is None:
        fitted = shlex.quote(f"alphabeta:depth=5,eval={file}")
        rows.append(
            ("EVAL against that by hand", f"python -m arena match {spec} {fitted} alphabeta:depth=5 --games 400")
        )
    tree = shlex.quote(f"uct:sims=1000,eval={file},rollout=0")
    rows.append(("EVAL in a tree", f"python -m arena match {spec} {tree} uct:sims=1000 --games 200"))
    return rows
