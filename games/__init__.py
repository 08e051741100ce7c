"""The rules, one file per game, and what every game can do: `load("othello:size=6")`.

`games.engine` holds the contract (`rules.py`), the game as Python sees it (`game.py`), names (`registry.py`) and the doctor.
"""

import base  # first: Ctrl-C during the other imports
from games.engine.diagram import Diagram
from games.engine.game import Game
from games.engine.registry import builtin_games, load, variants
from games.engine.rules import CHANCE, Rules
from games.engine.symmetry import Symmetry, grid_symmetries, symmetry, turns

__all__ = [
    "CHANCE",
    "Diagram",
    "Game",
    "Rules",
    "Symmetry",
    "builtin_games",
    "grid_symmetries",
    "load",
    "symmetry",
    "turns",
    "variants",
]
