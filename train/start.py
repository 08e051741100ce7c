"""From a command line to a run: its configuration, its budget, and at the end what can be done with what came of it."""

from __future__ import annotations

import argparse
import shlex

from base.errors import UserError
from base.pool import WorkerDied
from games import Game, load
from train.budget import Budget
from train.config import Config, compose
from train.evaluation import Arena
from train.log import RunLog
from train.loop import train
from train.run import Run, folder_of, name_for, opened, stored
from train.state import Progress, newest

UNASKED = Budget(minutes=10)
"""For a new run of which nobody says how long it goes on."""


def start(options: argparse.Namespace) -> int:
    game = load(options.game)
    name = options.run or name_for(game.name)
    folder = folder_of(name)
    config = configuration(game, options, stored(folder))
    budget = (
        Budget(games=options.games or 0, minutes=options.minutes or 0.0) if options.games or options.minutes else None
    )
    if budget is None and stored(folder) is None:
        budget = UNASKED
    config.selfplay.check(game)
    with opened(name, config, budget, print) as run:
        found = newest(run.states, lambda text: None)
        with RunLog(run.board, found[0].games if found else 0) as log:
            log.say(f"{run.folder}: {game.name}, {config.net}, {run.budget}")
            try:
                evaluate = Arena(config.evaluation, options.workers)
                if config.evaluation.every:
                    evaluate.prepare(game, log)
                progress = train(run, log, options.workers, evaluate)
            except WorkerDied as error:
                raise UserError(f"{run.folder}: {error}; nothing is lost, the same command goes on") from error
            except KeyboardInterrupt:
                log.say(f"\n{run.folder}: stopped; the same command goes on")
                raise
        print(farewell(game, run, progress))
    return 0


def configuration(game: Game, options: argparse.Namespace, before: Config | None) -> Config:
    """Composed anew; a run that goes on without a word about its configuration keeps what it has."""
    changes = [*options.set, *([f"device={options.device}"] if options.device else [])]
    if before is not None and options.config is None and not options.set:
        if before.game != game.spec:
            raise UserError(f"run: expected its own game, {before.game}, got {game.spec}; another --run takes it")
        return before
    return compose(game, options.config, changes)


def farewell(game: Game, run: Run, progress: Progress) -> str:
    """Where the checkpoint is, and the commands to play against it, to measure it, to open TensorBoard."""
    net = f"net:{run.checkpoint(progress.games)},sims=100"
    spec = shlex.quote(game.spec)
    return "\n".join(
        [
            "",
            f"the checkpoint    {run.checkpoint(progress.games)}",
            f"play against it   python -m arena play {spec} human {shlex.quote(net)}",
            f"measure it        python -m arena match {spec} {shlex.quote(net)} uct:sims=1000 --games 200",
            f"TensorBoard       tensorboard --logdir {shlex.quote(str(run.board))}",
        ]
    )
