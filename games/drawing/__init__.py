"""Pictures of positions, of any game: `python -m games show GAME --svg FILE`.

    diagram = game.diagram(state)                         # plain data: games/engine/diagram.py
    svg(drawn(diagram), "Position 1")                     # a picture for a browser
    drawn(diagram, {(row, column): share})                # shapes, for any other means of drawing; cells marked
    places(game, state, actions)                          # the cells that each action changes
    layers(diagram)                                       # the shapes apart: ground, cells, what lies above

shapes     what drawings consist of
surfaces   kinds of boards
symbols    discs, crosses, chess pieces, dice
scene      a diagram as shapes
places     where an action shows
svg        shapes as SVG
"""

from games.drawing.places import changes, places
from games.drawing.scene import Layers, drawn, layers
from games.drawing.shapes import Circle, Drawing, Path, Shape, Text
from games.drawing.svg import CELL, elements, svg
from games.engine.diagram import Cell

__all__ = [
    "CELL",
    "Cell",
    "Circle",
    "Drawing",
    "Layers",
    "Path",
    "Shape",
    "Text",
    "changes",
    "drawn",
    "elements",
    "layers",
    "places",
    "svg",
]
