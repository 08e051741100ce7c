"""A ladder as a picture: Elo with its intervals, the strongest on top. matplotlib is loaded when a picture is drawn, not before."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from base.files import write_bytes

if TYPE_CHECKING:
    from arena.standings import Standings

INK, LINE, POINT = "#22272e", "#d8dee4", "#1f5fa8"


def write_picture(path: Path, standings: Standings) -> None:
    """A PNG. Players without a rating are left out."""
    from matplotlib.figure import Figure  # no pyplot: no windows, no state of its own

    rows = [row for row in reversed(standings.rows) if row.elo is not None]
    figure = Figure(figsize=(9, 1.4 + 0.36 * len(rows)), dpi=150, layout="constrained")
    axes = figure.subplots()
    for place, row in enumerate(rows):
        assert row.elo is not None and row.low is not None and row.high is not None
        axes.plot([row.low, row.high], [place, place], color=POINT, linewidth=2, alpha=0.55, solid_capstyle="butt")
        axes.plot([row.low, row.high], [place, place], "|", color=POINT, markersize=8)
        axes.plot([row.elo], [place], "o", color=POINT, markersize=5)
        axes.annotate(
            row.rating, (row.high, place), (7, 0), textcoords="offset points", va="center", fontsize=8, color=INK
        )
    axes.set_yticks(range(len(rows)), [row.name for row in rows], fontsize=9, parse_math=False)
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.margins(x=0.08)
    axes.set_xlabel("Elo, with the interval of 95 %", color=INK)
    axes.set_title(
        f"{standings.game.name}: {standings.as_json()['games']:,} games", loc="left", color=INK, parse_math=False
    )
    axes.grid(axis="x", color=LINE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, colors=INK)
    axes.spines[:].set_visible(False)
    data = io.BytesIO()
    figure.savefig(data, format="png", metadata={"Software": "zermelo"})
    write_bytes(path, data.getvalue())
