"""The metrics and warnings of a run as JSON lines, each of which belongs to a number of games.

    runs/NAME/curves.jsonl      {"games": 512, "curves": {"loss/policy": 1.31, …}}

    history = History(run.metrics)                    # to read, also while the run is under way
    history.last("loss/policy"), history.series("loss/policy")

    history = History(run.metrics, games=5120)        # to resume: lines beyond that state, which a killed process wrote, are dropped
    history.add(5632, {"loss/policy": 1.29})

TensorBoard shows the same points; diagnostics and report read them here. A line torn by a crash is dropped.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from base.errors import UserError
from base.files import make_folder, write_text
from base.json_values import is_count, is_number, is_text
from base.reading import json_of

METRICS = "curves.jsonl"
"""The name of the file in a run's folder."""
WARNINGS = "warnings.jsonl"
CALIBRATION = "calibration.jsonl"


class Rows:
    """JSON objects in a file, each with the games after which it was written, in that order."""

    def __init__(self, path: Path, games: int | None = None) -> None:
        """With `games`, to resume after so many: lines beyond are dropped. Without, to read."""
        self.path = path
        self.rows: list[dict[str, Any]] = []
        text = path.read_bytes().decode("utf-8", errors="replace") if path.is_file() else ""
        lines = text.split("\n")
        whole = [row for line in lines[:-1] if (row := _row(line)) is not None and self._is_sound(row)]
        self.rows = [row for row in whole if games is None or row["games"] <= games]
        if games is not None and text != (kept := "".join(map(_line, self.rows))):
            write_text(path, kept)

    def _is_sound(self, row: dict[str, Any]) -> bool:
        """Whether a line holds what such a file is for; one that does not is dropped like a torn one."""
        return True

    def add(self, games: int, values: Mapping[str, Any]) -> None:
        """One line, on disk when this returns."""
        row = {"games": games, **values}
        make_folder(self.path.parent)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(_line(row))
            file.flush()
            os.fsync(file.fileno())
        self.rows.append(row)


class WarningRows(Rows):
    """Findings, and names of those that are gone (monitor/warning_log.py)."""

    def _is_sound(self, row: dict[str, Any]) -> bool:
        if "gone" in row:
            return isinstance(row["gone"], str)
        lists = [row.get("causes"), row.get("advice")]
        are_texts = all(is_text(each) or (isinstance(each, list) and all(map(is_text, each))) for each in lists)
        return is_text(row.get("name")) and is_text(row.get("seen")) and are_texts


class CalibrationRows(Rows):
    """Bins of calibration by source, four numbers each (monitor/quality.py)."""

    def _is_sound(self, row: dict[str, Any]) -> bool:
        found = row.get("calibration")
        return isinstance(found, dict) and all(
            isinstance(bins, list)
            and all(isinstance(each, list) and len(each) == 4 and all(map(is_number, each)) for each in bins)
            for bins in found.values()
        )


class History(Rows):
    """The metrics: named numbers over games. Two lines of the same games are one point of each of their metrics."""

    def _is_sound(self, row: dict[str, Any]) -> bool:
        values = row.get("curves")
        return isinstance(values, dict) and all(map(is_number, values.values()))

    def add(self, games: int, values: Mapping[str, float]) -> None:
        """NaN and infinity are left out."""
        super().add(games, {"curves": {name: float(value) for name, value in values.items() if math.isfinite(value)}})

    def names(self) -> list[str]:
        return sorted({name for row in self.rows for name in row["curves"]})

    def series(self, name: str) -> tuple[list[int], list[float]]:
        """(games, values) of one metric; empty where there is none."""
        points = [(row["games"], row["curves"][name]) for row in self.rows if name in row["curves"]]
        return [games for games, _ in points], [value for _, value in points]

    def last(self, name: str) -> float | None:
        return next((row["curves"][name] for row in reversed(self.rows) if name in row["curves"]), None)

    def at(self, games: int) -> dict[str, float]:
        """Every metric of one point."""
        return {name: value for row in self.rows if row["games"] == games for name, value in row["curves"].items()}

    def has(self, games: int, name: str) -> bool:
        return any(row["games"] == games and name in row["curves"] for row in self.rows)


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


def _row(line: str) -> dict[str, Any] | None:
    """None where the line is damaged."""
    try:
        row = json_of(line, "line")
    except UserError:
        return None
    return row if isinstance(row, dict) and is_count(row.get("games")) else None
