"""How long endgame tables take to build, and whether they are right: the table `endgames` of `benchmarks.search`.

| column           | what                                                                                              |
|------------------|---------------------------------------------------------------------------------------------------|
| class            | the pieces                                                                                        |
| positions        | unfinished ones; those that differ by what the game's numbering leaves out count once             |
| build s          | retrograde analysis, compiled before                                                              |
| MB               | nodes and edges of the class while it is built, and the codes of all classes                      |
| check s          | every value against those of its successors                                                       |
| wrong            | an index that does not follow from them, or 0                                                     |
| won, drawn, lost | shares of the positions, for the player to move                                                   |
| longest          | plies of the longest win                                                                          |
| published        | the same, from the literature, where it is known                                                  |

No file is read or written. Classes on request are built too.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator

import numpy as np

from benchmarks.tables import Column, Options, Row, Table
from classical.tables.check import inconsistent
from classical.tables.codes import DRAW, plies_of
from classical.tables.endgames import build_class, spans
from classical.tables.probe import has_endgames
from games import Game

PUBLISHED = {"chess": {"KRK": 31, "KQK": 19, "KPK": 55, "KBBK": 37, "KBNK": 65, "KQKR": 69}}
"""Plies: mates in 16, 10, 28, 19, 33 and 35 moves (Ströhlein 1970, Thompson 1986)."""


def rows(game: Game, options: Options) -> Iterator[Row]:
    table = np.zeros(sum(size for _, size in game.rules.endgames), np.uint16)
    first_class = game.rules.endgames[0][0]
    build_class(game, table, first_class)  # compiles
    inconsistent(game, table, first_class)
    for name, (first, last) in spans(game).items():
        tracemalloc.start()
        build_class(game, table, name)
        peak = tracemalloc.get_traced_memory()[1] + table.nbytes
        tracemalloc.stop()
        start = time.process_time()
        codes = table[first:last] = build_class(game, table, name)
        built = time.process_time()
        _, wrong = inconsistent(game, table, name)
        checked = time.process_time()
        won, drawn, lost = (codes > DRAW) & (codes % 2 == 1), codes == DRAW, (codes > DRAW) & (codes % 2 == 0)
        positions = int(won.sum() + drawn.sum() + lost.sum())
        yield {
            "class": name,
            "positions": positions,
            "build s": built - start,
            "MB": peak / 1e6,
            "check s": checked - built,
            "wrong": max(wrong, 0),
            "won": won.sum() / max(positions, 1),
            "drawn": drawn.sum() / max(positions, 1),
            "lost": lost.sum() / max(positions, 1),
            "longest": plies_of(int(codes[won].max(initial=0))),
            "published": PUBLISHED.get(game.name, {}).get(name),
        }


def share(value: float) -> str:
    return f"{100 * value:.2f} %"


TABLE = Table(
    about="endgame tables: seconds and megabytes to build, values, and whether they follow from one another",
    games=("chess", "checkers"),
    columns={
        "class": Column(9),
        "positions": Column(11, lambda value: f"{value:,}"),
        "build s": Column(9, lambda value: f"{value:.2f}"),
        "MB": Column(7, lambda value: f"{value:.0f}"),
        "check s": Column(9, lambda value: f"{value:.2f}"),
        "wrong": Column(7),
        "won": Column(10, share),
        "drawn": Column(10, share),
        "lost": Column(10, share),
        "longest": Column(9),
        "published": Column(11),
    },
    rows=rows,
    takes=lambda game: has_endgames(game.rules),
    on_request=True,
)
