"""A run's beginning with recorded games: the network learns their moves and outcomes before it plays its own.

    games = lessons(game, config.supervised)        # games.taught, games.held_back
    result = learn_from_games(game, learner, games, config.supervised, seed, log)
    print(result)                                   # on games that were held back: how often it predicts the move

Every move of every finished game is learned, those of all players but not the opening of a match; where a search left its
distribution in the record, that is learned instead. The value learns how the game ended. Games are held back by a hash of their
moves. The batches are the learner's own, symmetries included, and its rate warms up and falls as over a whole run. The result is a
function of games, settings and seed.

Silver et al. 2016, "Mastering the game of Go with deep neural networks and tree search", began so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from base.errors import UserError
from base.seeds import derive
from base.workers import Workers
from classical.eval import Judged, judge
from games import CHANCE, Game
from games.record import GameRecord
from monitor.log import RunLog
from train.learner import Learner
from train.recorded import SupervisedSettings, hash_of_moves, recorded
from train.shards import gradient_of
from train.window import Checked, Window, WindowSettings, check

Array = np.ndarray[Any, Any]

PARTS = 100  # of the stage, each with a learning rate of its own
MEASURED = 20_000
"""Positions of games held back at most on which the network is measured."""


class Lessons(NamedTuple):
    """Recorded games, with something to learn at every ply."""

    taught: Checked
    held_back: Checked
    """On these the network is measured."""


@dataclass(frozen=True)
class Pretraining:
    """The result."""

    games: int
    positions: int
    held_back: int
    """Games."""
    judged: Judged
    """Its value, on games held back."""
    top: float
    """Top-1 agreement: the share of positions of these in which its policy is highest where the recorded one is."""
    error: float
    """Standard error, clustered by game."""
    before: float
    """The same of the network as it was."""

    def __str__(self) -> str:
        learned = f"learned from {self.games:,} games, {self.positions:,} positions"
        if not self.judged.n:
            return learned
        agreed = f"{self.top:.1%} ± {1.96 * self.error:.1%} ({self.before:.1%} before)"
        return (
            f"{learned}; of {self.judged.n:,} positions of {self.held_back:,} games held back the policy predicts the move in "
            f"{agreed}, the value has the right sign in {self.judged.sign:.1%}"
        )

    def metrics(self) -> dict[str, float]:
        found = {"supervised/top-1": self.top, "supervised/top-1 before": self.before}
        return found | self.judged.metrics("supervised/value")


def learn_from_games(
    game: Game,
    learner: Learner,
    games: Lessons,
    settings: SupervisedSettings,
    seed: int,
    log: RunLog,
    workers: Workers | None = None,
    targets: WindowSettings | None = None,
) -> Pretraining:
    """As many steps as the settings have. `workers` compute gradients, where they are computed in parts."""
    window, held = (Window.of(game, each, targets) for each in games)
    if not len(window):
        raise UserError(
            f"--from-games: expected games to learn from, all {held.games} are held back; lower supervised.held_back"
        )
    before = judged_on(held, learner)[1]
    steps = max(1, int(settings.epochs * len(window) / learner.settings.batch))
    rng = np.random.default_rng(derive(seed, "supervised"))
    counted = log.counter(steps, "learning from recorded games", "step")
    with counted as count, gradient_of(learner, workers) as gradient:
        for part in range(PARTS):
            now = steps * (part + 1) // PARTS - steps * part // PARTS
            if now:
                learner.learn(window, now, rng, part / PARTS, count, gradient=gradient)
    value, top, error = judged_on(held, learner)
    return Pretraining(window.games, len(window), held.games, value, top, error, before)


def lessons(game: Game, settings: SupervisedSettings) -> Lessons:
    parts: tuple[list[GameRecord], list[GameRecord]] = [], []
    for record in recorded(game, settings):
        parts[is_held_back(record, settings.held_back)].append(teaching(game, record))
    return Lessons(*(check(game, each) for each in parts))


def is_held_back(record: GameRecord, share: float) -> bool:
    return int.from_bytes(hash_of_moves(record)[:8], "big") < share * 2**64


def teaching(game: Game, record: GameRecord) -> GameRecord:
    """The record with something to learn at every ply that a player chose: the search's distribution, or else the move that was
    played; the search's utilities, or else the outcome. Nobody chose the opening that a match gave its players."""
    n = len(record)
    moved = np.ones(n, bool)
    if game.rules.chance is not None:
        moved = np.array([game.to_move(state) != CHANCE for state, _ in record.replay(game)][:n])
    if "opening" in record.metadata:
        moved[: record.noted("opening")] = False
    searched = record.searched.astype(bool)
    policies = [record.policy(ply) if searched[ply] else None for ply in range(n)] if searched.any() else [None] * n
    actions, shares, visits, counts = [], [], [], np.zeros(n, np.int32)
    for ply in np.flatnonzero(moved).tolist():
        target = policies[ply] or (record.moves[ply : ply + 1], np.ones(1, np.float32), np.zeros(1, np.int64))
        actions.append(target[0])
        shares.append(target[1])
        visits.append(target[2])
        counts[ply] = len(target[0])
    outcome = np.array(record.outcome, np.float32)
    utilities = np.where(np.isnan(record.utilities), outcome, record.utilities)
    utilities[~moved] = np.nan
    return replace(
        record,
        searched=moved.astype(np.uint8),
        utilities=utilities,
        policy_counts=counts,
        policy_actions=joined(actions, np.int32),
        probabilities=joined(shares, np.float32),
        visits=joined(visits, np.int64),
    )


def joined(arrays: Sequence[Array], dtype: Any) -> Array:
    return np.concatenate([np.zeros(0, dtype), *arrays])


def judged_on(held: Window, learner: Learner) -> tuple[Judged, float, float]:
    """The value; top-1 agreement and its standard error."""
    plies = held.evenly(MEASURED)
    expected, outcomes, hits = [np.zeros(0)], [np.zeros(0)], [np.zeros(0)]
    for first in range(0, len(plies), 1024):
        batch = held.positions(plies[first : first + 1024])
        policies, utilities = learner.guess(batch)
        expected.append(utilities[:, 0])
        outcomes.append(batch.outcomes[:, 0])
        hits.append((policies.argmax(1) == batch.policies.argmax(1)).astype(float))
    found, right = judge(np.concatenate(expected), np.concatenate(outcomes)), np.concatenate(hits)
    if not found.n:
        return found, float("nan"), float("nan")
    top = float(right.mean())
    of_games = np.bincount(np.searchsorted(held.arrays().starts, plies, side="right") - 1, right - top)
    return found, top, float(np.sqrt(np.square(of_games).sum()) / found.n)
