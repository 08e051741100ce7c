"""Is it learning? Is self-play healthy? Where does the time go?"""

from __future__ import annotations

import math
from html import escape
from typing import Any

import numpy as np

from classical.eval import expected, game_arrays, positions
from games import CHANCE
from train.measures import Bin, calibration
from train.report.charts import Mark, figure, reliability
from train.report.found import Found
from train.report.parts import Drawing, Section, charts, shares_of, staged
from train.watch import spells

JUDGED = 200  # games of the newest iteration that the calibration looks at
TIMES = ("self-play", "learning", "evaluation", "other")
PER_SECOND = "per second of self-play"

LEARNING = (
    Drawing(
        "Loss of the policy",
        "nats",
        {"loss/policy": "policy"},
        "Dashed: the targets' own entropy. The gap is what can still be learned.",
        held={"loss/entropy": "targets"},
        floor=None,
    ),
    Drawing(
        "First choice is the search's",
        "share of new positions",
        {"fresh/top-1": "agreement"},
        "New: of games that nothing has been learned from yet.",
        floor=None,
        is_share=True,
    ),
    Drawing(
        "Loss of the value on new positions",
        "nats",
        {"fresh/value loss": "value", "fresh/eval loss": "EVAL"},
        "How well the game's end is foreseen.",
        floor=None,
        marks=(Mark("nothing known", math.log(2)),),
    ),
    Drawing(
        "Right sign on new positions",
        "share of decided games",
        {"fresh/value sign": "value", "fresh/eval sign": "EVAL"},
        "Half is what guessing gives.",
        floor=0.5,
        is_share=True,
    ),
    Drawing(
        "Correlation with how the games ended",
        "correlation",
        {"fresh/value correlation": "network", "selfplay/search correlation": "search"},
        "On new positions. Below 0: somewhere the perspective is wrong.",
    ),
    Drawing(
        "Entropy of the policy",
        "nats",
        {"fresh/policy entropy": "network"},
        "Near 0 early: it has stopped looking around.",
        held={"loss/entropy": "targets"},
    ),
    Drawing(
        "Spread of the value",
        "standard deviation",
        {"fresh/value spread": "value", "fresh/eval spread": "EVAL"},
        "Near 0: it says the same of every position.",
    ),
    Drawing("Loss of the value, while learning", "nats", {"loss/value": "value"}, floor=None),
    Drawing("Learning rate", "of AdamW", {"learning/rate": "rate"}),
    Drawing("Length of the gradient", "norm, before clipping", {"learning/gradient": "gradient"}),
    Drawing(
        "How far the weights move",
        "share of their length, each iteration",
        {"learning/update": "update"},
        "Above 1: each iteration begins anew.",
    ),
)

HEALTH = (
    Drawing(
        "Length of the games",
        "plies",
        {"selfplay/length": "mean"},
        held={"selfplay/shortest": "shortest", "selfplay/longest": "longest"},
    ),
    Drawing(
        "Variety",
        "share of the games",
        {"selfplay/openings": "openings", "selfplay/same start": "same start", "selfplay/duplicates": "duplicates"},
        "Different openings; games that begin with the commonest first moves; games that repeat another one.",
        is_share=True,
    ),
    Drawing(
        "Entropy of the policies to learn",
        "nats",
        {"selfplay/root entropy": "targets"},
        "Near 0: every search is sure of itself.",
    ),
    Drawing(
        "Surprise",
        "mean square",
        {"selfplay/surprise": "surprise"},
        "What the search expected against how the game ended.",
    ),
    Drawing(
        "Resignations",
        "share",
        {"selfplay/wrong resignations": "wrongly", "selfplay/resigned": "resigned"},
        "Wrongly: of games played out to know, those that would have been given up without being lost.",
        is_share=True,
    ),
    Drawing(
        "Age of the window",
        "games",
        {"window/age": "mean age"},
        "How many games ago a position to learn from was played.",
    ),
    Drawing(
        "Samples per position",
        "draws",
        {"window/samples": "samples"},
        "How often each new position has been learned from.",
    ),
)

