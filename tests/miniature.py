"""A run so small that it can be made, killed and made again many times: tic-tac-toe, a tiny net, a few games."""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from base.local_workers import opened as opened_workers
from base.workers import Workers
from checkpoints import latest, verify
from games import load
from monitor.log import RunLog
from train.budget import Budget
from train.config import Config, compose
from train.loop import train
from train.run import Run, opened
from train.state import Progress, newest

GAME = load("tic_tac_toe")
CHANGES = (
    "net=mlp:1x16",
    "games=8",
    "keep=2",
    "selfplay.simulations=6",
    "selfplay.fast_simulations=2",
    "selfplay.slots=4",
    "window.constant=40",
    "window.most=60",
    "learning.batch=8",
    "learning.threads=1",
    "evaluation.every=0",
)
TINY = compose(GAME, None, CHANGES)


def tiny(*changes: str) -> Config:
    return compose(GAME, None, [*CHANGES, *changes])


def run(
    folder: Path,
    games: int = 32,
    workers: Workers | int = 0,
    config: Config = TINY,
    said: list[str] | None = None,
    evaluate: Any = None,
    media: Any = None,
    minutes: float = 0.0,
) -> Progress:
    """To the end of its budget, in `minutes` where they are given. `said` collects the lines for the screen."""
    lines = [] if said is None else said
    budget = Budget(minutes=minutes) if minutes else Budget(games=games)
    beginning = opened(str(folder), config, budget, lines.append)
    with beginning as begun, Quiet(begun, lines) as log, opened_workers(workers) as playing:
        return train(begun, log, playing, evaluate, media)


class Quiet(RunLog):
    """Collects its lines; no TensorBoard."""

    def __init__(self, begun: Run, lines: list[str]) -> None:
        found = newest(begun.states, lambda text: None)
        super().__init__(begun.folder, found[0].games if found else 0, quiet=True)
        self.lines = lines

    def say(self, text: str) -> None:
        self.lines.append(text)

    def metrics(self, games: int, values: Any) -> None:
        """TensorBoard takes a second to import; it has a test of its own."""
        self.history.add(games, values)

    def show(self, games: int, media: Any) -> None:
        pass


def weights(folder: Path) -> str:
    """The hash of the newest checkpoint."""
    return verify(latest(folder), GAME).weights


def run_with_disk_of(size: int, folder: Path, games: int) -> None:
    """No file may grow beyond so many bytes: what a full disk is to a writer. Leaves with exit code 3 where that shows."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    try:
        run(folder, games)
    except OSError:
        os._exit(3)


def moments(count: int, most: float, fraction: float = 0.618) -> Sequence[float]:
    """So many moments between 0 and `most` seconds, spread evenly and in no order."""
    return [most * ((i + 1) * fraction % 1) for i in range(count)]
