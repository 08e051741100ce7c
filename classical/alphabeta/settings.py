"""Limits and enhancements of a search. `AlphaBetaSettings(depth=8, tt=False)`; in a player's text `alphabeta:depth=8,tt=off`.

Exact enhancements keep the value at the root that plain minimax to the same depth finds, in every combination. Selective ones search
some lines deeper and others less deep; `exact` turns them all off. Defaults follow matches of each enhancement against its absence
(`python -m benchmarks.enhancements`, docs/results.md): on unless it lost in a game or is of no use without data of the game.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from base.errors import UserError

MAX_DEPTH = 100
SELECTIVE = ("quiescence", "checks", "singular", "null", "lmr", "futility", "beam", "probcut", "tables")


@dataclass(frozen=True)
class AlphaBetaSettings:
    """At least one of the three limits has to be given; the search stops at the first that is reached."""

    depth: int | None = None
    """How many actions ahead; None: no limit."""
    nodes: int | None = None
    """Positions visited, at most; the first iteration is always completed within a few thousand."""
    ms: int | None = None
    """Milliseconds by the clock."""

    # ── exact enhancements ──
    iterative: bool = True
    """Iterative deepening: depth 1, 2, 3 …, each ordered by the results of the one before (Slate and Atkin 1977)."""
    pvs: bool = True
    """Principal variation search: all but the first action get a window of width one, and a second search where they exceed it
    (Marsland and Campbell 1982)."""
    aspiration: bool = True
    """The root's window is narrow, around the last iteration's value; where the search fails it is repeated with a wider one."""
    tt: bool = True
    """Transposition table: a position reached on another path is not searched again (Greenblatt, Eastlake and Crocker 1967)."""
    tt_mb: int = 32
    """Its size in megabytes, rounded down to a power of two."""
    ordering: bool = True
    """The table's action first, then tactical actions by their gain."""
    killers: bool = True
    """Then the two quiet actions that last cut off at the same ply (Huberman 1968)."""
    history: bool = True
    """Then the others by how often, and at what depth, they cut off anywhere in the tree (Schaeffer 1983)."""
    presort: int = 0
    """From this depth on, the others by EVAL of the position they lead to instead; 0: never."""

    # ── selective enhancements ──
    quiescence: bool = True
    """Beyond the horizon tactical actions are searched until none is left (Shannon 1950, Harris 1975)."""
    checks: bool = True
    """Positions in check are searched one deeper, and allow no stand-pat in the first plies of quiescence; in games with checks."""
    singular: bool = False
    """An only action, or one much better than all others, is searched one deeper (Anantharaman, Campbell and Hsu 1990)."""
    null: bool = False
    """A player who is above the window even after passing is taken to be above it (Beal 1989); where the game allows passing."""
    lmr: bool = True
    """Late quiet actions are searched less deep at first, in full where they exceed the window; in games that declare gains."""
    futility: bool = True
    """Near the horizon, what EVAL puts far outside the window is not searched (Heinz 1998); in games with an EVAL."""
    beam: int = 0
    """Only so many actions of a position are searched, the best by EVAL, unless all of them lose; 0: all."""
    probcut: bool = False
    """A shallow search far outside the window replaces the deep one (Buro 1995); in games whose errors were measured."""

    tables: bool = False
    """Positions of the game's endgame tables, or of the complete table of a tiny game, are looked up instead of searched; the tables
    are built at first use (chess: a second) and kept in the cache folder (Ströhlein 1970, Thompson 1986)."""
    endgames: str | None = None
    """Classes that `tables` has too, although they are built on request only: KBNK+KQKR (chess: some seconds each)."""

    exact: bool = False
    """The value is plain minimax's: no selective enhancement, table hits of equal depth only, paths distinguished where they matter."""
    bare: bool = False
    """No enhancement of either kind, and moves in the order of the rules: textbook alpha-beta (Knuth and Moore 1975)."""
    threads: int = 1
    """Threads that search beside each other and share the table; with more than one, searches never repeat exactly."""
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
            ("threads", 1, 256),
        ):
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise UserError(f"alphabeta: {name}: expected {least} to {most}, got {value}")
        if (self.bare or not self.iterative) and self.depth is None:
            raise UserError("alphabeta: depth: expected one where iterative is off, or bare on")
        if self.endgames is not None and not self.tables:
            raise UserError(f"alphabeta: endgames: expected tables=on with {self.endgames}")
        if self.threads > 1 and (self.exact or self.bare or not self.tt or not self.iterative):
            raise UserError(
                f"alphabeta: threads: more than 1 needs exact=off, bare=off, tt=on and iterative=on, got {self.threads}"
            )
        if self.multipv not in ("best", "all"):
            raise UserError(f"alphabeta: multipv: expected best or all, got {self.multipv}")

    def resolved(self) -> AlphaBetaSettings:
        """With selective enhancements off where `exact` is on, and all of them where `bare` is."""
        off: dict[str, Any] = {name: 0 if name == "beam" else False for name in SELECTIVE}
        if self.bare:
            off |= {each.name: False for each in fields(self) if each.default is True} | {"presort": 0}
        return replace(self, **off, endgames=None) if self.exact or self.bare else self

    @classmethod
    def plain(cls, **limits: Any) -> AlphaBetaSettings:
        """Alpha-beta as the textbooks give it (Knuth and Moore 1975): no enhancements, actions in the order of the rules."""
        off: dict[str, Any] = {each.name: False for each in fields(cls) if each.default is True}
        return cls(**(off | limits))
