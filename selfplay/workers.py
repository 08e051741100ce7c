"""Self-play by any workers (`base/workers.py`): the jobs are the numbers of games, the results encoded records.

    setup = Setup(game.spec, settings, search, seed)
    network = checkpoints.pack("runs/first/checkpoints/00000512")       # None: equal priors, and no values
    with Processes(2) as workers:
        for record, work in play_games(setup, network, range(512, 1024), workers):      # in any order
            ...

A game is a function of the network, the settings and its number alone (`selfplay/play.py`), so any worker may play any game. Each has
as many in hand as it plays side by side and a few more, and gets one more for each that it has finished: no worker waits for work, and
at the end none has much more left than the others.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

from base.sent_files import SentFiles
from base.workers import Workers
from checkpoints import Packed, has_compiled_form, ready
from games import Game, load
from games.engine.registry import files_of
from mcts.search import BatchEvaluator, CompiledNetwork, is_compiled
from mcts.settings import MethodSettings
from selfplay.play import GameQueue, WorkCounts
from selfplay.served import NetworkServer, ServedNetwork
from selfplay.settings import SelfPlaySettings

AHEAD = 2  # games that a worker has in hand beyond those it plays

Played = tuple[bytes, WorkCounts]
"""A game's encoded record, and what its worker did since the game before it ended."""


@dataclass(frozen=True)
class Setup:
    """What all games of a run have in common, but the network."""

    game: str
    settings: SelfPlaySettings
    search: MethodSettings
    seed: int
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    device: str = "cpu"


@dataclass(frozen=True)
class SelfPlay:
    """The task (`base.workers.Task`)."""

    setup: Setup
    network: Packed | None
    """None: equal priors, and no values."""
    files: SentFiles
    """Of a game that is not one of the folder's."""
    server: str = ""
    """The address of a network that the workers of this machine share."""

    @property
    def in_hand(self) -> int:
        plays_one = self.network is None or has_compiled_form(self.network, self.setup.device)
        return (1 if plays_one else self.setup.settings.slots) + AHEAD

    @contextmanager
    def prepared(self, workers: int) -> Iterator[SelfPlay]:
        """On another device than the CPU, workers share one network. They then play as many games as fill two of its batches, one of
        which is evaluated while the other one is being filled."""
        setup, network = self.setup, self.network
        compile_for(setup, network)
        if network is None or setup.device == "cpu" or workers == 1:
            yield self
            return
        game, slots = load(setup.game), setup.settings.slots
        evaluate = ready(network, game, slots, setup.device, setup.precision)
        assert not is_compiled(evaluate)
        few = replace(setup, settings=replace(setup.settings, slots=min(slots, -(-2 * slots // workers))))
        with NetworkServer(evaluate, slots, game) as server:
            yield replace(self, setup=few, server=server.address)

    def worker(self) -> GameWorker:
        self.files.unpack()
        return GameWorker(self)

    def exact(self, result: Played) -> bytes:
        """The record."""
        return result[0]


class GameWorker:
    """Plays side by side what it has in hand."""

    def __init__(self, task: SelfPlay) -> None:
        setup = task.setup
        game = load(setup.game)
        self._queue = GameQueue(game, setup.settings, setup.search, setup.seed)
        self._queue.use(*self._network(task, game))
        self._numbers: dict[int, int] = {}  # of the jobs, by those of their games
        self._counted = WorkCounts()

    def _network(self, task: SelfPlay, game: Game) -> tuple[CompiledNetwork | BatchEvaluator | None, str]:
        if not task.server:
            return network_of(task.setup, game, task.network)
        assert task.network is not None
        return ServedNetwork(task.server, game, task.setup.settings.slots), task.network.card.short

    def add(self, number: int, job: int) -> None:
        """`job` is the number of the game; the records have it, too."""
        self._numbers[job] = number
        self._queue.add(job)

    def step(self) -> Iterator[tuple[int, Played]]:
        for record in self._queue.step():
            work = self._queue.work
            yield self._numbers.pop(record.metadata["number"]), (record.to_bytes(), work.minus(self._counted))
            self._counted = work


def play_games(
    setup: Setup, network: Packed | None, numbers: Iterable[int], workers: Workers
) -> Generator[Played, None, None]:
    """The games of these numbers."""
    game = load(setup.game)
    setup.settings.check(game)
    for _, played in workers.run(SelfPlay(setup, network, files_of(game)), numbers):
        yield played


def network_of(setup: Setup, game: Game, network: Packed | None) -> tuple[CompiledNetwork | BatchEvaluator | None, str]:
    """The network that plays, and the hash of its weights."""
    if network is None:
        return None, "uniform"
    return ready(network, game, setup.settings.slots, setup.device, setup.precision), network.card.short


_compiled: set[tuple[Setup, str]] = set()


def compile_for(setup: Setup, network: Packed | None) -> None:
    """Compile what a worker needs, by playing one short game; once for each kind of network."""
    key = setup, network.card.net if network is not None else ""
    if key in _compiled:
        return
    _compiled.add(key)
    game = load(setup.game)
    few = replace(setup.settings, slots=1, simulations=2, fast_simulations=2, resign=1.0)
    queue = GameQueue(game, few, setup.search, setup.seed)
    queue.use(*network_of(replace(setup, settings=few), game, network))
    queue.add(0)
    while queue.is_busy:
        queue.step()
