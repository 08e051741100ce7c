"""The training loop: play, learn, measure, again and again, such that it can be killed at any moment.

    before the first                                where there are recorded games, the network learns from them (train/supervised.py)
    for iteration 0, 1, 2, …                        a network plays a block of games by number, then learns
        games of the block      played by the mean of the weights, each on disk as it ends
        validation              of the network and of EVAL, on games that neither has learned from yet
        window                  takes the games and drops others
        learner                 takes its steps; each new position is drawn a fixed number of times
        EVAL                    the linear one, fitted to the same window
        metrics, diagnostics    what the iteration was like, what is wrong (monitor/observer.py)
        state                   saved whole; a killed run resumes from here
        checkpoint              the network that plays the next block
        evaluation              before the first iteration, every few, and at the end

What a killed run repeats has the same result as before: a game is a function of the network, the configuration and its number; the
steps of an iteration, of the state before it and the games. So with a budget in games, killed and resumed is bit for bit the
uninterrupted run, and one worker gives what several give. Silver et al. 2018 (AlphaZero); Wu 2019 (KataGo).
"""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from base.errors import UserError
from base.seeds import derive
from base.threads import Overtime, time_limit
from base.workers import Workers
from checkpoints import Card, commit, keep_every, pack, save, verify
from checkpoints.store import hash_of, weights_of
from games import load
from games.record import GameRecord
from monitor.log import RunLog
from monitor.media import MediaMaker, View
from monitor.observer import Observer
from monitor.values import STAGES, Validation
from nets import make_net
from selfplay.play import WorkCounts
from selfplay.workers import Setup, play_games
from train.baseline import Baseline
from train.config import compose
from train.evaluation import Evaluate
from train.evaluator import Evaluator
from train.games import GameLog, games_of
from train.learner import Learner
from train.memory import forecast
from train.run import Run, command_for
from train.shards import gradient_of
from train.state import Progress, newest
from train.state import save as save_state
from train.supervised import learn_from_games, lessons
from train.window import Checked, Window, WindowSettings, check

T = TypeVar("T")

RECENT = 3
"""Newest checkpoints that are kept: a player that was named after one of them is loaded a little later, in another process."""
VALIDATED = 2048
"""Positions of the newest games at most on which the network is validated."""


class Iteration(NamedTuple):
    """What a run has come to, after each of its iterations."""

    games: int
    """Played and learned from, since the run began."""
    metrics: Mapping[str, float]
    """Of this iteration, by the names of docs/tensorboard.md; with the strength where it was measured now."""
    checkpoint: Path


def train(
    run: Run,
    log: RunLog,
    workers: Workers,
    evaluate: Evaluate | None = None,
    media: MediaMaker | None = None,
    on_iteration: Callable[[Iteration], object] | None = None,
) -> Progress:
    """Until the budget is spent; `workers` play the games. Without `evaluate` strength is not measured, without `media` TensorBoard has
    metrics alone. Where `on_iteration` returns True, the run ends; the same command resumes it."""
    loop = Loop(run, log, workers, evaluate, media)
    loop.restore()
    loop.checkpoint()
    loop.evaluate()
    if not loop.baseline.is_there:
        log.say(f"{loop.game.name} has no features, so no EVAL is fitted")
    if loop.is_over():
        log.say(
            f"{run.folder}: complete, {loop.progress.games} games are played and learned from; its {run.budget} are spent, and a "
            "larger budget resumes it"
        )
        loop.evaluate(is_last=True)
        return loop.progress
    log.say(forecast(run.config, loop.game, loop.learner.net.parameter_count, workers))
    while not loop.is_over():
        games = loop.play()
        if not games.records:
            log.say(f"{run.folder}: the time is up before a game is finished; a longer budget resumes the run")
            break
        loop.validate(games)
        loop.learn(games)
        loop.fit()
        loop.report(games)  # before the state is saved: what is not saved is done and reported again
        loop.save()
        loop.checkpoint()
        loop.evaluate()
        if on_iteration is not None and on_iteration(loop.iteration()) is True:
            break
    loop.evaluate(is_last=True)
    return loop.progress


