"""Warns of what is wrong with a run once, and again where it comes back.

    warnings = WarningLog(settings, players, history, rows)
    for finding in warnings.update(games): log.say(finding.text())      # after each iteration

    runs/NAME/warnings.jsonl    {"games": 4096, "name": "value collapse", "seen": "…", "causes": […], "advice": […]}
                                {"games": 6144, "gone": "value collapse"}

The checks are in `monitor/diagnostics.py`; this module decides only when a finding is shown. The file is its whole memory, and lines
beyond the state that a run resumes from are dropped (monitor/history.py), so after a kill no warning is repeated and none is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any, NamedTuple

from monitor.checks import RunMetrics, Settings
from monitor.diagnostics import Finding, diagnose
from monitor.history import History, Rows

PATIENCE = 3
"""Iterations without it after which a finding is gone: one that comes and goes is shown once."""

RENAMED = {
    "window stands still": "window stale",
    "learned by heart": "overfitting",
    "nothing is learned from": "no learning steps",
}
"""Names of findings in files of older versions."""


class WarningLog:
    def __init__(self, settings: Settings, players: int, history: History, log: Rows) -> None:
        self.settings, self.players, self.history, self.log = settings, players, history, log

    def update(self, games: int) -> list[Finding]:
        """New findings after so many games; they are in the file when this returns."""
        before = {name for name, times in spells(self.log.rows).items() if not times[-1].gone}
        found = {each.name: each for each in self._found()}
        for name in sorted(before):
            if name not in found and not self._seen_lately(name):
                self.log.add(games, {"gone": name})
        fresh = [each for name, each in found.items() if name not in before]
        for each in fresh:
            self.log.add(games, asdict(each))
        return fresh

    def at(self, games: int) -> list[Finding]:
        """Those that were shown after so many games."""
        rows = [row for row in self.log.rows if row["games"] == games and "gone" not in row]
        return [Finding(**{each.name: row[each.name] for each in fields(Finding)}) for row in rows]

    def _found(self, games: int | None = None) -> list[Finding]:
        return diagnose(RunMetrics(self.history, self.settings, self.players, games))

    def _seen_lately(self, name: str) -> bool:
        """In one of the last few iterations, as it was then."""
        ends = [row["games"] for row in self.history.rows if "selfplay/length" in row["curves"]]
        return any(each.name == name for games in ends[-PATIENCE:-1] for each in self._found(games))


class Spell(NamedTuple):
    """One appearance of a finding."""

    row: Mapping[str, Any]
    """Its line in the file."""
    gone: int
    """After how many games; 0: it is still there."""


def spells(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Spell]]:
    """Of a run's warnings, by the name of the finding, the oldest first."""
    found: dict[str, list[Spell]] = {}
    for row in rows:
        name = _name(row.get("gone", row.get("name")))
        if "gone" not in row and name:
            found.setdefault(name, []).append(Spell(row, 0))
        elif name in found:
            found[name][-1] = found[name][-1]._replace(gone=row["games"])
    return found


def _name(name: object) -> str:
    return RENAMED.get(str(name), str(name)) if name is not None else ""
