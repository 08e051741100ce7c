"""The values of an iteration's metrics, by their tags. The table of metrics is monitor/metrics.py.

    values = of_selfplay(Statistics.of(games), players) | of_validation(...) | of_time(clock.read()) | …

What learning and the replay window measure of themselves comes from `train` (`Learned.metrics`, `Window.metrics`). A value that does
not exist (no resignations to check, no cache) is left out or NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from classical.eval import judge
from games.record import GameRecord
from monitor.quality import agreement, correlation, explained
from selfplay.play import WorkCounts
from selfplay.statistics import Statistics, searched_positions

Array = np.ndarray[Any, Any]

STAGES = 5


class Validation(NamedTuple):
    """New games before they are learned from: n positions, all values from the mover's point of view."""

    policies: Array
    """[n, A]: the network's."""
    expected: Array
    """[n]: the utility that the network expects."""
    targets: Array
    """[n, A]: the search's policies; all zeros where there is none."""
    legal: Array
    """bool [n, A]"""
    outcomes: Array
    """[n]: the utility at the end of the game."""
    searched: Array
    """[n]: the utility that the search expected."""
    stages: Array
    """[n]: the part of its game that a position belongs to, 0 to STAGES - 1."""
    by_eval: Array | None
    """[n]: the utility that the linear EVAL expects; None where there is no EVAL yet."""


def of_validation(found: Validation) -> dict[str, float]:
    outcomes = found.outcomes
    values = {f"fresh/{name}": value for name, value in agreement(found.policies, found.targets).items()}
    values |= judge(found.expected, outcomes).metrics("fresh/value")
    values |= {
        "fresh/value correlation": correlation(found.expected, outcomes),
        "fresh/policy explained": explained(found.policies, found.targets, found.legal),
    }
    for stage in range(STAGES):
        here = found.stages == stage
        values[f"fresh/value sign stage {stage + 1}"] = judge(found.expected[here], outcomes[here]).sign
    if found.by_eval is not None:
        values |= judge(found.by_eval, outcomes).metrics("fresh/eval")
    return values


def of_selfplay(found: Statistics, players: int) -> dict[str, float]:
    games = max(found.games, 1)
    values = {
        "selfplay/length": found.length,
        "selfplay/shortest": float(found.shortest),
        "selfplay/longest": float(found.longest),
        "selfplay/duplicates": found.duplicates / games,
        "selfplay/openings": found.openings / games,
        "selfplay/root entropy": found.entropy,
        "selfplay/surprise": found.surprise,
        "selfplay/resigned": found.resigned / games,
        "selfplay/wrong resignations": found.wrongly / found.played_out if found.played_out else float("nan"),
    }
    won = np.zeros(players)
    for outcome, count in found.outcomes.items():
        if outcome.count(max(outcome)) == 1:
            won[outcome.index(max(outcome))] += count
    for player in range(players):
        mean = sum(outcome[player] * count for outcome, count in found.outcomes.items()) / games
        values[f"selfplay/wins of player {player}"] = won[player] / games
        values[f"selfplay/utility of player {player}"] = mean
    return values | {"selfplay/draws": (sum(found.outcomes.values()) - won.sum()) / games}


def of_speed(records: Sequence[GameRecord], work: WorkCounts, seconds: float) -> dict[str, float]:
    """Of self-play alone; nothing where all games were on disk already. Evaluations found in the cache are not counted as made."""
    if not records:
        return {}
    seconds = max(seconds, 1e-9)
    return {
        "speed/games per second": len(records) / seconds,
        "speed/positions per second": searched_positions(records) / seconds,
        "speed/evaluations per second": work.evaluations / seconds,
        "speed/batch fill": work.evaluations / work.rows if work.rows else float("nan"),
        "speed/cache hits": work.hits / work.lookups if work.lookups else float("nan"),
    }


def of_time(seconds: Mapping[str, float], overall: Mapping[str, float]) -> dict[str, float]:
    """Shares of the time since the last iteration, from `Clock.read`; evaluations, which come every few iterations, also as a share of
    all time."""
    total = max(seconds["total"], 1e-9)
    shares = {name: seconds.get(name, 0.0) / total for name in ("self-play", "learning", "evaluation")}
    found = {f"time/{name}": share for name, share in (shares | {"other": max(0.0, 1 - sum(shares.values()))}).items()}
    return found | {
        "time/seconds": seconds["total"],
        "time/evaluation so far": overall.get("evaluation", 0.0) / max(overall["total"], 1e-9),
    }
