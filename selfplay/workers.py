"""Self-play on all cores: worker processes that keep their compiled code and their network, and play the games they are told to.

    with Workers(Setup(game.spec, settings, search, seed), workers=2) as workers:
        workers.use("runs/first/checkpoints/00000512")
        for record in workers.play(range(512, 1024)):          # in whatever order they finish
            ...

A game is a function of the network, the settings and its number alone (`selfplay/play.py`), so any worker may play any game. Each
is given as many as it has slots and a few more, and one more for each that it sends back: nobody waits for work, and at the end
nobody has much more left than the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
from mcts.learned import LearnedSettings

from base.crew import Crew, Inbox
from base.errors import UserError
from games import Game, load
from games.record import GameRecord
from mcts.search import BatchEvaluator
from selfplay.play import Lanes, Work
from selfplay.settings import SelfPlaySettings

AHEAD = 2  # games that a worker has in hand beyond those it plays


@dataclass(frozen=True)
class Setup:
    """What all games have in common, but the network."""

    game: str
    settings: SelfPlaySettings
    search: LearnedSettings
    seed: int
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    device: str = "cpu"


class Workers:
    """A crew that plays. `workers=0`: in this process."""

    def __init__(self, setup: Setup, workers: int) -> None:
        self.setup, self.game = setup, load(setup.game)
        setup.settings.check(self.game)
        prepare(setup, self.game)  # compiled once, before each worker would do it
        self._crew = Crew(serve, workers)
        for worker in range(self._crew.size):
            self._crew.send(worker, setup)
        self._is_ready = False
        self.work = Work()
        """Done for the games that came back, by all workers together."""

    def use(self, checkpoint: str) -> None:
        """From now on games are played by this network; '': by an evaluator that knows nothing."""
        for worker in range(self._crew.size):
            self._crew.send(worker, checkpoint)
        self._is_ready = True

    def play(self, numbers: Iterable[int]) -> Iterator[GameRecord]:
        """The games of these numbers. To be read to its end before the network changes."""
        if not self._is_ready:
            raise UserError("self-play: expected a network first")
        left = iter(numbers)
        missing = 0
        for _ in range(self.setup.settings.slots + AHEAD):
            for worker in range(self._crew.size):
                missing += self._give(worker, left)
        while missing:
            worker, (data, work) = self._crew.receive()
            self.work = self.work.plus(work)
            missing += self._give(worker, left) - 1
            yield GameRecord.from_bytes(data, self.game)

    def _give(self, worker: int, left: Iterator[int]) -> int:
        for number in left:
            self._crew.send(worker, number)
            return 1
        return 0

    def close(self) -> None:
        self._crew.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def serve(inbox: Inbox) -> Iterator[object]:
    """The life of a worker. Orders: the setup first; then checkpoints, by their folders, and numbers of games to play.
    Results: a record's bytes, and the work done since the last result."""
    setup: Setup = inbox.get()
    game = load(setup.game)
    lanes: Lanes | None = None
    before = Work()
    while True:
        for order in inbox.all() if lanes is not None and lanes.is_busy else [inbox.get()]:
            if isinstance(order, str):
                evaluator, net = evaluator_of(setup, game, order)
                if lanes is None:
                    lanes = Lanes(game, setup.settings, setup.search, setup.seed)
                lanes.use(evaluator, net)
            else:
                assert lanes is not None
                lanes.add(order)
        if lanes is not None:
            for record in lanes.step():
                work = lanes.work
                yield record.to_bytes(), work.minus(before)
                before = work


def evaluator_of(setup: Setup, game: Game, checkpoint: str) -> tuple[BatchEvaluator, str]:
    """For batches of as many positions as there are slots: the network of a checkpoint, and the hash of its weights; without a
    checkpoint an evaluator that knows nothing."""
    slots = setup.settings.slots
    if not checkpoint:
        return uniform(game, slots), "uniform"
    from checkpoints import load as load_checkpoint  # torch
    from nets import Inference

    net, card = load_checkpoint(checkpoint, game)
    return Inference(net, slots, setup.device, setup.precision, threads=1), card.short


def uniform(game: Game, batch: int) -> BatchEvaluator:
    """Every move is as likely, every position worth 0 to everybody."""
    answer = np.zeros((batch, game.actions), np.float32), np.zeros((batch, game.players), np.float32)
    return lambda observations: answer


def prepare(setup: Setup, game: Game) -> None:
    """Compile what a worker will need, by playing one game with an evaluator that knows nothing."""
    few = replace(setup.settings, slots=1, simulations=2, fast_simulations=2, resign=1.0)
    lanes = Lanes(game, few, setup.search, setup.seed)
    lanes.use(uniform(game, 1), "")
    lanes.add(0)
    while lanes.is_busy:
        lanes.step()
