"""`python -m arena ladder` and `python -m arena rate`: their options, their progress bars, what they print.

python -m arena ladder connect_four                                    the standard rungs
python -m arena ladder othello random uct:sims=200 alphabeta:depth=3 --games 100 --report report/
python -m arena rate connect_four alphabeta:depth=5,tt=off             one line: Elo ± interval on the standard scale
python -m arena rate connect_four RUN                                  a training run: the curve over its checkpoints
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from arena.ladder import PAIRINGS, Goal, Ladder
from arena.matching import tell
from arena.players import make_player
from arena.rungs import Rungs, standard_openings, standard_rungs
from arena.scale import Place, Scale, Watch
from arena.standings import Standings
from arena.store import FOLDER, Store, default_file
from base.errors import INTERRUPTED, UserError
from base.local_workers import cores
from base.options import written
from games import Game, load

GAMES = 200
RUNG_GAMES = 100  # of a rung against the others, before somebody is measured by them


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--file", metavar="FILE", help="the results; without it runs/ladders/GAME.sqlite")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of openings, dice and players")
    parser.add_argument("--json", action="store_true", help="one line of JSON at the end")
    parser.add_argument("--workers", type=int, default=cores(), metavar="N", help="processes; 0: this one alone")


def add_ladder(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("players", nargs="*", metavar="PLAYER", help="at least two; without any, the standard rungs")
    parser.add_argument(
        "--games",
        type=int,
        metavar="N",
        help=f"a player's, in the mean, with those in the file (without a goal {GAMES})",
    )
    parser.add_argument("--until-interval", type=float, metavar="E", help="until every rating is known to ± E Elo")
    parser.add_argument("--pairing", choices=PAIRINGS, default=PAIRINGS[0], help="who meets next")
    parser.add_argument("--anchor", metavar="SPEC", help="whose Elo is 0; without it random, or else the first player")
    parser.add_argument("--report", metavar="DIR", help="write ladder.md, ladder.png and ladder.html there")
    parser.add_argument("--everyone", action="store_true", help="show all that the file knows, not just these players")
    _common(parser)


def add_rate(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("player", metavar="PLAYER", help="or a training run: its name under runs/, or its folder")
    parser.add_argument("--games", type=int, default=GAMES, metavar="N", help="of the player, with those in the file")
    parser.add_argument(
        "--rung-games", type=int, default=RUNG_GAMES, metavar="N", help="of a rung, in the mean, against other rungs"
    )
    parser.add_argument(
        "--sims", type=int, default=200, metavar="N", help="a move, of the checkpoints of a run; 0: none"
    )
    _common(parser)


def run_ladder(options: argparse.Namespace) -> int:
    _check(options)
    game = load(options.game)
    if options.players:
        rungs = Rungs(tuple(options.players), options.anchor or "", standard_openings(game))
    else:
        rungs = standard_rungs(game)
    games = GAMES if options.games is None and options.until_interval is None else options.games
    goal = Goal(games, options.until_interval)
    with _store(options, game) as store:
        anchor = options.anchor or rungs.anchor or None
        ladder = Ladder(game, rungs.players, store, anchor, options.pairing, rungs.openings, options.seed)
        with _playing(ladder, goal, "games") as watch:
            ladder.play(goal, options.workers, watch)
        shown = sorted({*ladder.players, *store.players()}) if options.everyone else ladder.players
        standings = Standings(game, ladder.ratings(shown), ladder.counts)
    _say_how_it_ended(ladder)
    files = standings.write(options.report) if options.report else []
    print(json.dumps(standings.as_json(), ensure_ascii=False) if options.json else standings.text())
    if files:
        tell(f"written: {', '.join(map(str, files))}")
    return INTERRUPTED if ladder.is_interrupted else 0


def run_rate(options: argparse.Namespace) -> int:
    _check(options)
    if options.sims < 0:
        raise UserError(f"sims: expected 0 or more, got {options.sims}")
    game = load(options.game)
    rungs = standard_rungs(game)
    steps = checkpoints_of(options.player)
    named = {step: f"net:{written(str(path))},sims={options.sims}" for step, path in steps.items()}
    first = next(iter(named.values()), options.player)
    if (
        make_player(first, game).text == make_player(rungs.anchor, game).text
    ):  # or what is wrong with it, before hours of games
        raise UserError(f"rate: expected another player than {rungs.anchor}, whose Elo is 0 by definition")
    found: dict[int | None, Place] = {}
    with _store(options, game) as store:
        scale = Scale(game, rungs, store, options.seed)
        if missing := scale.missing(options.rung_games):
            tell(f"the standard rungs of {game.name} lack {missing} games among themselves: those come first")
            with _bar("games of the rungs") as watch:
                scale.lay(options.rung_games, options.workers, watch)
        is_interrupted = scale.ladder.is_interrupted
        for step, player in named.items() if steps else [(None, options.player)]:
            if is_interrupted:
                break
            with _bar(player) as watch:
                found[step] = scale.place(player, options.games, options.workers, watch)
            _say_how_it_ended(found[step].ladder)
            is_interrupted = found[step].ladder.is_interrupted
    if is_interrupted:
        tell("interrupted; what was played is kept")
    if not steps:
        if found:
            print(json.dumps(found[None].as_json(), ensure_ascii=False) if options.json else found[None])
    elif options.json:
        curve = [{"step": step} | each.as_json() for step, each in found.items()]
        print(json.dumps({"game": game.name, "run": options.player, "checkpoints": curve}, ensure_ascii=False))
    else:
        print(curve_table(found))
    return INTERRUPTED if is_interrupted else 0


def curve_table(found: dict[int | None, Place]) -> str:
    """A line for each checkpoint."""
    lines = [f"{'step':>10}  {'Elo':<28}{'games':>7}"]
    lines += [f"{step:>10}  {each.elo():<28}{each.row.games:>7}" for step, each in found.items()]
    return "\n".join(lines)


def checkpoints_of(text: str) -> dict[int, Path]:
    """A training run's checkpoints by step; none where the text is no run."""
    folders = [folder for folder in (FOLDER.parent / text, Path(text)) if os.path.isdir(folder)]
    if not folders:
        return {}
    from checkpoints.shelf import all_of  # torch takes seconds to load, which no other player needs

    return next(({int(path.name): path for path in found} for folder in folders if (found := all_of(folder))), {})


