"""Signs of trouble in the curves of a run: each a function that says what it sees, in numbers, or None.

    run = Curves(log.history, config, game)
    words = value_inverted(run)

What the signs are signs of stands in `train/troubles.py`. A sign is seen in several iterations, never in a young run, and from nothing
else than curves and configuration. A curve that is missing is not judged. The limits come from what healthy and spoiled runs look like
(`python -m benchmarks.spoiled`), with room between.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from games import Game
from train.config import Config
from train.journal import History

Numbers = np.ndarray[Any, np.dtype[np.float64]]

ITERATIONS = 4
"""That have to say the same before anybody is told."""
YOUNG = 150
"""Steps of the optimizer before which nothing is said of what was learned."""


class Curves:
    """The points of a run's curves up to a number of games, and its configuration."""

    def __init__(self, history: History, config: Config, game: Game, games: int | None = None) -> None:
        self.config, self.game = config, game
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
        """Of the newest iterations, so many; none where one of them has no point."""
        points = [value for number, value in self._points.get(name, ()) if number > self.iterations - count]
        return np.array(points) if len(points) >= count else np.zeros(0)

    @property
    def has_learned(self) -> bool:
        """Something, if all is well."""
        return self.steps >= YOUNG and self.iterations > ITERATIONS


# ── the value ──


def value_inverted(run: Curves) -> str | None:
    """Below 0 is worse than knowing nothing, which chance does not do for long."""
    for name, who in (("fresh/value correlation", "network"), ("selfplay/search correlation", "search")):
        seen = run.last(name)
        if run.has_learned and len(seen) and seen.max() < 0 and seen.mean() < -0.1:
            return (
                f"what the {who} expects and how games end have a correlation of {seen.mean():+.2f} over the last "
                f"{len(seen)} iterations; below 0 is the wrong way round"
            )
    return None


def value_collapse(run: Curves) -> str | None:
    """The outcomes differ, the network says the same of all."""
    spread, brier = run.last("fresh/value spread"), run.last("fresh/value brier")
    if run.steps >= 4 * YOUNG and len(spread) and len(brier) and spread.max() < 0.05 and brier.min() > 0.05:
        return (
            f"the network's values of new positions differ by only {spread.mean():.3f} (standard deviation) over the "
            f"last {len(spread)} iterations, after {run.steps} steps, while their games end differently"
        )
    return None


# ── the policy ──


def policy_collapse(run: Curves) -> str | None:
    """Certain, and wrong."""
    own, wanted = run.last("fresh/policy entropy"), run.last("selfplay/root entropy")
    loss = run.last("fresh/policy loss")
    if not (run.has_learned and len(own) and len(wanted) and len(loss)):
        return None
    if own.max() < 0.05 and (loss - wanted).min() > 0.5:
        return (
            f"the network's policy has {own.mean():.3f} nats left over the last {len(own)} iterations, "
            f"and is {(loss - wanted).mean():.2f} nats away from what searches find"
        )
    brier = run.last("fresh/value brier")
    if wanted.max() < 0.02 and len(brier) and brier.min() > 0.05:
        return f"the policies to learn have {wanted.mean():.3f} nats left over the last {len(wanted)} iterations: one move each"
    return None


def policy_stuck(run: Curves) -> str | None:
    """A uniform policy would do as well, after many steps."""
    seen = run.last("fresh/policy explained")
    if run.steps >= 4 * YOUNG and len(seen) and -0.1 <= seen.max() < 0.05:
        return (
            f"after {run.steps} steps the policy explains {seen.mean():.0%} of what searches find in new games over the "
            f"last {len(seen)} iterations; a uniform policy explains 0 %"
        )
    return None


def target_tempered(run: Curves) -> str | None:
    """Other methods than PUCT do not learn shares of visits."""
    seen = run.last("selfplay/target exponent")
    if run.config.search.method == "puct" and len(seen) and (seen.min() > 1.1 or seen.max() < 0.9):
        which = "sharper" if seen.mean() > 1 else "flatter"
        return (
            f"the policies to learn are the searches' visits to the power of {seen.mean():.2f} over the last "
            f"{len(seen)} iterations, {which} than the visits themselves (1.00)"
        )
    return None


# ── learning ──


def steps_too_large(run: Curves) -> str | None:
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


def diverges(run: Curves) -> str | None:
    """Worse than knowing nothing."""
    seen, loss = run.last("fresh/policy explained"), run.last("fresh/value loss")
    if run.has_learned and len(seen) and seen.max() < -0.1:
        return (
            f"after {run.steps} steps the policy is worse than a uniform one: it explains {seen.mean():.0%} of what "
            f"searches find in new games over the last {len(seen)} iterations"
        )
    if run.has_learned and len(loss) and loss.min() > 0.8:
        return (
            f"after {run.steps} steps the value is worse than none: its loss in new games is {loss.mean():.2f} over the last "
            f"{len(loss)} iterations, and 0.69 for a value of 0 everywhere"
        )
    return None


def loss_rises(run: Curves) -> str | None:
    """Against the best that it has been; that targets change as play gets better moves it by less."""
    weight = run.config.learning.value_weight
    policy, entropy, value = run.all("loss/policy"), run.all("loss/entropy"), run.all("loss/value")
    if len(policy) < 4 * ITERATIONS or not len(policy) == len(entropy) == len(value):
        return None
    total = policy + weight * value
    smooth = np.convolve(total, np.ones(ITERATIONS) / ITERATIONS, "valid")
    best, now = float(smooth.min()), float(smooth[-1])
    if now > 1.25 * best and np.all(total[-ITERATIONS:] > 1.15 * best):
        return f"the loss is {now:.3f} over the last {ITERATIONS} iterations, and has been {best:.3f}"
    return None


