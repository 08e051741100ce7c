"""Builds a game's tables and prints sizes, numbers of won, drawn and lost positions, and the longest wins.

    python -m classical.tables checkers
    python -m classical.tables tic_tac_toe --json
    python -m classical.tables chess --rebuild --check

Tables are kept in the cache folder and built again when the game's rules change. Distances are in plies, one action each.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from tqdm import tqdm

from base.errors import Arguments, run_command
from classical.tables.check import inconsistencies
from classical.tables.probe import has_endgames
from classical.tables.tables import Section, Tables, load_tables
from games import load


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("game", metavar="GAME", help="a name with options, or a file of rules")
    parser.add_argument("--rebuild", action="store_true", help="build them even if they exist")
    parser.add_argument("--check", action="store_true", help="compare every value with its successors'")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args(argv)
    game = load(options.game)
    start = time.perf_counter()
    total = sum(size for _, size in game.rules.endgames) if has_endgames(game.rules) else None
    with tqdm(total=total, unit=" positions", file=sys.stderr, leave=False, disable=None) as bar:

        def report(name: str, positions: int) -> None:
            bar.set_description(name, refresh=False)
            bar.update(positions)

        tables = load_tables(game, report, rebuild=options.rebuild)
    seconds = time.perf_counter() - start
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


def _example(tables: Tables, section: Section) -> str:
    state = tables.position(section.example) if section.example >= 0 and has_endgames(tables.game.rules) else None
    return "" if state is None else tables.game.text(state)


def _print(tables: Tables, seconds: float) -> None:
    sections = tables.sections()
    width = max(len("class"), *(len(section.name) for section in sections))
    print(
        f"{tables.game.name}, version {tables.game.version}: {tables.path} ({tables.array.nbytes:,} bytes, {seconds:.1f} s)"
    )
    print(f"{'class':{width}} {'won':>10} {'drawn':>10} {'lost':>10} {'longest win':>12}")
    for section in sections:
        longest = f"{section.longest} plies" if section.won else "-"
        counts = f"{section.won:>10,} {section.drawn:>10,} {section.lost:>10,} {longest:>12}"
        print(f"{section.name:{width}} {counts}  {_example(tables, section)}".rstrip())


def _as_json(tables: Tables, seconds: float, checked: int, wrong: int) -> dict[str, Any]:
    return {
        "game": tables.game.name,
        "version": tables.game.version,
        "path": str(tables.path),
        "bytes": tables.array.nbytes,
        "seconds": round(seconds, 3),
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
