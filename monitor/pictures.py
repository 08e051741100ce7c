"""Pictures of a run: positions with policy and visits, calibration of values, a search tree, the weights of EVAL.

    picture = pixels(position(game, state, {"policy": shares, "visits": shares}, "…"))      # uint8 [height, width, 3]

All use the same colours: blue for the network, orange for the search, green for EVAL, grey for axes and guides. Utilities are of
player 0 where a picture shows several movers, else of the mover; each title names which. matplotlib is loaded when a picture is drawn,
not before, and without windows.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from classical.eval import Eval
from games import Game
from games.drawing import Cell, Circle, Drawing, Text, drawn, places
from monitor.quality import FEWEST, Bin, drawable, middle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = np.ndarray[Any, Any]

INK, SOFT, LINE, FIELD = "#22272e", "#6b7580", "#d8dee4", "#f6f8fa"
NETWORK, SEARCH, LINEAR = "#1f5fa8", "#d1661a", "#2e8b57"
COLOURS = {"policy": NETWORK, "value": NETWORK, "visits": SEARCH, "search": SEARCH, "EVAL": LINEAR}
DPI = 100
SHOWN = 9  # actions that have bars
SIDE = 6.8  # inches of a picture, about as high as wide: TensorBoard shows it at half its size
NOTED = 76  # letters of a board's note
WIDE_BOARD = 24  # cells from which on a board gets more than half of that


def pixels(figure: Figure) -> Array:
    """uint8 [height, width, 3]"""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure  # no pyplot: no windows, no state of its own

    return Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor="white")


def _plain(axes: Axes) -> None:
    axes.tick_params(length=0, colors=INK, labelsize=12)
    axes.spines[:].set_visible(False)
    axes.set_axisbelow(True)


# ── a position ──


def position(game: Game, state: Any, shares: Mapping[str, Mapping[int, float]], title: str) -> Figure:
    """The board once for each of `shares` (its name; a share for each action), the actions marked on it; below, the actions as bars."""
    diagram = game.diagram(state)
    actions = sorted({action for each in shares.values() for action in each})
    where = dict(zip(actions, places(game, state, actions), strict=True))
    drawings = []
    for name, each in shares.items():
        marked: dict[Cell, float] = {}
        for action, share in each.items():
            for cell in where[action]:
                marked[cell] = marked.get(cell, 0.0) + share
        drawings.append(drawn(diagram, marked, COLOURS[name]))
    wide, tall = drawings[0].width, drawings[0].height
    width = SIDE / 2 if wide < WIDE_BOARD else min(SIDE, wide * 0.16)
    height = min(width * tall / wide, 2 * width)
    figure = _figure(len(shares) * width, height + 3.0)
    grid = figure.add_gridspec(2, len(shares), height_ratios=[height + 0.3, 2.0])
    for number, (name, drawing) in enumerate(zip(shares, drawings, strict=True)):
        axes = figure.add_subplot(grid[0, number])
        draw(axes, drawing, width / wide)
        axes.set_title(name, color=COLOURS[name], fontsize=15, fontweight="bold")
    _bars(figure.add_subplot(grid[1, :]), game, shares)
    note = textwrap.shorten("; ".join(diagram.note.splitlines()), NOTED, placeholder=" …")
    words = f"{title}\n{note}" if note else title
    figure.suptitle(words, x=0.01, ha="left", fontsize=13, color=INK, parse_math=False)
    return figure


def draw(axes: Axes, drawing: Drawing, inches: float) -> None:
    """`inches`: the side of a cell, for text and lines, which do not grow with the axes."""
    from matplotlib.patches import Circle as Round
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    points = 72 * inches * 0.94  # of a cell; the layout keeps a border
    for order, shape in enumerate(drawing.shapes):
        if isinstance(shape, Text):
            family = "DejaVu Sans Mono" if shape.is_mono else "DejaVu Sans"
            colour = INK if shape.colour == "currentColor" else shape.colour
            where = {"start": "left", "middle": "center", "end": "right"}[shape.anchor]
            axes.text(
                shape.x,
                shape.y,
                shape.text,
                ha=where,
                va="center_baseline",
                fontsize=max(shape.size * points, 1.0),
                color=colour,
                family=family,
                parse_math=False,
                zorder=order,
                in_layout=False,
            )
            continue
        look: dict[str, Any] = {
            "facecolor": shape.fill,
            "edgecolor": shape.stroke,
            "linewidth": shape.width * points,
            "alpha": shape.opacity,
            "zorder": order,
            "in_layout": False,  # nothing reaches beyond the axes, and layout takes long to find that out
        }
        if isinstance(shape, Circle):
            axes.add_artist(Round((shape.x, shape.y), shape.radius, **look))
            continue
        outlines = [
            Outline(np.array([*line, line[0]] if shape.is_closed else line), closed=shape.is_closed)
            for line in shape.lines
        ]
        if outlines:
            axes.add_artist(PathPatch(Outline.make_compound_path(*outlines), **look))
    axes.set_xlim(0, drawing.width)
    axes.set_ylim(drawing.height, 0)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _bars(axes: Axes, game: Game, shares: Mapping[str, Mapping[int, float]]) -> None:
    """The actions with the greatest shares, side by side."""
    actions = {action for each in shares.values() for action in each}
    strongest = sorted(actions, key=lambda action: -max(each.get(action, 0.0) for each in shares.values()))[:SHOWN]
    most = sorted(strongest)
    thick = 0.8 / len(shares)
    for number, (name, each) in enumerate(shares.items()):
        at = [place + (number - (len(shares) - 1) / 2) * thick for place in range(len(most))]
        axes.bar(at, [each.get(action, 0.0) for action in most], thick * 0.92, color=COLOURS[name])
    _plain(axes)
    axes.set_xticks(range(len(most)), [game.name_of(action) for action in most], parse_math=False, fontsize=12)
    axes.set_xlim(-0.6, max(len(most), 4) - 0.4)
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.5, 1], ["0", "50 %", "100 %"])
    axes.grid(axis="y", color=LINE, linewidth=0.8)


# ── values ──


def calibration(found: Mapping[str, Sequence[Bin]]) -> Figure:
    """By source: what was expected and how the games ended, from the mover's point of view. The diagonal is perfect."""
    figure = _figure(SIDE + 1.6, SIDE)
    axes, below = figure.subplots(2, 1, height_ratios=[4, 1], sharex=True)
    axes.plot([-1, 1], [-1, 1], color=SOFT, linewidth=1, linestyle=(0, (4, 4)), label="as expected")
    width = 0.18 / max(len(found), 1)
    kept = drawable(found)
    for number, (name, bins) in enumerate(found.items()):
        colour, total = COLOURS[name], sum(each.n for each in bins)
        shown = kept.get(name, [])
        axes.errorbar(
            [each.expected for each in shown],
            [each.outcome for each in shown],
            yerr=[1.96 * each.error for each in shown],
            color=colour,
            marker="o",
            markersize=5,
            linewidth=1.5,
            elinewidth=1.2,
            capsize=3,
            label=name,
        )
        shift = (number - (len(found) - 1) / 2) * width
        middles = [middle(each.expected) + shift for each in bins]
        below.bar(middles, [each.n / max(total, 1) for each in bins], width, color=colour)
    most = max((sum(each.n for each in bins) for bins in found.values()), default=0)
    axes.set_ylabel("how they ended: mean outcome", color=INK, fontsize=12)
    below.set_ylabel("how often", color=INK, fontsize=12)
    below.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    below.set_xlabel("what was expected: utility of the mover (1 wins, -1 loses)", color=INK, fontsize=12)
    axes.set_ylim(-1.1, 1.1)
    axes.set_xlim(-1.05, 1.05)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=12, labelcolor=INK)
    figure.suptitle("Do games end as expected?", x=0.01, ha="left", fontsize=16, fontweight="bold", color=INK)
    words = f"{most:,} positions of the newest games; bars: 95 %; points of fewer than {FEWEST} positions are left out"
    axes.set_title(words, loc="left", fontsize=11, color=SOFT)
    for each in (axes, below):
        each.grid(color=LINE, linewidth=0.8)
        _plain(each)
    return figure


