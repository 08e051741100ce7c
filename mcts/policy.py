"""The policy of a network as a mixed strategy, in games that hide information.

    player = PolicyPlayer(game, network)
    player.policy(view)                  # the probability of each action; `choose` draws from it

A network sees what its mover sees and has noticed, so its policy is one for an information set. In such games the best play is a
mixture; there is no best action to pick.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from base.errors import UserError
from base.native import call_native
from base.seeds import generator, uniform
from games import CHANCE, Game, Rules
from games.choice import Candidate, Choice
from games.types import Actions, GameState, Planes, Rng, Utilities
from mcts.search import BatchEvaluator
from mcts.simulation import Network


def mixer(rules: Rules) -> Callable[..., None]:
    """mix(state, mover, actions, n, network, observation, shares): the network's policy over the first n `actions`, the legal ones, as
    probabilities in `shares`, float64; its utilities, relative to the mover, are left in network.utilities."""
    observe, has_action_views = rules.observe, rules.action_view is not None
    view = (
        np.zeros((1, 1), np.int32) if rules.action_view is None else np.ascontiguousarray(rules.action_view, np.int32)
    )

    def mix(
        state: GameState,
        mover: int,
        actions: Actions,
        n: int,
        network: Network,
        observation: Planes,
        shares: Utilities,
    ) -> None:
        observation[:] = 0
        observe(state, mover, observation)
        call_native(network.address, (network.weights, network.scratch, observation, network.logits, network.utilities))
        for i in range(n):
            action = actions[i]
            shares[i] = network.logits[view[mover, action] if has_action_views else action]
        softmax(shares, n)

    return mix


def softmax(scores: Utilities, n: int) -> None:
    """Of the first n entries, in place; -inf becomes 0."""
    highest, total = -np.inf, 0.0
    for i in range(n):
        highest = max(highest, scores[i])
    for i in range(n):
        scores[i] = np.exp(scores[i] - highest)
        total += scores[i]
    for i in range(n):
        scores[i] /= total


def drawn(shares: Utilities, n: int, rng: Rng) -> int:
    """Which of n entries, by their probabilities."""
    left, last = uniform(rng), 0
    for i in range(n):
        if shares[i] > 0.0:
            last = i
            left -= shares[i]
            if left < 0.0:
                break
    return last


class PolicyPlayer:
    """Draws its moves from the policy of a network, compiled or one that answers in batches of 1."""

    def __init__(self, game: Game, network: BatchEvaluator, seed: int = 0) -> None:
        self.game, self.network, self.seed = game, network, seed
        self.new_game()

    def new_game(self) -> None:
        self.rng = generator(self.seed, "policy player")

    def policy(self, view: GameState) -> dict[int, float]:
        """The probability of each action."""
        return self._answer(view)[0]

    def choose(self, view: GameState) -> Choice:
        """An action drawn from `policy`."""
        start = time.perf_counter()
        shares, value = self._answer(view)
        actions = list(shares)
        action = actions[drawn(np.array(list(shares.values())), len(actions), self.rng)]
        ranked = tuple(Candidate(each, prior=shares[each]) for each in sorted(actions, key=lambda each: -shares[each]))
        seconds = time.perf_counter() - start
        return Choice(action, value, pv=(action,), nodes=1, seconds=seconds, actions=ranked)

    def _answer(self, view: GameState) -> tuple[dict[int, float], float]:
        """The policy, and the utility that the mover expects."""
        mover, legal = self.game.to_move(view), self.game.legal_actions(view)
        if mover is None or mover == CHANCE:
            raise UserError(f"net: expected a view of {self.game.name} with a move to choose, got none")
        renamed = self.game.rules.action_view
        numbers = legal if renamed is None else renamed[mover][legal].tolist()
        logits, utilities = self.network(self.game.observe(view, mover)[None])
        shares = np.exp(logits[0, numbers].astype(np.float64) - float(logits[0, numbers].max()))
        return dict(zip(legal, (shares / shares.sum()).tolist(), strict=True)), float(utilities[0, 0])
