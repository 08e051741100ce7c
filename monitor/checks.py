"""Checks of a run's metrics: each is a function that returns what is wrong, in numbers, or None.

    metrics = RunMetrics(log.history, settings, players)
    finding = value_inverted(metrics)

The causes and the advice are in `monitor/diagnostics.py`. Checks read metrics and settings, nothing else. A problem has to show in
several iterations, and young runs are not judged; nor is a metric that is missing. The limits lie between the figures of healthy and
spoiled runs (`python -m benchmarks.spoiled`), with a margin.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from mcts.mirror import Mirror
from mcts.settings import MethodSettings
from monitor.history import History
from selfplay.settings import SelfPlaySettings

Numbers = np.ndarray[Any, np.dtype[np.float64]]

ITERATIONS = 4
"""That have to agree before a warning."""
YOUNG = 150
"""Steps of the optimizer before which learning is not judged."""


class Learning(Protocol):
    @property
    def clip(self) -> float: ...


class ReplayWindow(Protocol):
    def size(self, n: int, /) -> int:
        """Positions in the window when n have been made."""
        ...


class Settings(Protocol):
    """What the checks read of a run's configuration."""

    @property
    def games(self) -> int: ...
    @property
    def search(self) -> MethodSettings: ...
    @property
    def selfplay(self) -> SelfPlaySettings: ...
    @property
    def learning(self) -> Learning: ...
    @property
    def window(self) -> ReplayWindow: ...


class RunMetrics:
    """A run's metrics up to a number of games, and its settings."""

    def __init__(self, history: History, settings: Settings, players: int, games: int | None = None) -> None:
        self.settings, self.players = settings, players
        self.iterations = 0
        self._points: dict[str, list[tuple[int, float]]] = {}
        for row in history.rows:
            if games is None or row["games"] <= games:
                self.iterations += "selfplay/length" in row["curves"]
                for name, value in row["curves"].items():
                    self._points.setdefault(name, []).append((self.iterations, value))
        steps = self.all("learning/steps")
        self.steps = int(steps[-1]) if len(steps) else 0

    def all(self, name: str) -> Numbers:
        return np.array([value for _, value in self._points.get(name, ())])

    def last(self, name: str, count: int = ITERATIONS) -> Numbers:
        """Of the newest so many iterations; empty where one of them has no point."""
        points = [value for number, value in self._points.get(name, ()) if number > self.iterations - count]
        return np.array(points) if len(points) >= count else np.zeros(0)

    @property
    def has_learned(self) -> bool:
        """Enough for learning to show."""
        return self.steps >= YOUNG and self.iterations > ITERATIONS


# ── the value ──


def value_inverted(run: RunMetrics) -> str | None:
    """Chance alone does not stay below 0 for long."""
    for name, who in (("fresh/value correlation", "network"), ("selfplay/search correlation", "search")):
        seen = run.last(name)
        if run.has_learned and len(seen) and seen.max() < 0 and seen.mean() < -0.1:
            return (
                f"the values of the {who} and the outcomes of games have a correlation of {seen.mean():+.2f} over the last "
                f"{len(seen)} iterations; below 0 the sign is wrong"
            )
    return None


def value_collapse(run: RunMetrics) -> str | None:
    """The outcomes differ, the network gives the same value to all positions."""
    spread, brier = run.last("fresh/value spread"), run.last("fresh/value brier")
    if run.steps >= 4 * YOUNG and len(spread) and len(brier) and spread.max() < 0.05 and brier.min() > 0.05:
        return (
            f"the network's values of new positions differ by only {spread.mean():.3f} (standard deviation) over the "
            f"last {len(spread)} iterations, after {run.steps} steps, while their games end differently"
        )
    return None


# ── the policy ──


def policy_collapse(run: RunMetrics) -> str | None:
    """Certain and wrong."""
    own, wanted = run.last("fresh/policy entropy"), run.last("selfplay/root entropy")
    loss = run.last("fresh/policy loss")
    if not (run.has_learned and len(own) and len(wanted) and len(loss)):
        return None
    if own.max() < 0.05 and (loss - wanted).min() > 0.5:
        return (
            f"the network's policy has an entropy of {own.mean():.3f} nats over the last {len(own)} iterations, "
            f"and is {(loss - wanted).mean():.2f} nats away from the searches' policies"
        )
    brier = run.last("fresh/value brier")
    if wanted.max() < 0.02 and len(brier) and brier.min() > 0.05:
        return f"the policy targets have an entropy of {wanted.mean():.3f} nats over the last {len(wanted)} iterations: one move each"
    return None


