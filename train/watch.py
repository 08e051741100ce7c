"""Tells what is wrong with a run, once, and again where it comes back.

    watch = Watch(config, game, history, journal)
    for text in watch.look(games): log.say(text)            # after each iteration

    runs/NAME/warnings.jsonl    {"games": 4096, "name": "value collapse", "seen": "…", "causes": […], "advice": […]}
                                {"games": 6144, "gone": "value collapse"}

What is seen stands in `train/troubles.py`; here is only when it is said. The journal is the watch's whole memory, and lines beyond the
state that a run goes on from are taken back (train/journal.py), so after a kill nothing is said twice and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any, NamedTuple

from games import Game
from train.config import Config
from train.journal import History, Journal
from train.troubles import Trouble, warnings

PATIENCE = 3
"""Iterations without it after which a trouble is gone: what comes and goes is said once."""


class Watch:
    def __init__(self, config: Config, game: Game, history: History, journal: Journal) -> None:
        self.config, self.game, self.history, self.journal = config, game, history, journal

    def look(self, games: int) -> list[Trouble]:
        """Those to be told after so many games; they are in the journal when this returns."""
        before = {name for name, times in spells(self.journal.rows).items() if not times[-1].gone}
        found = {each.name: each for each in warnings(self.history, self.config, self.game)}
        for name in sorted(before):
            if name not in found and not self._seen_lately(name):
                self.journal.add(games, {"gone": name})
        fresh = [each for name, each in found.items() if name not in before]
        for each in fresh:
            self.journal.add(games, asdict(each))
        return fresh

    def told(self, games: int) -> list[Trouble]:
        """Those that were told after so many games."""
        rows = [row for row in self.journal.rows if row["games"] == games and "gone" not in row]
        return [Trouble(**{each.name: row[each.name] for each in fields(Trouble)}) for row in rows]

    def _seen_lately(self, name: str) -> bool:
        """In one of the last few iterations, as it was then."""
        ends = [row["games"] for row in self.history.rows if "selfplay/length" in row["curves"]]
        return any(
            each.name == name
            for games in ends[-PATIENCE:-1]
            for each in warnings(self.history, self.config, self.game, games)
        )


class Spell(NamedTuple):
    """A trouble, once."""

    told: Mapping[str, Any]
    """Its line in the journal."""
    gone: int
    """After how many games; 0: it is still there."""


def spells(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Spell]]:
    """Of a run's journal, by the name of the trouble, the oldest first."""
    found: dict[str, list[Spell]] = {}
    for row in rows:
        if (gone := row.get("gone")) in found:
            found[gone][-1] = found[gone][-1]._replace(gone=row["games"])
        elif "name" in row:
            found.setdefault(str(row["name"]), []).append(Spell(row, 0))
    return found
