"""Drawings of a run as inline SVG: curves over games, shares, calibration, weights. Text stays text, colours are the page's.

    svg = curves([Curve("policy", games, losses), Curve("entropy", games, entropies, hue=1)], "nats")
    svg = curves([Curve("search", games, elo, low=low, high=high)], "Elo", marks=[Mark("random", 0.0)])
    svg = shares(games, {"wins": wins, "draws": draws, "losses": losses}, OUTCOMES)
    html = figure("Policy loss", svg, "how to read it")

In all of them x is games played, curves are named at their right end with the last value, a band is an interval of 95%, a dashed line
is a reference. Each point shows its numbers as a tooltip. Colours are numbers of `STYLE`'s palette.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from monitor.quality import Bin, drawable

WIDTH, HEIGHT = 460, 240
LEFT, TOP, BOTTOM = 46, 20, 34
MOST = 240  # points of a curve; longer ones are thinned to means
DOTTED = 60  # points of a curve that are drawn as dots too
APART = 12.5  # of names at the right end

OUTCOMES = (2, 5, 3)  # wins, draws, losses: good, neither, bad
CATEGORIES = (0, 1, 2, 3, 4)

STYLE = """
:root { --c0: #1f5fa8; --c1: #b8590f; --c2: #23804a; --c3: #b83a32; --c4: #7b4bab; --c5: #8b95a1 }
@media (prefers-color-scheme: dark) {
  :root { --c0: #6db0f5; --c1: #f0a35e; --c2: #5cc489; --c3: #f0827a; --c4: #c09aec; --c5: #77818d }
}
svg.chart { width: 100%; height: auto; display: block; font: 11px system-ui, sans-serif; overflow: visible }
.chart text { fill: var(--soft) } .chart .name { font-weight: 600 } .chart .axis { stroke: var(--line); stroke-width: 1 }
.chart .curve { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round }
.chart .held { fill: none; stroke-dasharray: 5 4; stroke-width: 1.5 } .chart .band { stroke: none; opacity: .16 }
.chart .mark { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 3; opacity: .75 }
.chart .tie { stroke: var(--line); stroke-width: 1; fill: none } .chart .bar { stroke: var(--paper); stroke-width: 1 }
.chart .error { stroke-width: 1.5 } .chart .set { stroke: var(--ink); stroke-width: 2 }
""" + "\n".join(
    f".s{i} {{ stroke: var(--c{i}) }} .f{i} {{ fill: var(--c{i}) }} .chart .t{i} {{ fill: var(--c{i}) }}" for i in range(6)
)  # fmt: skip


@dataclass(frozen=True)
class Curve:
    name: str
    games: Sequence[float]
    values: Sequence[float]
    hue: int = 0
    low: Sequence[float] = ()
    """Of the band; empty or as long as the values."""
    high: Sequence[float] = ()
    is_reference: bool = False
    """Dashed: what other curves are compared with."""


class Mark(NamedTuple):
    """A horizontal line with a name."""

    name: str
    value: float


class Weight(NamedTuple):
    """Of a linear EVAL."""

    name: str
    value: float
    error: float | None
    by_hand: float | None


def figure(title: str, svg: str, note: str = "", kind: str = "") -> str:
    """With its title above and how to read it below; text is escaped here. '' where there is no drawing."""
    if not svg:
        return ""
    words = f"<small>{escape(note)}</small>" if note else ""
    return f'<figure class="{kind}"><figcaption>{escape(title)}</figcaption>{svg}{words}</figure>'


def curves(
    found: Iterable[Curve],
    unit: str,
    marks: Sequence[Mark] = (),
    is_share: bool = False,
    floor: float | None = None,
    last: float = 0.0,
    width: int = WIDTH,
    height: int = HEIGHT,
    over: str = "games",
) -> str:
    """Over games, or what `over` names; '' where there are none. `is_share`: values in [0, 1], shown in per cent. `floor`: a value that
    the axis reaches. `last`: games of the whole run."""
    known = [thinned(each) for each in found if len(each.values)]
    if not known:
        return ""
    reach = [value for each in known for value in (*each.values, *each.low, *each.high)]
    reach += [mark.value for mark in marks] + ([] if floor is None else [floor])
    low, high = min(reach), max(reach)
    is_flat = high - low <= 1e-5 * max(abs(low), abs(high))  # but for rounding
    space = (0.05 * abs(high) or 0.5) if is_flat else 0.06 * (high - low)
    low, high = low - space * (low != floor), high + space
    if is_share:
        low, high = max(low, 0.0), min(high, 1.0)
    end = max([last, *(each.games[-1] for each in known)])
    names = [*(f"{each.name} 0.000" for each in known), *(mark.name for mark in marks)]
    frame = Frame(end, low, high, unit, is_share, width, height, over=over, names=names)
    parts = frame.opening(", ".join(each.name for each in known))
    parts += [_band(frame, each) for each in known if each.low]
    for mark in marks:
        y = frame.y(mark.value)
        parts.append(f'<line class="mark" x1="{LEFT}" x2="{frame.right}" y1="{y}" y2="{y}"/>')
    parts += [_curve(frame, each) for each in known]
    ends = [(frame.y(each.values[-1]), each.name, f"{frame.text(each.values[-1])}", each.hue) for each in known]
    ends += [(frame.y(mark.value), mark.name, "", 5) for mark in marks]
    return "\n".join([*parts, *_names(frame, ends), "</svg>"])


def shares(
    games: Sequence[float],
    parts: Mapping[str, Sequence[float]],
    hues: Sequence[int] = CATEGORIES,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> str:
    """What adds up to a whole, as one column for each number of games, the first part at the bottom; '' where there is nothing."""
    if not games or not parts:
        return ""
    names = list(parts)
    columns = [Curve(name, games, values) for name, values in parts.items()]
    columns = [thinned(each, 40) for each in columns]
    labels = [f"{name} 100%" for name in names]
    frame = Frame(len(columns[0].games), 0.0, 1.0, "share of the whole", True, width, height, names=labels)
    drawn = frame.opening(", ".join(names), has_ticks=False)
    middles = []
    for k, at in enumerate(columns[0].games):
        below = 0.0
        for i, each in enumerate(columns):
            value = max(0.0, each.values[k])
            top, bottom = frame.y(min(1.0, below + value)), frame.y(min(1.0, below))
            x, right = frame.x(k), frame.x(k + 1)
            words = f"{count(at)} games: {each.name} {value:.1%}"
            drawn.append(
                f'<rect class="bar f{hues[i]}" x="{x}" y="{top}" width="{right - x:.1f}" height="{bottom - top:.1f}">'
                f"<title>{escape(words)}</title></rect>"
            )
            if k == len(columns[0].games) - 1 and any(each.values):
                middles.append(((top + bottom) / 2, each.name, f"{value:.0%}", hues[i]))
            below += value
    y = height - BOTTOM + 14
    first, end = columns[0].games[0], columns[0].games[-1]
    if first != end:
        drawn.append(f'<text x="{LEFT}" y="{y}">{count(first)}</text>')
    drawn.append(f'<text x="{frame.right}" y="{y}" text-anchor="end">{count(end)} games</text>')
    return "\n".join([*drawn, *_names(frame, middles), "</svg>"])


def reliability(found: Mapping[str, Sequence[Bin]], width: int = WIDTH, height: int = 300) -> str:
    """Expected utility against mean outcome: perfect ones lie on the diagonal; the error bars are of 95%."""
    known = drawable(found)
    if not known:
        return ""
    frame = Frame(1.0, -1.05, 1.05, "outcome, mean", False, width, height, -1.0, "expected utility, mean", list(known))
    drawn = frame.opening(", ".join(known))
    drawn.append(
        f'<line class="mark" x1="{frame.x(-1)}" y1="{frame.y(-1)}" x2="{frame.x(1)}" y2="{frame.y(1)}"/>'
        f'<text x="{frame.x(0.98)}" y="{frame.y(0.98) - 6}" text-anchor="end">perfect</text>'
    )
    most = max(each.n for bins in known.values() for each in bins)
    ends = []
    for name, bins in known.items():
        hue = list(found).index(name)
        path = " ".join(f"{frame.x(each.expected)},{frame.y(each.outcome)}" for each in bins)
        drawn.append(f'<polyline class="curve s{hue}" points="{path}"/>')
        for each in bins:
            x, y = frame.x(each.expected), frame.y(each.outcome)
            low, high = (frame.y(min(1.0, max(-1.0, each.outcome + sign * 1.96 * each.error))) for sign in (-1, 1))
            words = f"{name}: {each.n:,} positions, expected {each.expected:+.2f}, ended {each.outcome:+.2f}"
            drawn.append(
                f'<line class="error s{hue}" x1="{x}" x2="{x}" y1="{low}" y2="{high}"/>'
                f'<circle class="f{hue}" cx="{x}" cy="{y}" r="{2.5 + 4 * math.sqrt(each.n / most):.1f}">'
                f"<title>{escape(words)}</title></circle>"
            )
        ends.append((frame.y(bins[-1].outcome), name, "", hue))
    return "\n".join([*drawn, *_names(frame, ends), "</svg>"])


def weights(found: Sequence[Weight], unit: str, width: int = WIDTH) -> str:
    """A bar for each with its interval of 95%; the weight set by hand as an upright stroke."""
    if not found:
        return ""
    row, left, right = 19, 150, 80
    height = row * len(found) + 34
    ends = [
        (each.value - 1.96 * (each.error or 0), each.value + 1.96 * (each.error or 0), each.by_hand or 0)
        for each in found
    ]
    low, high = min(0.0, *map(min, ends)), max(0.0, *map(max, ends))
    high = high if high > low else low + 1

    def x(value: float) -> float:
        return round(left + (width - left - right) * (value - low) / (high - low), 1)

    drawn = [_svg(width, height, "weights of EVAL")]
    for tick in ticks(low, high, 4):
        drawn.append(
            f'<line class="axis" x1="{x(tick)}" x2="{x(tick)}" y1="4" y2="{height - 28}"/>'
            f'<text x="{x(tick)}" y="{height - 15}" text-anchor="middle">{plain(tick)}</text>'
        )
    for i, each in enumerate(found):
        y = 4 + row * i
        start, end = sorted((x(0), x(each.value)))
        error = "" if each.error is None else f" ± {each.error:.2g}"
        drawn.append(
            f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{escape(each.name)}</text>'
            f'<rect class="f0" x="{start}" y="{y + 3}" width="{max(end - start, 0.5):.1f}" height="{row - 7}" opacity=".55"/>'
            f'<text x="{width - right + 6}" y="{y + 13}">{plain(each.value)}{error}</text>'
        )
        if each.error is not None:
            reach = [x(max(low, min(high, each.value + sign * 1.96 * each.error))) for sign in (-1, 1)]
            drawn.append(f'<line class="error s0" x1="{reach[0]}" x2="{reach[1]}" y1="{y + 9}" y2="{y + 9}"/>')
        if each.by_hand is not None:
            drawn.append(
                f'<line class="set" x1="{x(each.by_hand)}" x2="{x(each.by_hand)}" y1="{y + 2}" y2="{y + 17}"/>'
            )
    drawn.append(f'<text x="{(left + width - right) / 2}" y="{height - 1}" text-anchor="middle">{escape(unit)}</text>')
    return "\n".join([*drawn, "</svg>"])


# ── inside ──

LETTER = 6.4  # its width


class Frame:
    """The axes of a drawing: from games and values to places in it."""

    def __init__(
        self,
        most: float,
        low: float,
        high: float,
        unit: str,
        is_share: bool,
        width: int,
        height: int,
        least: float = 0.0,
        over: str = "games",
        names: Sequence[str] = (),
    ) -> None:
        self.least, self.most, self.over = least, most if most > least else least + 1, over
        self.low, self.high = low, high if high > low else low + 1
        self.unit, self.is_share, self.width, self.height = unit, is_share, width, height
        wanted = LETTER * max(map(len, names), default=0) + 16
        self.right = width - round(min(max(wanted, 112.0), 0.45 * width))
        """Where the plot ends and the names begin."""

    def x(self, games: float) -> float:
        return round(LEFT + (self.right - LEFT) * (games - self.least) / (self.most - self.least), 1)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.height - BOTTOM - (self.height - TOP - BOTTOM) * share, 1)

    def text(self, value: float) -> str:
        return f"{100 * value:.3g}%" if self.is_share else plain(value)

    def opening(self, about: str, has_ticks: bool = True) -> list[str]:
        """The drawing's first line, the axes and their ticks."""
        found = [_svg(self.width, self.height, f"{about}: {self.unit}")]
        found.append(f'<text x="2" y="10">{escape(self.unit)}</text>')
        for tick in ticks(self.low, self.high, max(2, self.height // 55)):
            y = self.y(tick)
            found.append(
                f'<line class="axis" x1="{LEFT}" x2="{self.right}" y1="{y}" y2="{y}"/>'
                f'<text x="{LEFT - 5}" y="{y + 4}" text-anchor="end">{self.text(tick)}</text>'
            )
        if has_ticks:
            foot = self.height - BOTTOM
            for tick in ticks(self.least, self.most, self.width // 110):
                name = count(tick) if self.over == "games" else plain(tick)
                found.append(f'<text x="{self.x(tick)}" y="{foot + 14}" text-anchor="middle">{name}</text>')
            middle = (LEFT + self.right) / 2
            found.append(f'<text x="{middle}" y="{foot + 29}" text-anchor="middle">{escape(self.over)}</text>')
        return found


def _svg(width: float, height: float, about: str) -> str:
    return f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(about)}">'


def _curve(frame: Frame, curve: Curve) -> str:
    points = [(frame.x(games), frame.y(value)) for games, value in zip(curve.games, curve.values, strict=True)]
    kind = "held" if curve.is_reference else "curve"
    parts = []
    if len(points) > 1:
        path = " ".join(f"{x},{y}" for x, y in points)
        parts.append(f'<polyline class="{kind} s{curve.hue}" points="{path}"/>')
    if len(points) <= DOTTED:
        size = 3.5 if len(points) == 1 else 2.2
        for (x, y), games, value in zip(points, curve.games, curve.values, strict=True):
            at = f"{games:,.0f}" if frame.over == "games" else plain(games)
            words = f"{curve.name} after {at} {frame.over}: {frame.text(value)}"
            parts.append(
                f'<circle class="f{curve.hue}" cx="{x}" cy="{y}" r="{size}"><title>{escape(words)}</title></circle>'
            )
    return "".join(parts)


def _band(frame: Frame, curve: Curve) -> str:
    xs = [frame.x(games) for games in curve.games]
    if len(xs) == 1:  # of one point: a bar
        low, high = frame.y(curve.low[0]), frame.y(curve.high[0])
        return f'<line class="error s{curve.hue}" x1="{xs[0]}" x2="{xs[0]}" y1="{low}" y2="{high}"/>'
    above = [(x, frame.y(value)) for x, value in zip(xs, curve.high, strict=True)]
    below = [(x, frame.y(value)) for x, value in zip(xs, curve.low, strict=True)]
    path = " ".join(f"{x},{y}" for x, y in [*above, *reversed(below)])
    return f'<polygon class="band f{curve.hue}" points="{path}"/>'


def _names(frame: Frame, ends: Sequence[tuple[float, str, str, int]]) -> list[str]:
    """At the right end of what they name, pushed apart where they would lie on each other, and tied to their places."""
    places = spread([y for y, *_ in ends], TOP - 6, frame.height - BOTTOM + 8)
    x = frame.right
    found = []
    for (y, name, value, hue), at in zip(ends, places, strict=True):
        if abs(at - y) > 1:
            found.append(f'<polyline class="tie" points="{x + 1},{y} {x + 7},{at:.1f}"/>')
        room = int((frame.width - x) / LETTER) - len(value) - 1
        short = shortened(name, room)
        words = f"<title>{escape(name)}</title>" if short != name else ""
        shown = f'<tspan class="name">{escape(short)}</tspan>' if hue != 5 or value else escape(short)
        found.append(f'<text class="t{hue}" x="{x + 9}" y="{at + 4:.1f}">{shown} {escape(value)}{words}</text>')
    return found


def shortened(name: str, room: int) -> str:
    """Without its middle: players differ in their ends, `alphabeta:depth=4`."""
    if len(name) <= room:
        return name
    head = room - 1 - (len(name.partition(":")[2]) or room // 2)
    return f"{name[:head]}…{name[len(name) - (room - 1 - head) :]}" if head > 2 else f"…{name[len(name) - room + 1 :]}"


def spread(places: Sequence[float], low: float, high: float, apart: float = APART) -> list[float]:
    """The nearest places, in the same order, that are `apart` from each other and, where there is room, between low and high."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    found = list(places)
    groups: list[list[int]] = []
    middles: list[float] = []
    for i in order:
        groups.append([i])
        middles.append(places[i])
        while True:  # a group that lies on the one before it becomes one with it, around the mean of their places
            size = apart * (len(groups[-1]) - 1) / 2
            middles[-1] = max(low + size, min(high - size, middles[-1]))
            if len(groups) < 2 or middles[-1] - size - apart >= middles[-2] + apart * (len(groups[-2]) - 1) / 2:
                break
            lower = groups.pop()
            groups[-1] += lower
            middles.pop()
            middles[-1] = sum(places[j] for j in groups[-1]) / len(groups[-1])
    for group, middle in zip(groups, middles, strict=True):
        for k, i in enumerate(group):
            found[i] = middle + apart * (k - (len(group) - 1) / 2)
    return found


def thinned(curve: Curve, most: int = MOST) -> Curve:
    """A curve of at most so many points: means of equal groups, and the last point as it is."""
    n = len(curve.values)
    if n <= most:
        return curve
    step = math.ceil((n - 1) / (most - 1))
    starts = range(0, n - 1, step)

    def means(values: Sequence[float]) -> list[float]:
        groups = [values[i : min(i + step, n - 1)] for i in starts]
        return [sum(group) / len(group) for group in groups] + [values[-1]] if len(values) else []

    return Curve(
        curve.name,
        means(curve.games),
        means(curve.values),
        curve.hue,
        means(curve.low),
        means(curve.high),
        curve.is_reference,
    )


def ticks(low: float, high: float, wanted: int) -> list[float]:
    """Round numbers between low and high, about so many."""
    rough = (high - low) / max(wanted, 1)
    if not rough > 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def plain(value: float) -> str:
    """Three digits: 1234567 as 1.23M, 0.0012345 as 0.00123."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'k' else size):.3g}{letter}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value else "0"


def count(games: float) -> str:
    """Of games, on an axis: 512, 5,120, 51k."""
    return f"{games:,.0f}" if abs(games) < 20_000 else plain(games)
