"""Whether the memory of a training run stops growing once its window is full.

    python -m benchmarks.memory                               # tic-tac-toe with a tiny window, four minutes, one worker
    python -m benchmarks.memory connect_four --minutes 30 --workers 2 --set window.most=20000

Trains in a temporary folder and reads its metrics: the resident megabytes of all its processes, and the positions and megabytes of its
window. The window counts as full from the iteration after which it grows by less than 1 %; from there on a line is fitted to the
resident megabytes. Exit code 1 if the line rises by more than --most megabytes from there to the end.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from base.errors import Arguments, UserError, run_command
from base.local_workers import opened as opened_workers
from games import load
from monitor.log import RunLog
from train.budget import Budget
from train.config import compose
from train.loop import train
from train.run import opened

TINY = (
    "net=mlp:1x32",
    "games=64",
    "learning.threads=1",
    "keep=1000000",
    "window.constant=500",
    "window.most=2000",
    "evaluation.every=0",
)
ROWS = 12


class Measured(RunLog):
    """Keeps the memory metrics."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, 0)
        self.points: list[tuple[int, float, float, float]] = []

    def metrics(self, games: int, values: Any) -> None:
        super().metrics(games, values)
        point = [values[name] for name in ("memory/megabytes", "window/positions", "window/megabytes")]
        self.points.append((games, *point))

    def say(self, text: str) -> None:
        if text.startswith("memory"):
            super().say(text)


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("game", nargs="?", default="tic_tac_toe", metavar="GAME", help="with options, or a file.py")
    parser.add_argument("--minutes", type=float, default=4.0, metavar="M", help="of the run")
    parser.add_argument("--workers", type=int, default=1, metavar="K", help="processes that play")
    parser.add_argument("--most", type=float, default=20.0, metavar="MB", help="growth that counts as noise")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the configuration")
    options = parser.parse_args(argv)
    game = load(options.game)
    config = compose(game, None, [*TINY, *options.set])
    with tempfile.TemporaryDirectory(prefix="memory-") as home:
        budget = Budget(minutes=options.minutes)
        begun = opened(f"{home}/run", config, budget, print)
        with begun as run, Measured(run.board) as log, opened_workers(options.workers) as workers:
            train(run, log, workers)
    return report(np.array(log.points), options.most)


def report(points: np.ndarray[Any, np.dtype[np.float64]], most: float) -> int:
    """Prints the table and the growth."""
    if len(points) == 0 or np.isnan(points[:, 1]).any():
        raise UserError("expected a run of at least one iteration, on a system that reports the memory of a process")
    full = int(np.argmax(points[:, 2] >= 0.99 * points[:, 2].max()))
    print(f"\n{'games':>10}{'resident MB':>13}{'window':>10}{'window MB':>11}")
    for i in sorted({full, *np.linspace(0, len(points) - 1, ROWS).astype(int).tolist()}):
        games, resident, positions, megabytes = points[i]
        print(f"{games:>10,.0f}{resident:>13,.1f}{positions:>10,.0f}{megabytes:>11.2f}{'  full' if i == full else ''}")
    behind = points[full:]
    if len(behind) < ROWS:
        raise UserError(
            f"expected {ROWS} iterations with a full window, got {len(behind)}; try more --minutes or a smaller window"
        )
    slope = np.polyfit(behind[:, 0], behind[:, 1], 1)[0]
    growth = slope * (behind[-1, 0] - behind[0, 0])
    print(
        f"\nwith a full window, over {len(behind)} iterations: {growth:+.1f} MB, {slope * 1e4:+.2f} MB for 10,000 games"
    )
    return int(growth > most)


if __name__ == "__main__":
    run_command(main)
