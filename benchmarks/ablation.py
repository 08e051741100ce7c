"""What each search enhancement of alpha-beta saves: the table `ablation` of `benchmarks.search`.

Enhancements are added one at a time, from plain minimax to the default search, and each step searches the same positions to depths 1,
2, 3 …

    exact         keeps minimax's value: the values of all steps at one depth are compared, and the run ends where they differ
    selective     searches some lines deeper and others less deep, beginning with table hits that exact search excludes (of a greater
                  depth, of another path); the last step is the default search
    usual, and    the default search with one switch changed

| column  | what                                                                                                        |
|---------|-------------------------------------------------------------------------------------------------------------|
| depth   | the greatest depth that every position reaches within --nodes                                                  |
| nodes   | visited to reach the target depth, geometric mean over the positions; with iterative deepening all iterations |
| of bare | how many times fewer than bare alpha-beta's (the line "alpha-beta") at the target depth                        |
| seen    | the same at the deepest depth that both reached: without extrapolation                                         |
| saves   | likewise against the step before, or against the default search                                               |
| growth  | of the tree per ply, over the last two plies reached                                                           |
| nodes/s | at the greatest depth reached                                                                                 |

~ marks extrapolated figures: as if every two further plies multiplied the nodes as the last two did.

Positions are fixed: of chess the first of those of Bratko and Kopec, which are middlegames; of other games after random actions, none
of them proven by the default search to the target depth. The transposition table is empty before each search.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from base.errors import UserError
from base.files import read_json
from benchmarks.enhancements import concerns
from benchmarks.games import short
from benchmarks.positions import BRATKO_KOPEC, checked
from benchmarks.tables import Column, Options, Row, Table, random_position
from classical.alphabeta import AlphaBeta, AlphaBetaSettings
from classical.minimax import Minimax
from games import Game
from games.types import GameState


class Suite(NamedTuple):
    plies: int
    """Random actions before a position; chess has a file."""
    depth: int
    """The target."""


SUITES = {"connect_four": Suite(8, 10), "othello": Suite(16, 8), "checkers": Suite(14, 10), "chess": Suite(0, 8)}


@dataclass(frozen=True)
class Step:
    """Switches that are on, those of the steps before included."""

    name: str
    kind: str
    switches: dict[str, Any]


EXACT = ("ordering", "killers", "history", "tt", "iterative", "pvs", "aspiration")
SELECTIVE = ("quiescence", "checks", "null", "lmr", "futility", "singular", "probcut")
ALSO: dict[str, dict[str, Any]] = {"beam=8": {"beam": 8}, "presort=2": {"presort": 2}}
MINIMAX, BARE = "minimax", "alpha-beta"


class Found(NamedTuple):
    """One position searched to one depth."""

    nodes: int
    seconds: float
    value: float


def rows(game: Game, options: Options) -> Iterator[Row]:
    suite = SUITES.get(game.name.partition(":")[0], Suite(max(2, game.rules.max_plies // 8), 6))
    target = options.depth or suite.depth
    states = positions(game, suite.plies, target, options)
    bare: list[float] = []
    before: list[float] = []
    values: list[list[float]] = []
    for step in steps(game):
        found = by_depth(game, step, states, target, options)
        nodes = [float(np.exp(np.mean(np.log([each.nodes for each in level])))) for level in found]
        if step.kind == "exact":
            compare(game, step, values, [[each.value for each in level] for level in found])
        if step.name == BARE:
            bare = nodes
        there, bare_there, last = extrapolated(nodes, target), extrapolated(bare, target), found[-1]
        yield {
            "step": step.name,
            "kind": step.kind,
            "depth": len(nodes),
            "target": target,
            "by depth": nodes,
            "nodes": there,
            "of bare": bare_there / there if there and bare_there else None,
            "seen": saved(bare, nodes),
            "saves": saved(before, nodes),
            "growth": growth(nodes),
            "nodes/s": sum(each.nodes for each in last) / max(sum(each.seconds for each in last), 1e-9),
            "extrapolated": ["nodes"] * (len(nodes) < target) + ["of bare"] * (min(len(nodes), len(bare)) < target),
        }
        if step.kind != "usual":
            before = nodes


def steps(game: Game) -> Iterator[Step]:
    """Those that can make a difference in this game."""
    yield Step(MINIMAX, "exact", {})
    on: dict[str, Any] = {"exact": True}
    yield Step(BARE, "exact", dict(on))
    for name in EXACT:
        on[name] = True
        yield Step(f"+ {name}", "exact", dict(on))
    on["exact"] = False
    yield Step("+ deeper table hits", "selective", dict(on))
    usual = AlphaBetaSettings(depth=1)
    for name in SELECTIVE:
        if getattr(usual, name):
            on[name] = True
            if concerns(game, name):
                yield Step(f"+ {name}", "selective", dict(on))
    off = {name: {name: True} for name in SELECTIVE if not getattr(usual, name)}
    for name, switches in (off | ALSO).items():
        if concerns(game, name):
            yield Step(f"usual, and {name}", "usual", on | switches)


def settings(step: Step, **limits: Any) -> AlphaBetaSettings:
    return AlphaBetaSettings.plain(**(limits | step.switches))


def positions(game: Game, plies: int, target: int, options: Options) -> Sequence[GameState]:
    """Up to `options.positions` that the default search does not prove."""
    if game.name == "chess":
        texts = (one["fen"] for one in checked(read_json(BRATKO_KOPEC), str(BRATKO_KOPEC)))
        candidates = (game.parse(text) for text in texts)
    else:
        candidates = (random_position(game, plies, options.seed * 1_000_003 + i) for i in range(20 * options.positions))
    usual = AlphaBeta(game, AlphaBetaSettings(depth=target, nodes=options.nodes, tt_mb=options.mb))
    states: list[GameState] = []
    for state in candidates:
        usual.new_game()
        if not usual.choose(state).proven:
            states.append(state)
        if len(states) == options.positions:
            break
    if not states:
        raise UserError(
            f"{game.name}: expected positions not proven at depth {target}, found none; try a smaller --depth"
        )
    return states


def by_depth(game: Game, step: Step, states: Sequence[GameState], target: int, options: Options) -> list[list[Found]]:
    """[depth - 1][position], up to the target or to the last depth that every position reaches within the limit."""
    levels: list[list[Found]] = []
    for depth in range(1, target + 1):
        player = player_of(game, step, depth, options)
        level = []
        for i, state in enumerate(states):
            too_many = (
                depth > 1 and step.name == MINIMAX and expected([each[i].nodes for each in levels]) > options.nodes
            )
            found = None if too_many else search(player, state)
            if found is None or (depth > 1 and found.nodes >= options.nodes):
                return levels
            level.append(found)
        levels.append(level)
    return levels


def player_of(game: Game, step: Step, depth: int, options: Options) -> AlphaBeta | Minimax:
    if step.name == MINIMAX:
        return Minimax(game, depth)
    return AlphaBeta(game, settings(step, depth=depth, nodes=options.nodes, tt_mb=options.mb))


def search(player: AlphaBeta | Minimax, state: GameState) -> Found:
    if isinstance(player, AlphaBeta):
        player.new_game()
    start = time.process_time()
    choice = player.choose(state)
    return Found(choice.nodes, time.process_time() - start, choice.value)


def compare(game: Game, step: Step, known: list[list[float]], values: list[list[float]]) -> None:
    """Exact enhancements change nodes, never the value. Depths reached for the first time are added to `known`."""
    for depth, level in enumerate(values, 1):
        if depth > len(known):
            known.append(level)
        assert level == known[depth - 1], (
            f"{game.name}, depth {depth}, {step.name}: {level} instead of {known[depth - 1]}"
        )


# ── growth ──


def saved(before: Sequence[float], after: Sequence[float]) -> float | None:
    """How many times fewer nodes, at the deepest depth that both reached."""
    both = min(len(before), len(after))
    return before[both - 1] / after[both - 1] if both else None


def growth(nodes: Sequence[float]) -> float | None:
    """Per ply; over two, because trees of even and odd depth grow differently."""
    return (nodes[-1] / nodes[-3]) ** 0.5 if len(nodes) >= 3 else None


def extrapolated(nodes: Sequence[float], target: int) -> float | None:
    """Nodes at the target depth: measured, or as if every two further plies multiplied them as the last two did."""
    if len(nodes) >= target:
        return nodes[target - 1]
    factor = growth(nodes)
    if factor is None:
        return None
    longer = list(nodes)
    while len(longer) < target:
        longer.append(longer[-2] * factor**2)
    return longer[-1]


def expected(nodes: Sequence[int]) -> float:
    """Of plain minimax at the next depth, by the growth of the last."""
    return nodes[-1] * (nodes[-1] / nodes[-2] if len(nodes) > 1 else nodes[-1])


def times(ratio: float) -> str:
    return f"{ratio:.3g}×" if ratio < 1000 else f"{ratio:.0f}×"


TABLE = Table(
    about="nodes to a depth and nodes per second, enhancements added one at a time",
    games=tuple(SUITES),
    columns={
        "step": Column(24),
        "depth": Column(7),
        "nodes": Column(10, short),
        "of bare": Column(10, times),
        "seen": Column(9, times),
        "saves": Column(8, times),
        "growth": Column(8, lambda factor: f"{factor:.2f}"),
        "nodes/s": Column(9, short),
    },
    rows=rows,
    takes=lambda game: (
        not game.hides_information and game.players == 2 and game.rules.zero_sum and game.rules.chance is None
    ),
)
