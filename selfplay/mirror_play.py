"""Self-play in games that hide information: everybody plays the network's policy, as a mixture; targets by magnetic mirror descent.

Other than a search's, these games play nothing but the policy itself: no openings, noise or temperature. Positions have to come up as
often as play by that policy leads to them, or their targets would rest on wrong beliefs (`mcts/mirror.py`). A share `selfplay.full` of
decisions becomes a target. One game after the other is played inside compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from base.errors import UserError
from base.seeds import uniform
from games import CHANCE, Rules
from games.engine.kernels import sampler
from games.record import GameRecord
from games.types import GameState
from mcts.mirror import EVALUATIONS, Mirror, MirrorWork, improvement, mirror_work
from mcts.policy import drawn
from mcts.search import is_compiled, network_arrays
from mcts.simulation import Network
from selfplay.turns import AT_MAX_PLIES, FINISHED, FULL, NO_PLAYER, SEARCHING, STOPPED, Logs
from selfplay.under_way import GamesUnderWay, WorkCounts

if TYPE_CHECKING:
    from selfplay.play import GameQueue

SLICE = 10_000
"""Evaluations between two looks at what interrupts a game, of some microseconds each."""


class MirrorGames(GamesUnderWay):
    """One game at a time."""

    def __init__(self, queue: GameQueue, settings: Mirror, network: Any) -> None:
        super().__init__(queue, 1)
        self.settings = settings
        self.scratch = mirror_work(queue.game)
        self.play = queue.game.kernel(mirror_play)
        self.use(network)

    def takes(self, network: Any) -> bool:
        return True

    def use(self, network: Any) -> None:
        if network is None or not is_compiled(network):
            raise UserError(
                f"self-play: expected a network with a compiled form, on the CPU, for {self.game.name}, which hides information"
            )
        self.network = network_arrays(self.game, network)

    def work(self) -> WorkCounts:
        return WorkCounts(self.simulations, evaluations=int(self.scratch.counts[EVALUATIONS]))

    def position(self, s: int) -> GameState:
        state: GameState = self.scratch.states[s]
        return state

    def step(self) -> list[GameRecord]:
        if not self.queue.numbers:
            return []
        number = self.queue.numbers.popleft()
        self.take(0, number)
        self.scratch.states[0] = self.game.initial()
        game = self.games[0]
        game["gave_up"] = game["resigned"] = NO_PLAYER
        game["plies"] = game["entries"] = game["simulations"] = 0
        settings, status = self.settings.at(number).record(), SEARCHING
        while status in (
            SEARCHING,
            FULL,
            STOPPED,
        ):  # Ctrl-C is heard between two calls: a thread for it would take longer than a game
            if status == FULL:
                self.make_room()
            most = self.scratch.counts[EVALUATIONS] + SLICE
            status = int(self.play(self.games, self.logs, self.scratch, self.network, settings, self.how, most))
        return [self.finish(0, status)]


def mirror_play(rules: Rules) -> Callable[..., int]:
    """A game from where it stands, to its end or until `most` evaluations were counted."""
    is_terminal, to_move, result, players = rules.is_terminal, rules.to_move, rules.result, rules.players
    consult, improve = improvement(rules)
    roll = sampler(rules)

    def play(games: Any, logs: Logs, work: MirrorWork, network: Network, settings: Any, how: Any, most: int) -> int:
        game, state, actions, shares = games[0], work.states[0], work.actions[0], work.shares[0]
        while not is_terminal(state):
            if game.plies == logs.moves.shape[1]:
                return AT_MAX_PLIES
            if game.entries + actions.size > logs.actions.shape[1]:
                return FULL
            if work.counts[EVALUATIONS] > most:
                return STOPPED
            mover = int(to_move(state))
            logs.searched[0, game.plies] = logs.counts[0, game.plies] = 0
            for player in range(players):
                logs.utilities[0, game.plies, player] = np.nan
            if mover == CHANCE:
                action = int(roll(state, actions, game.rng))
            else:
                n = consult(work, mover, network)
                if uniform(game.rng) < how.full:
                    improve(work, mover, n, network, settings, game.rng)
                    note(game, logs, work, n, settings.playouts)
                action = int(actions[drawn(shares, n, game.rng)])
            logs.moves[0, game.plies] = action
            game.plies += 1
            result(state, action)
        return FINISHED

    def note(game: Any, logs: Logs, work: MirrorWork, n: int, playouts: int) -> None:
        """The target, and what the position is worth to each player by the policy."""
        for i in range(n):
            at = game.entries + i
            logs.actions[0, at], logs.visits[0, at] = work.actions[0, i], playouts
            logs.probabilities[0, at] = work.target[i]
        for player in range(players):
            logs.utilities[0, game.plies, player] = 0.0
            for i in range(n):
                logs.utilities[0, game.plies, player] += work.shares[0, i] * work.values[i, player]
        logs.searched[0, game.plies], logs.counts[0, game.plies] = 1, n
        game.entries += n
        game.simulations += n * playouts

    return play
