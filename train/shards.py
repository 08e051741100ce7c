"""The gradient of a step in parts, each computed by one of the workers (`base/workers.py`) that play the games of a run.

    with gradient_of(learner, workers) as gradient:
        learner.learn(…, gradient=gradient)

A batch is cut into `learning.shards` parts of one size. The gradient of a part is a function of weights and part; their mean is taken
in the order of the parts. So the bits of a step depend on how many parts there are, not on how many workers, nor on which did which
part. The losses are means over the parts, as is the running state of batch normalization.

One run of the workers lasts as long as the block: weights and part go out for each step, a gradient comes back. Only the process that
asks has an optimizer, so a worker that is lost takes nothing with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from base.sent_files import SentFiles
from base.workers import NOTHING_YET, InProcess, Results, Workers
from games import load
from games.engine.registry import files_of
from nets.net import restored_net
from train.learner import Learner, LearningSettings, reproducible
from train.window import Array, Batch


@contextmanager
def gradient_of(learner: Learner, workers: Workers | None) -> Iterator[Callable[[Batch], Array]]:
    """`learner.gradient`; where a batch has several parts, a function that has `workers` compute them. Without workers this process
    computes all parts, with the same bits."""
    if learner.settings.shards == 1:
        yield learner.gradient
        return
    with Shards(learner, workers or InProcess()) as shards:
        yield shards.gradient


class Part(NamedTuple):
    """A job."""

    state: Array
    """Weights and running state, as `Learner.flat_state`."""
    batch: Batch


class PartResult(NamedTuple):
    losses: Array
    """float64, as `Learner.gradient`."""
    gradient: Array
    """float32, as `Learner.flat_gradient`."""
    running: Array
    """The running state as this part left it."""


class Shards:
    """A run of the workers, for as many steps as are wanted."""

    def __init__(self, learner: Learner, workers: Workers) -> None:
        self.learner = learner
        self._parts = _Parts()
        self._results: Results[PartResult] = workers.run(GradientTask.of(learner), self._parts, ordered=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._results.close()
        self._parts.close()

    def gradient(self, batch: Batch) -> Array:
        """As `Learner.gradient`; it sets the running state, too."""
        learner, count = self.learner, self.learner.settings.shards
        state = learner.flat_state()
        self._parts.put([Part(state, each) for each in cut(batch, count)])
        first = next(self._results)[1]
        losses, gradient, running = (each.copy() for each in first)
        for _ in range(count - 1):
            found = next(self._results)[1]
            losses += found.losses
            gradient += found.gradient
            running += found.running
        learner.set_gradient(gradient / np.float32(count))
        learner.set_running_state(running / np.float32(count))
        return losses / count


def cut(batch: Batch, parts: int) -> Iterator[Batch]:
    """Into parts of one size, in the order of the positions."""
    size = len(batch.observations) // parts
    for first in range(0, size * parts, size):
        rows = slice(first, first + size)
        arrays = {name: array[rows] for name, array in batch._asdict().items() if name != "auxiliary"}
        yield Batch(**arrays, auxiliary={name: array[rows] for name, array in batch.auxiliary.items()})


class _Parts:
    """The jobs, as they are put. Between two steps there are none yet."""

    def __init__(self) -> None:
        self._parts: list[Part] = []  # last first
        self._ends = os.pipe()  # never ready: after `put` the caller resumes the run itself

    def put(self, parts: list[Part]) -> None:
        self._parts = parts[::-1]

    def fileno(self) -> int:
        return self._ends[0]

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return self._parts.pop() if self._parts else NOTHING_YET

    def close(self) -> None:
        for each in self._ends:
            os.close(each)


@dataclass(frozen=True)
class GradientTask:
    """The task (`base.workers.Task`)."""

    game: str
    files: SentFiles
    """Of a game that is not one of the folder's."""
    net: str
    source: bytes
    """The file of a network of one's own."""
    settings: LearningSettings
    device: str

    in_hand = 2
    """So that the next part is there when one is done."""

    @classmethod
    def of(cls, learner: Learner) -> GradientTask:
        game, net = learner.game, learner.net
        return cls(game.spec, files_of(game), net.text, net.source, learner.settings, str(learner.device))

    def prepared(self, workers: int) -> AbstractContextManager[GradientTask]:
        return nullcontext(self)

    def worker(self) -> GradientWorker:
        self.files.unpack()
        return GradientWorker(self)

    def exact(self, result: PartResult) -> bytes:
        return b"".join(each.tobytes() for each in result)


class GradientWorker:
    """A learner of the same shape, which takes no step of its own."""

    def __init__(self, task: GradientTask) -> None:
        game = load(task.game)
        self._learner = Learner(game, restored_net(task.net, game, task.source), task.settings, task.device)
        self._jobs: list[tuple[int, Part]] = []

    def add(self, number: int, job: Part) -> None:
        self._jobs.append((number, job))

    def step(self) -> Iterator[tuple[int, PartResult]]:
        number, part = self._jobs.pop(0)
        learner = self._learner
        learner.set_state(part.state)
        learner.net.train()
        with reproducible(learner.settings.threads):
            losses = learner.gradient(part.batch)
        yield number, PartResult(losses, learner.flat_gradient(), learner.running_state())
