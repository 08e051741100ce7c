"""`python -m arena explain`: a player's search of one position, as text and, for a small search, as a drawing.

The text has the board, the moves ranked, the principal variation and the search's counters. The drawing (`--tree FILE.svg`) shows the
searched tree of alpha-beta the way textbooks draw it: triangles up for player 0 (MAX) and down for player 1 (MIN), squares at the
leaves, values and windows [α, β] from the point of view of player 0, cut-off branches dashed with a bar across.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any

from arena.choose import POSITION, state_of
from arena.players import Player, make_player
from base.errors import UserError
from base.files import StrPath, write_text
from classical.alphabeta import AlphaBeta
from classical.alphabeta.workspace import END, EXACT, INFINITY, INNER, LOWER, PRUNED
from classical.scores import utility_of
from games import CHANCE, Game, load
from games.choice import Candidate, Choice


def add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("--player", required=True, metavar="PLAYER", help="as in alphabeta:depth=6")
    parser.add_argument(
        "--moves", default="", metavar="TEXT", help="actions from the start or from --position, by name"
    )
    parser.add_argument("--position", metavar="TEXT", help="a position in the game's own notation")
    parser.add_argument("--tree", metavar="FILE.svg", help="draw the searched tree of a small search (alphabeta)")


def run_explain(options: argparse.Namespace) -> int:
    game = load(options.game)
    player = make_player(options.player, game)
    start = game.initial() if options.position is None else state_of(game, f"{POSITION}{options.position}")
    state = game.play(options.moves, start)
    if options.tree:
        choice, edges = tree_of(player, state)
        write_tree(options.tree, game, state, edges)
    else:
        choice = player.choose(state)
    print(explanation(game, state, choice, player.text))
    if options.tree:
        print(f"\nthe searched tree is drawn in {options.tree}")
    return 0


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

BOUNDS = {"exact": "", "upper": "at most ", "lower": "at least ", "estimate": "about "}
MOST = 12  # actions that are listed


def explanation(game: Game, state: Any, choice: Choice, who: str) -> str:
    """The whole text."""
    mover = game.to_move(state)
    sections = [
        f"{game.name}, player {mover} to move; {who}\n\n{game.render(state)}",
        verdict(game, choice),
        ranking(game, choice),
        line(game, state, choice),
        work(choice),
    ]
    return "\n\n".join(section for section in sections if section)


def verdict(game: Game, choice: Choice) -> str:
    how = "proven" if choice.proven else "estimated"
    return f"plays {game.names[choice.action]}: {choice.value:+.3f} for the mover, {how} (1 wins, -1 loses)"


def ranking(game: Game, choice: Choice) -> str:
    """The actions at the root, best first, in columns; empty columns are left out."""
    if not choice.actions:
        return ""
    shown = choice.actions[:MOST]
    rows = [["move", "value", "visits", "prior"], *([game.names[each.action], *_row(each)] for each in shown)]
    filled = [column for column in zip(*rows, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in filled]
    lines = [
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        for row in zip(*filled, strict=True)
    ]
    left = len(choice.actions) - len(shown)
    return "\n".join([*lines, f"… and {left} more"] if left else lines)


def _row(candidate: Candidate) -> list[str]:
    value = "" if candidate.value is None else f"{BOUNDS[candidate.bound]}{candidate.value:+.3f}"
    visits = "" if candidate.visits is None else f"{candidate.visits:,}"
    return [value, visits, "" if candidate.prior is None else f"{candidate.prior:.3f}"]


def line(game: Game, state: Any, choice: Choice) -> str:
    """The principal variation and the position at its end."""
    if len(choice.pv) < 2:
        return ""
    words, last = [], state
    for player, action, after in along(game, state, choice.pv):
        words.append(f"{player}:{game.names[action]}")
        last = after
    return f"expects {' '.join(words)}\n\n{game.render(last)}"


def along(game: Game, state: Any, actions: tuple[int, ...]) -> Iterator[tuple[str, int, Any]]:
    """The player, the action and the position after it, action by action."""
    for action in actions:
        mover = game.to_move(state)
        state = game.result(state, action)
        yield "chance" if mover == CHANCE else str(mover), action, state


def work(choice: Choice) -> str:
    """The size of the search, and its counters."""
    rate = f", {choice.nodes / choice.seconds:,.0f} a second" if choice.nodes > 1000 and choice.seconds > 0 else ""
    head = f"depth {choice.depth}, {choice.nodes:,} nodes in {choice.seconds:.3f} s{rate}"
    counters = [(name.replace("_", " "), count) for name, count in choice.counters.items() if count]
    width = max((len(name) for name, _ in counters), default=0)
    return "\n".join([head, *(f"  {name:<{width}}  {count:,}" for name, count in counters)])


# ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────────

MOST_EDGES = 400  # a larger drawing is unreadable
STEP, LEVEL, MARGIN, SIZE = 46, 92, 40, 15
INK, CUT, BEST = "#222", "#b33", "#186"
HALO = 'stroke="white" stroke-width="3" paint-order="stroke"'  # keeps lines from crossing text


@dataclass
class Node:
    """One node of the drawing; the edge that leads to it is named after an action."""

    action: str
    mover: int
    value: str
    window: str
    kind: str
    """`inner`, `leaf`, `end` or `cut`."""
    children: list[Node] = field(default_factory=list)
    x: float = 0.0
    is_best: bool = False


def tree_of(player: Player, state: Any) -> tuple[Choice, Any]:
    """A choice, and the edges of the tree that was searched for it."""
    if not isinstance(player.thinker, AlphaBeta):
        raise UserError(f"tree: expected a player of kind alphabeta, whose search can be drawn, got {player.text}")
    player.thinker.keep_log(True)
    choice = player.thinker.choose(state)
    return choice, player.thinker.log()


def write_tree(path: StrPath, game: Game, state: Any, edges: Any) -> None:
    """Draw the tree into a file."""
    if len(edges) > MOST_EDGES:
        raise UserError(
            f"tree: expected a search of at most {MOST_EDGES} edges, got {len(edges)} or more; try a smaller depth"
        )
    root = built(game, state, edges)
    write_text(path, drawn(root))


def built(game: Game, state: Any, edges: Any) -> Node:
    """The logged edges as a tree. Where an edge was searched again with a wider window, the last search counts."""
    mover = game.to_move(state)
    assert mover is not None
    root = Node("", mover, "", "", "inner")
    nodes: list[Node] = []
    for edge in edges:
        parent = nodes[edge["parent"]] if edge["parent"] >= 0 else root
        name = game.names[edge["action"]]
        sign = 1 if edge["mover"] == 0 else -1
        kind = "cut" if edge["kind"] == PRUNED else {INNER: "inner", END: "end"}.get(int(edge["leads"]), "leaf")
        node = Node(name, 1 - int(edge["mover"]), _value(edge, sign), _window(edge, sign), kind)
        parent.mover = int(edge["mover"])
        parent.children = [child for child in parent.children if child.action != name] + [node]
        nodes.append(node)
    _mark_best(root)
    return root


def _value(edge: Any, sign: int) -> str:
    if edge["kind"] == PRUNED:
        return ""
    bound = "" if edge["kind"] == EXACT else "≥" if (edge["kind"] == LOWER) == (sign > 0) else "≤"
    return bound + _number(sign * int(edge["value"]))


def _window(edge: Any, sign: int) -> str:
    low, high = sorted((sign * int(edge["alpha"]), sign * int(edge["beta"])))
    return f"[{_number(low)}, {_number(high)}]"


def _number(score: int) -> str:
    if abs(score) >= INFINITY:
        return "∞" if score > 0 else "-∞"
    return f"{utility_of(score):.3f}".rstrip("0").rstrip(".").replace("-0.", "-.").replace("0.", ".", 1) or "0"


def _mark_best(root: Node) -> None:
    """Set the root's value, and mark the branch that it comes from."""
    exact = [child for child in root.children if child.value and child.value[0] not in "≤≥"]
    if exact:
        sign = 1 if root.mover == 0 else -1
        best = max(exact, key=lambda child: sign * float(child.value.replace("∞", "inf")))
        best.is_best, root.value = True, best.value


