"""A batch of positions turned by the game's symmetries, each row by its own: augmentation for training.

>>> symmetries = Symmetries(game.rules)
>>> which = rng.integers(symmetries.count, size=len(observations))      # 0 is the identity
>>> observations, policies = symmetries.turn(which, observations, policies)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from games import Rules

Array = np.ndarray[Any, np.dtype[Any]]


class Symmetries:
    """The identity and the declared symmetries of a game as two tables of indices."""

    def __init__(self, rules: Rules) -> None:
        entries = int(np.prod(rules.observation))
        self.count = 1 + len(rules.symmetries)
        self.observation = np.stack([np.arange(entries), *(each.observation for each in rules.symmetries)]).astype(
            np.intp
        )
        """[S, entries]: where each entry of the turned planes comes from."""
        self.policy = np.stack([np.arange(rules.actions), *(np.argsort(each.actions) for each in rules.symmetries)])
        """[S, A]: where each entry of the turned policy comes from, in the viewer's numbers."""

    def turn(self, which: Array, observations: Array, *policies: Array) -> tuple[Array, ...]:
        """`observations` [B, …] and any number of arrays [B, A] (targets, legal actions), row b turned by symmetry `which[b]`."""
        flat = observations.reshape(len(observations), -1)
        turned = np.take_along_axis(flat, self.observation[which], 1).reshape(observations.shape)
        return (turned, *(np.take_along_axis(policy, self.policy[which], 1) for policy in policies))

    def turn_planes(self, which: Array, planes: Array) -> Array:
        """`planes` [B, k, rows, columns] that are not those of an observation; for symmetries that turn all planes alike."""
        flat = planes.reshape(*planes.shape[:2], -1)
        turned: Array = np.take_along_axis(flat, self.observation[which][:, None, : flat.shape[2]], 2)
        return turned.reshape(planes.shape)
