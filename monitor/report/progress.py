"""Is it learning? Is self-play healthy? Where does the time go?"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from monitor.metrics import QUESTIONS, charts_of
from monitor.quality import FEWEST
from monitor.report.charts import figure, reliability
from monitor.report.parts import Section, charts, drawn, shares_of
from monitor.report.run_data import RunData
from monitor.warning_log import spells

TIMES = ("self-play", "learning", "evaluation", "other")
LEARNING, HEALTHY, TIME, NODES = QUESTIONS[2:]
BEFORE_CALIBRATION = 6
"""Charts of learning that stand before the calibration."""


def learning(data: RunData) -> Section:
    return Section("learning", "Is it learning?", _learns(data), _learning(data))


def _learns(data: RunData) -> str:
    words = []
    gap, before = _gap(data)
    if gap is not None:
        began = "" if before is None else f" (at first {before:.2f})"
        words.append(f"the policy's loss is {gap:.2f} nats above the entropy of its targets{began}")
    if (top := data.last("fresh/top-1")) is not None:
        began = _began(data, "fresh/top-1")
        words.append(f"its first choice is that of its targets in {top:.0%} of new positions{began}")
    if (sign := data.last("fresh/value sign")) is not None:
        of_eval = data.last("fresh/eval sign")
        beside = f", the linear EVAL has {of_eval:.0%}" if of_eval is not None else ""
        words.append(f"its value has the right sign in {sign:.0%} of them{_began(data, 'fresh/value sign')}{beside}")
    if (start := data.last("supervised/top-1")) is not None:
        before = data.last("supervised/top-1 before")
        known = "" if before is None else f", {before:.0%} before"
        words.append(
            f"after learning from recorded games it predicted the move in {start:.0%} of those held back{known}"
        )
    if not words:
        return "There are no metrics of learning yet."
    text = "; ".join(words)
    return f"{text[0].upper()}{text[1:]}."


def _gap(data: RunData) -> tuple[float | None, float | None]:
    """The policy's divergence from its targets: the last one and, where it is another, the first one."""
    _, losses = data.history.series("loss/policy")
    _, entropies = data.history.series("loss/entropy")
    if not losses or len(losses) != len(entropies):
        return None, None
    return losses[-1] - entropies[-1], losses[0] - entropies[0] if len(losses) > 1 else None


def _began(data: RunData, name: str) -> str:
    _, values = data.history.series(name)
    return f" (at first {values[0]:.0%})" if len(values) > 1 else ""


def _learning(data: RunData) -> str:
    note = (
        f"New positions of the newest iteration, utility of the mover; bars: 95%; fewer than {FEWEST} positions are left out. "
        "Above the diagonal: too pessimistic."
    )
    figures = [drawn(data, chart) for chart in charts_of(LEARNING) if chart.in_report]
    calibration = figure("Do games end as expected?", reliability(data.calibration), note)
    return charts(*figures[:BEFORE_CALIBRATION], calibration, *figures[BEFORE_CALIBRATION:])


def health(data: RunData) -> Section:
    return Section("health", "Is self-play healthy?", _healthy(data), _health(data))


def _healthy(data: RunData) -> str:
    kinds = spells(data.warnings)
    now = [name for name, times in kinds.items() if not times[-1].gone]
    if now:
        words = f"There are warnings: {', '.join(now)}"
    elif kinds:
        words = f"There were warnings, now gone: {', '.join(kinds)}"
    else:
        words = "No warning was raised"
    facts = []
    if (length := data.last("selfplay/length")) is not None:
        facts.append(f"a game takes {length:.1f} plies")
    for player in range(len(_players(data))):
        facts.append(f"player {player} wins {data.last(f'selfplay/wins of player {player}') or 0.0:.0%}")
    if (draws := data.last("selfplay/draws")) is not None:
        facts.append(f"{draws:.0%} are drawn")
    if (same := data.last("selfplay/duplicates")) is not None:
        facts.append(f"{same:.0%} repeat another one move by move")
    return f"{words}; in the newest games {', '.join(facts)}." if facts else f"{words}."


def _health(data: RunData) -> str:
    ends = "How the games end"
    figures = [
        _endings(data, chart.title, chart.note) if chart.title == ends else drawn(data, chart)
        for chart in charts_of(HEALTHY)
        if chart.in_report
    ]
    return _warnings(data) + charts(*figures)


def _endings(data: RunData, title: str, note: str) -> str:
    """With the draws between the wins of two players."""
    players = _players(data)
    names = [(name.removeprefix("selfplay/wins of "), name) for name in players]
    draws = ("draws", "selfplay/draws")
    if len(players) == 2:
        outcomes, hues = dict([names[0], draws, names[1]]), [0, 5, 1]
    else:
        outcomes, hues = dict([*names, draws]), [*range(len(players)), 5]
    return figure(title, shares_of(data, outcomes, hues), note)


def _players(data: RunData) -> list[str]:
    """The metrics of how often each player wins."""
    return [name for name in data.history.names() if name.startswith("selfplay/wins of player ")]


def _warnings(data: RunData) -> str:
    """Each kind once, as it was last shown."""
    parts = []
    for name, times in spells(data.warnings).items():
        row, is_gone = times[-1]
        when = ", ".join(
            f"{first['games']:,} to {gone:,} games" if gone else f"since {first['games']:,} games"
            for first, gone in times
        )
        words = "".join(
            f"<dt>{title}</dt><dd>{escape(_words(row.get(key)))}</dd>"
            for key, title in (("seen", "Seen"), ("causes", "Likely causes"), ("advice", "What to try"))
            if row.get(key)
        )
        kind = "gone" if is_gone else "warning"
        parts.append(f'<aside class="{kind}"><b>{escape(name)}</b> <small>{when}</small><dl>{words}</dl></aside>')
    return "".join(parts)


def speed(data: RunData) -> Section:
    return Section("speed", "Where does the time go?", _spends(data), _speed(data))


def _spends(data: RunData) -> str:
    _, rates = data.history.series("speed/games per second")
    words = []
    if rates:
        words.append(f"Self-play makes {float(np.median(rates)):.3g} games a second (median)")
    if data.seconds > 0:
        minutes, games = data.seconds / 60, data.saved_games
        words.append(f"{games:,} games took {minutes:,.1f} minutes in all")
    spent = _shares_of_time(data)
    if spent:
        parts = ", ".join(f"{share:.0%} {name}" for name, share in sorted(spent.items(), key=lambda pair: -pair[1]))
        words.append(f"of the time: {parts}")
    text = "; ".join(words) or "This run has no metrics of speed"
    return f"{text[0].upper()}{text[1:]}."


def _shares_of_time(data: RunData) -> dict[str, float]:
    """Of all time: an iteration counts by its seconds; those of an older version, which did not log them, as the mean one."""
    lengths = dict(zip(*data.history.series("time/seconds"), strict=True))
    usual = float(np.mean(list(lengths.values()))) if lengths else 1.0
    found = {}
    for name in TIMES:
        games, shares = data.history.series(f"time/{name}")
        if len(shares):
            found[name] = float(np.average(shares, weights=[lengths.get(each, usual) for each in games]))
    return found


def _speed(data: RunData) -> str:
    return charts(*(drawn(data, chart) for chart in charts_of(TIME) + charts_of(NODES) if chart.in_report))


def _words(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
