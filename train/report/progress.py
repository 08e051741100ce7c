"""Is it learning? Is self-play healthy? Where does the time go?"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from train.measures import Bin, calibration
from train.report.charts import Mark, curves, reliability
from train.report.found import Found
from train.report.parts import Section, charts, curve_of, shares_of, staged

JUDGED = 200  # games of the newest iteration that the calibration looks at
UNKNOWN = 0.693  # nats of the value's loss where nothing is known: log 2
TIMES = ("self-play", "learning", "evaluation", "other")

# ── learning ──


def learning(found: Found) -> Section:
    return Section("learning", "Is it learning?", _learns(found), _learning(found))


def _learns(found: Found) -> str:
    told = []
    gap, before = _gap(found)
    if gap is not None:
        began = "" if before is None else f" (at first {before:.2f})"
        told.append(f"the policy's loss lies {gap:.2f} nats above what its targets leave open{began}")
    if (top := found.last("fresh/top-1")) is not None:
        began = _began(found, "fresh/top-1")
        told.append(f"its first choice is the search's in {top:.0%} of new positions{began}")
    if (sign := found.last("fresh/value sign")) is not None:
        of_eval = found.last("fresh/eval sign")
        beside = f"; the linear EVAL has {of_eval:.0%}" if of_eval is not None else ""
        told.append(f"its value has the right sign in {sign:.0%} of them{_began(found, 'fresh/value sign')}{beside}")
    if not told:
        return "There are no curves of learning yet."
    text = ", ".join(told[:-1]) + (" and " if len(told) > 1 else "") + told[-1]
    return f"{text[0].upper()}{text[1:]}."


def _gap(found: Found) -> tuple[float | None, float | None]:
    """The policy's divergence from its targets: the last one and, where it is another, the first one."""
    _, losses = found.history.series("loss/policy")
    _, entropies = found.history.series("loss/entropy")
    if not losses or len(losses) != len(entropies):
        return None, None
    return losses[-1] - entropies[-1], losses[0] - entropies[0] if len(losses) > 1 else None


def _began(found: Found, name: str) -> str:
    _, values = found.history.series(name)
    return f" (at first {values[0]:.0%})" if len(values) > 1 else ""


def _learning(found: Found) -> str:
    end = found.games
    policy = [
        curve_of(found, "loss/policy", "policy", 0),
        curve_of(found, "loss/entropy", "targets", 5, is_held_against=True),
    ]
    value = [curve_of(found, "fresh/value loss", "value", 0), curve_of(found, "fresh/eval loss", "EVAL", 1)]
    sign = [curve_of(found, "fresh/value sign", "value", 0), curve_of(found, "fresh/eval sign", "EVAL", 1)]
    entropy = [
        curve_of(found, "fresh/policy entropy", "network", 0),
        curve_of(found, "loss/entropy", "targets", 5, is_held_against=True),
    ]
    top = [curve_of(found, "fresh/top-1", "agreement", 0)]
    spread = [curve_of(found, "fresh/value spread", "value", 0), curve_of(found, "fresh/eval spread", "EVAL", 1)]
    rate, norm = [curve_of(found, "learning/rate", "rate", 0)], [curve_of(found, "learning/gradient", "gradient", 0)]
    unknown = [Mark("nothing known", UNKNOWN)] if value[0].values else []
    return charts(
        (
            "Loss of the policy",
            curves(policy, "nats", last=end),
            "Dashed: the targets' own entropy. The gap is what can still be learned.",
        ),
        (
            "First choice is the search's",
            curves(top, "share of new positions", is_share=True, last=end),
            "New: of games that nothing has been learned from yet.",
        ),
        (
            "Loss of the value on new positions",
            curves(value, "nats", unknown, last=end),
            "How well the game's end is foreseen.",
        ),
        (
            "Right sign of the value on new positions",
            curves(sign, "share of decided games", is_share=True, last=end),
            "",
        ),
        ("… by stage of the game", staged(found, "fresh/value sign"), "The end of a game is easier to foresee."),
        (
            "Calibration of the search's value",
            reliability(_calibrated(found)),
            f"Of self-play in iteration {found.iteration + 1}; bars: 95%. Above the diagonal: too pessimistic.",
        ),
        (
            "Entropy of the policy",
            curves(entropy, "nats", floor=0, last=end),
            "Near 0 early: it has stopped looking around.",
        ),
        (
            "Spread of the value",
            curves(spread, "standard deviation", floor=0, last=end),
            "Near 0: it says the same of every position.",
        ),
        (
            "Loss of the value, while learning",
            curves([curve_of(found, "loss/value", "value", 0)], "nats", last=end),
            "",
        ),
        ("Learning rate", curves(rate, "of AdamW", floor=0, last=end), ""),
        (
            "Length of the gradient",
            curves(norm, "norm", floor=0, last=end),
            f"Clipped at {found.config.learning.clip:g}.",
        ),
    )


