"""The curves of an iteration, by their names. What each says, what is healthy and what to do stands in docs/tensorboard.md.

    curves = of_learning(losses, settings) | of_selfplay(Statistics.of(games)) | of_window(window) | …

A name is `section/what`; a share is from 0 to 1. What cannot be said (no resignations to judge, no cache) is left out or NaN.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from classical.eval import judge
from selfplay.play import Work
from selfplay.statistics import Statistics
from train.learner import Losses
from train.measures import agreement, correlation, explained
from train.window import Array, Batch, Window

STAGES = 5


def of_learning(losses: Losses, value_weight: float, steps: int) -> dict[str, float]:
    return {
        "loss/total": losses.policy + value_weight * losses.value,
        "loss/policy": losses.policy,
        "loss/value": losses.value,
        "loss/entropy": losses.entropy,
        "loss/divergence": losses.policy - losses.entropy,
        "learning/rate": losses.rate,
        "learning/gradient": losses.gradient,
        "learning/weights": losses.weights,
        "learning/update": losses.update,
        "learning/steps": float(steps),
    }


def of_judgement(policies: Array, expected: Array, batch: Batch, stages: Array) -> dict[str, float]:
    """Of the network that played, on games that it has not learned from: policies [n, A], the mover's utilities [n]."""
    outcomes = batch.outcomes[:, 0]
    found = {f"fresh/{name}": value for name, value in agreement(policies, batch).items()}
    found |= judge(expected, outcomes).curves("fresh/value")
    found |= {
        "fresh/value correlation": correlation(expected, outcomes),
        "fresh/policy explained": explained(policies, batch),
    }
    for stage in range(STAGES):
        here = stages == stage
        found[f"fresh/value sign stage {stage + 1}"] = judge(expected[here], outcomes[here]).sign
    return found


def of_selfplay(told: Statistics, players: int) -> dict[str, float]:
    games = max(told.games, 1)
    found = {
        "selfplay/length": told.length,
        "selfplay/shortest": float(told.shortest),
        "selfplay/longest": float(told.longest),
        "selfplay/duplicates": told.duplicates / games,
        "selfplay/openings": told.openings / games,
        "selfplay/root entropy": told.entropy,
        "selfplay/surprise": told.surprise,
        "selfplay/resigned": told.resigned / games,
        "selfplay/wrong resignations": told.wrongly / told.played_out if told.played_out else float("nan"),
    }
    won = np.zeros(players)
    for outcome, count in told.outcomes.items():
        if outcome.count(max(outcome)) == 1:
            won[outcome.index(max(outcome))] += count
    for player in range(players):
        mean = sum(outcome[player] * count for outcome, count in told.outcomes.items()) / games
        found[f"selfplay/wins of player {player}"] = won[player] / games
        found[f"selfplay/utility of player {player}"] = mean
    return found | {"selfplay/draws": (sum(told.outcomes.values()) - won.sum()) / games}


def of_window(window: Window, draws: int) -> dict[str, float]:
    """`draws`: positions drawn from it so far."""
    return {
        "window/positions": float(len(window)),
        "window/made": float(window.made),
        "window/games": float(window.games),
        "window/megabytes": window.bytes() / 1e6,
        "window/age": window.age(),
        "window/samples": draws / max(window.made, 1),
    }


def of_speed(told: Statistics, work: Work, seconds: float) -> dict[str, float]:
    """Of self-play alone, nothing where all games were there already; evaluations found in the cache are not among those made."""
    if not told.games:
        return {}
    seconds = max(seconds, 1e-9)
    return {
        "speed/games per second": told.games / seconds,
        "speed/positions per second": (told.full + told.fast) / seconds,
        "speed/evaluations per second": work.evaluations / seconds,
        "speed/batch fill": work.evaluations / work.rows if work.rows else float("nan"),
        "speed/cache hits": work.hits / work.lookups if work.lookups else float("nan"),
    }


def of_time(seconds: Mapping[str, float]) -> dict[str, float]:
    """Shares of the time since the last line, as `Clock.read` gives it."""
    total = max(seconds["total"], 1e-9)
    found = {name: seconds.get(name, 0.0) / total for name in ("self-play", "learning", "evaluation")}
    return {f"time/{name}": share for name, share in (found | {"other": max(0.0, 1 - sum(found.values()))}).items()}
