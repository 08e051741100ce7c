"""A drawing as SVG: a row of shapes per level, and edges in the bands between them.

Everything that belongs to a node stands in its row: the action that leads to it above the shape, its value inside, windows and other
notes to the right of it. Edges leave the bottom of a row and end above the next one, so no edge meets a text. Subtrees stand side by
side.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from arena.drawing.nodes import OVER, Drawing, Node
from games import CHANCE

MARGIN, GAP = 24, 10
LETTER, SMALL = 6.9, 5.7  # the widest a letter is on average, at 11 and 9 pixels
NAME, SHAPE = 16, 40  # heights in a row: the action, the shape
LINE = 11  # height of a note
INK, CUT, BEST, PALE = "#222", "#b33", "#186", "#666"


@dataclass
class Box:
    """A node on the page."""

    node: Node
    left: float = 0.0
    """How far it extends from the middle of its shape."""
    right: float = 0.0
    half: float = 0.0
    """Half the width of the shape."""
    x: float = 0.0
    width: float = 0.0
    """Of the whole subtree."""
    children: list[Box] = field(default_factory=list)


def svg(drawing: Drawing, has_order: bool = False) -> str:
    """The file's text."""
    root = _box(drawing.root, drawing.has_triangles, has_order)
    _place(root, MARGIN)
    levels = _levels(root)
    tops = _tops(levels)
    legend_width = max(SMALL * len(line) for line in drawing.legend)
    width = max(root.width, legend_width) + 2 * MARGIN
    below = tops[-1] + NAME + SHAPE + 14
    height = below + 13 * len(drawing.legend) + MARGIN / 2
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}',
        'font-family="sans-serif" font-size="11" text-anchor="middle">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for level, boxes in enumerate(levels):
        for box in boxes:
            for child in box.children:
                parts += _edge(box, tops[level] + NAME + SHAPE, child, tops[level + 1])
            parts += _node(box, tops[level], drawing.has_triangles, has_order)
    for number, line in enumerate(drawing.legend):
        parts.append(_text(MARGIN, below + 13 * number + 9, line, PALE, is_small=True))
    return "\n".join([*parts, "</svg>", ""])


# ── layout ──


def _notes(node: Node, has_order: bool) -> list[str]:
    lines = list(node.notes)
    if node.left_out:
        lines.append(f"+{node.left_out}")
    if has_order and node.order is not None:
        lines.insert(0, f"#{node.order}")
    return lines


def _box(node: Node, has_triangles: bool, has_order: bool) -> Box:
    is_triangle = has_triangles and node.kind == "inner" and node.mover >= 0
    text = LETTER * len(node.text)
    half = max(24.0, text * 0.75 + 6) if is_triangle else max(17.0, text / 2 + 6)
    name = LETTER * len(node.action) / 2
    notes = max((SMALL * len(line) for line in _notes(node, has_order)), default=0.0)
    children = [_box(child, has_triangles, has_order) for child in node.children]
    return Box(node, max(half, name), max(half + (notes + 4 if notes else 0), name), half, children=children)


def _place(box: Box, left: float) -> None:
    """Children side by side from `left` on, the parent above their middle; its own width where that is greater."""
    at = left
    for child in box.children:
        _place(child, at)
        at += child.width + GAP
    inner = at - GAP - left if box.children else 0.0
    if box.children:
        box.x = (box.children[0].x + box.children[-1].x) / 2
        over_left, over_right = left - (box.x - box.left), box.x + box.right - (left + inner)
        if over_left > 0:  # the parent is wider than its children
            _shift(box, over_left)
            inner += over_left
        box.width = inner + max(over_right, 0.0)
    else:
        box.x, box.width = left + box.left, box.left + box.right


def _shift(box: Box, by: float) -> None:
    box.x += by
    for child in box.children:
        _shift(child, by)


def _levels(root: Box) -> list[list[Box]]:
    levels = [[root]]
    while below := [child for box in levels[-1] for child in box.children]:
        levels.append(below)
    return levels


def _tops(levels: list[list[Box]]) -> list[float]:
    """Where each row begins. The band below a row is higher where edges go far."""
    tops, y = [], float(MARGIN - NAME)
    for boxes in levels:
        tops.append(y)
        reach = max((abs(child.x - box.x) for box in boxes for child in box.children), default=0.0)
        y += NAME + SHAPE + min(max(44.0, reach / 5), 150.0)
    return tops


