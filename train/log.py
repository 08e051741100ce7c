"""What a run says of itself: bars and one line per iteration on screen, curves in TensorBoard (which nothing else touches).

Every curve is over games played, one unit for all of them. A run that goes on first takes back what a killed process had written beyond
the state it goes on from (`purge_step`), so no step is there twice. The same points are in the run's `curves.jsonl` (train/journal.py).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

from tqdm import tqdm

from train.journal import History, Journal

T = TypeVar("T")


class RunLog:
    """`quiet` is for tests: nothing on screen."""

    def __init__(self, folder: Path, games: int, quiet: bool = False) -> None:
        """`folder`: the run's; `games`: where it stands as it begins or goes on."""
        self.folder, self.quiet = folder, quiet
        self.history = History(folder / "curves.jsonl", games)
        self.warnings = Journal(folder / "warnings.jsonl", games)
        self._games = games
        self._writer: Any = None

    def say(self, text: str) -> None:
        """A line that does not run into the bars."""
        if not self.quiet:
            tqdm.write(text, file=sys.stdout)
            sys.stdout.flush()

    def bar(self, things: Iterable[T], total: int, what: str, unit: str, done: int = 0) -> Iterator[T]:
        """Passes `things` on, and shows how fast they come and how long they will take; only on a terminal."""
        silent = True if self.quiet else None  # None: tqdm looks whether it is a terminal
        with tqdm(things, desc=what, total=total, unit=unit, initial=done, leave=False, disable=silent) as shown:
            yield from shown

    @contextmanager
    def counter(self, total: int, what: str, unit: str) -> Iterator[Callable[[], object]]:
        """A bar that counts calls."""
        with tqdm(desc=what, total=total, unit=unit, leave=False, disable=True if self.quiet else None) as shown:
            yield shown.update

    @contextmanager
    def progress(self, what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
        """A bar for whoever says (done, total) now and then."""
        with tqdm(desc=what, unit=unit, leave=False, disable=True if self.quiet else None) as shown:

            def show(done: int, total: int) -> None:
                shown.total = total
                shown.update(done - shown.n)

            yield show

    def curves(self, games: int, values: Mapping[str, float]) -> None:
        """One point of each curve, by its name; what is not a number is left out. On disk when this returns."""
        self.history.add(games, values)
        for name, value in self.history.rows[-1]["curves"].items():
            self._board().add_scalar(name, value, games)
        self._board().flush()

    def text(self, games: int, name: str, text: str) -> None:
        """Markdown, for TensorBoard alone."""
        self._board().add_text(name, text, games)
        self._board().flush()

    def _board(self) -> Any:
        if self._writer is None:
            from torch.utils.tensorboard import SummaryWriter

            board = self.folder / "tb"
            purge = self._games + 1 if board.is_dir() else None
            self._writer = SummaryWriter(str(board), purge_step=purge, flush_secs=5)
        return self._writer

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

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
