"""Types of classical search, for readers and the type checker: nothing at run time depends on them. See also `games.types`."""

from __future__ import annotations

from typing import Any, Protocol

from games.types import Array, Kernel

__all__ = ["Codes", "Entries", "Kernel", "Lines", "Positions", "Records", "Score"]


class Records(Protocol):
    """An array of records [n]. To a type checker, a numpy array indexed by an `Integer` is an array, and has no fields."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __setitem__(self, index: Any, value: Any, /) -> None: ...


Score = Any
"""A whole number of `classical.scores`, Python's or numpy's; a float where expectations are taken."""
Positions = Records
Entries = Records
"""A transposition table [n]."""
Codes = Array
"""An endgame table: codes by index, or entries of a hash table (`classical.tables`)."""
Lines = Array
"""Best play from each ply, int32 [levels, length + 1], each ended by -1."""