# ── shapes ──


def _edge(box: Box, bottom: float, child: Box, top: float) -> list[str]:
    is_cut = child.node.kind == "cut"
    colour, width = (CUT, 1.0) if is_cut else (BEST, 2.5) if child.node.is_best else (INK, 1.0)
    dash = ' stroke-dasharray="4 3"' if is_cut else ""
    ends = f'x1="{box.x:.1f}" y1="{bottom:.1f}" x2="{child.x:.1f}" y2="{top + 2:.1f}"'
    parts = [f'<line {ends} stroke="{colour}" stroke-width="{width}"{dash}/>']
    if is_cut:
        x, y = box.x + (child.x - box.x) * 0.75, bottom + (top + 2 - bottom) * 0.75
        parts.append(
            f'<line x1="{x - 6:.1f}" y1="{y:.1f}" x2="{x + 6:.1f}" y2="{y:.1f}" stroke="{CUT}" stroke-width="2"/>'
        )
    return parts


def _node(box: Box, top: float, has_triangles: bool, has_order: bool) -> list[str]:
    node, x, middle = box.node, box.x, top + NAME + SHAPE / 2
    parts = []
    if node.action:
        colour = CUT if node.kind == "cut" else BEST if node.is_best else INK
        parts.append(_text(x, top + 12, node.action, colour))
    shape, baseline, ink = _shape(box, middle, has_triangles)
    parts.append(shape)
    if node.children and "<rect" in shape:  # down to the end of the row
        parts.append(
            f'<line x1="{x:.1f}" y1="{middle + 13:.1f}" x2="{x:.1f}" y2="{middle + SHAPE / 2:.1f}" stroke="{INK}"/>'
        )
    if node.text:
        parts.append(_text(x, baseline, node.text, ink))
    notes = _notes(node, has_order)
    y = middle - LINE * len(notes) / 2 + 9
    for number, line in enumerate(notes):
        parts.append(_text(x + box.half + 3, y + LINE * number, line, PALE, is_small=True))
    return parts


def _shape(box: Box, middle: float, has_triangles: bool) -> tuple[str, float, str]:
    """The shape, its text's baseline, the text's colour."""
    node, x, half, tall = box.node, box.x, box.half, SHAPE / 2
    if node.kind == "cut":
        return _rectangle(x, middle, half, "white", CUT, 0, ' stroke-dasharray="4 3"'), middle + 4, CUT
    if node.mover == CHANCE:
        ellipse = (
            f'<ellipse cx="{x:.1f}" cy="{middle:.1f}" rx="{half:.1f}" ry="{tall:.1f}" fill="#fff7e0" stroke="{INK}"/>'
        )
        return ellipse, middle + 4, INK
    if has_triangles and node.kind == "inner":
        tip = -1 if node.mover == 0 else 1
        path = f"M{x - half:.1f} {middle - tip * tall:.1f}H{x + half:.1f}L{x:.1f} {middle + tip * tall:.1f}Z"
        return f'<path d="{path}" fill="#eef3fb" stroke="{INK}"/>', middle + (15 if tip < 0 else -8), INK
    if has_triangles or node.mover == OVER:
        fill = "#eef3fb" if node.kind == "end" else "white"
        return _rectangle(x, middle, half, fill, INK, 0), middle + 4, INK
    fill, ink = ("white", INK) if node.mover == 0 else ("#d8d8d8", INK) if node.mover == 1 else ("#eef3fb", INK)
    return _rectangle(x, middle, half, fill, INK, 9), middle + 4, ink


def _text(x: float, y: float, text: str, colour: str, is_small: bool = False) -> str:
    """Centred at x; small ones begin there."""
    style = ' font-size="9" text-anchor="start"' if is_small else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}"{style}>{escape(text)}</text>'


def _rectangle(x: float, y: float, half: float, fill: str, stroke: str, radius: int, more: str = "") -> str:
    return (
        f'<rect x="{x - half:.1f}" y="{y - 13:.1f}" width="{2 * half:.1f}" height="26" rx="{radius}" '
        f'fill="{fill}" stroke="{stroke}"{more}/>'
    )
