"""The loop: play, learn, measure, again and again, so that it can be killed at any moment.

    before the first                                where there are recorded games, the network learns from them (train/supervised.py)
    for iteration 0, 1, 2, …                        a network plays a block of games by number, then learns
        games of the block      played by the mean of the weights, each on disk as it ends
        judgement               of the network and of EVAL, on games that neither has learned from yet
        window                  takes the games and forgets others
        learner                 takes its steps; each new position is drawn a fixed number of times
        EVAL                    the linear one, fitted to the same window
        watch                   says what is wrong, where something is
        state                   saved whole; from here a killed run goes on
        checkpoint              the network that plays the next block
        evaluation              every few iterations, and at the end

What a killed run repeats comes out as it did before: a game is a function of the network, the configuration and its number; the steps
of an iteration, of the state before it and the games. So with a budget in games, killed and resumed is bit for bit the
uninterrupted run, and one worker gives what several give. Silver et al. 2018 (AlphaZero); Wu 2019 (KataGo).
"""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np

from base.errors import UserError
from base.seeds import derive
from base.workers import Workers
from checkpoints import Card, commit, keep_every, pack, save, verify
from classical.eval import judge
from games import load
from games.record import GameRecord
from nets import make_net
from selfplay.play import Work
from selfplay.statistics import Statistics
from selfplay.workers import Setup, play_games
from train import curves
from train.baseline import Baseline
from train.clock import Clock
from train.config import compose
from train.evaluation import Evaluate
from train.examiner import Examiner
from train.gallery import Gallery, Guess, View
from train.games import GameLog, games_of
from train.health import health
from train.learner import Learner
from train.log import Exhibits, RunLog, compact
from train.memory import forecast, resident
from train.run import Run, command_for
from train.state import Progress, newest
from train.state import save as save_state
from train.supervised import learn_from_games
from train.troubles import Trouble
from train.watch import Watch
from train.window import Window

JUDGED = 2048
"""Positions of the newest games at most on which the network is judged."""


def train(
    run: Run, log: RunLog, workers: Workers, evaluate: Evaluate | None = None, gallery: Gallery | None = None
) -> Progress:
    """Until the budget is spent; `workers` play the games. Without `evaluate` nothing is measured, without `gallery` TensorBoard has
    curves alone."""
    loop = Loop(run, log, evaluate, gallery)
    loop.restore()
    loop.shelve()
    loop.measure()
    if not loop.baseline.is_there:
        log.say(f"{loop.game.name} has no features, so no EVAL is fitted")
    if loop.is_over():
        log.say(f"{run.folder}: complete, {loop.progress.games} games are played and learned from")
        loop.measure(is_last=True)
        return loop.progress
    log.say(forecast(run.config, loop.game, loop.learner.net.parameter_count, workers))
    while not loop.is_over():
        games = loop.play(workers)
        loop.judge(games)
        loop.learn(games)
        loop.fit()
        loop.tell(games)  # before it is saved: what is not saved is done and told again
        loop.warn()
        loop.save()
        loop.shelve()
        loop.measure()
    loop.measure(is_last=True)
    return loop.progress


