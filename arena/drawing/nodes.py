"""One node of a drawn tree, independent of the search that made it, and which nodes are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

OVER = -2
"""The mover where the game is over."""
Kind = Literal["inner", "leaf", "end", "cut"]


@dataclass
class Node:
    """A position that was searched, or `cut`: one that was not, because a sibling cut off."""

    action: str = ""
    """Leads here; with its probability where chance moved."""
    mover: int = 0
    """0 …, CHANCE or OVER."""
    text: str = ""
    """Its value: inside the shape."""
    notes: list[str] = field(default_factory=list)
    """Lines beside the shape."""
    kind: Kind = "inner"
    order: int | None = None
    """Which visit of the search was the first here; the root is 1."""
    worth: float = 0.0
    """By which `thinned` compares siblings; the greatest are kept."""
    is_best: bool = False
    """The search prefers it to its siblings."""
    children: list[Node] = field(default_factory=list)
    left_out: int = 0
    """Children that are not drawn."""

    def walk(self) -> Iterator[Node]:
        """Every node, parents first."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    @property
    def count(self) -> int:
        return sum(1 for _ in self.walk())


@dataclass
class Drawing:
    """A tree and how to read it."""

    root: Node
    legend: list[str]
    """Sentences below the drawing."""
    has_triangles: bool
    """MAX and MIN are triangles, as textbooks draw two players of a zero-sum game; else positions are boxes."""


def thinned(node: Node, depth: int | None, top: int | None) -> Node:
    """A copy down to `depth` levels below the root, with the `top` children of each node, in their order."""
    children = node.children if depth is None or depth > 0 else []
    if top is not None and len(children) > top:
        ranked = sorted(children, key=lambda each: (not each.is_best, -each.worth))
        kept = {id(each) for each in ranked[:top]}
        children = [each for each in children if id(each) in kept]
    below = None if depth is None else depth - 1
    return replace(
        node,
        children=[thinned(each, below, top) for each in children],
        left_out=len(node.children) - len(children),
    )