def policy_not_learning(run: RunMetrics) -> str | None:
    """No better than a uniform policy, after many steps."""
    seen = run.last("fresh/policy explained")
    if run.steps >= 4 * YOUNG and len(seen) and -0.1 <= seen.max() < 0.05:
        return (
            f"after {run.steps} steps the policy explains {seen.mean():.0%} of the searches' policies in new games over the "
            f"last {len(seen)} iterations; a uniform policy explains 0 %"
        )
    return None


def target_tempered(run: RunMetrics) -> str | None:
    """Only with PUCT: the targets of other methods are not shares of visits."""
    seen = run.last("selfplay/target exponent")
    if run.settings.search.method == "puct" and len(seen) and (seen.min() > 1.1 or seen.max() < 0.9):
        which = "sharper" if seen.mean() > 1 else "flatter"
        return (
            f"the policy targets are the searches' visits to the power of {seen.mean():.2f} over the last "
            f"{len(seen)} iterations, {which} than the visits themselves (1.00)"
        )
    return None


# ── learning ──


def steps_too_large(run: RunMetrics) -> str | None:
    """Steps in no common direction add up as their root; healthy ones change the weights by 0.1 to 2 % each."""
    moved, steps = run.last("learning/update"), run.last("learning/steps", ITERATIONS + 1)
    if not len(moved) or not len(steps) or np.any(np.diff(steps) < 1):
        return None
    each = moved / np.sqrt(np.diff(steps))
    if each.min() > 0.04:
        lengths = run.all("learning/weights")
        grown = f", whose length has gone from {lengths[0]:.0f} to {lengths[-1]:.0f}" if len(lengths) else ""
        return (
            f"each step of learning moves the weights by {each.mean():.0%} of their length over the last {len(each)} "
            f"iterations{grown}; 0.1 to 2 % is usual"
        )
    return None


def learning_diverges(run: RunMetrics) -> str | None:
    """Worse than a uniform policy, or than a value of 0."""
    seen, loss = run.last("fresh/policy explained"), run.last("fresh/value loss")
    if run.has_learned and len(seen) and seen.max() < -0.1:
        return (
            f"after {run.steps} steps the policy is worse than a uniform one: it explains {seen.mean():.0%} of the "
            f"searches' policies in new games over the last {len(seen)} iterations"
        )
    if run.has_learned and len(loss) and loss.min() > 0.8:
        return (
            f"after {run.steps} steps the value is worse than 0 everywhere: its loss in new games is {loss.mean():.2f} over the last "
            f"{len(loss)} iterations, and 0.69 for a value of 0 everywhere"
        )
    return None


def loss_rises(run: RunMetrics) -> str | None:
    """Compared with its best so far; targets that change as play improves move it by less."""
    total = run.all("loss/total")
    if len(total) < 4 * ITERATIONS:
        return None
    smooth = np.convolve(total, np.ones(ITERATIONS) / ITERATIONS, "valid")
    best, now = float(smooth.min()), float(smooth[-1])
    if now > 1.25 * best and np.all(total[-ITERATIONS:] > 1.15 * best):
        return f"the loss is {now:.3f} over the last {ITERATIONS} iterations, and was {best:.3f} at its best"
    return None


def gradients_clipped(run: RunMetrics) -> str | None:
    """AdamW is insensitive to the length, but a gradient this long is noise."""
    clip, seen = run.settings.learning.clip, run.last("learning/gradient", 6)
    if run.has_learned and len(seen) and seen.min() > 5 * clip:
        return f"gradients are {seen.mean() / clip:.0f} times as long as learning.clip over the last {len(seen)} iterations"
    return None


# ── self-play ──


def games_alike(run: RunMetrics) -> str | None:
    """Even games as short as tic-tac-toe differ in more than four fifths of a healthy iteration."""
    if run.settings.search.method == Mirror.method:
        return None  # its games are drawn from the policy alone, and small games have few
    seen = run.last("selfplay/duplicates", 3)
    if len(seen) and run.settings.games >= 16 and seen.min() > 0.5:
        search = run.settings.search  # not every variant has noise
        values = [f"search.{key}={getattr(search, key):g}" for key in ("noise", "temperature") if hasattr(search, key)]
        settings = ", ".join([*values, f"selfplay.openings={run.settings.selfplay.openings:g}"])
        return (
            f"{seen.mean():.0%} of the games of the last {len(seen)} iterations are repeated move for move ({settings})"
        )
    return None


def one_opening(run: RunMetrics) -> str | None:
    seen = run.last("selfplay/same start")
    if len(seen) and run.settings.games >= 16 and seen.min() >= 0.9:
        return f"{seen.mean():.0%} of the games of the last {len(seen)} iterations begin with the same moves"
    return None