def _calibrated(found: Found) -> dict[str, list[Bin]]:
    """Of what the search expected in the mover's eyes, over the newest games."""
    if found.game is None:
        return {}
    expected: list[float] = []
    ended: list[float] = []
    for record in found.records[:JUDGED]:
        if record.outcome is None:
            continue
        for state, ply in record.replay(found.game):
            mover = found.game.to_move(state) if ply < len(record) else None
            if mover is not None and mover >= 0 and not np.isnan(record.utilities[ply]).any():
                expected.append(float(record.utilities[ply][mover]))
                ended.append(record.outcome[mover])
    return {"search": calibration(np.array(expected), np.array(ended))} if expected else {}


# ── self-play ──


def health(found: Found) -> Section:
    return Section("health", "Is self-play healthy?", _healthy(found), _health(found))


def _healthy(found: Found) -> str:
    kinds = list(dict.fromkeys(str(row.get("name", "?")) for row in found.warnings))
    if kinds:
        last = max(row["games"] for row in found.warnings)
        told = f"The watch has warned of {', '.join(kinds)}, last after {last:,} games"
    else:
        told = "No warning was raised"
    facts = []
    if (length := found.last("selfplay/length")) is not None:
        facts.append(f"a game takes {length:.1f} plies")
    if (first := found.last("selfplay/wins of player 0")) is not None:
        facts.append(f"player 0 wins {first:.0%}")
    if (draws := found.last("selfplay/draws")) is not None:
        facts.append(f"{draws:.0%} are drawn")
    if (same := found.last("selfplay/duplicates")) is not None:
        facts.append(f"{same:.0%} repeat another one move by move")
    return f"{told}; in the newest games {', '.join(facts)}." if facts else f"{told}."


def _health(found: Found) -> str:
    end = found.games
    length = [
        curve_of(found, "selfplay/length", "mean", 0),
        curve_of(found, "selfplay/shortest", "shortest", 5, is_held_against=True),
        curve_of(found, "selfplay/longest", "longest", 5, is_held_against=True),
    ]
    players = [name for name in found.history.names() if name.startswith("selfplay/wins of player ")]
    outcomes = {name.removeprefix("selfplay/wins of "): name for name in players}
    hues = [0, 5, 1] if len(players) == 2 else [*range(len(players)), 5]
    names = list(outcomes.items())
    names.insert(1 if len(names) == 2 else len(names), ("draws", "selfplay/draws"))
    varied = [
        curve_of(found, "selfplay/openings", "openings", 0),
        curve_of(found, "selfplay/duplicates", "duplicates", 3),
    ]
    resigned = [
        curve_of(found, "selfplay/resigned", "resigned", 0),
        curve_of(found, "selfplay/wrong resignations", "wrongly", 3),
    ]
    resigned = resigned if any(any(each.values) for each in resigned) else []
    return _warnings(found) + charts(
        ("Length of the games", curves(length, "plies", floor=0, last=end), ""),
        ("How the games end", shares_of(found, dict(names), hues), ""),
        (
            "Variety",
            curves(varied, "share of the games", is_share=True, floor=0, last=end),
            "Different openings, and games that repeat another one move by move.",
        ),
        (
            "Entropy of the policies to learn",
            curves([curve_of(found, "selfplay/root entropy", "targets", 0)], "nats", floor=0, last=end),
            "Near 0: every search is sure of itself.",
        ),
        (
            "Surprise",
            curves([curve_of(found, "selfplay/surprise", "surprise", 0)], "mean square", floor=0, last=end),
            "What the search expected against how the game ended.",
        ),
        (
            "Resignations",
            curves(resigned, "share", is_share=True, floor=0, last=end),
            "Wrongly: of games played out to know, those that would have been given up without being lost.",
        ),
        (
            "Age of the window",
            curves([curve_of(found, "window/age", "mean age", 0)], "games", floor=0, last=end),
            "How many games ago a position to learn from was played.",
        ),
        (
            "Samples per position",
            curves([curve_of(found, "window/samples", "samples", 0)], "draws", floor=0, last=end),
            "How often each new position has been learned from.",
        ),
    )


