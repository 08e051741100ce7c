"""How many positions alpha-beta visits to a depth, with all its organs and bare, in chess middlegames.

    python -m benchmarks.effort                              # depth 8; bare alpha-beta as deep as 30 million nodes reach
    python -m benchmarks.effort --depth 8 --most 300000000   # a longer look: bare alpha-beta gets deeper, less is extrapolated

Bare is alpha-beta as the textbooks give it: actions in the order of the rules, EVAL at the horizon, no table, and no quiescence, which
makes its nodes fewer rather than more. It is run depth by depth until the next would exceed `--most`. Its nodes grow by turns more and
less (Knuth and Moore: b^⌈d/2⌉ + b^⌊d/2⌋), so growth over two plies is what is carried on to the depth asked for:

    nodes(d + 2) = nodes(d)² / nodes(d - 2)          of the deepest d of the same parity, again and again

The third column has the exact organs alone, at the depth that bare alpha-beta was measured to: they find the same value at the same
depth, while selective organs look deeper here and less deep there. Positions are those of Bratko and Kopec with at least 20 men.
Nodes, not seconds: a busy machine changes nothing. The last line has geometric means and their ratios.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any

from base.errors import Arguments, run_command
from base.files import read_json
from benchmarks.games import short
from benchmarks.positions import BRATKO_KOPEC
from classical.alphabeta import AlphaBeta, AlphaBetaSettings
from classical.alphabeta.settings import SELECTIVE
from games import Game, load

MEN = 20
WITHOUT: dict[str, Any] = {name: 0 if name == "beam" else False for name in SELECTIVE}
GROWTH = 12  # at most, from one depth to the next: what decides whether another one is begun


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("--depth", type=count, default=8, metavar="D", help="with organs, and extrapolated to without")
    parser.add_argument("--most", type=count, default=30_000_000, metavar="N", help="nodes of one bare search")
    parser.add_argument("--positions", type=count, default=24, metavar="N", help="at most")
    options = parser.parse_args(argv)
    game = load("chess")
    print(line("position", "all organs", "bare", "measured to", "bare there", "exact organs there"), flush=True)
    rows = []
    for name, state in middlegames(game)[: options.positions]:
        measured = bare_nodes(game, state, options.depth, options.most)
        reached = len(measured)
        exact = AlphaBetaSettings(depth=reached, **WITHOUT)
        everything = nodes(game, state, AlphaBetaSettings(depth=options.depth))
        rows.append((everything, extrapolated(measured, options.depth), measured[-1], nodes(game, state, exact)))
        cells = [short(number) for number in rows[-1]]
        print(line(name, cells[0], cells[1], str(reached), *cells[2:]), flush=True)
    means = [geometric_mean(column) for column in zip(*rows, strict=True)]
    cells = [short(number) for number in means]
    print("\n" + line("mean", cells[0], cells[1], "", *cells[2:]))
    print(line("ratio", f"1/{means[1] / means[0]:.0f}", "", "", "", f"1/{means[2] / means[3]:.0f}"))
    return 0


def line(*cells: str) -> str:
    return "".join(f"{cell:>{room}}" for cell, room in zip(cells, (10, 13, 10, 14, 13, 21), strict=True))


def count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text!r}")
    return int(text)


def middlegames(game: Game) -> list[tuple[str, Any]]:
    """Name and position."""
    found = []
    for one in read_json(BRATKO_KOPEC)["positions"]:
        if sum(letter.isalpha() for letter in one["fen"].split()[0]) >= MEN:
            found.append((one["id"], game.parse(one["fen"])))
    return found


def nodes(game: Game, state: Any, settings: AlphaBetaSettings) -> float:
    return float(AlphaBeta(game, settings).choose(state).nodes)


def bare_nodes(game: Game, state: Any, depth: int, most: int) -> list[float]:
    """Of depth 1, 2, … as far as is affordable; at least 3, or there would be no growth to carry on."""
    found: list[float] = []
    while len(found) < depth and (len(found) < 3 or found[-1] * GROWTH <= most):
        found.append(nodes(game, state, AlphaBetaSettings.plain(depth=len(found) + 1)))
    return found


def extrapolated(measured: Sequence[float], depth: int) -> float:
    """Nodes at `depth`, from those of depth 1, 2, …"""
    if depth <= len(measured):
        return measured[depth - 1]
    deepest = len(measured) - (depth - len(measured)) % 2
    now = measured[deepest - 1]
    before = measured[deepest - 3] if deepest > 2 else 1.0  # depth 0 is one node
    return float(now * (now / before) ** ((depth - deepest) // 2))


def geometric_mean(numbers: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


if __name__ == "__main__":
    run_command(main)
