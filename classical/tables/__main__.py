"""Builds a game's tables and prints sizes, numbers of won, drawn and lost positions, and the longest wins.

    python -m classical.tables checkers
    python -m classical.tables tic_tac_toe --json
    python -m classical.tables chess --rebuild --check
    python -m classical.tables chess KBNK KQKR                                   with classes that are built on request
    python -m classical.tables chess KBNK --position "8/8/8/8/3k4/8/8/KBN5 w"    a position's value, and each move's

Tables are kept in the cache folder and built again when the game's rules change. Distances are in plies, one action each. In chess
positions that differ only by colours or a symmetry of the board count once.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Sequence
from typing import Any

from tqdm import tqdm

from base.errors import Arguments, UserError, run_command
from classical.tables.check import inconsistencies
from classical.tables.codes import words
from classical.tables.probe import has_endgames
from classical.tables.tables import Section, Tables, load_tables
from games import load
from games.types import GameState


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("game", metavar="GAME", help="a name with options, or a file of rules")
    parser.add_argument("endgames", metavar="CLASS", nargs="*", help="an endgame class that is built on request: KBNK")
    parser.add_argument("--position", metavar="TEXT", help="print this position's value, and each move's")
    parser.add_argument("--rebuild", action="store_true", help="build them even if they exist")
    parser.add_argument("--check", action="store_true", help="compare every value with its successors'")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args(argv)
    game = load(options.game)
    state = game.parse(options.position) if options.position is not None else None
    start = time.perf_counter()
    sizes = dict(game.rules.endgames)
    wanted = [name for name in sizes if name in options.endgames or name not in game.rules.endgames_on_request]
    total = sum(sizes[name] for name in wanted) if has_endgames(game.rules) else None
    with tqdm(total=total, unit=" positions", file=sys.stderr, leave=False, disable=None) as bar:

        def report(name: str, positions: int) -> None:
            bar.set_description(name, refresh=False)
            bar.update(positions)

        tables = load_tables(game, report, rebuild=options.rebuild, endgames=options.endgames)
    seconds = time.perf_counter() - start
    if state is not None:
        print(json.dumps(_judged(tables, state), ensure_ascii=False) if options.json else _lines(tables, state))
        return 0
    checked, wrong = inconsistencies(tables) if options.check else (0, -1)
    if options.json:
        print(json.dumps(_as_json(tables, seconds, checked, wrong), ensure_ascii=False))
    else:
        _print(tables, seconds)
        if options.check:
            verdict = (
                "all follow from their successors"
                if wrong < 0
                else f"index {wrong} does not follow from its successors"
            )
            print(f"{checked:,} positions: {verdict}")
    return 1 if wrong >= 0 else 0


def _judged(tables: Tables, state: GameState) -> dict[str, Any]:
    """Values in words, of the position and of each move, for the player who moves."""
    game = tables.game
    if game.is_terminal(state):
        raise UserError(f"expected a position of {game.name} with a move to choose, got a finished game")
    return {
        "game": game.name,
        "position": game.text(state),
        "value": words(tables.code(state)),
        "moves": {game.name_of(action): words(code) for action, code in tables.judged(state)},
    }


def _lines(tables: Tables, state: GameState) -> str:
    found = _judged(tables, state)
    width = max(map(len, found["moves"]))
    moves = (f"{name:{width}}  {value}" for name, value in found["moves"].items())
    return "\n".join((f"{found['position']}: {found['value']}", *moves))


def _example(tables: Tables, section: Section) -> str:
    state = tables.position(section.example) if section.example >= 0 and has_endgames(tables.game.rules) else None
    return "" if state is None else tables.game.text(state)


def _bytes(tables: Tables) -> int:
    """Of the classes that are built."""
    if not has_endgames(tables.game.rules):
        return tables.array.nbytes
    return tables.array.itemsize * sum(section.size for section in tables.sections())


def peak_memory() -> int:
    """The most bytes that this process has had at once."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _print(tables: Tables, seconds: float) -> None:
    sections = tables.sections()
    width = max(len("class"), *(len(section.name) for section in sections))
    paths, memory = tables.paths, f"{peak_memory() / 1e6:.0f} MB of memory at most"
    where = str(paths[0]) if len(paths) == 1 else f"{len(paths)} files in {paths[0].parent}"
    print(f"{tables.game.name}, version {tables.game.version}: {where}")
    print(f"{_bytes(tables):,} bytes, {seconds:.1f} s, {memory}")
    print(f"{'class':{width}} {'won':>10} {'drawn':>10} {'lost':>10} {'longest win':>12}")
    for section in sections:
        longest = f"{section.longest} plies" if section.won else "-"
        counts = f"{section.won:>10,} {section.drawn:>10,} {section.lost:>10,} {longest:>12}"
        print(f"{section.name:{width}} {counts}  {_example(tables, section)}".rstrip())


def _as_json(tables: Tables, seconds: float, checked: int, wrong: int) -> dict[str, Any]:
    return {
        "game": tables.game.name,
        "version": tables.game.version,
        "paths": [str(path) for path in tables.paths],
        "bytes": _bytes(tables),
        "seconds": round(seconds, 3),
        "peak memory": peak_memory(),
        "classes": [
            {
                "name": section.name,
                "size": section.size,
                "won": section.won,
                "drawn": section.drawn,
                "lost": section.lost,
                "longest": section.longest,
                "example": _example(tables, section),
            }
            for section in tables.sections()
        ],
        "checked": checked,
        "wrong": wrong,
    }


if __name__ == "__main__":
    run_command(main)
