"""The one object that the training loop reports to: it computes metrics, logs them, warns, and shows pictures.

    observer = Observer(log, game, settings, media)
    with observer.clock.of("self-play"): ...
    observer.played(new_games, work, workers.metrics())     # each step of the loop reports what it did
    observer.validated(validation)
    observer.learned(learned.metrics() | window.metrics(draws))
    observer.finished(games, records, movers, hours)       # once per iteration: one line, metrics, warnings
    observer.evaluated(games, evaluation)           # every few iterations
    observer.show(games, view)

Nothing here changes what is learned. All is written before the state of the run is saved; a run that resumes from a state drops
what was written beyond it (monitor/history.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from games import Game
from games.record import GameRecord
from monitor.checks import Settings
from monitor.diagnostics import Finding
from monitor.health import health
from monitor.log import RunLog, compact
from monitor.media import MediaMaker, View
from monitor.quality import Array, Bin, calibration
from monitor.tensorboard import Media
from monitor.usage import Clock, resident
from monitor.values import Validation, of_selfplay, of_speed, of_time, of_validation
from monitor.warning_log import WarningLog
from selfplay.play import WorkCounts
from selfplay.statistics import Statistics


class Evaluation(Protocol):
    @property
    def line(self) -> str: ...
    @property
    def metrics(self) -> Mapping[str, float]: ...


class Observer:
    def __init__(self, log: RunLog, game: Game, settings: Settings, media: MediaMaker | None = None) -> None:
        """Without `media` TensorBoard has metrics alone."""
        self.log, self.game, self.media = log, game, media
        self.clock = Clock()
        self.warnings = WarningLog(settings, game.players, log.history, log.warnings)
        self._values: dict[str, float] = {}  # of this iteration, so far
        self._calibration: dict[str, list[Bin]] = {}
        self._evaluation = ""  # the line of the last one
        self._shown = 0  # the games after which media were last shown

    def resumed(self, games: int) -> None:
        """TensorBoard's events of this point were removed: show its warnings again."""
        self._post(games, self.warnings.at(games))

    def pretrained(self, values: Mapping[str, float]) -> None:
        """At 0 games; once, also where a run was killed before its first state."""
        if not any(self.log.history.has(0, name) for name in values):
            self.log.metrics(0, values)

    def played(self, records: Sequence[GameRecord], work: WorkCounts, workers: Mapping[str, float]) -> None:
        """The games of this iteration that were not on disk already; `workers`: the metrics of those that played them."""
        self._values |= of_speed(records, work, self.clock.seconds("self-play")) | dict(workers)

    def validated(self, found: Validation) -> None:
        """What the network and EVAL expected of games that they have not learned from yet."""
        self._values |= of_validation(found)
        sources = {"value": found.expected, "search": found.searched, "EVAL": found.by_eval}
        self._calibration = {
            name: calibration(expected, found.outcomes) for name, expected in sources.items() if expected is not None
        }

    def learned(self, values: Mapping[str, float]) -> None:
        self._values |= values

    def finished(
        self, games: int, records: Sequence[GameRecord], movers: Sequence[Array], hours: Mapping[str, float]
    ) -> None:
        """After an iteration: one line on screen, the metrics, and what is wrong. `hours`: of the run so far, and to its end."""
        statistics = Statistics.of(records)
        self._values |= of_selfplay(statistics, self.game.players) | health(self.game, records, movers)
        self._values |= (
            of_time(self.clock.read(), self.clock.overall()) | {"memory/megabytes": resident()} | dict(hours)
        )
        self.log.say(self._line(games, statistics))
        if self._calibration:
            self.log.calibration.add(games, {"calibration": self._calibration})
        self.log.metrics(games, self._values)
        self._values, self._calibration = {}, {}
        findings = self.warnings.update(games)
        for finding in findings:
            self.log.say(finding.text())
        self._post(games, findings)

    def evaluated(self, games: int, found: Evaluation, is_new: bool) -> None:
        """`is_new`: measured just now, not read from disk."""
        self._evaluation = f"after {games} games: {found.line}"
        if is_new:
            self.log.say(f"{games:>7} games: {found.line}")
        if is_new or not all(self.log.history.has(games, name) for name in found.metrics):
            self.log.metrics(games, found.metrics)

    def show(self, games: int, view: View) -> None:
        """Media, once for a number of games. A failure is one line and does not end the run."""
        if self.media is None or self._shown == games:
            return
        self._shown = games
        rows = [row["calibration"] for row in self.log.calibration.rows if row["games"] == games]
        bins = {name: [Bin(*each) for each in found] for name, found in (rows[-1] if rows else {}).items()}
        try:
            media = self.media.media(view, bins, self.log.history)
        except Exception as error:  # of a user's own game, perhaps, which was never drawn before
            self.log.say(f"no pictures after {games} games: {type(error).__name__}: {error}")
        else:
            self.log.show(games, media)

    def _line(self, games: int, statistics: Statistics) -> str:
        values = self._values
        line = [f"{games:>7} games"]
        if math.isnan(values["loss/total"]):
            line.append("no step of learning")
        else:
            line += [
                f"loss {values['loss/total']:.3f}",
                f"policy {values['loss/divergence']:.3f} above its targets' {values['loss/entropy']:.3f}",
                f"value {values['loss/value']:.3f}",
            ]
        line.append(f"length {statistics.length:.1f}")
        if "speed/games per second" in values:  # else all were on disk already
            positions = compact(values["speed/positions per second"])
            line += [f"{values['speed/games per second']:.1f} games/s", f"{positions} positions/s"]
        if "time/hours left" in values:
            line.append(f"{duration(values['time/hours left'])} left")
        return ", ".join([*line, *filter(None, [self._evaluation])])

    def _post(self, games: int, findings: Sequence[Finding]) -> None:
        """In TensorBoard, those of one point together."""
        if findings:
            text = "\n\n---\n\n".join(finding.markdown() for finding in findings)
            self.log.show(games, Media(texts={"about/warnings": text}))


def duration(hours: float) -> str:
    """`50 s`, `12 min`, `3.4 h`."""
    seconds = round(3600 * hours)
    return f"{seconds} s" if seconds < 100 else f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{hours:.1f} h"
