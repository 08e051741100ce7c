"""A ladder as one HTML page that needs nothing else: ratings with their intervals drawn beside them, and who made what against whom."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from arena.page import document

if TYPE_CHECKING:
    from arena.standings import Row, Standings

WIDTH = 320  # of the drawn intervals

STYLE = """
.cross td { min-width: 3.2em; text-align: center; padding: .22rem .35rem; border: 1px solid var(--paper) }
.cross td.self { background: var(--line) } .cross td.none { color: var(--soft) }
.cross thead th { text-align: center; font-weight: 600 }
.cross small { display: block; color: var(--soft); font-size: .72em; line-height: 1.1 }
svg { vertical-align: middle } svg line { stroke: var(--point); stroke-width: 2 }
svg circle { fill: var(--point) } svg .zero { stroke: var(--line); stroke-width: 1 }
ul, p { color: var(--soft); max-width: 60rem }
"""


def page(standings: Standings) -> str:
    """The whole file."""
    name = escape(standings.game.name)
    parts = [
        f"<h1>Ladder: {name}</h1>",
        '<div class="scroll">',
        *_ratings(standings),
        "</div>",
        "<ul>",
        *(f"<li>{escape(note)}</li>" for note in standings.notes),
        "</ul>",
        "<h2>Against each other</h2>",
        "<p>Per cent of the points that the player on the left made against the one above, and the number of games.</p>",
        '<div class="scroll">',
        *_cross(standings),
        "</div>",
    ]
    return document(f"Ladder: {standings.game.name}", parts, STYLE)


def _ratings(standings: Standings) -> Iterator[str]:
    from arena.standings import percent, span

    low, high = span(standings.rows)
    heads = "<th></th><th class='name'>player</th><th>Elo</th><th>95 %</th><th></th><th>games</th><th>score</th>"
    yield f"<table><thead><tr>{heads}</tr></thead><tbody>"
    for place, row in enumerate(standings.rows, 1):
        yield (
            f'<tr><td>{place}</td><td class="name" title="{escape(row.player)}">{escape(row.name)}</td><td>{row.rating}</td>'
            f"<td>{row.interval}</td><td>{_bar(row, low, high)}</td><td>{row.games}</td><td>{percent(row.score)}</td></tr>"
        )
    yield "</tbody></table>"


def _bar(row: Row, low: float, high: float) -> str:
    """The interval, drawn on the scale of all."""

    def x(elo: float) -> float:
        return round(6 + (WIDTH - 12) * (elo - low) / max(high - low, 1.0), 1)

    if row.elo is None or row.low is None or row.high is None:
        return ""
    return (
        f'<svg width="{WIDTH}" height="16" role="img" aria-label="{row.rating} {row.interval}">'
        f'<line class="zero" x1="{x(0.0)}" x2="{x(0.0)}" y1="0" y2="16"/>'
        f'<line x1="{x(row.low)}" x2="{x(row.high)}" y1="8" y2="8"/>'
        f'<line x1="{x(row.low)}" x2="{x(row.low)}" y1="4" y2="12"/><line x1="{x(row.high)}" x2="{x(row.high)}" y1="4" y2="12"/>'
        f'<circle cx="{x(row.elo)}" cy="8" r="3.5"/></svg>'
    )


def _cross(standings: Standings) -> Iterator[str]:
    rows = standings.rows
    numbers = "".join(f'<th title="{escape(row.player)}">{place}</th>' for place, row in enumerate(rows, 1))
    yield f'<table class="cross"><thead><tr><th></th><th></th>{numbers}</tr></thead><tbody>'
    for place, row in enumerate(rows, 1):
        cells = "".join(_cell(standings, row, other) for other in rows)
        yield f'<tr><th>{place}</th><th class="name">{escape(row.name)}</th>{cells}</tr>'
    yield "</tbody></table>"


def _cell(standings: Standings, row: Row, other: Row) -> str:
    if row is other:
        return '<td class="self"></td>'
    points, games = standings.against(row.player, other.player)
    if not games:
        return '<td class="none">·</td>'
    share = points / games
    hue = "#2e9e5b" if share >= 0.5 else "#d1483f"
    tint = f"calc(var(--tint) * {abs(2 * share - 1):.2f})"
    told = f"{row.name} against {other.name}: {points:g} of {games}"
    return (
        f'<td style="background: color-mix(in srgb, {hue} {tint}, var(--paper))" title="{escape(told)}">'
        f"{100 * share:.0f}<small>{games}</small></td>"
    )