def clipped(run: Curves) -> str | None:
    """AdamW does not mind the length, but a gradient this long is all noise."""
    clip, seen = run.config.learning.clip, run.last("learning/gradient", 6)
    if run.has_learned and len(seen) and seen.min() > 5 * clip:
        return f"gradients are {seen.mean() / clip:.0f} times as long as learning.clip over the last {len(seen)} iterations"
    return None


# ── self-play ──


def alike(run: Curves) -> str | None:
    """Ever so short games differ, healthy ones of tic-tac-toe in more than four fifths."""
    seen = run.last("selfplay/duplicates", 3)
    if len(seen) and run.config.games >= 16 and seen.min() > 0.5:
        how = run.config
        settings = (
            f"search.noise={how.search.noise:g}, search.temperature={how.search.temperature:g}, "
            f"selfplay.openings={how.selfplay.openings:g}"
        )
        return (
            f"{seen.mean():.0%} of the games of the last {len(seen)} iterations are repeated move for move ({settings})"
        )
    return None


def one_opening(run: Curves) -> str | None:
    seen = run.last("selfplay/same start")
    if len(seen) and run.config.games >= 16 and seen.min() >= 0.9:
        return f"{seen.mean():.0%} of the games of the last {len(seen)} iterations begin with the same moves"
    return None


def one_winner(run: Curves) -> str | None:
    for player in range(run.game.players):
        seen = run.last(f"selfplay/utility of player {player}", 5)
        if run.has_learned and len(seen) and seen.min() > 0.9:
            return (
                f"player {player + 1} of {run.game.players} wins nearly all games of the last {len(seen)} iterations "
                f"(utility {seen.mean():+.2f})"
            )
    return None


def resigned_early(run: Curves) -> str | None:
    """Games that were played out tell. Their number is not among the curves, but follows from the share of those that were not."""
    how = run.config.selfplay
    resigned, wrong = run.all("selfplay/resigned")[-8:], run.all("selfplay/wrong resignations")[-8:]
    if how.resign >= 1 or len(resigned) < ITERATIONS or not len(wrong):
        return None
    checked = resigned.mean() * len(resigned) * run.config.games * how.played_out / max(1 - how.played_out, 1e-9)
    if checked >= 15 and wrong.mean() > 0.15:
        return (
            f"of the games of the last {len(resigned)} iterations that were played out to see, {wrong.mean():.0%} were not "
            f"lost by the player who would have resigned; {resigned.mean():.0%} of all games end so"
        )
    return None


def resigned_unchecked(run: Curves) -> str | None:
    how, resigned = run.config.selfplay, run.last("selfplay/resigned")
    if how.resign < 1 and how.played_out < 0.02 and len(resigned) and resigned.min() > 0.2:
        return (
            f"{resigned.mean():.0%} of the games of the last {len(resigned)} iterations end by resignation, and "
            f"{how.played_out:.0%} are played out to see whether that is right"
        )
    return None


# ── the window ──


def window_stands(run: Curves) -> str | None:
    """It should hold what its own formula says."""
    made, held = run.last("window/made", 3), run.last("window/positions", 3)
    if not len(made) or not len(held):
        return None
    due = np.array([run.config.window.size(int(n)) for n in made])
    if np.all(held < 0.8 * due):
        return (
            f"of {int(made[-1])} positions made so far the window should hold {due[-1]}, and holds {int(held[-1])}, "
            f"for {len(held)} iterations"
        )
    return None


def by_heart(run: Curves) -> str | None:
    """What is drawn from the window against what is new: the first is always a little better."""
    fresh, wanted = run.last("fresh/policy loss"), run.last("selfplay/root entropy")
    policy, entropy = run.last("loss/policy"), run.last("loss/entropy")
    if not (run.has_learned and len(fresh) and len(wanted) and len(policy) and len(entropy)):
        return None
    old, new = float((policy - entropy).mean()), float((fresh - wanted).mean())
    if new > 0.5 and new > 4 * max(old, 0.05):
        return (
            f"the policy is {new:.2f} nats away from what searches find in new games, and {old:.2f} from those that it "
            f"learns from, over the last {len(fresh)} iterations: it knows these by heart"
        )
    return None


def no_steps(run: Curves) -> str | None:
    seen = run.last("learning/steps")
    if len(seen) and seen[0] == seen[-1]:
        return f"not one step of learning in the last {len(seen) - 1} iterations"
    return None


def too_often(run: Curves) -> str | None:
    seen = run.last("window/samples", 3)
    if len(seen) and seen.min() > 25:
        return f"each new position has been drawn {seen[-1]:.0f} times on average"
    return None


# ── strength, speed ──


def elo_stuck(run: Curves) -> str | None:
    """Two halves of the newest eight evaluations; nothing is said of those who make no mistakes any more."""
    seen, low, accuracy = run.all("elo/search")[-8:], run.all("elo/search low")[-8:], run.all("accuracy/search")[-2:]
    if len(seen) < 8 or len(low) < 8 or (len(accuracy) and accuracy.mean() > 0.97):
        return None
    before, after, width = seen[:4].mean(), seen[4:].mean(), float((seen - low).mean())
    if after - before < width / 4:
        return f"Elo {before:+.0f} over four evaluations, {after:+.0f} over the four after them, each ± {width:.0f}"
    return None


def slower(run: Curves) -> str | None:
    """Against the middle of the run so far: the first iterations compile, and other programs come and go."""
    rate = run.all("speed/positions per second")
    if len(rate) < 16:
        return None
    usual, now = float(np.median(rate[1:-5])), rate[-5:]
    if now.max() < usual / 3:
        return f"{now.mean():.0f} positions a second over the last {len(now)} iterations, {usual:.0f} before"
    return None
