"""Symbols as shapes: discs, crosses, chess pieces, dice. Drawn here, so that they look the same wherever a font lacks a sign."""

from __future__ import annotations

import math
from collections.abc import Sequence

from games.drawing.shapes import INK, Circle, Path, Point, Shape, Text, corners, rectangle
from games.engine.diagram import Symbol

FILLS = {
    "black": "#2b3038",
    "white": "#fdfdfb",
    "red": "#c8442f",
    "yellow": "#edc343",
    "blue": "#2a68b0",
    "orange": "#d1661a",
    "green": "#2e8b57",
    "purple": "#7a4fa3",
}
LIGHT = ("white", "yellow")  # what is written upon them is dark
STROKE = 0.03
LARGER = 1.12  # chess pieces, against the numbers below

# Right halves of outlines that are symmetrical, from the top down, about a middle of (0, 0)
HALVES: dict[str, Sequence[Point]] = {
    "pawn": [(0.05, -0.13), (0.15, -0.06), (0.15, -0.03), (0.08, 0.0), (0.14, 0.22), (0.25, 0.29), (0.25, 0.37)],
    "rook": [
        *((0.07, -0.27), (0.07, -0.35), (0.17, -0.27), (0.17, -0.35), (0.26, -0.35), (0.26, -0.19), (0.17, -0.12)),
        *((0.19, 0.16), (0.26, 0.22), (0.3, 0.29), (0.3, 0.37)),
    ],
    "bishop": [
        *(
            (0.0, -0.34),
            (0.07, -0.29),
            (0.16, -0.17),
            (0.17, -0.05),
            (0.09, 0.06),
            (0.16, 0.09),
            (0.16, 0.13),
            (0.09, 0.15),
        ),
        *((0.14, 0.25), (0.28, 0.29), (0.28, 0.37)),
    ],
    "queen": [
        (0.0, -0.31),
        (0.07, -0.02),
        (0.17, -0.27),
        (0.19, 0.0),
        (0.35, -0.2),
        (0.22, 0.18),
        (0.26, 0.29),
        (0.28, 0.37),
    ],
    "king": [
        *((0.035, -0.42), (0.035, -0.36), (0.1, -0.36), (0.1, -0.3), (0.035, -0.3), (0.035, -0.2), (0.09, -0.13)),
        *((0.16, -0.19), (0.26, -0.19), (0.33, -0.1), (0.31, 0.02), (0.21, 0.16), (0.25, 0.29), (0.27, 0.37)),
    ],
}
KNIGHT: Sequence[Point] = [
    *(
        (-0.03, -0.3),
        (0.04, -0.39),
        (0.07, -0.29),
        (0.19, -0.22),
        (0.27, -0.06),
        (0.29, 0.16),
        (0.29, 0.37),
        (-0.23, 0.37),
    ),
    *(
        (-0.22, 0.27),
        (-0.07, 0.1),
        (-0.03, 0.0),
        (-0.12, 0.03),
        (-0.19, 0.11),
        (-0.27, 0.12),
        (-0.31, 0.03),
        (-0.25, -0.1),
    ),
    *((-0.2, -0.2), (-0.11, -0.27), (-0.09, -0.38)),
]
HEADS: dict[str, Sequence[tuple[float, float, float]]] = {  # circles: x, y, radius
    "pawn": [(0.0, -0.22, 0.115)],
    "bishop": [(0.0, -0.37, 0.05)],
    "queen": [
        (0.0, -0.34, 0.045),
        (-0.18, -0.3, 0.045),
        (0.18, -0.3, 0.045),
        (-0.36, -0.23, 0.045),
        (0.36, -0.23, 0.045),
    ],
}
FOOT = {"pawn": 0.22, "rook": 0.26, "bishop": 0.25, "queen": 0.25, "king": 0.24}  # half the line upon the foot
CROWN: Sequence[Point] = [
    *((-0.2, 0.13), (-0.24, -0.14), (-0.1, 0.0), (0.0, -0.19), (0.1, 0.0), (0.24, -0.14), (0.2, 0.13)),
]
PIPS = {
    1: [(0, 0)],
    2: [(-1, 1), (1, -1)],
    3: [(-1, 1), (0, 0), (1, -1)],
    4: [(-1, -1), (-1, 1), (1, -1), (1, 1)],
    5: [(-1, -1), (-1, 1), (0, 0), (1, -1), (1, 1)],
    6: [(-1, -1), (-1, 0), (-1, 1), (1, -1), (1, 0), (1, 1)],
}

