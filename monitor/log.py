"""Where a run writes what it measures: lines and bars on screen, JSON lines in its folder, TensorBoard.

with RunLog(run.folder, games) as log:              # games: where the run begins or resumes
    log.say("a line")
    log.metrics(512, {"loss/policy": 1.31})
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeVar

from tqdm import tqdm

from monitor.history import CALIBRATION, METRICS, WARNINGS, CalibrationRows, History, WarningRows
from monitor.tensorboard import Board, Media

T = TypeVar("T")


class RunLog:
    """`quiet` is for tests: nothing on screen."""

    def __init__(self, folder: Path, games: int, quiet: bool = False) -> None:
        """`folder`: the run's; `games`: where it stands when it begins or resumes."""
        self.folder, self.quiet = folder, quiet
        self.history = History(folder / METRICS, games)
        self.warnings = WarningRows(folder / WARNINGS, games)
        self.calibration = CalibrationRows(folder / CALIBRATION, games)
        self._games = games
        self._texts: Mapping[str, str] = {}
        self._board: Board | None = None

    # ── the screen ──

    def say(self, text: str) -> None:
        """A line that does not run into the bars."""
        if not self.quiet:
            tqdm.write(text, file=sys.stdout)
            sys.stdout.flush()

    def bar(self, things: Iterable[T], total: int, what: str, unit: str, done: int = 0) -> Iterator[T]:
        """Passes `things` on, and shows how fast they come and how long they will take; only on a terminal."""
        silent = True if self.quiet else None  # None: tqdm finds out whether it is a terminal
        with tqdm(things, desc=what, total=total, unit=unit, initial=done, leave=False, disable=silent) as shown:
            yield from shown

    @contextmanager
    def counter(self, total: int, what: str, unit: str) -> Iterator[Callable[[], object]]:
        """A bar that counts calls."""
        with tqdm(desc=what, total=total, unit=unit, leave=False, disable=True if self.quiet else None) as shown:
            yield shown.update

    @contextmanager
    def progress(self, what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
        """A bar that is set to (done, total) now and then."""
        with tqdm(desc=what, unit=unit, leave=False, disable=True if self.quiet else None) as shown:

            def show(done: int, total: int) -> None:
                shown.total = total
                shown.update(done - shown.n)

            yield show

    # ── the folder and TensorBoard ──

    def introduce(self, texts: Mapping[str, str]) -> None:
        """Markdown by tag, which TensorBoard shows from where the run begins or resumes."""
        self._texts = texts

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
            self._board = Board(self.folder / "tb", self._games, self.history, self._texts)
        return self._board

    def close(self) -> None:
        if self._board is not None:
            self._board.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def compact(number: float) -> str:
    """1234567 as 1.23M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"
