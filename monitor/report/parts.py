"""Parts of the report's sections: charts of metrics, figures side by side, tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from monitor.metrics import Chart, Metric
from monitor.report.charts import HEIGHT, WIDTH, Curve, Mark, curves, figure, shares
from monitor.report.run_data import RunData

STAGES = [f"{20 * k}–{20 * (k + 1)}%" for k in range(5)]


class Section(NamedTuple):
    anchor: str
    title: str
    conclusion: str
    """One sentence, computed from the data."""
    body: str
    """HTML; the other fields are text."""


def curve_of(
    data: RunData, name: str, label: str, hue: int, is_banded: bool = False, is_reference: bool = False
) -> Curve:
    games, values = data.history.series(name)
    low, high = (data.history.series(f"{name} {end}")[1] if is_banded else [] for end in ("low", "high"))
    if len(low) != len(values) or len(high) != len(values):
        low, high = [], []
    return Curve(label, games, values, hue, low, high, is_reference)


def drawn(data: RunData, chart: Chart) -> str:
    """A chart of the table of metrics as HTML; '' where the run has none of its metrics, or nothing but zeros."""
    known = data.history.names()
    own: list[tuple[str, str]] = []
    references = [(tag, tag.rpartition(" ")[2]) for tag in chart.beside]
    for metric in chart.metrics:
        for name in metric.of(known):
            target = references if metric.is_reference else own
            target.append((name, label_of(metric, name, chart)))
    if chart.kind == "shares":
        return figure(chart.title, shares_of(data, {label: name for name, label in own}), chart.note)
    lines = [curve_of(data, name, label, hue % 5) for hue, (name, label) in enumerate(own)]
    if not any(any(each.values) for each in lines):
        return ""
    lines += [curve_of(data, name, label, 5, is_reference=True) for name, label in references]
    marks = [Mark(*each) for each in chart.marks]
    drawing = curves(lines, chart.unit, marks, chart.is_share, chart.floor, data.games)
    return figure(chart.title, drawing, chart.note + once(lines))


def once(lines: Sequence[Curve], over: str = "games") -> str:
    """In words, where there is no curve yet."""
    most = max((each.games for each in lines), key=len, default=[])
    at = "" if len(most) != 1 else f"{most[0]:,.0f}" if over == "games" else f"{most[0]:.2g}"
    return f" One point: measured once, after {at} {over}." if at else ""


def label_of(metric: Metric, name: str, chart: Chart) -> str:
    """What a metric is called in a chart: what distinguishes it there."""
    if metric.is_family:
        number = name.rpartition(" ")[2]
        return STAGES[int(number) - 1] if "stage" in name else f"player {number}" if "player" in name else number
    return metric.label or name.partition("/")[2]


def shares_of(
    data: RunData,
    names: Mapping[str, str],
    hues: Sequence[int] = (0, 1, 2, 4, 5),
    height: int = HEIGHT,
    width: int = WIDTH,
) -> str:
    """Metrics that add up to a whole, where all of them have the same steps."""
    series = {label: data.history.series(name) for label, name in names.items()}
    known = {label: each for label, each in series.items() if each[0]}
    if not known or len({tuple(games) for games, _ in known.values()}) > 1:
        return ""
    games = next(iter(known.values()))[0]
    chosen = [hue for label, hue in zip(names, hues, strict=False) if label in known]
    return shares(games, {label: values for label, (_, values) in known.items()}, chosen, width, height)


def charts(*figures: str) -> str:
    return f'<div class="charts">{"".join(figures)}</div>'


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    def cell(kind: str, i: int, text: str) -> str:
        return f"<{kind}{' class=left' if i in left else ''}>{escape(text)}</{kind}>"

    head = "".join(cell("th", i, each) for i, each in enumerate(heads))
    body = "".join("<tr>" + "".join(cell("td", i, each) for i, each in enumerate(row)) + "</tr>" for row in rows)
    above = f"<h3>{escape(title)}</h3>" if title else ""
    return f'{above}<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
