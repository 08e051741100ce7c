"""Is it getting stronger? Elo among named rungs, how the games against each ended, moves held against exact play."""

from __future__ import annotations

import math
from collections.abc import Sequence

from arena.ladder.standings import brief, signed
from train.report.charts import OUTCOMES, Mark, curves, figure
from train.report.found import Found
from train.report.parts import Section, curve_of, shares_of, staged, table


def strength(found: Found) -> Section:
    return Section("strength", "Is it getting stronger?", _conclusion(found), _drawn(found) + _standing(found))


def _conclusion(found: Found) -> str:
    games, values = found.history.series("elo/search")
    if not values:
        return _conclusion_without_elo(found)
    low, high = found.last("elo/search low"), found.last("elo/search high")
    interval = "" if low is None or high is None else f" [{low:+.0f}, {high:+.0f}]"
    sims = found.config.evaluation.simulations
    told = f"After {games[-1]:,} games it stands at Elo {signed(values[-1])}{interval} with {sims} simulations a move"
    told += _among(found, values[-1])
    if len(values) == 1:
        return f"{told}; it was measured once, so there is no trend yet."
    middle = _before(games, games[-1] / 2)
    gain = values[-1] - values[middle]
    before = found.history.series("elo/search low")[1], found.history.series("elo/search high")[1]
    since = f"since {games[middle]:,} games"
    if low is None or high is None or any(len(each) != len(values) for each in before):
        return f"{told}; {signed(gain)} {since}."
    if low > before[1][middle]:
        return f"{told}; it has gained {gain:.0f} {since}, more than the error of measurement."
    if high < before[0][middle]:
        return f"{told}; it has lost {-gain:.0f} {since}, more than the error of measurement."
    return f"{told}; the change {since}, {signed(gain)}, is within the error of measurement."


def _conclusion_without_elo(found: Found) -> str:
    known = _against(found)
    if known:
        worst = min(known, key=lambda rung: known[rung][1])
        games, utility = known[worst]
        low, high = (found.last(f"against/{worst} utility {end}") for end in ("low", "high"))
        interval = "" if low is None or high is None else f" [{low:+.2f}, {high:+.2f}]"
        side = "above" if utility > 0 else "below" if utility < 0 else "at"
        many = "the rung" if len(known) == 1 else f"the hardest of {len(known)} rungs"
        return (
            f"After {games:,} games its mean utility against {worst}, {many}, is {utility:+.2f}{interval}: "
            f"{side} the 0 of an equal player; where more than two play there is no Elo."
        )
    every = found.config.evaluation.every
    if not every:
        return "Its strength was not measured: the run has no evaluations (evaluation.every = 0)."
    if not found.evaluations:
        due = every * found.config.games
        return (
            f"Its strength has not been measured yet: the first evaluation is due after {due:,} games, or at the end."
        )
    return "Its Elo is unknown: no chain of results leads from it to the scale's zero."


def _against(found: Found) -> dict[str, tuple[int, float]]:
    """Where more than two play: after how many games it was measured last against each rung, and its mean utility then."""
    names = [name for name in found.history.names() if name.startswith("against/") and name.endswith(" utility")]
    series = {name.removeprefix("against/").removesuffix(" utility"): found.history.series(name) for name in names}
    return {rung: (games[-1], values[-1]) for rung, (games, values) in series.items()}


def _among(found: Found, elo: float) -> str:
    """Between which rungs."""
    rungs = _rungs(found)
    below = [mark for mark in rungs if mark.value <= elo]
    above = [mark for mark in rungs if mark.value > elo]
    words = []
    if below:
        mark = max(below, key=lambda mark: mark.value)
        words.append(f"above {mark.name} ({signed(mark.value)})")
    if above:
        mark = min(above, key=lambda mark: mark.value)
        words.append(f"below {mark.name} ({signed(mark.value)})")
    return f", {' and '.join(words)}" if words else ""


def _rungs(found: Found) -> list[Mark]:
    """The opponents of the ladder and their newest Elo, the weakest first."""
    known: dict[str, float] = {}
    for _, evaluation in found.evaluations:
        for way in ("policy", "search"):
            for rung in evaluation.details.get(way, {}).get("rungs", []):
                if rung.get("elo") is not None:
                    known[brief(rung["player"])] = float(rung["elo"])
    return [Mark(name.removesuffix(":seed=0"), elo) for name, elo in sorted(known.items(), key=lambda pair: pair[1])]


