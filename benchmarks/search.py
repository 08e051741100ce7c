"""How fast and how strong the searches are.

    python -m benchmarks.search                                       # every table, its games by default: an hour
    python -m benchmarks.search chess --table ablation --positions 4
    python -m benchmarks.search connect_four --table solver --positions 20
    python -m benchmarks.search --table rollouts depths --json

{tables}

Each table's columns are explained in its file: ablation.py, solver.py, rollouts.py, depths.py, endgames.py,
equilibrium.py. All but `depths` run on one core and measure processor time, so other work on the machine has little effect; ratios
within one run are reliable, absolute figures less so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import fields
from functools import partial

from base.errors import Arguments, UserError, run_command
from benchmarks import ablation, depths, endgames, equilibrium, rollouts, solver
from benchmarks.games import machine, one_core, versions
from benchmarks.tables import Options, Row, Table, count, header, line
from games import Game, load

TABLES: dict[str, Table] = {
    "ablation": ablation.TABLE,
    "solver": solver.TABLE,
    "first-move": solver.FIRST_MOVE,
    "rollouts": rollouts.TABLE,
    "depths": depths.TABLE,
    "endgames": endgames.TABLE,
    "equilibrium": equilibrium.TABLE,
}
MOST = {"depth": 40, "mb": 1 << 20, "simulations": 10_000_000, "each": 1_000_000, "workers": 1024}
HELP = {
    "positions": "ablation: for each game; solver: for each ply",
    "depth": "ablation: nodes to this depth (default: by game); depths: up to this one (default: 8)",
    "nodes": "ablation: a search that needs more is extrapolated",
    "mb": "ablation, solver: of the transposition table",
    "simulations": "rollouts: in the one tree; equilibrium: in each search",
    "each": "rollouts: in each of 64 trees",
    "pairs": "depths: of games in each match",
    "workers": "depths: processes",
    "seed": "of positions, openings and random games",
}


def main(argv: Sequence[str]) -> int:
    assert __doc__
    about = "\n".join(f"    {name:12}{table.about}" for name, table in TABLES.items())
    parser = Arguments(description=__doc__.format(tables=about))
    parser.add_argument("games", nargs="*", metavar="GAME", help="with options; default: those of each table")
    parser.add_argument(
        "--table", nargs="+", choices=list(TABLES), metavar="TABLE", help="default: all but first-move and endgames"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead")
    for each in fields(Options):
        whole = partial(count, most=MOST.get(each.name, 10**12))
        default = getattr(Options(), each.name)
        parser.add_argument(f"--{each.name}", type=whole, default=default, metavar="N", help=HELP[each.name])
    given = parser.parse_args(argv)
    options = Options(**{each.name: getattr(given, each.name) for each in fields(Options)})
    names = given.table or [name for name, table in TABLES.items() if not table.on_request]
    games = {name: list(games_of(TABLES[name], [load(text) for text in given.games])) for name in names}
    if not any(games.values()):
        raise UserError(f"expected games of the tables {', '.join(names)}, got {', '.join(given.games)}")
    if given.json:
        found = {name: [row for game in games[name] for row in measured(name, game, options)] for name in names}
        print(json.dumps({"machine": machine(True), "versions": versions(), "tables": found}, indent=2))
        return 0
    print(f"{machine(True)}; {', '.join(f'{name} {number}' for name, number in versions().items())}")
    for name in names:
        if games[name]:
            show(name, games[name], options)
    return 0


def games_of(table: Table, given: Sequence[Game]) -> Iterator[Game]:
    """The requested games that the table applies to, or its own."""
    for game in given or [load(text) for text in table.games]:
        if table.takes(game):
            yield game


def measured(name: str, game: Game, options: Options) -> Iterator[Row]:
    table = TABLES[name]
    with one_core() if table.on_one_core else nullcontext():
        for row in table.rows(game, options):
            yield {"game": game.name} | row


def show(name: str, games: Sequence[Game], options: Options) -> None:
    table = TABLES[name]
    width = max(len(game.name) for game in games)
    print(f"\n{name}: {table.about}\n{'game':{width}}{header(table)}", flush=True)
    for game in games:
        for row in measured(name, game, options):
            print(f"{row['game']:{width}}{line(table, row)}", flush=True)


if __name__ == "__main__":
    run_command(main)
