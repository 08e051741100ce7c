"""Types that rules, engine and searches share. Most are for readers and the type checker; positions are of the type `Record`.

To a type checker, a record's field and an array's element are `Any`, so formulae need no casts. The names below fix which record or
array goes where. A search names its records the same way: `Node = Record`, `Nodes = Records`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from base.seeds import Rng

__all__ = [
    "Actions",
    "Array",
    "Bits",
    "Counts",
    "Features",
    "GameState",
    "GameStates",
    "Integer",
    "Kernel",
    "Planes",
    "Record",
    "Records",
    "Rng",
    "Utilities",
    "Words",
]


class Record(np.record):  # type: ignore[misc]
    """A numpy record. Its fields are attributes, as in numpy's own, which takes twice to four times as long to find one; to a type
    checker each is `Any`, where numpy's own type fixes what a field holds to what was last written to it."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __getattribute__(self, name: str) -> Any: ...
    else:
        __getattribute__ = np.void.__getattribute__

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except ValueError:
            raise AttributeError(f"a record of {', '.join(self.dtype.names or ())} has no {name}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in (self.dtype.names or ()):
            raise AttributeError(f"a record of {', '.join(self.dtype.names or ())} has no {name}")
        self[name] = value


class Records(Protocol):
    """An array of records [n]. To a type checker, a numpy array indexed by an `Integer` is an array, and has no fields."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __setitem__(self, index: Any, value: Any, /) -> None: ...


GameState = Record
"""One position: a record of the game's dtype (`Rules.State`)."""
GameStates = NDArray[Record]
"""Positions one behind the other [n]."""
Actions = NDArray[np.int32]
"""Action ids: the legal ones of a position, written by a game's function, or the moves of a game."""
Planes = NDArray[np.float32]
"""An observation [channels, rows, columns]."""
Features = NDArray[np.float32]
"""The values of a linear evaluation's features, one per name."""
Bits = np.uint64
"""A 64-bit word: a set of squares, or a key."""
Words = NDArray[np.uint64]
"""Several such words [n]."""
Integer = Any
"""A whole number, Python's or numpy's: compiled code mixes them, and a type checker keeps them apart."""
Counts = NDArray[np.int64]
"""Numbers of something: visits, actions of each kind."""
Utilities = NDArray[np.float64]
"""What each player gets [players], in [-1, 1]."""
Array = NDArray[Any]
"""An array whose element type varies, or does not matter."""

Kernel = Callable[..., Any]
"""A compiled function."""
