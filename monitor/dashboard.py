"""TensorBoard's page of custom scalars, in the order of the table of metrics (monitor/metrics.py). At most three tags to a chart.

layout(history.names())         # {question: {chart: [kind, tags]}}, of the metrics that there are
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from monitor.metrics import QUESTIONS, Chart, charts_of

Layout = dict[str, dict[str, list[object]]]
LINES, BAND = "Multiline", "Margin"
MOST = 3
"""Tags of a chart."""


def layout(names: Iterable[str]) -> Layout:
    """Charts without a metric are left out, and questions without a chart."""
    known = set(names)
    found: Layout = {}
    for question in QUESTIONS:
        lines: dict[str, list[object]] = {}
        bands: dict[str, list[object]] = {}
        for chart in charts_of(question):
            lines |= {title: [LINES, [f"{re.escape(tag)}$" for tag in tags]] for title, tags in lines_of(chart, known)}
            bands |= {title: [BAND, tags] for title, tags in bands_of(chart, known)}
        if lines or bands:
            # TensorBoard draws bands after lines, the last one first
            found[question] = lines | dict(reversed(bands.items()))
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


def lines_of(chart: Chart, known: set[str]) -> Iterator[tuple[str, list[str]]]:
    """Title and tags. Metrics that are all of one family are charted together for each of its members."""
    metrics = [metric for metric in chart.metrics if not metric.has_interval]
    if chart.kind == "band" or not metrics:
        return
    beside = [tag for tag in chart.beside if tag in known]
    if len(metrics) > 1 and all(metric.is_family for metric in metrics):
        for name in metrics[0].of(known):
            prefix = name.removesuffix(metrics[0].tag.rpartition(" ")[2])
            tags = [prefix + metric.tag.rpartition(" ")[2] for metric in metrics]
            yield f"{chart.title}: {prefix.partition('/')[2].strip()}", [tag for tag in tags if tag in known]
        return
    names = [name for metric in metrics for name in metric.of(known)]
    size = MOST - len(beside)
    for first in range(0, len(names), size):
        number = f" ({first // size + 1})" if first else ""
        yield chart.title + number, [*beside, *names[first : first + size]]
