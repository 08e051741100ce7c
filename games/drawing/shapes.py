"""Shapes that drawings consist of, in a plane whose unit is the side of a cell: x to the right, y down."""

from __future__ import annotations

from dataclasses import dataclass

Point = tuple[float, float]

INK, SOFT, LINE, FIELD = "#22272e", "#6b7580", "#d8dee4", "#f6f8fa"
TEXT = "currentColor"
"""Words beside the board: the colour of the page's text."""


@dataclass(frozen=True)
class Path:
    """Polygons, or open lines, of one look."""

    lines: tuple[tuple[Point, ...], ...]
    fill: str = "none"
    stroke: str = "none"
    width: float = 0.0
    """Of the stroke."""
    opacity: float = 1.0
    is_closed: bool = True


@dataclass(frozen=True)
class Circle:
    x: float
    y: float
    radius: float
    fill: str = "none"
    stroke: str = "none"
    width: float = 0.0
    opacity: float = 1.0


@dataclass(frozen=True)
class Text:
    """In the middle of (x, y); `anchor`: which part of it is at x, start, middle or end."""

    x: float
    y: float
    text: str
    size: float
    """Height of a letter of the font, in cells."""
    colour: str = TEXT
    anchor: str = "middle"
    is_mono: bool = False


Shape = Path | Circle | Text


@dataclass(frozen=True)
class Drawing:
    width: float
    height: float
    """In cells."""
    shapes: tuple[Shape, ...]


def rectangle(
    x: float, y: float, width: float, height: float, fill: str, stroke: str = "none", line: float = 0.0
) -> Path:
    """x, y: the upper left corner."""
    return Path((corners(x, y, width, height),), fill, stroke, line)


def corners(x: float, y: float, width: float, height: float) -> tuple[Point, ...]:
    return (x, y), (x + width, y), (x + width, y + height), (x, y + height)