def one_winner(run: RunMetrics) -> str | None:
    for player in range(run.players):
        seen = run.last(f"selfplay/utility of player {player}", 5)
        if run.has_learned and len(seen) and seen.min() > 0.9:
            return (
                f"player {player + 1} of {run.players} wins nearly all games of the last {len(seen)} iterations "
                f"(utility {seen.mean():+.2f})"
            )
    return None


def resigned_early(run: RunMetrics) -> str | None:
    """From games that were played out as a check. Their number is not a metric, but follows from the share of the others."""
    how = run.settings.selfplay
    resigned, wrong = run.all("selfplay/resigned")[-8:], run.all("selfplay/wrong resignations")[-8:]
    if how.resign >= 1 or len(resigned) < ITERATIONS or not len(wrong):
        return None
    checked = resigned.mean() * len(resigned) * run.settings.games * how.played_out / max(1 - how.played_out, 1e-9)
    if checked >= 15 and wrong.mean() > 0.15:
        return (
            f"of the games of the last {len(resigned)} iterations that were played out as a check, {wrong.mean():.0%} were not "
            f"lost by the player who would have resigned; {resigned.mean():.0%} of all games end so"
        )
    return None


def resigned_unchecked(run: RunMetrics) -> str | None:
    how, resigned = run.settings.selfplay, run.last("selfplay/resigned")
    if how.resign < 1 and how.played_out < 0.02 and len(resigned) and resigned.min() > 0.2:
        return (
            f"{resigned.mean():.0%} of the games of the last {len(resigned)} iterations end by resignation, and "
            f"{how.played_out:.0%} are played out as a check"
        )
    return None


# ── the window ──


def window_stale(run: RunMetrics) -> str | None:
    """It should hold as many positions as its formula gives."""
    made, held = run.last("window/made", 3), run.last("window/positions", 3)
    if not len(made) or not len(held):
        return None
    due = np.array([run.settings.window.size(int(n)) for n in made])
    if np.all(held < 0.8 * due):
        return (
            f"of {int(made[-1])} positions made so far the window should hold {due[-1]}, and holds {int(held[-1])}, "
            f"for {len(held)} iterations"
        )
    return None


def overfitting(run: RunMetrics) -> str | None:
    """Positions drawn from the window compared with new ones: the first are always a little better."""
    fresh, wanted = run.last("fresh/policy loss"), run.last("selfplay/root entropy")
    policy, entropy = run.last("loss/policy"), run.last("loss/entropy")
    if not (run.has_learned and len(fresh) and len(wanted) and len(policy) and len(entropy)):
        return None
    old, new = float((policy - entropy).mean()), float((fresh - wanted).mean())
    if new > 0.5 and new > 4 * max(old, 0.05):
        return (
            f"the policy is {new:.2f} nats away from the searches' policies in new games, and {old:.2f} in those that it "
            f"learns from, over the last {len(fresh)} iterations: it overfits"
        )
    return None


def no_steps(run: RunMetrics) -> str | None:
    seen = run.last("learning/steps")
    if len(seen) and seen[0] == seen[-1]:
        return f"no step of the optimizer in the last {len(seen) - 1} iterations"
    return None


def drawn_too_often(run: RunMetrics) -> str | None:
    seen = run.last("window/samples", 3)
    if len(seen) and seen.min() > 25:
        return f"each new position has been drawn {seen[-1]:.0f} times on average"
    return None


# ── strength, speed ──


def elo_not_rising(run: RunMetrics) -> str | None:
    """The two halves of the newest eight evaluations; not judged where nearly no move is a mistake."""
    seen, low, accuracy = run.all("elo/search")[-8:], run.all("elo/search low")[-8:], run.all("accuracy/search")[-2:]
    if len(seen) < 8 or len(low) < 8 or (len(accuracy) and accuracy.mean() > 0.97):
        return None
    before, after, width = seen[:4].mean(), seen[4:].mean(), float((seen - low).mean())
    if after - before < width / 4:
        return f"Elo {before:+.0f} over four evaluations, {after:+.0f} over the four after them, each ± {width:.0f}"
    return None


def selfplay_slow(run: RunMetrics) -> str | None:
    """Compared with the median of the run: the first iterations compile, and other programs come and go."""
    rate = run.all("speed/positions per second")
    if len(rate) < 16:
        return None
    usual, now = float(np.median(rate[1:-5])), rate[-5:]
    if now.max() < usual / 3:
        return f"{now.mean():.0f} positions a second over the last {len(now)} iterations, {usual:.0f} before"
    return None
