"""Magnetic mirror descent: how a policy is improved where players do not see everything. No tree, and no best action.

At a decision of self-play each legal action is played on several times, to the end of the game, with all players drawing from the
network's policy π. The mean utility of the mover is q(a), and the target to learn is

    softmax((log π + η q + η α log ρ) / (1 + η α))          ρ: the magnet, a policy that π is drawn to; uniform here

The position that is played on from is the real one. A network that learns these targets learns their mean over all positions of an
information set, each as often as play leads to it: so what the others did counts as evidence about what they hold, and no worlds
are drawn. This holds as long as all players play π itself, which self-play here does, and is exact where η q is small: one target
depends on what its mover does not see, and the mean of softmax(η q) is softmax(η mean q) to the first order in η.

With α > 0 play approaches an equilibrium in which every player also likes to be unpredictable; it gets close to one of the game itself
as α falls. η and α of game n are divided by √(1 + n / anneal). Sokota et al. (2023) prove convergence for exact q in games of two
players and zero sum, and for no others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from base.errors import require
from games import CHANCE, Game, Rules
from games.engine.kernels import sampler
from games.types import Actions, Array, Counts, GameStates, Planes, Rng, Utilities
from mcts.policy import drawn, mixer, softmax
from mcts.settings import MethodSettings
from mcts.simulation import Network

PLAYOUTS, EVALUATIONS = 0, 1
"""Entries of MirrorWork.counts."""


@dataclass(frozen=True)
class Mirror(MethodSettings):
    method: Literal["mirror"] = "mirror"
    eta: float = 1.0
    """η: the step from the policy towards better actions. Utilities are payoffs divided by the largest one; where most are far below 1,
    as in Leduc poker, it has to be larger. Sokota et al.: 0.1, falling with the root of the step."""
    alpha: float = 0.2
    """α: the pull towards a uniform policy, which keeps play from going in circles. Sokota et al.: 1, falling with the root."""
    anneal: int = 5000
    """η and α of game n of a run are divided by √(1 + n / anneal); 0: they stay."""
    playouts: int = 2
    """Of each legal action, at each decision that is a target."""
    depth: int = 0
    """A playout ends at so many further decisions of its mover, at the network's value there; 0: at the end of the game. Only values in
    the mover's own eyes will do: those of the others take no account of what the mover holds."""

    def __post_init__(self) -> None:
        require(self, "a number above 0", lambda x: 0 < x < math.inf, "eta")
        require(self, "a number of at least 0", lambda x: 0 <= x < math.inf, "alpha")
        require(self, "at least 0", lambda n: n >= 0, "anneal", "depth")
        require(self, "at least 1", lambda n: n >= 1, "playouts")

    def at(self, number: int) -> Mirror:
        """As they are in game `number` of a run."""
        factor = 1 / math.sqrt(1 + number / self.anneal) if self.anneal else 1.0
        return replace(self, eta=self.eta * factor, alpha=self.alpha * factor)


class MirrorWork(NamedTuple):
    """Scratch arrays of one decision."""

    states: GameStates
    """[2]: the position, and that of a playout."""
    actions: Actions
    """int32 [2, max_legal]: of both."""
    shares: Array
    """float64 [2, max_legal]: the network's policy in both."""
    values: Array
    """float64 [max_legal, P]: the utilities of each action."""
    target: Utilities
    """float64 [max_legal]"""
    utilities: Utilities
    """float64 [P]: of a playout."""
    observation: Planes
    counts: Counts
    """int64 [2]: playouts and evaluations so far."""


def mirror_work(game: Game) -> MirrorWork:
    rules = game.rules
    n, players = rules.max_legal, rules.players
    return MirrorWork(
        game.blanks(2),
        np.zeros((2, n), np.int32),
        np.zeros((2, n)),
        np.zeros((n, players)),
        np.zeros(n),
        np.zeros(players),
        np.zeros(rules.observation, np.float32),
        np.zeros(2, np.int64),
    )


class Improvement(NamedTuple):
    consult: Callable[..., int]
    """consult(work, mover, network) -> n: the legal actions of the position, ascending, and the network's policy over them."""
    improve: Callable[..., None]
    """improve(work, mover, n, network, settings, rng): what to learn, in work.target, and what each action is worth, in work.values."""


def improvement(rules: Rules) -> Improvement:
    is_terminal, to_move, legal_actions, result, utility = (
        rules.is_terminal,
        rules.to_move,
        rules.legal_actions,
        rules.result,
        rules.utility,
    )
    players, most = rules.players, rules.max_plies
    mix, roll = mixer(rules), sampler(rules)

    def consult(work: MirrorWork, mover: int, network: Network) -> int:
        state, actions = work.states[0], work.actions[0]
        n = int(legal_actions(state, actions))
        actions[:n].sort()
        mix(state, mover, actions, n, network, work.observation, work.shares[0])
        work.counts[EVALUATIONS] += 1
        return n

    def play_on(work: MirrorWork, player: int, network: Network, depth: int, rng: Rng) -> None:
        """From work.states[1]: the utilities of all, in work.utilities."""
        state, actions, shares, decisions = work.states[1], work.actions[1], work.shares[1], 0
        work.counts[PLAYOUTS] += 1
        for _ in range(2 * most):
            if is_terminal(state):
                break
            mover = int(to_move(state))
            if mover == CHANCE:
                result(state, roll(state, actions, rng))
                continue
            n = int(legal_actions(state, actions))
            mix(state, mover, actions, n, network, work.observation, shares)
            work.counts[EVALUATIONS] += 1
            if mover == player:
                decisions += 1
                if decisions == depth:
                    for seat in range(players):
                        work.utilities[(mover + seat) % players] = network.utilities[seat]
                    return
            result(state, actions[drawn(shares, n, rng)])
        for each in range(players):
            work.utilities[each] = utility(state, each)

    def improve(work: MirrorWork, mover: int, n: int, network: Network, settings: Any, rng: Rng) -> None:
        work.values[:] = 0.0
        for _ in range(settings.playouts):
            for i in range(n):
                work.states[1] = work.states[0]
                result(work.states[1], work.actions[0, i])
                play_on(work, mover, network, settings.depth, rng)
                for player in range(players):
                    work.values[i, player] += work.utilities[player] / settings.playouts
        mirror_step(work.shares[0], work.values[:, mover], n, settings.eta, settings.alpha, work.target)

    return Improvement(consult, improve)


def mirror_step(shares: Utilities, values: Utilities, n: int, eta: float, alpha: float, target: Utilities) -> None:
    """The formula above, of n actions. A uniform magnet adds the same to all of them, so it does not appear."""
    for i in range(n):
        target[i] = -np.inf
        if shares[i] > 0.0:  # 0: a probability too small for its logarithm
            target[i] = (np.log(shares[i]) + eta * values[i]) / (1.0 + eta * alpha)
    softmax(target, n)
