"""The standings of a ladder: as text, Markdown, JSON, a picture, and an HTML page with the cross-table.

standings = Standings(game, ratings, counts)
standings.text(), standings.as_json()
standings.write("report/")            # ladder.md, ladder.png, ladder.html
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from arena.choose import rounded
from arena.ladder.names import series_of, weights_of
from arena.ladder.rating import FIRST, SECOND, Ratings
from arena.ladder.results import Counts
from arena.players import brief
from arena.tally import is_played_for_payoffs
from base.files import StrPath, make_folder, write_bytes, write_text
from base.page import document
from games import Game


@dataclass(frozen=True)
class Row:
    """One player. Elo is None where no chain of results connects the player with the anchor."""

    player: str
    elo: float | None
    low: float | None
    high: float | None
    games: int
    score: float | None
    """Points per game."""
    label: str = ""
    """The name in tables; '' for the player's own text."""

    @property
    def name(self) -> str:
        return self.label or brief(self.player)

    @property
    def weights(self) -> str:
        """The hash of a network's weights; '' for other players."""
        return weights_of(self.player)

    @property
    def interval(self) -> str:
        if self.low is None or self.high is None:
            return "?"
        return "anchor" if self.low == self.high == 0 else f"[{self.low:+.0f}, {self.high:+.0f}]"

    @property
    def rating(self) -> str:
        return "?" if self.elo is None else signed(self.elo)


