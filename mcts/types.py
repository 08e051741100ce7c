"""Types of tree search, for readers and the type checker: nothing at run time depends on them. See also `games.types`."""

from __future__ import annotations

from typing import Any

from games.types import Actions, Array, Features, GameState, GameStates, Kernel, Planes, Record, Records, Rng

__all__ = [
    "Actions", "Array", "Edge", "Edges", "Features", "Floats", "GameState", "GameStates", "Kernel", "Lane", "Lanes", "Node", "Nodes",
    "Planes", "Record", "Records", "Rng", "Settings", "Slot", "Slots", "Table", "Weights",
]  # fmt: skip

Slot = Record
"""One tree's own numbers (`mcts/tree.py`), with the fields of the variant."""
Node = Record
Edge = Record
Lane = Record
"""A simulation under way (`mcts.phases.lane_dtype`)."""
Slots = Records
Nodes = Records
"""The nodes of one tree [N], or of all [S, N]."""
Edges = Records
"""The edges of one tree [E], or of all [S, E]."""
Lanes = Records
Settings = Any
"""The record of a variant's settings (`SearchSettings.record`), or the settings."""
Table = Array
"""Exploration factors by visits, float64."""
Weights = Array
"""One number per edge of a node, float64; or the weights of an EVAL, float32."""
Floats = Array
"""float32: logits, utilities."""
