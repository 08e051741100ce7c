"""Types of classical search, for readers and the type checker: nothing at run time depends on them. See also `games.types`."""

from __future__ import annotations

from typing import Any

from games.types import Array, Kernel, Records

__all__ = ["Codes", "Entries", "Kernel", "Lines", "Positions", "Records", "Score"]


Score = Any
"""A whole number of `classical.scores`, Python's or numpy's; a float where expectations are taken."""
Positions = Records
Entries = Records
"""A transposition table [n]."""
Codes = Array
"""An endgame table: codes by index, or entries of a hash table (`classical.tables`)."""
Lines = Array
"""Best play from each ply, int32 [levels, length + 1], each ended by -1."""
