"""Where a run writes what it measures: lines and bars on screen, JSON lines in its folder, TensorBoard.

with RunLog(run.folder, games) as log:              # games: where the run begins or resumes
    log.say("a line")
    log.metrics(512, {"loss/policy": 1.31})
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

from tqdm import tqdm

from monitor.history import CALIBRATION, METRICS, WARNINGS, CalibrationRows, History, WarningRows
from monitor.tensorboard import Board, Media

T = TypeVar("T")


class RunLog:
    """`quiet`: nothing on screen."""

    def __init__(self, folder: Path, games: int, quiet: bool = False, game: str = "") -> None:
        """`folder`: the run's; `games`: where it stands when it begins or resumes; `game`: its name, which leads TensorBoard's tags."""
        self.folder, self.quiet, self.game = folder, quiet, game
        self.history = History(folder / METRICS, games)
        self.warnings = WarningRows(folder / WARNINGS, games)
        self.calibration = CalibrationRows(folder / CALIBRATION, games)
        self._games = games
        self._texts: Mapping[str, str] = {}
        self._settings: Mapping[str, str | float] = {}
        self._board: Board | None = None

    # ── the screen ──

    def say(self, text: str) -> None:
        """A line that does not run into the bars."""
        if not self.quiet:
            tqdm.write(text, file=sys.stdout)
            sys.stdout.flush()

    def bar(self, things: Iterable[T], total: int, what: str, unit: str, done: int = 0) -> Iterator[T]:
        """Passes `things` on, and shows how fast they come and how long they will take."""
        with self._shown(what, unit, total, done) as shown:
            for thing in things:
                yield thing
                shown.update()

    @contextmanager
    def counter(self, total: int, what: str, unit: str) -> Iterator[Callable[[], object]]:
        """A bar that counts calls."""
        with self._shown(what, unit, total) as shown:
            yield shown.update

    @contextmanager
    def progress(self, what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
        """A bar that is set to (done, total) now and then."""
        with self._shown(what, unit) as shown:

            def show(done: int, total: int) -> None:
                shown.total = total
                shown.update(done - shown.n)

            yield show

    def _shown(self, what: str, unit: str, total: int | None = None, done: int = 0) -> tqdm[Any] | Lines:
        """A bar on a terminal, lines in a file."""
        if self.quiet or sys.stderr.isatty():
            return tqdm(desc=what, total=total, unit=unit, initial=done, leave=False, disable=self.quiet)
        return Lines(lambda text: self.say(f"{self.folder}: {text}"), what, unit, total, done)

    # ── the folder and TensorBoard ──

    def introduce(self, texts: Mapping[str, str], settings: Mapping[str, str | float]) -> None:
        """Markdown by tag, which TensorBoard shows from where the run begins or resumes; and settings by which it compares runs."""
        self._texts, self._settings = texts, settings

    def metrics(self, games: int, values: Mapping[str, float]) -> None:
        """One point of each metric, by its tag; what is not a number is left out. On disk when this returns."""
        board = self.board()
        self.history.add(games, values)
        board.scalars(games, self.history.rows[-1]["curves"])
        board.flush()

    def show(self, games: int, media: Media) -> None:
        """Once for a number of games."""
        board = self.board()
        board.media(games, media)
        board.flush()

    def board(self) -> Board:
        if self._board is None:
            folder = self.folder / "tb"
            self._board = Board(folder, self._games, self.history, self._texts, self.game, self._settings)
        return self._board

    def close(self) -> None:
        if self._board is not None:
            self._board.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


class Lines:
    """Progress where there is no terminal: a line every EVERY seconds. What is done sooner has none."""

    EVERY = 30.0

    def __init__(self, say: Callable[[str], object], what: str, unit: str, total: int | None, done: int) -> None:
        self.total, self.n = total, done
        self._say, self._what, self._unit = say, what, unit
        self._first, self._began = done, time.monotonic()
        self._due = self._began + self.EVERY

    def update(self, n: int = 1) -> None:
        self.n += n
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + self.EVERY
        of = f" of {self.total:,}" if self.total else ""
        rate = (self.n - self._first) / (now - self._began)
        self._say(f"{self._what}, {self.n:,}{of} {self._unit}s, {compact(rate)} a second")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        pass


def compact(number: float) -> str:
    """1234567 as 1.23M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"
