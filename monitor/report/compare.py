"""Several runs drawn together: a page, a picture and a table of numbers.

    python -m train compare first second third                  # runs/compared/compare.html, .png, .csv
    python -m train compare fp32_1 fp32_2 bf16_1 bf16_2 --out precision

Runs of one game whose configurations differ in the seed alone are one line: their mean, with a band from the lowest to the highest. A
line of one run has the band of its interval, where it was measured with one. Each metric is drawn over games and over hours: a setting
may learn more from a game and still less in an hour. Nothing of the runs is locked or changed.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

import numpy as np

from arena.ladder.standings import signed
from base.errors import Arguments, UserError
from base.files import make_folder, write_bytes, write_text
from base.page import document
from monitor.metrics import by_tag
from monitor.report.charts import CATEGORIES, Curve, curves, figure
from monitor.report.page import STYLE
from monitor.report.parts import curve_of, once, table
from monitor.report.run_data import RunData

METRICS = (
    "elo/search",
    "elo/policy",
    "accuracy/policy",
    "accuracy/search",
    "fresh/policy loss",
    "fresh/value loss",
    "fresh/value sign",
    "loss/policy",
    "loss/value",
)
SHARES = ("accuracy/policy", "accuracy/search", "fresh/value sign")
POINTS = 200  # of a mean
MOST = 8  # lines that can be told apart
AXES = ("games", "hours")


@dataclass(frozen=True)
class Group:
    """Runs that differ in the seed alone."""

    name: str
    runs: list[RunData]

    def line(self, metric: str, axis: str) -> Curve | None:
        """Their mean where several have the metric."""
        known = [line for run in self.runs if (line := line_of(run, metric, axis)) is not None]
        if len(known) < 2:
            return known[0] if known else None
        first, last = max(each.games[0] for each in known), min(each.games[-1] for each in known)
        if first > last:
            return None
        inside = sorted({x for each in known for x in each.games if first <= x <= last})
        at = inside if len(inside) <= POINTS else np.linspace(first, last, POINTS).tolist()
        values = np.array([np.interp(at, each.games, each.values) for each in known])
        return Curve(self.name, at, values.mean(0).tolist(), 0, values.min(0).tolist(), values.max(0).tolist())


def line_of(run: RunData, metric: str, axis: str) -> Curve | None:
    """Of one run, with its interval where it has one at every point; over games, or hours in their place."""
    curve = curve_of(run, metric, run.name, 0, is_banded=True)
    if not curve.values:
        return None
    return curve if axis == "games" else replace(curve, games=np.interp(curve.games, *hours_of(run)).tolist())


def hours_of(run: RunData) -> tuple[list[float], list[float]]:
    """(games, hours), from the start; of an older run by the seconds of its iterations, or as if all games had taken equally long."""
    games, hours = run.history.series("time/hours")
    if not games:
        games, seconds = run.history.series("time/seconds")
        hours = (np.cumsum(seconds) / 3600).tolist()
    if not games:
        games, hours = [run.games], [run.seconds / 3600]
    return [0.0, *map(float, games)], [0.0, *hours]


def grouped(runs: Sequence[RunData]) -> list[Group]:
    """In the order in which their first runs are given."""
    found: dict[tuple[tuple[str, str], ...], list[RunData]] = {}
    for run in runs:
        found.setdefault(
            tuple(sorted((key, value) for key, value in run.settings.items() if key != "seed")), []
        ).append(run)
    return [Group(name_of([run.name for run in each]), each) for each in found.values()]


def name_of(names: Sequence[str]) -> str:
    """What the names of runs begin with, and how many there are."""
    if len(names) == 1:
        return names[0]
    same = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return f"{''.join(letters[0] for letters in same).rstrip('-_.') or names[0]} ({len(names)} seeds)"


# ── the page, the picture, the numbers ──


def page(groups: Sequence[Group]) -> str:
    """The HTML file."""
    title = f"{', '.join(each.name for each in groups)}: {groups[0].runs[0].game_spec}"
    body = [f"<header><h1>{escape(title)}</h1>", f'<p class="about">{escape(about(groups))}</p></header>']
    heads, rows = differences(groups)
    body += [table("", *standing(groups)), table("Settings that differ", heads, rows) if rows else ""]
    for metric in known_metrics(groups):
        drawn = []
        for axis in AXES:
            lines = chart(groups, metric, axis)
            floor = 0.0 if metric.startswith("elo/") else None
            picture_of = curves(lines, "", is_share=metric in SHARES, over=axis, floor=floor)
            drawn.append(figure(f"{metric}, by {axis}", picture_of, once(lines, axis)))
        meaning = by_tag()[metric].meaning
        body.append(f"<section><h2>{escape(metric)}</h2><p>{escape(meaning)}</p>")
        body.append(f'<div class="charts">{"".join(drawn)}</div></section>')
    return document(title, body, STYLE)


def about(groups: Sequence[Group]) -> str:
    words = "Bands: of one run, intervals of 95 % where there are any"
    if any(len(each.runs) > 1 for each in groups):
        words += "; of several seeds, from the lowest to the highest, the line being their mean"
    return words + "."


def known_metrics(groups: Sequence[Group]) -> list[str]:
    names = {name for group in groups for run in group.runs for name in run.history.names()}
    return [name for name in METRICS if name in names]


def chart(groups: Sequence[Group], metric: str, axis: str) -> list[Curve]:
    found = []
    for number, group in enumerate(groups):
        if (line := group.line(metric, axis)) is not None:
            found.append(replace(line, name=group.name, hue=CATEGORIES[number % len(CATEGORIES)]))
    return found


def standing(groups: Sequence[Group]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: where each run stands."""
    heads = ["run", "line", "games", "hours", "Elo", "95%", "policy keeps the value", "search"]
    rows = []
    for group in groups:
        for run in group.runs:
            elo, low, high, policy, search = (
                run.last(name)
                for name in ("elo/search", "elo/search low", "elo/search high", "accuracy/policy", "accuracy/search")
            )
            interval = "" if low is None or high is None else f"[{low:+.0f}, {high:+.0f}]"
            shares = ["" if each is None else f"{each:.1%}" for each in (policy, search)]
            hours = f"{hours_of(run)[1][-1]:.2f}"
            rows.append(
                [run.name, group.name, f"{run.games:,}", hours, "" if elo is None else signed(elo), interval, *shares]
            )
    return heads, rows