SPEED = (
    Drawing("Games", PER_SECOND, {"speed/games per second": "games"}),
    Drawing("Positions", PER_SECOND, {"speed/positions per second": "positions"}),
    Drawing("Evaluations by the network", PER_SECOND, {"speed/evaluations per second": "evaluations"}),
    Drawing(
        "Batches and cache",
        "share",
        {"speed/batch fill": "batch fill", "speed/cache hits": "cache hits"},
        "Rows of a batch that hold positions; evaluations found in the cache.",
        is_share=True,
    ),
    Drawing("Memory", "megabytes", {"memory/megabytes": "memory"}, "Of all the run's processes."),
)


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
    calibration_note = f"Games of iteration {found.iteration + 1}, the mover's utility; bars: 95%. Above the diagonal: too pessimistic."
    policy, top, loss, sign, *others = (each.of(found) for each in LEARNING)
    stages = staged(found, "fresh/value sign")
    return charts(
        policy,
        top,
        loss,
        sign,
        figure("Right sign by stage of the game", stages, "The end of a game is easier to foresee."),
        figure("Calibration", reliability(calibrated(found)), calibration_note),
        *others,
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
        rows = positions(game, game_arrays(game, records))
        asked = rows.where(rows.is_mover)
        theta = found.earlier.array(game).astype(np.float64)
        bins["EVAL"] = calibration(expected(theta, asked), asked.outcomes)
    return bins


def health(found: Found) -> Section:
    return Section("health", "Is self-play healthy?", _healthy(found), _health(found))


def _healthy(found: Found) -> str:
    kinds = spells(found.warnings)
    now = [name for name, times in kinds.items() if not times[-1].gone]
    if now:
        told = f"The watch warns of {', '.join(now)}"
    elif kinds:
        told = f"The watch warned of {', '.join(kinds)}, which {'is' if len(kinds) == 1 else 'are'} gone"
    else:
        told = "No warning was raised"
    facts = []
    if (length := found.last("selfplay/length")) is not None:
        facts.append(f"a game takes {length:.1f} plies")
    for player in range(len(_players(found))):
        facts.append(f"player {player} wins {found.last(f'selfplay/wins of player {player}') or 0.0:.0%}")
    if (draws := found.last("selfplay/draws")) is not None:
        facts.append(f"{draws:.0%} are drawn")
    if (same := found.last("selfplay/duplicates")) is not None:
        facts.append(f"{same:.0%} repeat another one move by move")
    return f"{told}; in the newest games {', '.join(facts)}." if facts else f"{told}."


def _health(found: Found) -> str:
    players = _players(found)
    names = [(name.removeprefix("selfplay/wins of "), name) for name in players]
    draws = ("draws", "selfplay/draws")
    if len(players) == 2:
        outcomes, hues = dict([names[0], draws, names[1]]), [0, 5, 1]
    else:
        outcomes, hues = dict([*names, draws]), [*range(len(players)), 5]
    length, *others = (each.of(found) for each in HEALTH)
    ends = figure("How the games end", shares_of(found, outcomes, hues), "Who has most, alone.")
    return _warnings(found) + charts(length, ends, *others)


def _players(found: Found) -> list[str]:
    """The curves of how often each wins."""
    return [name for name in found.history.names() if name.startswith("selfplay/wins of player ")]


def _warnings(found: Found) -> str:
    """Each kind once, as it was said last."""
    parts = []
    for name, times in spells(found.warnings).items():
        row, is_gone = times[-1]
        when = ", ".join(
            f"{told['games']:,} to {gone:,} games" if gone else f"since {told['games']:,} games" for told, gone in times
        )
        told = "".join(
            f"<dt>{title}</dt><dd>{escape(_words(row.get(key)))}</dd>"
            for key, title in (("seen", "Seen"), ("causes", "Likely causes"), ("advice", "What to try"))
            if row.get(key)
        )
        kind = "gone" if is_gone else "warning"
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
    spent = shares_of(found, {name: f"time/{name}" for name in TIMES})
    note = "Of the time from one line of curves to the next."
    return charts(figure("Where the time goes", spent, note), *(each.of(found) for each in SPEED))


def _words(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