def drawn(root: Node) -> str:
    """The SVG's text."""
    columns, depth = _place(root, 0)
    width, height = max(columns, 4) * STEP + 2 * MARGIN, depth * LEVEL + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"',
        'font-family="sans-serif" font-size="11" text-anchor="middle">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    _draw(root, 0, parts)
    return "\n".join([*parts, "</svg>", ""])


def _place(node: Node, column: int, level: int = 0) -> tuple[int, int]:
    """Leaves side by side, parents above the middle of their children; the next free column, and the deepest level."""
    if not node.children:
        node.x = MARGIN + (column + 0.5) * STEP
        return column + 1, level
    deepest = level
    for child in node.children:
        column, below = _place(child, column, level + 1)
        deepest = max(deepest, below)
    node.x = (node.children[0].x + node.children[-1].x) / 2
    return column, deepest


def _draw(node: Node, level: int, parts: list[str]) -> None:
    y = MARGIN + level * LEVEL
    for i, child in enumerate(node.children):
        below = y + LEVEL
        is_cut = child.kind == "cut"
        colour, width = (CUT, 1.0) if is_cut else (BEST, 2.5) if child.is_best else (INK, 1.0)
        dash = ' stroke-dasharray="4 3"' if is_cut else ""
        top, bottom = y + SIZE, below - SIZE
        parts.append(
            f'<line x1="{node.x:.1f}" y1="{top}" x2="{child.x:.1f}" y2="{bottom}" stroke="{colour}" stroke-width="{width}"{dash}/>'
        )
        share = 0.55 + 0.12 * (i % 2)  # neighbours' names at different heights
        x, at = node.x + (child.x - node.x) * share, top + (bottom - top) * share
        parts.append(f'<text x="{x:.1f}" y="{at:.1f}" fill="{colour}" {HALO}>{escape(child.action)}</text>')
        if is_cut:
            x, at = node.x + (child.x - node.x) * 0.88, top + (bottom - top) * 0.88  # clear of names and windows
            parts.append(
                f'<line x1="{x - 6:.1f}" y1="{at:.1f}" x2="{x + 6:.1f}" y2="{at:.1f}" stroke="{CUT}" stroke-width="2"/>'
            )
        _draw(child, level + 1, parts)
    parts.append(_shape(node, y))
    if node.value:
        parts.append(f'<text x="{node.x:.1f}" y="{y + 4}">{escape(node.value)}</text>')
    if node.window and node.kind == "inner":
        room = 4.6 * len(node.window)
        parts.append(
            f'<rect x="{node.x - room / 2:.1f}" y="{y + SIZE + 11}" width="{room:.1f}" height="10" fill="white"/>'
        )
        parts.append(
            f'<text x="{node.x:.1f}" y="{y + SIZE + 19}" font-size="9" fill="#555">{escape(node.window)}</text>'
        )


def _shape(node: Node, y: float) -> str:
    x, s = node.x, SIZE + 3
    style = f'fill="{"#fdeaea" if node.kind == "cut" else "#eef3fb"}" stroke="{CUT if node.kind == "cut" else INK}"'
    if node.kind != "inner":
        return f'<rect x="{x - s:.1f}" y="{y - SIZE + 3}" width="{2 * s}" height="{2 * SIZE - 6}" {style}/>'
    tip = -1 if node.mover == 0 else 1
    return f'<path d="M{x - 1.3 * s:.1f} {y - tip * s}H{x + 1.3 * s:.1f}L{x:.1f} {y + tip * s * 1.3:.1f}Z" {style}/>'
