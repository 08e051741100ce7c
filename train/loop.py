"""The loop: play, learn, measure, again and again, so that it can be killed at any moment.

    for iteration 0, 1, 2, …                        a network plays a block of games by number, then learns
        games of the block      played by the mean of the weights, each on disk as it ends
        window                  grows and forgets; its newest positions are drawn a fixed number of times
        learner                 takes its steps
        state                   saved whole; from here a killed run goes on
        checkpoint              the network that plays the next block
        evaluation              every few iterations, and at the end

What a killed run repeats comes out as it did before: a game is a function of the network, the configuration and its number; the steps
of an iteration, of the state before it and the games. So with a budget in games, killed and resumed is bit for bit the
uninterrupted run, and one worker gives what several give. Silver et al. 2018 (AlphaZero); Wu 2019 (KataGo).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from base.errors import UserError
from base.files import read_json, write_json
from base.seeds import derive
from checkpoints import Card, Elo, commit, keep_every, read_card, save, verify, write_card
from games import load
from games.record import GameRecord
from nets import make_net
from selfplay.statistics import Statistics
from selfplay.workers import Setup, Workers
from train.evaluation import Evaluate, Evaluation
from train.games import GameLog, games_of
from train.learner import Learner, Losses
from train.log import RunLog, compact
from train.memory import forecast, resident
from train.run import Run
from train.state import Progress, newest
from train.state import save as save_state
from train.window import Window


def train(run: Run, log: RunLog, workers: int, evaluate: Evaluate | None = None) -> Progress:
    """Until the budget is spent. Without `evaluate` nothing is measured."""
    loop = Loop(run, log, evaluate)
    loop.restore()
    loop.shelve()
    if loop.is_over():
        log.say(f"{run.folder}: complete, {loop.progress.games} games are played and learned from")
        loop.measure(is_last=True)
        return loop.progress
    config = run.config
    setup = Setup(config.game, config.selfplay, config.search, config.seed, config.precision, config.device)
    log.say(forecast(config, loop.game, loop.learner.net.parameter_count, workers))
    with Workers(setup, workers) as players:
        while not loop.is_over():
            games = loop.play(players)
            losses = loop.learn(games)
            loop.save()
            loop.shelve()
            loop.tell(games, losses)
            loop.measure()
    loop.measure(is_last=True)
    return loop.progress


class Loop:
    """The parts of the loop, and what they share."""

    def __init__(self, run: Run, log: RunLog, evaluate: Evaluate | None) -> None:
        self.run, self.config, self.log, self.evaluate = run, run.config, log, evaluate
        self.game = load(self.config.game)
        net = make_net(self.config.net, self.game, self.config.seed)
        self.learner = Learner(self.game, net, self.config.learning, self.config.device)
        self.window = Window(self.game, self.config.window)
        self.progress = Progress()
        self.measured: Evaluation | None = None
        self._commit = commit()
        self._net = ""  # the hash of the weights that play
        self._began = time.monotonic()
        self._playing = self._learning = 0.0  # seconds of this iteration

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
            return
        self.progress, tensors = found
        self.learner.restore(tensors, self.progress.steps)
        self._fill_window()
        self.log.say(f"{self.run.folder}: going on after {self.progress.games} games")

    def _fill_window(self) -> None:
        """With the games of as many iterations as it takes, from disk."""
        made = (0, *self.progress.made)
        wanted = made[-1] - self.config.window.size(made[-1])
        first = max(k for k in range(len(made)) if made[k] <= wanted) if len(made) > 1 else 0
        self.window.made = made[first]
        for iteration in range(first, self.progress.iterations):
            self.window.extend(games_of(self.run.games, iteration, self.game, self.log.say))
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
        command = f"python -m train '{self.game.name}' --run {self.run.name} --games {games}"
        card = Card(
            self.game.name,
            self.game.version,
            self.learner.mean.text,
            step=games,
            games=games,
            configuration=asdict(self.config),
            commit=self._commit,
            seeds={"run": self.config.seed},
            command=command,
        )
        save(path, self.learner.mean, card, overwrite=True)
        self._net = verify(path).short
        keep_every(self.run.folder, self.config.keep * self.config.games)

    # ── the parts of an iteration ──

    def play(self, players: Workers) -> list[GameRecord]:
        """The games of this iteration, by number; those that a killed run has left are not played again."""
        began = time.monotonic()
        first = self.progress.iterations * self.config.games
        numbers = range(first, first + self.config.games)
        with GameLog(self.run.games, self.progress.iterations, self.game, self._net, self.log.say) as kept:
            missing = [number for number in numbers if number not in kept.games]
            if missing:
                players.use(str(self.run.checkpoint(self.progress.games)))
                done = len(numbers) - len(missing)
                for record in self.log.bar(players.play(missing), len(numbers), "self-play", "game", done):
                    kept.add(record)
            kept.sync()
            self._playing = time.monotonic() - began
            return [kept.games[number] for number in numbers]

    def learn(self, games: Sequence[GameRecord]) -> Losses:
        """The window takes the games, the learner so many steps that each new position is drawn `window.samples` times on average."""
        began = time.monotonic()
        self.window.extend(games)
        progress = self.progress
        due = int(self.window.made * self.config.window.samples / self.config.learning.batch)
        rng = np.random.default_rng(derive(self.config.seed, "batches", progress.iterations))
        share = self.run.budget.share(progress, self.seconds)
        steps = due - self.learner.steps
        with self.log.counter(steps, "learning", "step") as count:
            losses = self.learner.learn(self.window, steps, rng, share, count)
        self.progress = replace(
            progress,
            iterations=progress.iterations + 1,
            games=progress.games + len(games),
            plies=progress.plies + sum(map(len, games)),
            steps=self.learner.steps,
            made=(*progress.made, self.window.made),
        )
        self._learning = time.monotonic() - began
        return losses

    # ── what it says ──

    def tell(self, games: Sequence[GameRecord], losses: Losses) -> None:
        """One line, and the curves."""
        told = Statistics.of(games)
        rate = told.games / max(self._playing, 1e-9)
        positions = (told.full + told.fast) / max(self._playing, 1e-9)
        total, above = losses.policy + self.config.learning.value_weight * losses.value, losses.policy - losses.entropy
        line = [
            f"{self.progress.games:>7} games",
            f"loss {total:.3f} (policy {above:.3f} above its targets' {losses.entropy:.3f}, value {losses.value:.3f})",
            f"{rate:.1f} games/s",
            f"{compact(positions)} positions/s",
            f"length {told.length:.1f}",
        ]
        if self.measured is not None:
            line.append(self.measured.line)
        self.log.say(", ".join(line))
        curves = {f"loss/{name}": value for name, value in losses._asdict().items() if name not in ("rate", "gradient")}
        curves |= {"learning/rate": losses.rate, "learning/gradient": losses.gradient}
        curves |= {"learning/seconds": self._learning, "learning/steps": float(self.learner.steps)}
        curves |= {"selfplay/games per second": rate, "selfplay/positions per second": positions}
        curves |= {"selfplay/length": told.length, "selfplay/duplicates": told.duplicates / max(told.games, 1)}
        curves |= {"selfplay/surprise": told.surprise, "selfplay/seconds": self._playing}
        curves |= {"window/positions": float(len(self.window)), "window/megabytes": self.window.bytes() / 1e6}
        curves["memory/megabytes"] = resident()
        for seat in range(self.game.players):
            mean = sum(outcome[seat] * count for outcome, count in told.outcomes.items()) / max(told.games, 1)
            curves[f"selfplay/utility of player {seat}"] = mean
        if told.played_out:
            curves["selfplay/wrong resignations"] = told.wrongly / told.played_out
        self.log.curves(self.progress.games, curves)

    def measure(self, is_last: bool = False) -> None:
        """Every few iterations, and the last checkpoint; each once."""
        every, done = self.config.evaluation.every, self.progress.iterations
        if self.evaluate is None or not every or not done or (done % every and not is_last):
            return
        games = self.progress.games
        path = self.run.evaluation(games)
        checkpoint = self.run.checkpoint(games)
        if path.exists():
            with suppress(UserError, TypeError):
                self.measured = Evaluation(**read_json(path))
                note_elo(checkpoint, self.measured.elo)  # perhaps it was killed before, or the checkpoint written again
                return
        self.measured = self.evaluate(self.game, checkpoint, derive(self.config.seed, "evaluation", games), self.log)
        write_json(path, asdict(self.measured))
        note_elo(checkpoint, self.measured.elo)
        self.log.say(f"{games:>7} games: {self.measured.line}")
        self.log.curves(games, self.measured.curves)


def note_elo(checkpoint: Path, found: Sequence[float]) -> None:
    """On the checkpoint's card: value, low, high."""
    card = read_card(checkpoint)
    if found and card.elo != (elo := Elo(*found)):
        write_card(checkpoint, replace(card, elo=elo))