def _warnings(found: Found) -> str:
    """Each kind once, as it was said last."""
    newest: dict[str, list[dict[str, Any]]] = {}
    for row in found.warnings:
        newest.setdefault(str(row.get("name", "?")), []).append(row)
    parts = []
    for name, rows in newest.items():
        first, last = rows[0]["games"], rows[-1]["games"]
        when = f"after {last:,} games" if first == last else f"{len(rows)} times, after {first:,} to {last:,} games"
        told = "".join(
            f"<dt>{title}</dt><dd>{escape(_words(rows[-1].get(key)))}</dd>"
            for key, title in (("seen", "Seen"), ("causes", "Likely causes"), ("advice", "What to try"))
            if rows[-1].get(key)
        )
        parts.append(f'<aside class="warning"><b>{escape(name)}</b> <small>{when}</small><dl>{told}</dl></aside>')
    return "".join(parts)


# ── speed ──


def speed(found: Found) -> Section:
    return Section("speed", "Where does the time go?", _spends(found), _speed(found))


def _spends(found: Found) -> str:
    _, rates = found.history.series("speed/games per second")
    told = []
    if rates:
        told.append(f"Self-play makes {float(np.median(rates)):.3g} games a second (median)")
    if found.progress is not None and found.progress.seconds > 0:
        minutes, games = found.progress.seconds / 60, found.progress.games
        told.append(f"{games:,} games took {minutes:,.1f} minutes with all that belongs to them")
    spent = {name: float(np.mean(values)) for name in TIMES if (values := found.history.series(f"time/{name}")[1])}
    if spent:
        parts = ", ".join(f"{share:.0%} {name}" for name, share in sorted(spent.items(), key=lambda pair: -pair[1]))
        told.append(f"of the time of an iteration: {parts}")
    text = "; ".join(told) or "There are no figures of speed in this run's curves"
    return f"{text[0].upper()}{text[1:]}."


def _speed(found: Found) -> str:
    end = found.games

    def one(name: str, label: str, unit: str, is_share: bool = False) -> str:
        return curves([curve_of(found, name, label, 0)], unit, is_share=is_share, floor=0, last=end)

    fill = [curve_of(found, "speed/batch fill", "batch fill", 0), curve_of(found, "speed/cache hits", "cache hits", 1)]
    return charts(
        (
            "Where the time goes",
            shares_of(found, {name: f"time/{name}" for name in TIMES}),
            "From one line of curves to the next.",
        ),
        ("Games", one("speed/games per second", "games", "per second of self-play"), ""),
        ("Positions", one("speed/positions per second", "positions", "per second of self-play"), ""),
        (
            "Evaluations by the network",
            one("speed/evaluations per second", "evaluations", "per second of self-play"),
            "",
        ),
        (
            "Batches and cache",
            curves(fill, "share", is_share=True, floor=0, last=end),
            "Rows of a batch that are positions; evaluations found in the cache.",
        ),
        ("Memory", one("memory/megabytes", "memory", "megabytes"), ""),
    )


def _words(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