WINS, DRAWS, LOSSES = "#2a68b0", "#d3d9df", "#d1661a"


@dataclass(frozen=True)
class Results:
    """How games against a reference player ended, over the games of the run: shares of wins, draws and losses."""

    player: str
    games: Sequence[float]
    shares: Sequence[tuple[float, float, float]]


def results(found: Sequence[Results]) -> Figure:
    """Areas, a chart for each reference player."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    columns = 2 if len(found) > 1 else 1
    rows = (len(found) + columns - 1) // columns
    figure = _figure(SIDE + 1.2, 0.9 + 2.0 * rows)
    areas: list[Any] = []
    last = max(each.games[-1] for each in found)
    for number, each in enumerate(found):
        axes = figure.add_subplot(rows, columns, number + 1)
        wins, draws, losses = zip(*each.shares, strict=True)
        areas = axes.stackplot(each.games, wins, draws, losses, colors=(WINS, DRAWS, LOSSES), step=None)
        axes.plot(each.games, wins, ".", color="white", markersize=5)
        axes.set_xlim(0, last)
        axes.set_ylim(0, 1)
        axes.set_yticks([0, 0.5, 1], ["0", "50 %", "100 %"])
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(
            FuncFormatter(lambda games, _: f"{games / 1000:g}k" if games >= 1000 else f"{games:g}")
        )
        axes.set_title(each.player, loc="left", fontsize=12, color=INK, parse_math=False)
        _plain(axes)
        axes.tick_params(labelsize=10)
    figure.suptitle(
        "Games against reference players, by games of self-play",
        x=0.01,
        ha="left",
        fontsize=16,
        fontweight="bold",
        color=INK,
    )
    figure.legend(
        areas, ["won", "drawn", "lost"], loc="outside lower center", ncols=3, frameon=False, fontsize=12, labelcolor=INK
    )
    return figure


def weights(found: Eval, by_hand: Mapping[str, float], title: str) -> Figure:
    """Bars with intervals of 95 %; marks for the game's own weights, which were set by hand."""
    names = list(found.weights)
    figure = _figure(SIDE, max(4.0, 1.4 + 0.36 * len(names)))
    axes = figure.subplots()
    errors = [1.96 * (found.errors or {}).get(name, 0.0) for name in names]
    axes.barh(
        range(len(names)),
        [found.weights[name] for name in names],
        0.6,
        xerr=errors,
        color=LINEAR,
        alpha=0.85,
        error_kw={"elinewidth": 1, "ecolor": INK, "capsize": 3, "capthick": 1},
        label="fitted, 95 %",
    )
    if by_hand:
        hand = [by_hand.get(name, np.nan) for name in names]
        axes.plot(hand, range(len(names)), "D", color="white", markeredgecolor=INK, markersize=6, label="by hand")
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(names)), names, parse_math=False)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel(f"weight (EVAL = tanh({found.unit:.3g} w·f))", color=INK, fontsize=12)
    figure.suptitle(title, x=0.01, ha="left", fontsize=14, color=INK)
    axes.grid(axis="x", color=LINE, linewidth=0.8)
    axes.legend(frameon=False, fontsize=12, labelcolor=INK)
    _plain(axes)
    return figure