class Standings:
    """The rows, strongest first. `labels` are names of some players in tables."""

    def __init__(
        self,
        game: Game,
        ratings: Ratings,
        counts: Mapping[tuple[str, str], Counts],
        labels: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.game, self.ratings, self.anchor = game, ratings, ratings.players[ratings.anchor]
        self._counts = counts
        rows = []
        for i, player in enumerate(ratings.players):
            met = [found for other in ratings.players if (found := self.against(player, other))[1]]
            games = sum(games for _, games in met)
            numbers = [each[i] for each in (ratings.elo, ratings.low, ratings.high)]
            elo, low, high = (None if math.isnan(number) else float(number) for number in numbers)
            score = sum(points for points, _ in met) / games if games else None
            rows.append(Row(player, elo, low, high, games, score, labels.get(player, "")))
        self.rows = sorted(rows, key=lambda row: (-math.inf if row.elo is None else row.elo, row.player), reverse=True)

    def against(self, player: str, other: str) -> tuple[float, int]:
        """A player's points and games against another one; repeated games count once."""
        a, b = sorted((player, other))
        counts = self._counts.get((a, b))
        if counts is None or player == other:
            return 0.0, 0
        games, points = 2 * counts.results.sum(), counts.results @ (FIRST + SECOND)
        return float(points if player == a else games - points), int(games)

    def outcomes(self, player: str, other: str) -> tuple[int, int, int]:
        """A player's wins, draws and losses against another one; repeated games count once."""
        a, b = sorted((player, other))
        counts = self._counts.get((a, b))
        if counts is None or player == other:
            return 0, 0, 0
        wins, draws, losses = (
            int(counts.results @ (1 * (worth == FIRST) + (worth == SECOND))) for worth in (1, 0.5, 0)
        )
        return (wins, draws, losses) if player == a else (losses, draws, wins)

    @cached_property
    def series(self) -> dict[str, list[tuple[int, Row]]]:
        """Runs of which several checkpoints are rated: by step, the first one first."""
        found: dict[str, list[tuple[int, Row]]] = {}
        for row in self.rows:
            if (known := series_of(row.name)) is not None and row.elo is not None:
                found.setdefault(known[0], []).append((known[1], row))
        return {name: sorted(rows, key=lambda each: each[0]) for name, rows in found.items() if len(rows) > 1}

    @cached_property
    def notes(self) -> list[str]:
        """Remarks below the table."""
        value, low, high = self.ratings.advantage
        found = [
            f"Elo is logistic, 0 is {brief(self.anchor)}; intervals are of 95 %, by bootstrap over pairs of games",
            f"the first seat is worth {value:+.0f} [{low:+.0f}, {high:+.0f}] Elo; {self.ratings.draws:.1%} of the games were drawn",
        ]
        if is_played_for_payoffs(self.game):
            found.append("a game won counts the same whatever it pays; `python -m arena match` gives payoffs")
        for group in self.ratings.unconnected:
            names = ", ".join(brief(self.ratings.players[i]) for i in group)
            found.append(f"not rated, since no chain of results connects them with {brief(self.anchor)}: {names}")
        return found

    def as_json(self) -> dict[str, Any]:
        """The object that `ladder --json` prints."""
        players = [
            {
                "player": row.player,
                "name": row.name,
                "elo": row.elo,
                "elo_interval": [row.low, row.high],
                "games": row.games,
                "score": row.score,
            }
            for row in self.rows
        ]
        value, low, high = self.ratings.advantage
        found = {
            "game": self.game.name,
            "version": self.game.version,
            "anchor": self.anchor,
            "games": sum(row.games for row in self.rows) // 2,
            "players": players,
            "first_move": value,
            "first_move_interval": [low, high],
            "draws": self.ratings.draws,
        }
        return rounded(found)

    def text(self) -> str:
        """A table for the terminal."""
        width = max(len(row.name) for row in self.rows)
        lines = [f"{'':4}{'':{width}}{'Elo':>8}  {'95 %':<16}{'games':>7}{'score':>8}"]
        for place, row in enumerate(self.rows, 1):
            lines.append(
                f"{place:>2}  {row.name:{width}}{row.rating:>8}  {row.interval:<16}{row.games:>7}{percent(row.score):>8}"
            )
        return "\n".join([*lines, "", *self.notes])

    def markdown(self) -> str:
        has_nets = any(row.weights for row in self.rows)
        heads, rules = (" weights |", "---|") if has_nets else ("", "")
        lines = [
            f"# Ladder: {_as_markdown(self.game.name)}",
            "",
            f"| | player | Elo | 95 % | games | score |{heads}",
            f"|--:|---|--:|---|--:|--:|{rules}",
        ]
        for place, row in enumerate(self.rows, 1):
            weights = f" {_as_code(row.weights) if row.weights else ''} |" if has_nets else ""
            lines.append(
                f"| {place} | {_as_code(row.name)} | {row.rating} | {row.interval} | {row.games} | {percent(row.score)} |{weights}"
            )
        return "\n".join([*lines, "", *(f"- {_as_markdown(note)}" for note in self.notes), ""])

    def write(self, folder: StrPath) -> list[Path]:
        """Write the report; its files."""
        found = [Path(folder) / name for name in ("ladder.md", "ladder.png", "ladder.html")]
        make_folder(Path(folder))
        write_text(found[0], self.markdown() + f"\n![Elo with intervals]({found[1].name})\n")
        write_picture(found[1], self)
        write_text(found[2], page(self))
        return found


def _as_markdown(text: str) -> str:
    """Text without markup: whatever a player is called, it neither formats nor adds HTML."""
    return re.sub(r"([\\`*_{}|!#~<>&\[\]])", r"\\\1", " ".join(text.split()))


def _as_code(text: str) -> str:
    """A code span in a cell of a table."""
    text = " ".join(text.split()).replace("|", "\\|")
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if len(fence) > 1 else f"`{text}`"


def signed(elo: float) -> str:
    """`+12`, `-3`, `0`."""
    return f"{elo:+.0f}" if round(elo) else "0"


def percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


def span(rows: list[Row]) -> tuple[float, float]:
    """The lowest and the highest Elo of all intervals."""
    numbers = [each for row in rows for each in (row.low, row.high) if each is not None]
    return float(np.min(numbers)), float(np.max(numbers))


# ── the HTML page ────────────────────────────────────────────────────────────────────────────────────────────────────

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
    """The HTML page: ratings with their intervals drawn, and the cross-table."""
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
        "<p>Points of the player on the left against the one above, in per cent, and the number of games.</p>",
        '<div class="scroll">',
        *_cross(standings),
        "</div>",
    ]
    if standings.series:
        parts.append(
            '<h2>Checkpoints of a run</h2><img src="ladder.png" alt="Elo by games learned from" style="max-width: 100%">'
        )
    return document(f"Ladder: {standings.game.name}", parts, STYLE)