class Loop:
    """The parts of the loop, and what they share."""

    def __init__(
        self, run: Run, log: RunLog, workers: Workers, evaluate: Evaluate | None, media: MediaMaker | None
    ) -> None:
        self.run, self.config, self.log, self.workers = run, run.config, log, workers
        self.game = load(self.config.game)
        net = make_net(self.config.net, self.game, self.config.seed)
        self.learner = Learner(self.game, net, self.config.learning, self.config.device, self.config.seed)
        self.window = Window(self.game, self.config.window)
        self.baseline = Baseline(self.game)
        self.observer = Observer(log, self.game, self.config, media)
        self.evaluator = Evaluator(run, self.game, log, evaluate) if evaluate else None
        settings = self.config
        self.setup = Setup(
            settings.game, settings.selfplay, settings.search, settings.seed, settings.precision, settings.device
        )
        self.progress = Progress()
        self._newest: Sequence[GameRecord] = []  # the games of this iteration
        self._commit = commit()
        self._net = ""  # the hash of the weights that play
        self._began = time.monotonic()  # since then, progress.seconds does not count
        self._learning = 1.0  # how long the last iteration learned, by the time for its games
        self._playing = 0.0  # seconds of this iteration's games
        self._evaluating = 0.0  # seconds of the last evaluation

    # ── where it stands ──

    @property
    def seconds(self) -> float:
        return self.progress.seconds + time.monotonic() - self._began

    def is_over(self) -> bool:
        return self.run.budget.is_spent(self.progress, self.seconds)

    def iteration(self) -> Iteration:
        """The one that has just ended."""
        games = self.progress.games
        return Iteration(games, self.log.history.at(games), self.run.checkpoint(games))

    def hours(self) -> dict[str, float]:
        """Spent so far, and to the end of the budget where there is one."""
        spent, share = self.seconds / 3600, self.run.budget.share(self.progress, self.seconds)
        return {"time/hours": spent} | ({"time/hours left": spent * (1 - share) / share} if share else {})

    def restore(self) -> None:
        """Resume from the newest state that can be read, or begin."""
        found = newest(self.run.states, self.log.say, self.run.sealed)
        if found is None:
            self.begin()
            return
        self.progress, tensors = found
        self.learner.restore(tensors, self.progress.steps)
        self._fill_window()
        self.fit()
        self.log.say(f"{self.run.folder}: resumed after {self.progress.games} games")
        self.observer.resumed(self.progress.games)

    def begin(self) -> None:
        """From random weights; or from recorded games, and that is saved. A function of the files and the configuration."""
        if not self.config.supervised.files:
            return
        config = self.config
        games = lessons(self.game, config.supervised)
        result = learn_from_games(
            self.game, self.learner, games, config.supervised, config.seed, self.log, self.workers, config.window
        )
        self.learner.begin_again()
        self.log.say(f"{self.run.folder}: {result}")
        self.observer.pretrained(result.metrics())
        self.window.begin_with(games.taught)
        self.fit()
        self.progress = replace(self.progress, recorded=self.window.recorded)
        self.save()

    def _fill_window(self) -> None:
        """With the games of as many iterations as it takes, from disk; before them, as far as it reaches, recorded games."""
        recorded = self.progress.recorded
        made = (recorded, *self.progress.made)
        wanted = made[-1] - self.config.window.size(made[-1])
        first = max((k for k in range(len(made)) if made[k] <= wanted), default=0)
        if wanted < recorded:
            self.window.begin_with(lessons(self.game, self.config.supervised).taught)
        self.window.made, self.window.recorded = made[first], recorded
        for iteration in range(first, self.progress.iterations):
            self._newest = games_of(self.run.games, iteration, self.game, self.log.say)
            self.window.extend(check(self.game, self._newest))
        self.window.made = made[-1]

    def save(self) -> None:
        self.progress = replace(self.progress, seconds=self.seconds)
        self._began = time.monotonic()
        save_state(self.run.states, self.progress, self.learner.tensors(), self.run.sealed)

    def checkpoint(self) -> None:
        """Of the mean of the weights, which plays next. One that is there already stays, unless it is damaged or of other weights."""
        path = self.run.checkpoint(self.progress.games)
        if path.exists():
            try:
                card = verify(path, self.game)
                if card.weights != (wanted := hash_of(weights_of(self.learner.mean))):
                    raise UserError(f"{path}: expected the weights {wanted[:19]}…, got others, {card.weights[:19]}…")
                self._net = card.short
                return
            except (UserError, OSError) as error:
                self.log.say(f"{error}; written again")
        games = self.progress.games
        command = command_for(self.run.name, self.config, compose(self.game), self.run.budget, games)
        card = Card(
            self.game.name,
            self.game.version,
            self.learner.mean.text,
            step=games,
            games=games,
            configuration=asdict(self.config),
            commit=self._commit,
            seeds={"run": self.config.seed},
            command=shlex.join(command),
        )
        save(path, self.learner.mean, card, overwrite=True)
        self._net = verify(path).short
        # `path` may not be the newest: others may lie there, of a lost state
        keep_every(self.run.folder, self.config.keep * self.config.games, path, RECENT)

    # ── the parts of an iteration ──

    def play(self) -> Checked:
        """The games of this iteration, by number; those that a killed run has left are not played again. Where the time is limited,
        those that it suffices for: when it is nearly over none is begun, in the end none is waited for."""
        first = self.progress.iterations * self.config.games
        numbers = range(first, first + self.config.games)
        kept = GameLog(self.run.games, self.progress.iterations, self.game, self._net, self.log.say)
        missing, work = [number for number in numbers if number not in kept.games], WorkCounts()
        workers, began, block = self.workers, time.monotonic(), self.run.budget.block(self.seconds, self._learning)
        end = began + self.run.budget.left(self.seconds)
        cut = began + (end - began) / (1 + self._learning)

        def begun() -> Iterator[int]:
            for number in missing:
                if number != missing[0] and time.monotonic() > began + block:
                    return
                yield number

        with kept, self.observer.clock.of("self-play"):
            workers.metrics()  # of evaluations before it
            if missing:
                network = pack(self.run.checkpoint(self.progress.games))
                playing = before(play_games(self.setup, network, begun(), workers), lambda: cut if kept.games else end)
                done = len(numbers) - len(missing)
                for record, counted in self.log.bar(playing, len(numbers), "self-play", "game", done):
                    kept.add(record)
                    work = work.plus(counted)
            kept.sync()
        self._playing = time.monotonic() - began
        if self.run.budget.minutes:
            self.save()  # the games are on disk; this keeps the time that they took
        new = [kept.games[number] for number in missing if number in kept.games]
        self.observer.played(new, work, workers.metrics() if missing else {})
        return check(self.game, [kept.games[number] for number in numbers if number in kept.games])

    def validate(self, games: Checked) -> None:
        """Compare what the network that played and EVAL expect of these games, which they have not learned from yet, with the games."""
        fresh = Window.of(self.game, games, WindowSettings(fast=self.config.window.fast))  # each search's own value
        plies = fresh.evenly(VALIDATED)
        if not len(plies):
            return
        batch = fresh.positions(plies)
        policies, utilities = self.learner.guess(batch)
        self.observer.validated(
            Validation(
                policies,
                utilities[:, 0],
                batch.policies,
                batch.legal,
                batch.outcomes[:, 0],
                batch.searched[:, 0],
                fresh.stages(plies, STAGES),
                self.baseline.guess(fresh, plies),
            )
        )

    def learn(self, games: Checked) -> None:
        """The window takes the games; then so many steps that each new position is drawn `window.samples` times on average."""
        self.window.extend(games)
        progress, batch = self.progress, self.config.learning.batch
        due = int((self.window.made - self.window.recorded) * self.config.window.samples / batch)
        rng = np.random.default_rng(derive(self.config.seed, "batches", progress.iterations))
        budget = self.run.budget
        share = (lambda: budget.share(progress, self.seconds)) if budget.minutes else budget.share(progress, 0.0)
        steps = due - self.learner.steps
        with self.log.counter(steps, "learning", "step") as count, self.observer.clock.of("learning"):
            began = time.monotonic()
            end = began + budget.left(self.seconds)
            with gradient_of(self.learner, self.workers) as gradient:
                has_time = lambda: time.monotonic() < end  # noqa: E731
                learned = self.learner.learn(self.window, steps, rng, share, count, has_time, gradient)
            if self._playing > 1.0:
                self._learning = (time.monotonic() - began) / self._playing
        self.observer.learned(learned.metrics() | self.window.metrics(draws=self.learner.steps * batch))
        self.progress = replace(
            progress,
            iterations=progress.iterations + 1,
            games=progress.games + len(games.records),
            plies=progress.plies + sum(map(len, games.records)),
            steps=self.learner.steps,
            made=(*progress.made, self.window.made),
        )

    def fit(self) -> None:
        """EVAL's weights, into a file of their own; a game without features has none."""
        weights = self.baseline.fit(self.window, f"the window after {self.progress.games:,} games")
        if weights is not None:
            weights.save(self.run.eval(self.progress.games))

    def report(self, games: Checked) -> None:
        self._newest = games.records
        self.observer.finished(self.progress.games, games.records, games.movers, self.hours())

    def evaluate(self, is_last: bool = False) -> None:
        """Before the first game, every few iterations, and the last checkpoint: how strong it is, and pictures. Between iterations only
        within the budget, and then its time counts."""
        every, done = self.config.evaluation.every, self.progress.iterations
        left = math.inf if is_last else self.run.budget.left(self.seconds)
        if not every or not (is_last or done % every == 0) or left <= self._evaluating:
            return
        with self.observer.clock.of("evaluation"):
            self._measure(left)
        if self.run.budget.minutes and not is_last:
            self.save()

    def _measure(self, left: float) -> None:
        """The newest checkpoint, if so many seconds suffice."""
        games = self.progress.games
        if self.evaluator is not None:
            began = time.monotonic()
            try:
                with time_limit(left):
                    found = self.evaluator.evaluate(games)
            except Overtime:
                self.log.say(f"{self.run.folder}: the time is up during an evaluation")
                return
            self._evaluating = time.monotonic() - began
            self.observer.evaluated(games, *found)
        if self._newest:
            self.observer.show(games, View(self.learner.net, self.learner.mean, self._newest, self.baseline.weights))


def before(results: Generator[T, None, None], deadline: Callable[[], float]) -> Iterator[T]:
    """The results that come before a time, by `time.monotonic`; what is still under way then is given up."""
    with closing(results):
        while True:
            try:
                with time_limit(deadline() - time.monotonic()):
                    result = next(results, None)
            except Overtime:
                return
            if result is None:
                return
            yield result