def _check(options: argparse.Namespace) -> None:
    for name, least in (("games", 1), ("rung_games", 1), ("workers", 0)):
        value = getattr(options, name, None)
        if value is not None and value < least:
            raise UserError(f"{name.replace('_', '-')}: expected {least} or more, got {value}")


def _store(options: argparse.Namespace, game: Game) -> Store:
    return Store(options.file or default_file(game), game)


@contextmanager
def _playing(ladder: Ladder, goal: Goal, what: str) -> Iterator[Any]:
    """A progress bar in games."""
    total = 2 * ladder.missing(goal) if goal.games is not None and goal.interval is None else None
    with tqdm(total=total, desc=what, unit=" games", disable=None, smoothing=0.1) as bar:
        yield lambda blocks: bar.update(2 * blocks)


@contextmanager
def _bar(what: str) -> Iterator[Watch]:
    """The same for who says (done, total)."""
    with tqdm(desc=what, unit=" games", disable=None, smoothing=0.1) as bar:

        def watch(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield watch


def _say_how_it_ended(ladder: Ladder) -> None:
    if ladder.openings.notes:
        tell(ladder.openings.notes)
    if ladder.is_interrupted:
        tell("interrupted; what was played is kept, and the same command goes on")
    elif ladder.has_only_repetitions:
        tell("stopped before the goal: the players only repeat their games")