class Loop:
    """The parts of the loop, and what they share."""

    def __init__(self, run: Run, log: RunLog, evaluate: Evaluate | None, gallery: Gallery | None) -> None:
        self.run, self.config, self.log = run, run.config, log
        self.game = load(self.config.game)
        net = make_net(self.config.net, self.game, self.config.seed)
        self.learner = Learner(self.game, net, self.config.learning, self.config.device)
        self.window = Window(self.game, self.config.window)
        self.baseline = Baseline(self.game)
        self.watch = Watch(self.config, self.game, log.history, log.warnings)
        self.examiner = Examiner(run, self.game, log, evaluate, gallery)
        how = self.config
        self.setup = Setup(how.game, how.selfplay, how.search, how.seed, how.precision, how.device)
        self.progress = Progress()
        self.clock = Clock()
        self.curves: dict[str, float] = {}
        """Of this iteration, so far."""
        self._newest: Sequence[GameRecord] = []  # the games of this iteration
        self._guesses: dict[str, Guess] = {}  # what was made of them before anything was learned from them
        self._commit = commit()
        self._net = ""  # the hash of the weights that play
        self._began = time.monotonic()  # since then, progress.seconds does not count

    # ── where it stands ──

    @property
    def seconds(self) -> float:
        return self.progress.seconds + time.monotonic() - self._began

    def is_over(self) -> bool:
        return self.run.budget.is_spent(self.progress, self.seconds)

    def restore(self) -> None:
        """Go on from the newest state that can be read, or begin."""
        found = newest(self.run.states, self.log.say)
        if found is None:
            self.begin()
            return
        self.progress, tensors = found
        self.learner.restore(tensors, self.progress.steps)
        self._fill_window()
        self.fit()
        self.log.say(f"{self.run.folder}: going on after {self.progress.games} games")
        self._post(self.watch.told(self.progress.games))

    def begin(self) -> None:
        """From random weights; or from recorded games, and that is saved. A function of the files and the configuration."""
        if not self.config.supervised.files:
            return
        lesson = learn_from_games(self.game, self.learner, self.config.supervised, self.config.seed, self.log)
        net = make_net(self.config.net, self.game, self.config.seed)
        net.load_state_dict(self.learner.mean.state_dict())
        self.learner = Learner(
            self.game, net, self.config.learning, self.config.device
        )  # a new task: its rate warms up again
        self.log.say(f"{self.run.folder}: {lesson}")
        if not self.log.history.has(0, "supervised/top-1"):  # perhaps it was killed between here and the state
            self.log.curves(0, lesson.curves())
        self.save()

    def _fill_window(self) -> None:
        """With the games of as many iterations as it takes, from disk."""
        made = (0, *self.progress.made)
        wanted = made[-1] - self.config.window.size(made[-1])
        first = max(k for k in range(len(made)) if made[k] <= wanted) if len(made) > 1 else 0
        self.window.made = made[first]
        for iteration in range(first, self.progress.iterations):
            self._newest = games_of(self.run.games, iteration, self.game, self.log.say)
            self.window.extend(self._newest)
        self.window.made = made[-1]

    def save(self) -> None:
        self.progress = replace(self.progress, seconds=self.seconds)
        self._began = time.monotonic()
        save_state(self.run.states, self.progress, self.learner.tensors())

    def shelve(self) -> None:
        """The checkpoint of the mean of the weights: what plays next. One that is there already stays, unless it is damaged."""
        path = self.run.checkpoint(self.progress.games)
        if path.exists():
            try:
                self._net = verify(path, self.game).short
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
        keep_every(
            self.run.folder, self.config.keep * self.config.games, path
        )  # newer ones may lie there, of a lost state

    # ── the parts of an iteration ──

    def play(self, workers: Workers) -> list[GameRecord]:
        """The games of this iteration, by number; those that a killed run has left are not played again."""
        first = self.progress.iterations * self.config.games
        numbers = range(first, first + self.config.games)
        kept = GameLog(self.run.games, self.progress.iterations, self.game, self._net, self.log.say)
        missing, work = [number for number in numbers if number not in kept.games], Work()
        with kept, self.clock.of("self-play"):
            if missing:
                network = pack(self.run.checkpoint(self.progress.games))
                playing = play_games(self.setup, network, missing, workers)
                done = len(numbers) - len(missing)
                for record, counted in self.log.bar(playing, len(numbers), "self-play", "game", done):
                    kept.add(record)
                    work = work.plus(counted)
            kept.sync()
        played = Statistics.of([kept.games[number] for number in missing])
        self.curves |= curves.of_speed(played, work, self.clock.seconds("self-play"))
        return [kept.games[number] for number in numbers]

    def judge(self, games: Sequence[GameRecord]) -> None:
        """What do the network that played and EVAL make of them, which have not learned from them yet?"""
        self._newest, self._guesses = games, {}
        fresh = Window.of(self.game, games, self.config.window.fast)
        plies = fresh.evenly(JUDGED)
        if not len(plies):
            return
        batch = fresh.positions(plies)
        policies, utilities = self.learner.guess(batch)
        self.curves |= curves.of_judgement(policies, utilities[:, 0], batch, fresh.stages(plies, curves.STAGES))
        outcomes = batch.outcomes[:, 0]
        self._guesses = {"value": (utilities[:, 0], outcomes), "search": (batch.searched[:, 0], outcomes)}
        by_eval = self.baseline.guess(fresh, plies)
        if by_eval is not None:
            self.curves |= judge(by_eval, outcomes).curves("fresh/eval")
            self._guesses["EVAL"] = by_eval, outcomes

    def learn(self, games: Sequence[GameRecord]) -> None:
        """The window takes the games; then so many steps that each new position is drawn `window.samples` times on average."""
        self.window.extend(games)
        progress, how = self.progress, self.config.learning
        due = int(self.window.made * self.config.window.samples / how.batch)
        rng = np.random.default_rng(derive(self.config.seed, "batches", progress.iterations))
        share = self.run.budget.share(progress, self.seconds)
        steps = due - self.learner.steps
        with self.log.counter(steps, "learning", "step") as count, self.clock.of("learning"):
            losses = self.learner.learn(self.window, steps, rng, share, count)
        self.curves |= curves.of_learning(losses, how.value_weight, self.learner.steps)
        self.curves |= curves.of_window(self.window, self.learner.steps * how.batch)
        self.progress = replace(
            progress,
            iterations=progress.iterations + 1,
            games=progress.games + len(games),
            plies=progress.plies + sum(map(len, games)),
            steps=self.learner.steps,
            made=(*progress.made, self.window.made),
        )

    def fit(self) -> None:
        """EVAL's weights, into a file of their own; a game without features has none."""
        weights = self.baseline.fit(self.window, f"the window after {self.progress.games:,} games")
        if weights is not None:
            weights.save(self.run.eval(self.progress.games))

    # ── what it says ──

    def tell(self, games: Sequence[GameRecord]) -> None:
        """One line, and the curves."""
        told, found = Statistics.of(games), self.curves
        found |= curves.of_selfplay(told, self.game.players) | health(self.game, games)
        found |= curves.of_time(self.clock.read()) | {"memory/megabytes": resident()}
        line = [f"{self.progress.games:>7} games"]
        if math.isnan(found["loss/total"]):
            line.append("no step of learning")
        else:
            line += [
                f"loss {found['loss/total']:.3f}",
                f"policy {found['loss/divergence']:.3f} above its targets' {found['loss/entropy']:.3f}",
                f"value {found['loss/value']:.3f}",
            ]
        line.append(f"length {told.length:.1f}")
        if "speed/games per second" in found:  # else all were there already
            positions = compact(found["speed/positions per second"])
            line += [f"{found['speed/games per second']:.1f} games/s", f"{positions} positions/s"]
        if self.examiner.last is not None:
            line.append(self.examiner.last.line)
        self.log.say(", ".join(line))
        self.log.curves(self.progress.games, found)
        self.curves = {}

    def warn(self) -> None:
        """What is wrong with the run, if the watch sees anything new."""
        troubles = self.watch.look(self.progress.games)
        for trouble in troubles:
            self.log.say(trouble.text())
        self._post(troubles)

    def _post(self, troubles: Sequence[Trouble]) -> None:
        """In TensorBoard, those of one point together."""
        if troubles:
            text = "\n\n---\n\n".join(trouble.markdown() for trouble in troubles)
            self.log.show(self.progress.games, Exhibits(texts={"about/warnings": text}))

    def measure(self, is_last: bool = False) -> None:
        """Every few iterations, and the last checkpoint: how strong it is, and what there is to look at."""
        every, done = self.config.evaluation.every, self.progress.iterations
        if every and done and (is_last or done % every == 0):
            view = View(self.learner, self._newest, self._guesses, self.baseline.weights)
            with self.clock.of("evaluation"):
                self.examiner.examine(self.progress.games, view)
