"""Training runs: to configure, to start, to read. The same runs as those of `python -m train`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from base.local_workers import cores, opened
from base.workers import Workers
from games import Game
from monitor.report.run_data import RunData
from train.config import Config, compose, in_toml
from train.run_reader import find

if TYPE_CHECKING:
    from train.loop import Iteration


def configure(game: Game, changes: Mapping[str, object] | None = None, file: str | None = None) -> Config:
    """The configuration of a run: configs/base.toml, then configs/GAME.toml or `file`, then `changes`, as in {"search.c_init": 1.5}.
    docs/configuration.md lists the keys. The result is a frozen dataclass, which `dataclasses.replace` changes too."""
    return compose(game, file, [f"{key}={in_toml(value)}" for key, value in (changes or {}).items()])


def train(
    config: Config,
    run: str,
    games: int | None = None,
    minutes: float | None = None,
    workers: Workers | int | None = None,
    on_iteration: Callable[[Iteration], object] | None = None,
    quiet: bool = True,
) -> RunData:
    """Begins the run `runs/RUN`, or resumes it, until its budget in games or in minutes is spent, and reads it.

    `on_iteration` is called after each iteration with the games so far, its metrics and its checkpoint; it returns True to end the run
    there. `workers`: processes that play, by default one for each core, 0 for this process alone. An interrupted run is resumed by the
    same call, and with a budget in games the result is the same, bit for bit."""
    from train.budget import Budget
    from train.run import folder_of, stored
    from train.start import DEFAULT, launch

    given = Budget(games or 0, minutes or 0.0) if games or minutes else None
    if given is None and stored(folder_of(run)) is None:
        given = DEFAULT
    launch(
        run,
        config,
        given,
        lambda: opened(cores() if workers is None else workers),
        quiet=quiet,
        on_iteration=on_iteration,
    )
    return find(run)


def read_run(name: str) -> RunData:
    """A run by its name or folder, also while it is under way: `series(metric)` as arrays, `history.names()`, `evaluations`,
    `warnings`, `records`."""
    return find(name)
