"""Is it learning? Is self-play healthy? Where does the time go?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from games import CHANCE
from train.linear import expected
from train.measures import Bin, calibration
from train.positions import played, positions
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
        beside = f", the linear EVAL has {of_eval:.0%}" if of_eval is not None else ""
        told.append(f"its value has the right sign in {sign:.0%} of them{_began(found, 'fresh/value sign')}{beside}")
    if (start := found.last("supervised/top-1")) is not None:
        before = found.last("supervised/top-1 before")
        known = "" if before is None else f", {before:.0%} before"
        told.append(f"having learned from recorded games it named the move in {start:.0%} of those held back{known}")
    if not told:
        return "There are no curves of learning yet."
    text = "; ".join(told)
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
    known = [
        curve_of(found, "fresh/value correlation", "network", 0),
        curve_of(found, "selfplay/search correlation", "search", 1),
    ]
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
            "Calibration",
            reliability(calibrated(found)),
            f"Games of iteration {found.iteration + 1}, the mover's utility; bars: 95%. Above the diagonal: too pessimistic.",
        ),
        (
            "Correlation with how the games ended",
            curves(known, "correlation", floor=0, last=end),
            "On new games. Below 0: perspective is lost somewhere.",
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


def calibrated(found: Found) -> dict[str, list[Bin]]:
    """Of what the search expected in the newest games, and of what EVAL made of them before it was fitted to them: the mover's eyes."""
    game, records = found.game, [record for record in found.records[:JUDGED] if record.outcome is not None]
    if game is None or not records:
        return {}
    pairs = []
    for record in records:
        assert record.outcome is not None
        for state, ply in record.replay(game):
            mover = game.to_move(state) if ply < len(record) else None
            if mover is not None and mover != CHANCE and not np.isnan(record.utilities[ply]).any():
                pairs.append((record.utilities[ply][mover], record.outcome[mover]))
    guesses, ends = np.array(pairs).reshape(-1, 2).T
    bins = {"search": calibration(guesses, ends)}
    if found.earlier is not None:
        rows = positions(game, played(game, records))
        asked = rows.where(rows.is_mover)
        theta = found.earlier.array(game).astype(np.float64)
        bins["EVAL"] = calibration(expected(theta, asked), asked.outcomes)
    return bins


def health(found: Found) -> Section:
    return Section("health", "Is self-play healthy?", _healthy(found), _health(found))


def _healthy(found: Found) -> str:
    kinds = warned(found.warnings)
    now = [name for name, told in kinds.items() if not told[-1][1]]
    if now:
        told = f"The watch warns of {', '.join(now)}"
    elif kinds:
        told = f"The watch warned of {', '.join(kinds)}, which {'is' if len(kinds) == 1 else 'are'} gone"
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
        curve_of(found, "selfplay/same start", "same start", 1),
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
            "Different openings; games that begin with the commonest first moves; games that repeat another one.",
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


def warned(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[Mapping[str, Any], int]]]:
    """By the name of a trouble: each time it was said, and after how many games it was gone; 0 for one that is still there."""
    found: dict[str, list[tuple[Mapping[str, Any], int]]] = {}
    for row in rows:
        if (gone := row.get("gone")) in found:
            found[gone][-1] = (found[gone][-1][0], row["games"])
        elif "name" in row:
            found.setdefault(str(row["name"]), []).append((row, 0))
    return found


def _warnings(found: Found) -> str:
    """Each kind once, as it was said last."""
    parts = []
    for name, times in warned(found.warnings).items():
        row, _ = times[-1]
        when = ", ".join(
            f"{said['games']:,} to {gone:,} games" if gone else f"since {said['games']:,} games" for said, gone in times
        )
        told = "".join(
            f"<dt>{title}</dt><dd>{escape(_words(row.get(key)))}</dd>"
            for key, title in (("seen", "Seen"), ("causes", "Likely causes"), ("advice", "What to try"))
            if row.get(key)
        )
        kind = "gone" if times[-1][1] else "warning"
        parts.append(f'<aside class="{kind}"><b>{escape(name)}</b> <small>{when}</small><dl>{told}</dl></aside>')
    return "".join(parts)


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
