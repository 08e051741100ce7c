"""A drawing as SVG: a file of its own, or a part of a page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from games.drawing.shapes import Circle, Drawing, Path, Shape

NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'
CELL = 40  # units of the picture: a tenth of a cell is a whole number of them


def svg(drawing: Drawing, title: str, scale: float = 1.0, is_file: bool = False) -> str:
    """`title`: the drawing in words. `scale`: width against 40 pixels a cell. `is_file`: a file of its own, not a part of a page."""
    width, height = CELL * drawing.width, CELL * drawing.height
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width * scale:.0f}" height="{height * scale:.0f}"'
    parts = [
        f'<svg{NAMESPACE if is_file else ""} {size} role="img" font-family="sans-serif" style="max-width:100%;height:auto">',
        f"<title>{escape(title)}</title>",
        *map(_shape, drawing.shapes),
        "</svg>",
    ]
    return "\n".join([*parts, ""])


def elements(shapes: Iterable[Shape]) -> str:
    """Shapes without the picture around them."""
    return "".join(map(_shape, shapes))


def _shape(shape: Shape) -> str:
    if isinstance(shape, Path):
        end = "z" if shape.is_closed else ""
        path = "".join("M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in line) + end for line in shape.lines)
        return f'<path d="{path}"{_look(shape)}/>'
    if isinstance(shape, Circle):
        return f'<circle cx="{_n(shape.x)}" cy="{_n(shape.y)}" r="{_n(shape.radius)}"{_look(shape)}/>'
    mono = ' font-family="ui-monospace, monospace"' if shape.is_mono else ""
    anchor = f' text-anchor="{shape.anchor}"' if shape.anchor != "start" else ""
    y = _n(shape.y + 0.35 * shape.size)  # of the base line
    look = f'font-size="{_n(shape.size)}" fill="{shape.colour}"{anchor}{mono}'
    return f'<text x="{_n(shape.x)}" y="{y}" {look}>{escape(shape.text)}</text>'


def _look(shape: Path | Circle) -> str:
    look = f' fill="{shape.fill}"'
    if shape.stroke != "none":
        look += f' stroke="{shape.stroke}" stroke-width="{_n(shape.width)}"'
    return look + (f' opacity="{shape.opacity:.2f}"' if shape.opacity < 1 else "")


def _n(cells: float) -> str:
    """In units of the picture, without needless digits."""
    return f"{CELL * cells:.1f}".rstrip("0").rstrip(".")
