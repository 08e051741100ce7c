"""Evaluators without a network: any function of one observation, the same in whatever row and batch it stands."""

from typing import Any

import numpy as np

from games import Game


class Hunch:
    """Random linear opinions about the position, `temper` times strong."""

    def __init__(self, game: Game, seed: int = 1, temper: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        entries = int(np.prod(game.rules.observation))
        self.policy = rng.normal(size=(entries, game.actions)) * temper / 2
        self.value = rng.normal(size=(entries, game.players)) / 4
        self.players, self.zero_sum = game.players, game.rules.zero_sum
        self.batches: list[Any] = []

    def __call__(self, observations: Any) -> tuple[Any, Any]:
        self.batches.append(observations.copy())
        answers = [self.answer(row.ravel()) for row in observations]
        return np.stack([logits for logits, _ in answers]), np.stack([utilities for _, utilities in answers])

    def answer(self, row: Any) -> tuple[Any, Any]:
        """Logits, and utilities in relative order."""
        bounded = np.tanh(row)
        utilities = np.tanh(bounded @ self.value)
        if self.zero_sum:
            utilities = (utilities - utilities.mean()) / 2
        return bounded @ self.policy, utilities

    @property
    def rows(self) -> int:
        """Observations judged so far, the padding left out."""
        return sum(int(batch.reshape(len(batch), -1).any(axis=1).sum()) for batch in self.batches)


class Even(Hunch):
    """Knows nothing."""

    def answer(self, row: Any) -> tuple[Any, Any]:
        return np.zeros(self.policy.shape[1]), np.zeros(self.players)