def _drawn(found: Found) -> str:
    elo = [
        curve_of(found, "elo/search", "search", 0, is_banded=True),
        curve_of(found, "elo/policy", "policy", 1, is_banded=True),
    ]
    sims = found.config.evaluation.simulations
    note = f"Search: {sims} simulations a move; policy: none. Bands: 95%. Dotted: whom it is measured against, random being 0."
    wide = curves(elo, "Elo", _rungs(found), last=found.games, width=940, height=340)
    narrow = curves(elo, "Elo", _rungs(found), last=found.games, height=300)
    parts = [
        figure("Elo over games", wide, note, "wide only-wide"),
        figure("Elo over games", narrow, note, "only-narrow"),
    ]
    utilities = [
        curve_of(found, f"against/{name} utility", name, hue % 5, is_banded=True)
        for hue, name in enumerate(_against(found))
    ]
    parts.append(figure("Mean utility against each rung", curves(utilities, "utility", floor=0, last=found.games)))
    kept = [curve_of(found, f"accuracy/{way}", way, hue) for hue, way in enumerate(("search", "policy"))]
    note = "Of solved positions: how often its move keeps what the position is worth."
    parts.append(figure("Moves that keep the value", curves(kept, "share", is_share=True, last=found.games), note))
    parts.append(figure("… by stage of the game, with search", staged(found, "accuracy/search"), "Fifths of a game."))
    matches = [_match(found, rung) for rung in _met(found)]
    parts.append(f'<div class="small">{"".join(matches)}</div>')
    return f'<div class="charts">{"".join(parts)}</div>'


def _met(found: Found) -> list[str]:
    """The rungs whose games are told, the easiest first."""
    names = [name for name in found.history.names() if name.startswith("against/") and name.endswith(" wins")]
    rungs = [name.removeprefix("against/").removesuffix(" wins") for name in names]
    elo = {mark.name: mark.value for mark in _rungs(found)}
    return sorted(rungs, key=lambda rung: (elo.get(rung, math.inf), -(found.last(f"against/{rung} wins") or 0.0)))


def _match(found: Found, rung: str) -> str:
    columns = {word: f"against/{rung} {word}" for word in ("wins", "draws", "losses")}
    return figure(f"Against {rung}", shares_of(found, columns, OUTCOMES, 130, 300))


def _standing(found: Found) -> str:
    """The last evaluation as a table, the strongest on top."""
    if not found.evaluations:
        return ""
    games, last = found.evaluations[-1]
    rows: list[tuple[float, list[str]]] = []
    search = last.details.get("search", {})
    met = {rung["player"]: rung for rung in search.get("opponents", search.get("rungs", []))}  # `rungs`: older files
    ways = {
        "search": f"this run, {found.config.evaluation.simulations} simulations",
        "policy": "this run, its policy alone",
    }
    for way, words in ways.items():
        told = last.details.get(way)
        if told and told.get("elo") is not None:
            low, high = told["elo_interval"]
            interval = "" if low is None or high is None else f"[{low:+.0f}, {high:+.0f}]"
            score = f"{told['score']:.0%}"
            rows.append((told["elo"], [words, signed(told["elo"]), interval, str(told["games"]), score]))
    if rows:
        for player, rung in met.items():
            if rung.get("elo") is not None:
                cells = [brief(player).removesuffix(":seed=0"), signed(rung["elo"]), "", str(rung["games"])]
                rows.append((rung["elo"], [*cells, f"{rung['score']:.0%}"]))
        rows.sort(key=lambda row: -row[0])
        heads = ["player", "Elo", "95%", "games of this run", "this run's score"]
        return table(f"Standing after {games:,} games", heads, [cells for _, cells in rows])
    matches = []
    for rung, tally in last.details.items():
        if {"wins", "draws", "losses"} <= set(tally):
            told = f"{tally['wins']} / {tally['draws']} / {tally['losses']}"
            utility = (tally.get("utility") or [None])[0]
            interval = (tally.get("utility_interval") or [None])[0]
            shown = "" if utility is None else f"{utility:+.2f}"
            shown += f" [{interval[0]:+.2f}, {interval[1]:+.2f}]" if interval and None not in interval else ""
            matches.append([rung, str(tally["games"]), told, shown])
    heads = ["against", "games", "wins / draws / losses", "utility, 95%"]
    return table(f"Matches after {games:,} games", heads, matches) if matches else ""


def _before(games: Sequence[int], when: float) -> int:
    """The index of the last evaluation that was not later, or the first one."""
    return max((i for i, each in enumerate(games) if each <= when), default=0)
