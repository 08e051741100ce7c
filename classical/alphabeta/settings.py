"""Which organs a search has, and when it stops. `AlphaBetaSettings(depth=8, tt=False)`; in a player's text `alphabeta:depth=8,tt=off`.

Exact organs leave the value at the root what plain minimax to the same depth would find, in every combination. Selective organs look
further in some lines and less far in others; `exact` turns them all off. Their defaults are what matches of equal nodes gave
(`python -m benchmarks.organs`): on where they won or did no harm in any game, off where they lost or need what not every game has.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from base.errors import UserError

MAX_DEPTH = 100
SELECTIVE = ("quiescence", "checks", "singular", "null", "lmr", "futility", "beam", "probcut", "tables")


@dataclass(frozen=True)
class AlphaBetaSettings:
    """At least one of the three limits has to be given; the search stops at whichever comes first."""

    depth: int | None = None
    """How many actions ahead; None: as far as the other limits let it."""
    nodes: int | None = None
    """Positions visited, at most (the first iteration may use a few thousand in any case)."""
    ms: int | None = None
    """Milliseconds by the clock."""

    # ── exact organs ──
    iterative: bool = True
    """Iterative deepening: depth 1, 2, 3 …, each ordered by what the one before found (Slate and Atkin 1977)."""
    pvs: bool = True
    """Principal variation search: all but the first action get a window of width one, and a second search where they surpass it
    (Marsland and Campbell 1982)."""
    aspiration: bool = True
    """The root's window is a narrow one around the last iteration's value; widened and searched again where it fails."""
    tt: bool = True
    """The transposition table: a position reached on another path is not searched again (Greenblatt, Eastlake and Crocker 1967)."""
    tt_mb: int = 32
    """Its size in megabytes, rounded down to a power of two."""
    ordering: bool = True
    """The table's action first, then tactical actions by their gain."""
    killers: bool = True
    """Then the two quiet actions that last cut off at the same ply (Huberman 1968)."""
    history: bool = True
    """Then the others by how often and how high up they cut off anywhere (Schaeffer 1983)."""
    presort: int = 0
    """From this depth on, the others by EVAL of the position that they lead to instead; 0: never."""

    # ── selective organs ──
    quiescence: bool = True
    """At the horizon tactical actions go on until none is left (Shannon 1950, Harris 1975)."""
    checks: bool = True
    """Whoever is in check is searched one deeper, and does not stand pat in the first plies of quiescence; where a game has checks."""
    singular: bool = False
    """An action that is the only one, or much better than all others, is searched one deeper (Anantharaman, Campbell and Hsu 1990)."""
    null: bool = False
    """Whoever stands well enough to pass and still be above the window is taken to be above it (Beal 1989); where the game allows."""
    lmr: bool = True
    """Late quiet actions are searched less deep at first, those that surprise again in full; where the game tells quiet ones apart."""
    futility: bool = True
    """Near the horizon, what EVAL puts far outside the window stays there (Heinz 1998); where there is an EVAL."""
    beam: int = 0
    """Only so many actions of a position are searched, the best by EVAL, unless all of them lose; 0: all."""
    probcut: bool = False
    """A shallow search that is far outside the window foretells the deep one (Buro 1995); where errors were measured for the game."""

    tables: bool = False
    """Positions of the game's endgame tables, or of the complete table of a tiny game, are looked up instead of searched; the tables
    are built the first time (chess: half a minute) and kept in the cache folder (Ströhlein 1970, Thompson 1986)."""

    exact: bool = False
    """The value is plain minimax's: selective organs off, table hits of equal depth only, apart by the path where it matters."""
    multipv: Literal["best", "all"] = "best"
    """`all`: every action at the root gets an exact value; `best`: only the best, the others an upper bound."""

    def __post_init__(self) -> None:
        if self.depth is None and self.nodes is None and self.ms is None:
            raise UserError("alphabeta: expected a limit: depth, nodes or ms")
        for name, least, most in (
            ("depth", 1, MAX_DEPTH),
            ("nodes", 1, 1 << 60),
            ("ms", 1, 1 << 40),
            ("tt_mb", 1, 1 << 20),
            ("beam", 0, 1 << 20),
            ("presort", 0, MAX_DEPTH),
        ):
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise UserError(f"alphabeta: {name}: expected {least} to {most}, got {value}")
        if not self.iterative and self.depth is None:
            raise UserError("alphabeta: depth: expected one where iterative is off")
        if self.multipv not in ("best", "all"):
            raise UserError(f"alphabeta: multipv: expected best or all, got {self.multipv}")

    def resolved(self) -> AlphaBetaSettings:
        """With selective organs off where exactness is asked for."""
        off: dict[str, Any] = {name: 0 if name == "beam" else False for name in SELECTIVE}
        return replace(self, **off) if self.exact else self

    @classmethod
    def plain(cls, **limits: Any) -> AlphaBetaSettings:
        """Alpha-beta as the textbooks give it (Knuth and Moore 1975): no organs at all, actions in the order of the rules."""
        off: dict[str, Any] = {each.name: False for each in fields(cls) if each.default is True}
        return cls(**(off | limits))
