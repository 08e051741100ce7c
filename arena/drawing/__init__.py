"""Searched trees as drawings: `python -m arena explain … --tree FILE.svg`, or `.dot` for Graphviz.

nodes     one node of a drawing, and what is left out of a large tree
reading   the tree that a search has walked, as nodes
svg       nodes as SVG
dot       nodes as DOT
"""

from arena.drawing.dot import dot
from arena.drawing.nodes import Drawing, Node, thinned
from arena.drawing.reading import searched_tree
from arena.drawing.svg import svg

__all__ = ["Drawing", "Node", "dot", "searched_tree", "svg", "thinned"]
