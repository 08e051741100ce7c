"""Milliseconds of a step of learning, by part, precision and threads.

    python -m benchmarks.learning                                       # connect four: resnet:4x48, resnet:5x64
    python -m benchmarks.learning go:size=9 --nets resnet:5x64 --steps 40

| column   | what                                                                                           |
|----------|------------------------------------------------------------------------------------------------|
| step     | a whole step: gathering, learning, and what is between                                          |
| threads  | of this process; `2 × 1`: two workers with a thread each, which compute half of each batch (`learning.shards=2`) |
| gather   | its share spent on the batch: positions replayed, turned by symmetries, targets                 |
| mean     | its share spent on the running mean of the weights                                              |
| optimize | its share spent on the optimizer and the length of the gradient                                 |
| ratio    | steps of the first line of this network ÷ this line's: how much faster this line is             |

Positions are those of random games, the network's weights are random. Sides take turns, and the median of each is shown.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from base.errors import Arguments, run_command
from base.local_workers import Processes, cores
from base.workers import InProcess, Workers
from games import load
from mcts.puct import PUCT
from nets import make_net
from nets.inference import cpu_has_bf16
from selfplay.play import GameQueue
from selfplay.settings import SelfPlaySettings
from train.learner import Learner, LearningSettings
from train.shards import gradient_of
from train.window import Window, WindowSettings, check

GAMES = 64
PARTS = ("gather", "mean", "optimize")


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("game", nargs="?", metavar="GAME", default="connect_four", help="with options, or a file")
    parser.add_argument("--nets", nargs="+", metavar="NET", default=["resnet:4x48", "resnet:5x64"])
    parser.add_argument("--steps", type=int, default=20, metavar="N", help="of each side and turn")
    parser.add_argument("--turns", type=int, default=3, metavar="N")
    options = parser.parse_args(argv)
    game = load(options.game)
    window = played(game)
    print(f"{game.name}, batches of {LearningSettings().batch}\n")
    print(
        f"{'net':16}{'precision':>10}{'threads':>9}{'step':>10}"
        + "".join(f"{part:>10}" for part in PARTS)
        + f"{'ratio':>8}"
    )
    several = sorted({1, min(2, cores())})
    for text in options.nets:
        sides = [
            Side(game, text, precision, *each, window)
            for precision in (("fp32", "bf16") if cpu_has_bf16() else ("fp32",))
            for each in [(threads, 1) for threads in several] + [(1, shards) for shards in several if shards > 1]
        ]
        for side in sides:
            side.learn(3)  # warms up
            side.forget()
        for _ in range(options.turns):
            for side in sides:
                side.learn(options.steps)
        first = sides[0].step()
        for side in sides:
            print(side.row(first), flush=True)
            side.workers.close()
    return 0


def played(game: Any) -> Window:
    """A window with random games."""
    settings = SelfPlaySettings(simulations=4, fast_simulations=4, full=1.0)
    queue = GameQueue(game, settings, PUCT(), 1)
    queue.use(None, "uniform")
    for number in range(GAMES):
        queue.add(number)
    records = []
    while queue.is_busy:
        records += queue.step()
    window = Window(game, WindowSettings())
    window.extend(check(game, records))
    return window


class Side:
    """A learner whose parts are timed."""

    def __init__(self, game: Any, text: str, precision: Any, threads: int, shards: int, window: Window) -> None:
        self.text, self.precision, self.window = text, precision, window
        self.threads = f"{shards} × {threads}" if shards > 1 else str(threads)
        self.workers: Workers = Processes(shards) if shards > 1 else InProcess()
        settings = LearningSettings(precision=precision, threads=threads, shards=shards)
        self.learner = Learner(game, make_net(text, game, 1), settings)
        self.rng = np.random.default_rng(1)
        self.seconds: dict[str, float] = dict.fromkeys(PARTS, 0.0)
        self.steps: list[float] = []
        for part, owner, name in (
            ("mean", self.learner, "_follow"),
            ("optimize", self.learner.optimizer, "step"),
        ):
            setattr(owner, name, self.timed(part, getattr(owner, name)))

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            start = time.perf_counter()
            found = function(*arguments, **named)
            self.seconds[part] += time.perf_counter() - start
            return found

        return call

    def learn(self, steps: int) -> None:
        batch, times = self.window.batch, [time.perf_counter()]
        self.window.batch = self.timed("gather", batch)  # type: ignore[method-assign]
        try:
            with gradient_of(self.learner, self.workers) as gradient:
                done = lambda: times.append(time.perf_counter())  # noqa: E731
                self.learner.learn(self.window, steps, self.rng, 0.0, done, gradient=gradient)
        finally:
            self.window.batch = batch  # type: ignore[method-assign]
        self.steps += np.diff(times).tolist()

    def forget(self) -> None:
        self.seconds, self.steps = dict.fromkeys(PARTS, 0.0), []

    def step(self) -> float:
        return statistics.median(self.steps)

    def row(self, first: float) -> str:
        total = sum(self.steps)
        shares = "".join(f"{self.seconds[part] / total:>10.1%}" for part in PARTS)
        line = f"{self.text:16}{self.precision:>10}{self.threads:>9}{1000 * self.step():>7.1f} ms{shares}"
        return f"{line}{first / self.step():>7.2f}×"


if __name__ == "__main__":
    run_command(main)