def differences(groups: Sequence[Group]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: settings that are not the same in all groups."""
    settings = [group.runs[0].settings for group in groups]
    keys = dict.fromkeys(key for each in settings for key in each if key != "seed")
    rows = [[key, *(each.get(key, "") for each in settings)] for key in keys]
    return ["setting", *(group.name for group in groups)], [row for row in rows if len(set(row[1:])) > 1]


def picture(groups: Sequence[Group]) -> bytes:
    """A PNG: a row of two charts for each metric."""
    from matplotlib.figure import Figure  # loaded only here, since it takes a second; no pyplot, which has global state
    from matplotlib.lines import Line2D

    metrics = known_metrics(groups)
    drawing = Figure(figsize=(11, 2.9 * len(metrics)), dpi=110, layout="constrained")
    grid = drawing.subplots(len(metrics), len(AXES), squeeze=False)
    for row, metric in enumerate(metrics):
        for column, axis in enumerate(AXES):
            axes = grid[row, column]
            for number, group in enumerate(groups):
                if (line := group.line(metric, axis)) is None:
                    continue
                color = f"C{number}"
                axes.plot(line.games, line.values, ".-", color=color, linewidth=1.4, markersize=4)
                if line.low:
                    axes.fill_between(line.games, line.low, line.high, color=color, alpha=0.15, linewidth=0)
            axes.set_title(metric, loc="left", fontsize=9, parse_math=False)
            axes.set_xlabel(axis, fontsize=8)
            axes.grid(color="#d8dee4", linewidth=0.8)
            axes.tick_params(labelsize=8)
            axes.spines[["top", "right"]].set_visible(False)
    names = [Line2D([], [], color=f"C{number}", label=group.name) for number, group in enumerate(groups)]
    for text in drawing.legend(handles=names, loc="outside upper left", ncols=4, frameon=False).get_texts():
        text.set_parse_math(False)
    data = io.BytesIO()
    drawing.savefig(data, format="png", metadata={"Software": "zermelo"})
    return data.getvalue()


def numbers(groups: Sequence[Group]) -> str:
    """CSV: a line for each point of each metric of each run."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["run", "line", "metric", "games", "hours", "value", "low", "high"])
    for group in groups:
        for run in group.runs:
            for metric in known_metrics(groups):
                by_games, by_hours = (line_of(run, metric, axis) for axis in AXES)
                if by_games is None or by_hours is None:
                    continue
                for i, games in enumerate(by_games.games):
                    ends = [by_games.low[i], by_games.high[i]] if by_games.low else ["", ""]
                    writer.writerow(
                        [
                            run.name,
                            group.name,
                            metric,
                            int(games),
                            round(by_hours.games[i], 6),
                            by_games.values[i],
                            *ends,
                        ]
                    )
    return text.getvalue()


# ── python -m train compare ──


def main(argv: Sequence[str], find: Callable[[str, str | None, bool], RunData]) -> int:
    """`find` reads a run by its name; its rules may be given, or trusted."""
    options = parser().parse_args(argv)
    names = list(dict.fromkeys(options.runs))
    if len(names) < 2:
        raise UserError(f"compare: expected two runs or more, got {' '.join(names)}")
    compare([find(name, options.rules, options.trust) for name in names], Path(options.out))
    return 0


def compare(runs: Sequence[RunData], folder: Path) -> None:
    """Print where the runs stand, and write the three files; more of each where the lines are too many for one chart."""
    games = list(dict.fromkeys(run.game_spec for run in runs))
    if len(games) > 1:
        raise UserError(f"compare: expected runs of one game, got {', '.join(games)}")
    groups = grouped(runs)
    make_folder(folder)
    names = []
    for number, some in enumerate((groups[i : i + MOST] for i in range(0, len(groups), MOST)), 1):
        name = "compare" if number == 1 else f"compare_{number}"
        write_text(folder / f"{name}.html", page(some))
        write_bytes(folder / f"{name}.png", picture(some))
        write_text(folder / f"{name}.csv", numbers(some))
        names.append(f"{folder / f'{name}.html'}, {name}.png, {name}.csv")
    heads, rows = standing(groups)
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    for row in [heads, *rows]:
        cells = [
            f"{cell:{width}}" if i < 2 else f"{cell:>{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
    print("", *names, sep="\n")


def parser() -> Arguments:
    found = Arguments(prog="python -m train compare", description=__doc__)
    found.add_argument("runs", metavar="RUN", nargs="+", help="runs of runs/ by their names, or their folders")
    found.add_argument("--out", metavar="DIR", default="runs/compared", help="where the three files go")
    found.add_argument(
        "--rules", metavar="FILE", help="the game's rules, for someone else's runs with a file of its own"
    )
    found.add_argument("--trust", action="store_true", help="execute the file of rules that someone else's run names")
    return found
