"""A ladder as one HTML page that needs nothing else: ratings with their intervals drawn beside them, and who made what against whom."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arena.standings import Row, Standings

WIDTH = 320  # of the drawn intervals

STYLE = """
:root { color-scheme: light dark; --ink: #22272e; --soft: #667; --line: #d8dee4; --paper: #fff; --point: #1f5fa8; --tint: 38% }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e3e7ec; --soft: #99a3ae; --line: #3a424c; --paper: #16191d; --point: #6db0f5; --tint: 55% }
}
body { margin: 2rem auto; padding: 0 1.5rem; max-width: max-content; color: var(--ink); background: var(--paper);
       font: 15px/1.45 system-ui, sans-serif }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2.2rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .22rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
th { font-weight: 600 } thead th { color: var(--soft); vertical-align: bottom }
th.name, td.name { text-align: left; font-family: ui-monospace, monospace; font-size: .87em; font-weight: 400 }
.scroll { overflow-x: auto }
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
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Ladder: {name}</title><style>{STYLE}</style></head><body>",
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
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


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