RED, BLACK, RED_INK = "dh", "cs", "#c2281d"


def _arc(x: float, y: float, radius: float, first: float = 0.0, last: float = 360.0) -> list[Point]:
    """Points of a circle, from one angle to another in degrees."""
    steps = max(8, round((last - first) / 15))
    angles = [math.radians(first + (last - first) * step / steps) for step in range(steps + 1)]
    return [(x + radius * math.cos(angle), y + radius * math.sin(angle)) for angle in angles]


_HEART = [*_arc(-0.23, -0.18, 0.24, 150, 345), *_arc(0.23, -0.18, 0.24, 195, 390), (0.0, 0.48)]
_STEM: Sequence[Point] = [(0.03, 0.1), (0.16, 0.48), (-0.16, 0.48), (-0.03, 0.1)]
SUITS: dict[str, list[Sequence[Point]]] = {  # polygons in a square of side 1
    "h": [_HEART],
    "d": [[(0.0, -0.5), (0.37, 0.0), (0.0, 0.5), (-0.37, 0.0)]],
    "s": [[(dx, -0.1 - 0.85 * dy) for dx, dy in _HEART], _STEM],
    "c": [_arc(0.0, -0.25, 0.22), _arc(-0.24, 0.1, 0.22), _arc(0.24, 0.1, 0.22), _STEM],
}


def shapes_of(symbol: Symbol, x: float, y: float, width: float, height: float) -> list[Shape]:
    """In the cell around (x, y)."""
    side = min(width, height)
    fill = FILLS.get(symbol.colour, "none")
    against = INK if symbol.colour in LIGHT else "#ffffff"
    found: list[Shape] = []
    if symbol.shape == "fill":
        found.append(Path((corners(x - width / 2, y - height / 2, width, height),), fill, opacity=0.35))
    elif symbol.shape == "line":
        found.append(Path((corners(x - width / 2, y - height / 2, width, height),), fill))
    elif symbol.shape == "star":
        found.append(Circle(x, y, 0.09 * side, fill))
    elif symbol.shape == "ring":
        found.append(Circle(x, y, 0.29 * side, stroke=fill, width=0.11 * side))
    elif symbol.shape == "cross":
        arm, half = 0.29 * side, 0.055 * side * math.sqrt(2)
        found += [_bar(x, y, arm, half, turn, fill) for turn in (1, -1)]
    elif symbol.shape in ("disc", "crowned disc"):
        found.append(Circle(x, y, 0.4 * side, fill, INK, STROKE))
        if symbol.shape == "crowned disc":
            found.append(_polygon(CROWN, x, y, side, against, "none"))
    elif symbol.shape == "card":
        return card(symbol.label, fill, against, x, y, min(0.9 * width, 0.66 * height))
    elif symbol.shape == "die":
        return die_of(symbol.label, fill, against, x, y, 0.8 * side)
    elif symbol.shape:
        found += _piece(symbol, x, y, side, fill, against)
    if symbol.label:
        colour = INK if symbol.shape in ("", "fill", "ring", "cross", "star") else against
        size = min(0.5 * side, 0.85 * width / (0.62 * len(symbol.label)))
        found.append(Text(x, y, symbol.label, size, colour))
    return found


def _bar(x: float, y: float, arm: float, half: float, turn: int, fill: str) -> Path:
    """A diagonal of a cross."""
    ends = ((-arm, -arm + half), (-arm + half, -arm), (arm, arm - half), (arm - half, arm))
    return Path((tuple((x + dx, y + turn * dy) for dx, dy in ends),), fill)


