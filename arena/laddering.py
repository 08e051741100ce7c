"""`python -m arena ladder` and `python -m arena rate`: their options, their progress bars, what they print.

python -m arena ladder connect_four                                    the standard rungs
python -m arena ladder othello random uct:sims=200 alphabeta:depth=3 --games 100 --report report/
python -m arena rate connect_four alphabeta:depth=5,tt=off             one line: Elo ± interval on the standard scale
python -m arena rate connect_four RUN                                  a training run: the curve over its checkpoints
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from arena.ladder import PAIRINGS, Goal, Ladder
from arena.matching import tell
from arena.players import make_player
from arena.rungs import Rungs, standard_openings, standard_rungs
from arena.standings import Row, Standings, brief
from arena.store import Store, default_file
from base.errors import INTERRUPTED, UserError
from base.options import written
from base.pool import cores
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
    goal, foundation = Goal(options.games), Goal(options.rung_games)
    first = next(iter(named.values()), options.player)
    if (
        make_player(first, game).text == make_player(rungs.anchor, game).text
    ):  # or what is wrong with it, before hours of games
        raise UserError(f"rate: expected another player than {rungs.anchor}, whose Elo is 0 by definition")
    with _store(options, game) as store:
        ladder = Ladder(game, rungs.players, store, rungs.anchor, openings=rungs.openings, seed=options.seed)
        is_interrupted = _lay(ladder, foundation, options.workers)
        found: dict[int | None, dict[str, Any]] = {}
        for step, player in named.items() if steps else [(None, options.player)]:
            if is_interrupted:
                break
            found[step], is_interrupted = _rated(game, store, rungs, player, goal, options)
    if is_interrupted:
        tell("interrupted; what was played is kept")
    if not steps:
        if found:
            print(json.dumps(found[None], ensure_ascii=False) if options.json else one_line(found[None]))
    elif options.json:
        curve = [{"step": step} | each for step, each in found.items()]
        print(json.dumps({"game": game.name, "run": options.player, "checkpoints": curve}, ensure_ascii=False))
    else:
        print(curve_table(found))
    return INTERRUPTED if is_interrupted else 0


def _lay(ladder: Ladder, goal: Goal, workers: int) -> bool:
    """The rungs' own results, where they are missing. True if interrupted."""
    assert goal.games is not None
    missing = ladder.missing(goal)
    if missing and ladder.choose(ladder.pairs()) is not None:
        tell(f"the standard rungs of {ladder.game.name} lack {2 * missing} games among themselves: those come first")
        with _playing(ladder, goal, "games of the rungs") as watch:
            ladder.play(goal, workers, watch)
    return ladder.is_interrupted


def _rated(
    game: Game, store: Store, rungs: Rungs, player: str, goal: Goal, options: argparse.Namespace
) -> tuple[dict[str, Any], bool]:
    """A player's place among the rungs, and whether it was interrupted."""
    ladder = Ladder(game, [*rungs.players, player], store, rungs.anchor, openings=rungs.openings, seed=options.seed)
    text = ladder.texts[player]  # a net's hash
    goal = Goal(goal.games, goal.interval, of=text)
    with _playing(ladder, goal, brief(text)) as watch:
        ladder.play(goal, options.workers, watch)
    _say_how_it_ended(ladder)
    standings = Standings(game, ladder.ratings(), ladder.counts)
    row = next(row for row in standings.rows if row.player == text)
    return as_json(standings, row), ladder.is_interrupted


def as_json(standings: Standings, row: Row) -> dict[str, Any]:
    """The line that `rate --json` ends with."""
    everybody = standings.as_json()
    found: dict[str, Any] = next(each for each in everybody["players"] if each["player"] == row.player)
    met = []
    for each in everybody["players"]:
        points, games = standings.against(row.player, each["player"])
        if games:
            met.append(
                {"player": each["player"], "elo": each["elo"], "games": games, "score": round(points / games, 6)}
            )
    return (
        {"game": everybody["game"], "version": everybody["version"], "anchor": everybody["anchor"]}
        | found
        | {"rungs": met}
    )


def one_line(found: dict[str, Any]) -> str:
    """`othello alphabeta:depth=4: Elo +905 ± 31 [+876, +938], 200 games against 6 rungs, random = 0`"""
    who, zero = brief(found["player"]), brief(found["anchor"])
    against = f"{found['games']} games against {len(found['rungs'])} rungs"
    return f"{found['game']} {who}: Elo {_elo(found)}, {against}, {zero} = 0"


def curve_table(found: dict[int | None, dict[str, Any]]) -> str:
    """A line for each checkpoint."""
    lines = [f"{'step':>10}  {'Elo':<28}{'games':>7}"]
    lines += [f"{step:>10}  {_elo(each):<28}{each['games']:>7}" for step, each in found.items()]
    return "\n".join(lines)


def _elo(found: dict[str, Any]) -> str:
    low, high = found["elo_interval"]
    return (
        "unknown" if found["elo"] is None else f"{found['elo']:+.0f} ± {(high - low) / 2:.0f} [{low:+.0f}, {high:+.0f}]"
    )


def checkpoints_of(text: str) -> dict[int, Path]:
    """A training run's checkpoints by step; none where the text is no run."""
    from checkpoints.shelf import RUNS, all_of  # torch takes seconds to load

    for folder in (RUNS / text, Path(text)):
        try:
            found = all_of(folder)
        except OSError:  # a player's text that no folder can have as its name
            found = []
        if found:
            return {int(path.name): path for path in found}
    return {}


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


def _say_how_it_ended(ladder: Ladder) -> None:
    if ladder.openings.notes:
        tell(ladder.openings.notes)
    if ladder.is_interrupted:
        tell("interrupted; what was played is kept, and the same command goes on")
    elif ladder.has_only_repetitions:
        tell("stopped before the goal: the players only repeat their games")
