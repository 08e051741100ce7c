"""Types of classical search, for readers and the type checker: nothing at run time depends on them. See also `games.types`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from numpy.typing import NDArray

from games.types import Array, Record

__all__ = ["Codes", "Entries", "Kernel", "Lines", "Positions", "Ranks", "Score", "Workspace"]

Score = Any
"""A whole number of `classical.scores`, Python's or numpy's; a float where expectations are taken."""
Workspace = Record
"""Everything that an alpha-beta search writes (`classical.alphabeta.workspace`)."""
Entries = NDArray[Record]
"""A transposition table [n]."""
Codes = Array
"""An endgame table: codes by index, or entries of a hash table (`classical.tables`)."""
Lines = Array
"""Best play from each ply, int32 [levels, length + 1], each ended by -1."""
Ranks = Array
"""How early to try each action."""
Kernel = Callable[..., Any]
"""A function that is compiled, or closed over by one."""


class Positions(Protocol):
    """An array of positions [n], whose elements are records: to a type checker, an array indexed by an `Integer` is an array."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __setitem__(self, index: Any, value: Any, /) -> None: ...
