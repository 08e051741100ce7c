"""What the sections of a report are made of: curves of a run by their names, rows of drawings, tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

from train.report.charts import HEIGHT, WIDTH, Curve, Mark, curves, figure, shares
from train.report.found import Found

STAGES = [f"{20 * k}–{20 * (k + 1)}%" for k in range(5)]


class Section(NamedTuple):
    anchor: str
    title: str
    conclusion: str
    """One sentence, computed from the data."""
    body: str
    """HTML; the others are text."""


def curve_of(
    found: Found, name: str, label: str, hue: int, is_banded: bool = False, is_held_against: bool = False
) -> Curve:
    games, values = found.history.series(name)
    low, high = (found.history.series(f"{name} {end}")[1] if is_banded else [] for end in ("low", "high"))
    if len(low) != len(values) or len(high) != len(values):
        low, high = [], []
    return Curve(label, games, values, hue, low, high, is_held_against)


@dataclass(frozen=True)
class Drawing:
    """Curves over games, side by side; those that a run does not have are not drawn."""

    title: str
    unit: str
    curves: Mapping[str, str]
    """What each is called in the drawing."""
    note: str = ""
    """How to read it."""
    held: Mapping[str, str] = field(default_factory=dict)
    """Curves that the others are held against, dashed."""
    floor: float | None = 0.0
    """A value that the axis reaches."""
    is_share: bool = False

    marks: tuple[Mark, ...] = ()

    def of(self, found: Found) -> str:
        """As HTML; '' where the run has none of its curves, or nothing but zeros: nobody resigns."""
        own = [curve_of(found, name, label, hue) for hue, (name, label) in enumerate(self.curves.items())]
        if not any(any(each.values) for each in own):
            return ""
        own += [curve_of(found, name, label, 5, is_held_against=True) for name, label in self.held.items()]
        svg = curves(own, self.unit, self.marks, self.is_share, self.floor, found.games)
        return figure(self.title, svg, self.note)


def staged(found: Found, name: str) -> str:
    stages = [curve_of(found, f"{name} stage {k + 1}", label, k) for k, label in enumerate(STAGES)]
    return curves(stages, "share", is_share=True, last=found.games)


def shares_of(
    found: Found,
    names: Mapping[str, str],
    hues: Sequence[int] = (0, 1, 2, 4, 5),
    height: int = HEIGHT,
    width: int = WIDTH,
) -> str:
    """Curves that add up to a whole, where all of them have the same steps."""
    series = {label: found.history.series(name) for label, name in names.items()}
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
