"""A drawing as DOT, for Graphviz: `dot -Tpdf tree.dot -o tree.pdf`."""

from __future__ import annotations

from arena.drawing.nodes import OVER, Drawing, Node
from games import CHANCE


def dot(drawing: Drawing, has_order: bool = False) -> str:
    """The text of the file."""
    lines = [
        "digraph search {",
        '  node [fontname="sans-serif", fontsize=11]; edge [fontname="sans-serif", fontsize=10];',
    ]
    numbers = {id(node): number for number, node in enumerate(drawing.root.walk())}
    for node in drawing.root.walk():
        lines.append(
            f"  n{numbers[id(node)]} [{_shape(node, drawing.has_triangles)}, label={_quoted(_lines(node, has_order))}];"
        )
        for child in node.children:
            style = (
                ', style=dashed, color="#b33"'
                if child.kind == "cut"
                else ', color="#186", penwidth=2.5'
                if child.is_best
                else ""
            )
            lines.append(
                f"  n{numbers[id(node)]} -> n{numbers[id(child)]} [arrowhead=none, label={_quoted([child.action])}{style}];"
            )
    lines.append(f"  label={_quoted(drawing.legend)}; labelloc=b;")
    return "\n".join([*lines, "}", ""])


def _lines(node: Node, has_order: bool) -> list[str]:
    lines = [node.text, *node.notes]
    if node.left_out:
        lines.append(f"+{node.left_out}")
    if has_order and node.order is not None:
        lines.append(f"#{node.order}")
    return lines


def _shape(node: Node, has_triangles: bool) -> str:
    if node.kind == "cut":
        return 'shape=box, style=dashed, color="#b33"'
    if node.mover == CHANCE:
        return "shape=ellipse"
    if node.kind in ("leaf", "end") or node.mover == OVER or not has_triangles:
        return "shape=box" if has_triangles or node.mover == OVER else "shape=box, style=rounded"
    return "shape=triangle" if node.mover == 0 else "shape=invtriangle"


def _quoted(lines: list[str]) -> str:
    return '"' + r"\n".join(line.replace("\\", r"\\").replace('"', r"\"") for line in lines) + '"'
