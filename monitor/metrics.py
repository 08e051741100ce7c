"""The one table of metrics, monitor/metrics.toml: what each means, where it is computed, its chart, what is healthy and what to do.

    python -m monitor.metrics            # the tables of docs/tensorboard.md, as Markdown
    python -m monitor.metrics --write    # writes them into docs/tensorboard.md

TensorBoard's page of custom scalars (monitor/dashboard.py), the report (monitor/report/) and docs/tensorboard.md are made from the
table. To add a metric, compute it under its tag and add one line to the table, in a chart that exists or in a new one.

In a tag K stands for a number, PLAYER for an opponent, LAYER for a layer of the network, NAME for an auxiliary target,
NODE for a node of a cluster. Shares are from 0 to 1, losses and entropies in nats.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from base.errors import run_command
from base.generated import GeneratedPart

TABLE = Path(__file__).parent / "metrics.toml"
PLACES = {"K": r"\d+", "PLAYER": r".+", "LAYER": r"[\w.]+", "NAME": r"\w+", "NODE": r"\S+"}


@dataclass(frozen=True)
class Metric:
    tag: str
    source: str
    """The function or method that computes it."""
    meaning: str
    healthy: str = ""
    advice: str = ""
    """What to do where it is not healthy."""
    label: str = ""
    """Its name in the report's chart; without one, the last words of the tag."""
    is_reference: bool = False
    """Drawn dashed: what the other lines are compared with."""
    has_interval: bool = False
    """`TAG low` and `TAG high` are the ends of its interval of 95 %."""

    @property
    def tags(self) -> list[str]:
        return [self.tag + end for end in (("", " low", " high") if self.has_interval else ("",))]

    @property
    def is_family(self) -> bool:
        """The tag stands for several names."""
        return pattern(self.tag) != re.escape(self.tag)

    def of(self, known: Iterable[str]) -> list[str]:
        """The names that the tag stands for, in the order of their numbers."""
        return sorted((name for name in known if re.fullmatch(pattern(self.tag), name)), key=_natural)


@dataclass(frozen=True)
class Chart:
    question: str
    title: str
    unit: str
    metrics: tuple[Metric, ...]
    note: str = ""
    """How to read it."""
    beside: tuple[str, ...] = ()
    """Tags of other charts' metrics that are drawn here too, dashed."""
    kind: Literal["lines", "band", "shares"] = "lines"
    """band: the second and third metric are the ends of a band around the first. shares: they add up to 1."""
    is_share: bool = False
    """Shown in per cent."""
    floor: float | None = None
    """A value that the axis reaches."""
    marks: tuple[tuple[str, float], ...] = ()
    """Horizontal lines with a name."""
    in_report: bool = True


def _chart(row: dict[str, Any]) -> Chart:
    marks = tuple((name, value) for name, value in row.pop("marks", ()))
    metrics = tuple(Metric(**metric) for metric in row.pop("metrics"))
    return Chart(metrics=metrics, beside=tuple(row.pop("beside", ())), marks=marks, **row)


def _read() -> tuple[tuple[Chart, ...], dict[str, tuple[Metric, ...]]]:
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    media = {row["title"]: tuple(Metric(**metric) for metric in row["metrics"]) for row in table["media"]}
    return tuple(map(_chart, table["charts"])), media


CHARTS, MEDIA = _read()
"""The charts; and what is not a number over games, by its kind."""
QUESTIONS = tuple(dict.fromkeys(chart.question for chart in CHARTS))


def charts_of(question: str) -> list[Chart]:
    return [chart for chart in CHARTS if chart.question == question]


def by_tag() -> dict[str, Metric]:
    return {metric.tag: metric for chart in CHARTS for metric in chart.metrics}


def documented() -> list[Metric]:
    """The metrics of all charts, and the media."""
    return [*by_tag().values(), *(metric for metrics in MEDIA.values() for metric in metrics)]


def pattern(tag: str) -> str:
    """A regular expression for the names that a tag stands for."""
    words = re.split(rf"\b({'|'.join(PLACES)})\b", tag)
    return "".join(PLACES.get(word, re.escape(word)) for word in words)


def _natural(name: str) -> list[int | str]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


# ── as Markdown ──


def tables() -> str:
    """The generated part of docs/tensorboard.md."""
    lines = []
    for question in QUESTIONS:
        lines += [f"## {question}", "", "| tag | chart | meaning | healthy | what to do |", "|---|---|---|---|---|"]
        for chart in charts_of(question):
            lines += [_row(metric, "″" if number else chart.title) for number, metric in enumerate(chart.metrics)]
        lines.append("")
    for title, metrics in MEDIA.items():
        lines += [f"## {title}", "", "| tag | meaning | healthy | what to do |", "|---|---|---|---|"]
        lines += [*map(_row, metrics), ""]
    return "\n".join(lines).rstrip() + "\n"


def _row(metric: Metric, *columns: str) -> str:
    tags = " · ".join(f"`{tag}`" for tag in metric.tags)
    return "| " + " | ".join([tags, *columns, metric.meaning, metric.healthy, metric.advice]) + " |"


PART = GeneratedPart("monitor.metrics", Path(__file__).parent.parent / "docs" / "tensorboard.md", tables, __doc__)

if __name__ == "__main__":
    run_command(PART.main)