def _ratings(standings: Standings) -> Iterator[str]:
    low, high = span(standings.rows)
    has_nets = any(row.weights for row in standings.rows)
    heads = "<th></th><th class='name'>player</th><th>Elo</th><th>95 %</th><th></th><th>games</th><th>score</th>"
    heads += "<th>weights</th>" if has_nets else ""
    yield f"<table><thead><tr>{heads}</tr></thead><tbody>"
    for place, row in enumerate(standings.rows, 1):
        weights = f"<td><code>{escape(row.weights)}</code></td>" if has_nets else ""
        score = f"<td>{row.games}</td><td>{percent(row.score)}</td>"
        yield (
            f'<tr><td>{place}</td><td class="name" title="{escape(row.player)}">{escape(row.name)}</td><td>{row.rating}</td>'
            f"<td>{row.interval}</td><td>{_interval_svg(row, low, high)}</td>{score}{weights}</tr>"
        )
    yield "</tbody></table>"


def _interval_svg(row: Row, low: float, high: float) -> str:
    """The interval as a drawing; all rows share one scale."""

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
    title = f"{row.name} against {other.name}: {points:g} of {games}"
    return (
        f'<td style="background: color-mix(in srgb, {hue} {tint}, var(--paper))" title="{escape(title)}">'
        f"{100 * share:.0f}<small>{games}</small></td>"
    )


# ── the picture ──────────────────────────────────────────────────────────────────────────────────────────────────────

INK, LINE, POINT = "#22272e", "#d8dee4", "#1f5fa8"


def write_picture(path: Path, standings: Standings) -> None:
    """Elo with intervals as a PNG, the strongest on top. Players without a rating are left out."""
    from matplotlib.figure import Figure  # loaded only here, since it takes a second; no pyplot, which has global state

    rows = [row for row in reversed(standings.rows) if row.elo is not None]
    series = standings.series
    heights = [1.4 + 0.36 * len(rows), *([3.6] if series else [])]
    figure = Figure(figsize=(9, sum(heights)), dpi=150, layout="constrained")
    grid = figure.subplots(len(heights), squeeze=False, height_ratios=heights)
    axes = grid[0, 0]
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
    if series:
        _draw_series(grid[1, 0], series)
    for each in grid.flat:
        each.set_axisbelow(True)
        each.tick_params(length=0, colors=INK)
        each.spines[:].set_visible(False)
    data = io.BytesIO()
    figure.savefig(data, format="png", metadata={"Software": "zermelo"})
    write_bytes(path, data.getvalue())


def _draw_series(axes: Any, series: Mapping[str, Sequence[tuple[int, Row]]]) -> None:
    """Elo by step, a curve with its band for each run."""
    for number, (name, rows) in enumerate(series.items()):
        steps, color = [step for step, _ in rows], f"C{number}"
        axes.fill_between(
            steps, [row.low for _, row in rows], [row.high for _, row in rows], color=color, alpha=0.15, lw=0
        )
        axes.plot(steps, [row.elo for _, row in rows], "o-", color=color, markersize=4, label=name)
    axes.set_xlabel("games that the checkpoint has learned from", color=INK)
    axes.set_ylabel("Elo", color=INK)
    axes.grid(color=LINE, linewidth=0.8)
    for text in axes.legend(frameon=False, fontsize=8).get_texts():
        text.set_parse_math(False)
