"""Is it getting stronger? Elo among the reference players, results against each of them, moves compared with exact play."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from arena.ladder.standings import signed
from arena.players import brief
from monitor.metrics import QUESTIONS, charts_of
from monitor.report.charts import OUTCOMES, Mark, curves, figure
from monitor.report.parts import Section, curve_of, drawn, once, shares_of, table
from monitor.report.run_data import RunData


def strength(data: RunData) -> Section:
    return Section("strength", "Is it getting stronger?", _conclusion(data), _drawn(data) + _standing(data))


def _conclusion(data: RunData) -> str:
    """What shows the most comes first: Elo, or the accuracy of the policy where Elo shows no gain."""
    elo, accuracy = _by_elo(data), _by_accuracy(data)
    parts = [elo, accuracy] if elo_leads(data) else [accuracy, elo]
    return " ".join(each for each in parts if each)


def elo_leads(data: RunData) -> bool:
    """Whether Elo shows a change beyond its error. Else the accuracy of the policy comes first, where it was measured."""
    gain = _gain(data)
    return (gain is not None and gain.is_beyond_error) or data.last("accuracy/policy") is None


def _by_accuracy(data: RunData) -> str:
    """Of the policy alone, which a search cannot make up for."""
    games, values = data.history.series("accuracy/policy")
    if not values:
        return ""
    began = f" ({values[0]:.0%} after {games[0]:,} games)" if len(values) > 1 else ""
    searched = data.last("accuracy/search")
    beside = f", with {data.simulations} simulations in {searched:.0%}" if searched is not None else ""
    return f"The policy alone keeps the value in {values[-1]:.0%} of the solved positions{began}{beside}."


class Gain(NamedTuple):
    """Of Elo, since about half of the games."""

    since: int
    elo: float
    is_beyond_error: bool
    is_measured: bool
    """The ends of all intervals are known."""


def _gain(data: RunData) -> Gain | None:
    """None where it was measured once at most."""
    games, values = data.history.series("elo/search")
    if len(values) < 2:
        return None
    middle = _before(games, games[-1] / 2)
    lows, highs = data.history.series("elo/search low")[1], data.history.series("elo/search high")[1]
    is_measured = len(lows) == len(highs) == len(values)
    is_beyond = is_measured and (lows[-1] > highs[middle] or highs[-1] < lows[middle])
    return Gain(games[middle], values[-1] - values[middle], is_beyond, is_measured)


def _by_elo(data: RunData) -> str:
    games, values = data.history.series("elo/search")
    if not values:
        return _conclusion_without_elo(data)
    low, high = data.last("elo/search low"), data.last("elo/search high")
    interval = "" if low is None or high is None else f" [{low:+.0f}, {high:+.0f}]"
    sims = data.simulations
    words = f"After {games[-1]:,} games it stands at Elo {signed(values[-1])}{interval} with {sims} simulations a move"
    words += _among(data, values[-1] if low is None else low, values[-1] if high is None else high)
    gain = _gain(data)
    if gain is None:
        return f"{words}; it was measured once, so there is no trend yet."
    since = f"since {gain.since:,} games"
    if not gain.is_measured:
        return f"{words}; {signed(gain.elo)} {since}."
    if not gain.is_beyond_error:
        return f"{words}; the change {since}, {signed(gain.elo)}, is within the error of measurement."
    what = f"gained {gain.elo:.0f}" if gain.elo > 0 else f"lost {-gain.elo:.0f}"
    return f"{words}; it has {what} {since}, more than the error of measurement."


def _by_exploitability(data: RunData) -> str:
    """Of a game that hides information: its course, and the least of it, which is what RUN/best names."""
    for tag, unit in (("exploitability/payoff", "a game in payoffs"), ("exploitability/utility", "a game")):
        games, values = data.history.series(tag)
        if not values:
            continue
        words = f"After {games[-1]:,} games a best response wins {values[-1]:.3g} {unit} from it"
        if len(values) == 1:
            return f"{words}."
        least = min(range(len(values)), key=lambda i: values[i])
        lowest = (
            "the least so far" if least == len(values) - 1 else f"least, {values[least]:.3g}, after {games[least]:,}"
        )
        return f"{words} ({values[0]:.3g} at first; {lowest}); 0 is an equilibrium."
    return ""


def _conclusion_without_elo(data: RunData) -> str:
    return " ".join(each for each in (_by_exploitability(data), _by_matches(data)) if each)


def _by_matches(data: RunData) -> str:
    known = _against(data)
    if known:
        worst = min(known, key=lambda name: known[name][1])
        games, utility = known[worst]
        low, high = (data.last(f"against/{worst} utility {end}") for end in ("low", "high"))
        interval = "" if low is None or high is None else f" [{low:+.2f}, {high:+.2f}]"
        side = "above" if utility > 0 else "below" if utility < 0 else "at"
        many = "the reference player" if len(known) == 1 else f"the hardest of {len(known)} reference players"
        return (
            f"After {games:,} games its mean utility against {worst}, {many}, is {utility:+.2f}{interval}: "
            f"{side} the 0 of an equal player; there is no Elo in this game."
        )
    if not data.evaluated_every:
        return "Its strength was not measured: the run has no evaluations (evaluation.every = 0)."
    if not data.evaluations:
        return (
            "Its strength has not been measured yet: the next evaluation is due after "
            f"{data.evaluated_every * (data.games // data.evaluated_every + 1):,} games, or at the end."
        )
    return "Its Elo is unknown: no chain of results leads from it to the scale's zero."


def _against(data: RunData) -> dict[str, tuple[int, float]]:
    """Where more than two play: after how many games it was last measured against each reference player, and its mean utility then."""
    names = [name for name in data.history.names() if name.startswith("against/") and name.endswith(" utility")]
    series = {name.removeprefix("against/").removesuffix(" utility"): data.history.series(name) for name in names}
    return {name: (games[-1], values[-1]) for name, (games, values) in series.items()}


def _among(data: RunData, low: float, high: float) -> str:
    """Between which reference players: those outside its interval that are nearest, and those within it."""
    players = _reference_players(data)
    below = [mark for mark in players if mark.value < low]
    level = [mark for mark in players if low <= mark.value <= high]
    above = [mark for mark in players if mark.value > high]
    words = [f"above {_shown(below[-1])}"] if below else []
    words += [f"level with {', '.join(map(_shown, level))}"] if level else []
    words += [f"below {_shown(above[0])}"] if above else []
    return f", {' and '.join(words)}" if words else ""


def _shown(mark: Mark) -> str:
    return f"{mark.name} ({signed(mark.value)})"


def _reference_players(data: RunData) -> list[Mark]:
    """The opponents of the ladder and their newest Elo, the weakest first."""
    known: dict[str, float] = {}
    for _, details in data.evaluations:
        for way in ("policy", "search"):
            for each in _opponents(details, way):
                if each.get("elo") is not None:
                    known[brief(each["player"])] = float(each["elo"])
    return [Mark(name.removesuffix(":seed=0"), elo) for name, elo in sorted(known.items(), key=lambda pair: pair[1])]


def _drawn(data: RunData) -> str:
    elo = [
        curve_of(data, "elo/search", "search", 0, is_banded=True),
        curve_of(data, "elo/policy", "policy", 1, is_banded=True),
    ]
    sims = data.simulations
    note = (
        f"Search: {sims} simulations a move; policy: none. Bands: 95%. Dotted: the reference players, random being 0."
    )
    note += once(elo)
    wide = curves(elo, "Elo", _reference_players(data), floor=0.0, last=data.games, width=940, height=340)
    narrow = curves(elo, "Elo", _reference_players(data), floor=0.0, last=data.games, height=300)
    parts = [
        figure("Elo over games", wide, note, "wide only-wide"),
        figure("Elo over games", narrow, note, "only-narrow"),
    ]
    utilities = [
        curve_of(data, f"against/{name} utility", name, hue % 5, is_banded=True)
        for hue, name in enumerate(_against(data))
    ]
    parts.append(
        figure("Mean utility against each reference player", curves(utilities, "utility", floor=0, last=data.games))
    )
    others = [drawn(data, chart) for chart in charts_of(QUESTIONS[1]) if chart.in_report]
    parts = [*parts, *others] if elo_leads(data) else [*others, *parts]
    matches = [_match(data, name) for name in _met(data)]
    parts.append(f'<div class="small">{"".join(matches)}</div>')
    return f'<div class="charts">{"".join(parts)}</div>'


def _opponents(details: Mapping[str, Any], way: str) -> list[dict[str, Any]]:
    """Of an evaluation; older files have them as `rungs`."""
    place = details.get(way, {})
    found: list[dict[str, Any]] = place.get("opponents", place.get("rungs", []))
    return found


def _met(data: RunData) -> list[str]:
    """The reference players whose results are known, the easiest first."""
    names = [name for name in data.history.names() if name.startswith("against/") and name.endswith(" wins")]
    names = [name.removeprefix("against/").removesuffix(" wins") for name in names]
    elo = {mark.name: mark.value for mark in _reference_players(data)}
    return sorted(names, key=lambda name: (elo.get(name, math.inf), -(data.last(f"against/{name} wins") or 0.0)))


def _match(data: RunData, opponent: str) -> str:
    columns = {word: f"against/{opponent} {word}" for word in ("wins", "draws", "losses")}
    return figure(f"Against {opponent}", shares_of(data, columns, OUTCOMES, 130, 300))


def _standing(data: RunData) -> str:
    """The last evaluation as a table, the strongest on top."""
    if not data.evaluations:
        return ""
    games, last = data.evaluations[-1]
    rows: list[tuple[float, list[str]]] = []
    met = {each["player"]: each for each in _opponents(last, "search")}
    ways = {
        "search": f"this run, {data.simulations} simulations",
        "policy": "this run, its policy alone",
    }
    for way, label in ways.items():
        words = last.get(way)
        if words and words.get("elo") is not None:
            low, high = words["elo_interval"]
            interval = "" if low is None or high is None else f"[{low:+.0f}, {high:+.0f}]"
            score = f"{words['score']:.0%}"
            rows.append((words["elo"], [label, signed(words["elo"]), interval, str(words["games"]), score]))
    if rows:
        for player, each in met.items():
            if each.get("elo") is not None:
                cells = [brief(player).removesuffix(":seed=0"), signed(each["elo"]), "", str(each["games"])]
                rows.append((each["elo"], [*cells, f"{each['score']:.0%}"]))
        rows.sort(key=lambda row: -row[0])
        heads = ["player", "Elo", "95%", "games of this run", "this run's score"]
        return table(f"Standing after {games:,} games", heads, [cells for _, cells in rows])
    matches = []
    for opponent, tally in last.items():
        if {"wins", "draws", "losses"} <= set(tally):
            words = f"{tally['wins']} / {tally['draws']} / {tally['losses']}"
            utility = (tally.get("utility") or [None])[0]
            interval = (tally.get("utility_interval") or [None])[0]
            shown = "" if utility is None else f"{utility:+.2f}"
            shown += f" [{interval[0]:+.2f}, {interval[1]:+.2f}]" if interval and None not in interval else ""
            matches.append([opponent, str(tally["games"]), words, shown])
    heads = ["against", "games", "wins / draws / losses", "utility, 95%"]
    return table(f"Matches after {games:,} games", heads, matches) if matches else ""


def _before(games: Sequence[int], when: float) -> int:
    """The index of the last evaluation that was not later, or the first one."""
    return max((i for i, each in enumerate(games) if each <= when), default=0)