# ── a search tree ──


@dataclass
class Node:
    """A node of the drawn part of a search tree."""

    action: str
    """What leads to it."""
    mover: int
    """Negative: chance, or the game is over."""
    visits: int
    utility: float
    """Player 0's."""
    proven: bool
    children: list[Node] = field(default_factory=list)
    """The most visited first."""
    x: float = 0.0


def tree(root: Node, players: int, title: str) -> Figure:
    """Triangles up where player 0 moves, down where player 1 does, as textbooks have it; the larger, the more visits."""
    columns, depth = _place(root, 0.0), _depth(root)
    figure = _figure(max(SIDE, 0.62 * columns + 0.6), max(SIDE, 1.15 * depth + 1.3))
    axes = figure.subplots()
    _draw_node(axes, root, 0, root.visits, players)
    axes.set_xlim(-0.7, columns - 0.3)
    axes.set_ylim(depth + 0.55, -0.5)
    _plain(axes)
    axes.set_xticks([])
    axes.set_yticks([])
    figure.suptitle(title, x=0.01, ha="left", fontsize=14, color=INK)
    return figure


def _place(node: Node, column: float) -> float:
    """Leaves side by side, parents above the middle of their children; the next free column."""
    if not node.children:
        node.x = column
        return column + 1
    for child in node.children:
        column = _place(child, column)
    node.x = (node.children[0].x + node.children[-1].x) / 2
    return column


def _depth(node: Node) -> int:
    return 1 + max(map(_depth, node.children)) if node.children else 0


def _draw_node(axes: Axes, node: Node, level: int, most: int, players: int) -> None:
    for number, child in enumerate(node.children):
        share = child.visits / max(node.visits, 1)
        axes.plot(
            [node.x, child.x],
            [level, level + 1],
            color=SEARCH if not number else SOFT,
            linewidth=0.6 + 4 * share,
            alpha=0.75,
            solid_capstyle="round",
            zorder=1,
        )
        down = 0.55 if number % 2 else 0.75  # neighbours' names at different heights
        x, y = node.x + down * (child.x - node.x), level + down
        box = {"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none"}
        axes.text(x, y, child.action, ha="center", va="center", fontsize=12, color=INK, bbox=box, parse_math=False)
        _draw_node(axes, child, level + 1, most, players)
    marker = "s" if node.mover < 0 else "o" if players > 2 else "^v"[node.mover]
    size = 160 + 700 * node.visits / max(most, 1)
    axes.scatter(
        [node.x], [level], s=size, marker=marker, color=_shade(node.utility), edgecolors=INK, linewidths=1, zorder=2
    )
    words = f"{'=' if node.proven else ''}{node.utility:+.2f}\n{node.visits:,}"
    away = float(np.sqrt(size)) / 2 + 2
    how: dict[str, Any] = {"fontsize": 10, "color": INK, "zorder": 3, "linespacing": 1.05}
    if node.children:  # beside it, where no line goes down
        axes.annotate(words, (node.x, level), (away, 3), textcoords="offset points", ha="left", va="center", **how)
    else:
        axes.annotate(words, (node.x, level), (0, -away), textcoords="offset points", ha="center", va="top", **how)


def _shade(utility: float) -> tuple[float, ...]:
    """White for 0, blue where player 0 wins, orange where it loses."""
    from matplotlib.colors import to_rgb

    share = min(1.0, abs(utility))
    return tuple(1 - share * (1 - part) for part in to_rgb(NETWORK if utility > 0 else SEARCH))
