"""TensorBoard's page of custom scalars, in the order of the table of metrics (monitor/metrics.py).

layout(history.names(), game)   # {question: {chart: [kind, tags]}}, of the metrics that there are

TensorBoard colours by run, not by tag. So the first line of each chart is in the run's own folder, the second in its folder `2`, and so
on (`LineNumbers`). It also shows tags of one name in one chart, whatever the run: tags begin with the name of the game, so that games
are not mixed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from monitor.metrics import CHARTS, QUESTIONS, Chart, Metric, by_tag, charts_of, pattern

Layout = dict[str, dict[str, list[object]]]
LINES, BAND = "Multiline", "Margin"
MOST = 6
"""Tags of a chart, each with its colour: TensorBoard has seven."""


def prefixed(game: str, tag: str) -> str:
    """The tag as TensorBoard has it: `connect_four elo/search`."""
    return f"{game.replace('/', '_')} {tag}" if game else tag


def layout(names: Iterable[str], game: str = "", numbers: LineNumbers | None = None) -> Layout:
    """Charts without a metric are left out, and questions without a chart. No chart has two lines of one number."""
    numbers = LineNumbers() if numbers is None else numbers
    known = set(names)
    found: Layout = {}
    for question in QUESTIONS:
        lines: dict[str, list[object]] = {}
        bands: dict[str, list[object]] = {}
        for chart in charts_of(question):
            for title, tags in lines_of(chart, known, numbers):
                lines[title] = [LINES, [f"^{re.escape(prefixed(game, tag))}$" for tag in tags]]
            for title, tags in bands_of(chart, known):
                bands[title] = [BAND, [prefixed(game, tag) for tag in tags]]
        if lines or bands:
            # TensorBoard draws bands after lines, the last one first
            found[f"{game}: {question}" if game else question] = lines | dict(reversed(bands.items()))
    return found


def bands_of(chart: Chart, known: set[str]) -> Iterator[tuple[str, list[str]]]:
    """Title and tags (value, low, high), where all three are there."""
    if chart.kind == "band":
        sets = [(chart.title, [metric.tag for metric in chart.metrics])]
    else:
        single = [(name, metric) for metric in chart.metrics if metric.has_interval for name in metric.of(known)]
        sets = [(f"{name.replace('/', ' ', 1)}, 95 %", [name, f"{name} low", f"{name} high"]) for name, _ in single]
    for title, tags in sets:
        if known.issuperset(tags):
            yield title, tags


def lines_of(chart: Chart, known: set[str], numbers: LineNumbers) -> Iterator[tuple[str, list[str]]]:
    """Title and tags. Metrics that are all of one family are charted together for each of its members."""
    metrics = [metric for metric in chart.metrics if not metric.has_interval]
    if chart.kind == "band" or not metrics:
        return
    beside = [tag for tag in chart.beside if tag in known]
    if is_family(chart):
        for name in metrics[0].of(known):
            member = member_of(metrics[0], name)
            tags = [member + metric.tag.rpartition(" ")[2] for metric in metrics]
            yield f"{chart.title}: {member.partition('/')[2].strip()}", [tag for tag in tags if tag in known]
        return
    parts: list[dict[int, str]] = []
    for name in (name for metric in metrics for name in metric.of(known)):
        number = numbers.of(name)
        part = next((each for each in parts if number not in each), None)
        if part is None:
            parts.append(part := {})
        part[number] = name
    for count, part in enumerate(parts, 1):
        yield chart.title + (f" ({count})" if count > 1 else ""), [*beside, *part.values()]


def is_family(chart: Chart) -> bool:
    """Each member of the family has a chart of its own."""
    metrics = [metric for metric in chart.metrics if not metric.has_interval]
    return len(metrics) > 1 and all(metric.is_family for metric in metrics)


def member_of(metric: Metric, name: str) -> str:
    """`against/co 10 wins` without its last word."""
    return name.removesuffix(metric.tag.rpartition(" ")[2])


class LineNumbers:
    """Of each tag a number below MOST; tags of one chart have different ones, as far as there are so many. Tags of a band have 0.

    A number is given once, by the numbers that are given already: the same tags in the same order get the same numbers, also where a
    run resumes.
    """

    def __init__(self) -> None:
        self._given: dict[str, int] = {}
        self._used: dict[str, dict[int, int]] = {}  # by chart, how often each number that is free there
        for tag in by_tag():
            if pattern(tag) == re.escape(tag):  # those of families get numbers as they appear
                self.of(tag)

    def of(self, tag: str) -> int:
        if tag not in self._given:
            self._given[tag] = self._new(tag)
        return self._given[tag]

    def _new(self, tag: str) -> int:
        for chart in CHARTS:
            for metric in chart.metrics:
                if re.fullmatch(pattern(metric.tag), tag) and not metric.has_interval and chart.kind != "band":
                    member = member_of(metric, tag) if is_family(chart) else ""
                    free = set(range(MOST)) - {self.of(each) for each in chart.beside}
                    used = self._used.setdefault(chart.title + member, dict.fromkeys(sorted(free), 0))
                    number = min(used, key=lambda each: used[each])
                    used[number] += 1
                    return number
        return 0