def _piece(symbol: Symbol, x: float, y: float, side: float, fill: str, against: str) -> list[Shape]:
    """A chess piece; `against`: lines upon it."""
    side *= LARGER
    stroke = STROKE * side
    heads = [
        Circle(x + side * dx, y + side * dy, side * r, fill, INK, stroke) for dx, dy, r in HEADS.get(symbol.shape, ())
    ]
    if symbol.shape == "knight":
        eye = Circle(x - 0.12 * side, y - 0.17 * side, 0.03 * side, against)
        return [_polygon(KNIGHT, x, y, side, fill, INK), eye]
    half = HALVES[symbol.shape]
    outline = [*half, *((-dx, dy) for dx, dy in reversed(half))]
    foot, at = FOOT[symbol.shape] * side, y + 0.29 * side
    line = Path((((x - foot, at), (x + foot, at)),), stroke=against, width=stroke, is_closed=False)
    return [*heads, _polygon(outline, x, y, side, fill, INK), line]


def _polygon(points: Sequence[Point], x: float, y: float, side: float, fill: str, stroke: str) -> Path:
    placed = tuple((x + side * dx, y + side * dy) for dx, dy in points)
    return Path((placed,), fill, stroke, STROKE * side if stroke != "none" else 0.0)


def card(label: str, fill: str, against: str, x: float, y: float, width: float) -> list[Shape]:
    """Around (x, y): face up with its rank and suit, or face down."""
    height = 1.38 * width
    if not label:
        inner = rectangle(x - 0.38 * width, y - 0.41 * height, 0.76 * width, 0.82 * height, "none", against, STROKE)
        return [_card(x, y, width, height, fill), inner, _suit("d", x, y, 0.5 * width, against)]
    has_suit = len(label) > 1 and label[-1].lower() in RED + BLACK
    rank, suit = (label[:-1], label[-1].lower()) if has_suit else (label, "")
    colour = RED_INK if suit and suit in RED else INK
    words = Text(x, y - (0.2 * height if suit else 0), "10" if rank == "T" and suit else rank, 0.56 * width, colour)
    return [
        _card(x, y, width, height, "#ffffff"),
        words,
        *([_suit(suit, x, y + 0.22 * height, 0.44 * width, colour)] if suit else []),
    ]


def _card(x: float, y: float, width: float, height: float, fill: str) -> Path:
    """With corners cut off."""
    cut, right, down = 0.08 * width, width / 2, height / 2
    half = [(right - cut, -down), (right, cut - down), (right, down - cut), (right - cut, down)]
    outline = [*half, *((-dx, dy) for dx, dy in reversed(half))]
    return Path((tuple((x + dx, y + dy) for dx, dy in outline),), fill, "#8a929b", STROKE)


def _suit(suit: str, x: float, y: float, side: float, fill: str) -> Path:
    """Of a card, around (x, y)."""
    lines = [tuple((x + side * dx, y + side * dy) for dx, dy in line) for line in SUITS[suit]]
    return Path(tuple(lines), fill)


def die_of(label: str, fill: str, against: str, x: float, y: float, side: float) -> list[Shape]:
    """A die that shows a face, or a covered one."""
    if label.isdecimal() and int(label) in PIPS:
        return die(int(label), x, y, side)
    box = rectangle(x - side / 2, y - side / 2, side, side, fill, INK, STROKE)
    return [box, Text(x, y, label or "?", 0.6 * side, against)]


def die(face: int, x: float, y: float, side: float) -> list[Shape]:
    """Around (x, y)."""
    box = rectangle(x - side / 2, y - side / 2, side, side, "#ffffff", INK, STROKE)
    return [box, *(Circle(x + 0.27 * side * dx, y + 0.27 * side * dy, 0.09 * side, INK) for dx, dy in PIPS[face])]
