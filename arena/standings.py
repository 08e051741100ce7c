"""What a ladder has come to, for people and programs: a table as text and Markdown, JSON, a picture, a page with the cross-table.

standings = Standings(game, ratings, counts)
standings.text(), standings.as_json()
standings.write("report/")            # ladder.md, ladder.png, ladder.html
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from arena.choosing import rounded
from arena.players import FACTORIES, options_of
from arena.rating import FIRST, SECOND, Ratings
from arena.store import Counts
from base.errors import UserError
from base.files import StrPath, make_folder, write_text
from base.options import split
from games import Game


@dataclass(frozen=True)
class Row:
    """One player. Elo is None where no chain of results leads to the anchor."""

    player: str
    elo: float | None
    low: float | None
    high: float | None
    games: int
    score: float | None
    """Its share of all points that it played for."""
    label: str = ""
    """What it is called in tables; '' by its own text."""

    @property
    def name(self) -> str:
        return self.label or brief(self.player)

    @property
    def interval(self) -> str:
        if self.low is None or self.high is None:
            return "?"
        return "anchor" if self.low == self.high == 0 else f"[{self.low:+.0f}, {self.high:+.0f}]"

    @property
    def rating(self) -> str:
        return "?" if self.elo is None else signed(self.elo)


class Standings:
    """The rows, strongest first. `labels` are names for some of the players."""

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
    def notes(self) -> list[str]:
        """What the table does not say."""
        value, low, high = self.ratings.advantage
        found = [
            f"Elo is logistic, 0 is {brief(self.anchor)}; intervals are of 95 %, by bootstrap over pairs of games",
            f"the first seat is worth {value:+.0f} [{low:+.0f}, {high:+.0f}] Elo; {self.ratings.draws:.1%} of the games were drawn",
        ]
        for group in self.ratings.unconnected:
            names = ", ".join(brief(self.ratings.players[i]) for i in group)
            found.append(f"no result connects these with {brief(self.anchor)}, so nothing can be said of them: {names}")
        return found

    def as_json(self) -> dict[str, Any]:
        """The line that `ladder --json` ends with."""
        players = [
            {
                "player": row.player,
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
        """For the terminal."""
        width = max(len(row.name) for row in self.rows)
        lines = [f"{'':4}{'':{width}}{'Elo':>8}  {'95 %':<16}{'games':>7}{'score':>8}"]
        for place, row in enumerate(self.rows, 1):
            lines.append(
                f"{place:>2}  {row.name:{width}}{row.rating:>8}  {row.interval:<16}{row.games:>7}{percent(row.score):>8}"
            )
        return "\n".join([*lines, "", *self.notes])

    def markdown(self) -> str:
        lines = [
            f"# Ladder: {self.game.name}",
            "",
            "| | player | Elo | 95 % | games | score |",
            "|--:|---|--:|---|--:|--:|",
        ]
        for place, row in enumerate(self.rows, 1):
            name = row.name.replace("|", "\\|")
            lines.append(f"| {place} | `{name}` | {row.rating} | {row.interval} | {row.games} | {percent(row.score)} |")
        return "\n".join([*lines, "", *(f"- {note}" for note in self.notes), ""])

    def write(self, folder: StrPath) -> list[Path]:
        """The whole report; the files."""
        from arena.ladder_page import page
        from arena.ladder_picture import write_picture

        found = [Path(folder) / name for name in ("ladder.md", "ladder.png", "ladder.html")]
        make_folder(Path(folder))
        write_text(found[0], self.markdown() + f"\n![Elo with intervals]({found[1].name})\n")
        write_picture(found[1], self)
        write_text(found[2], page(self))
        return found


def signed(elo: float) -> str:
    """`+12`, `-3`, `0`."""
    return f"{elo:+.0f}" if round(elo) else "0"


def percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


def brief(text: str) -> str:
    """A resolved text without what is so by default: `alphabeta:depth=4`."""
    try:
        kind, given = split(text)
        if kind not in FACTORIES:
            return text
        options = options_of(kind)
        resolved = options.resolve(given)
    except UserError:  # of another version of the program
        return text
    defaults = {name: each.default for name, each in options.parameters.items()}
    return kind + options.text({name: value for name, value in resolved.items() if value != defaults.get(name)})


def span(rows: list[Row]) -> tuple[float, float]:
    """The least and the greatest Elo of all intervals."""
    numbers = [each for row in rows for each in (row.low, row.high) if each is not None]
    return float(np.min(numbers)), float(np.max(numbers))
