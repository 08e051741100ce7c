"""What a variant of search is. A file of this folder that assigns `VARIANT = Variant(...)` is one, and its name is that of the file.

The phases of a simulation (`mcts/phases.py`), the drivers and the players are the same for all variants; a variant decides which edge
a simulation walks, what is prepared at the root, what there is to learn from a searched root and which edge is the best. Its functions
are plain Python, compiled into the kernels that are made for it. They share their arguments:

    slot, nodes, edges   one tree (`mcts/tree.py`); `slot` has the variant's own fields
    node, root           the row of `nodes` in question
    settings, table      the record of the variant's settings; its exploration factors by visits
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from base.errors import UserError, nearest
from mcts.settings import SearchSettings
from mcts.types import Edges, Node, Settings, Slot

FOLDER = Path(__file__).parent
TABLE = 1024
"""Exploration factors kept, by visits."""


def nothing(slot: Slot, root: Node, edges: Edges, settings: Settings) -> None:
    """For variants that prepare nothing at the root."""


def no_fields(max_legal: int) -> list[Any]:
    """For variants whose slots have no fields of their own."""
    return []


def no_factor(settings: Settings, visits: int) -> float:
    """For variants without an exploration factor."""
    return 0.0


def as_they_are(settings: Settings) -> float:
    """For variants that take the policy's priors as they are."""
    return 1.0


class Variant(NamedTuple):
    settings: type[SearchSettings]
    choose_root: Callable[..., int]
    """choose_root(slot, root, nodes, edges, settings, table) -> the edge that a simulation walks from the root."""
    choose: Callable[..., int]
    """choose(slot, node, nodes, edges, settings, table) -> the edge that it walks from any other decision node."""
    weigh: Callable[..., None]
    """weigh(slot, root, nodes, edges, settings, table, weights): what to learn from a root that is not proven, per edge; the sum is
    free."""
    best: Callable[..., int]
    """best(slot, root, nodes, edges, settings, worst) -> the edge to play; `worst` is the lowest utility of the game."""
    prepare: Callable[..., None] = nothing
    """prepare(slot, root, edges, settings): once per search, before the first simulation from an evaluated root."""
    factor: Callable[[Any, int], float] = no_factor
    """factor(settings, visits): the part of the exploration bonus that depends on the node's visits alone; `table` keeps it."""
    temperature: Callable[[Any], float] = as_they_are
    """temperature(settings): an expanded node has the priors P^(1/T) of the evaluator's policy P."""
    slot_fields: Callable[[int], list[Any]] = no_fields
    """slot_fields(max_legal): what a tree's slot gains, as NumPy's dtypes have it."""
    score: Callable[[Node, Any, Settings], float] | None = None
    """score(node, edge, settings): what `choose` maximizes at a searched node, for drawings; None where there is no such number."""
    has_policy: bool = True
    """A new node is expanded at once, and the evaluator's policy gives its priors; else at its second visit, with equal priors."""
    keeps_tree: bool = True
    """After a move the subtree is kept."""


@functools.cache
def names() -> tuple[str, ...]:
    """The variants in the folder."""
    pattern = re.compile(r"^VARIANT = ", re.MULTILINE)
    return tuple(file.stem for file in sorted(FOLDER.glob("*.py")) if pattern.search(file.read_text(encoding="utf-8")))


def named(method: str) -> Variant:
    """The variant of that name."""
    if method not in names():
        raise UserError(f"method: expected one of {', '.join(names())}, got '{method}'{nearest(method, names())}")
    found: Variant = importlib.import_module(f"mcts.{method}").VARIANT
    assert found.settings.method == method, f"mcts/{method}.py: expected its settings to have method '{method}'"
    return found


def variant_of(settings: SearchSettings) -> Variant:
    """The variant that these settings are for."""
    return named(settings.method)


def settings_class(method: str) -> type[SearchSettings]:
    """The settings of the variant of that name."""
    return named(method).settings


def factors(variant: Variant, settings: Settings) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The table of exploration factors."""
    return np.array([variant.factor(settings, max(visits, 1)) for visits in range(TABLE)])
