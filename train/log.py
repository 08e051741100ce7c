"""What a run says of itself: bars and one line per iteration on screen, curves in TensorBoard (which nothing else touches).

Everything is over games played, one unit for all of it. A run that goes on after so many games first takes back what TensorBoard was
told from there on, then tells it what the run's `curves.jsonl` (train/journal.py) has of that very point: so no step is there twice,
and the curves are those of the file, whatever killed the process. Events leave the files; a TensorBoard that has read them already is
told so too (`purge_step`), but not every reader of such files heeds that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from tqdm import tqdm

from base.files import write_bytes
from train.dashboard import layout
from train.journal import History, Journal

Array = np.ndarray[Any, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Exhibits:
    """What TensorBoard shows beside the curves, by tag."""

    histograms: Mapping[str, Array] = field(default_factory=dict)
    """Of any shape; what is not finite is left out."""
    pictures: Mapping[str, Array] = field(default_factory=dict)
    """uint8 [height, width, 3]."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Markdown."""


class RunLog:
    """`quiet` is for tests: nothing on screen."""

    def __init__(self, folder: Path, games: int, quiet: bool = False) -> None:
        """`folder`: the run's; `games`: where it stands as it begins or goes on."""
        self.folder, self.quiet = folder, quiet
        self.history = History(folder / "curves.jsonl", games)
        self.warnings = Journal(folder / "warnings.jsonl", games)
        self._games = games
        self._writer: Any = None
        self._about: Mapping[str, str] = {}
        self._known: set[str] = set()  # names of curves that were told
        self._unlaid: int | None = None  # the point at which names came that no layout has yet

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

    # ── TensorBoard ──

    def introduce(self, texts: Mapping[str, str]) -> None:
        """Markdown by tag, which TensorBoard shows from where the run begins or goes on."""
        self._about = texts

    def curves(self, games: int, values: Mapping[str, float]) -> None:
        """One point of each curve, by its name; what is not a number is left out. On disk when this returns."""
        board = self._board()
        self.history.add(games, values)
        self._tell(games, self.history.rows[-1]["curves"])
        board.flush()

    def show(self, games: int, exhibits: Exhibits) -> None:
        """Once for a number of games."""
        board = self._board()
        for name, values in exhibits.histograms.items():
            finite = values[np.isfinite(values)]
            if finite.size:
                board.add_histogram(name, finite, games)
        for name, picture in exhibits.pictures.items():
            board.add_image(name, picture, games, dataformats="HWC")
        for name, text in exhibits.texts.items():
            board.add_text(name, text, games)
        board.flush()

    def _board(self) -> Any:
        if self._writer is None:
            from torch.utils.tensorboard import SummaryWriter

            board = self.folder / "tb"
            purge = self._games if board.is_dir() else None
            take_back(board, self._games)
            self._writer = SummaryWriter(str(board), purge_step=purge, flush_secs=5)
            for name, text in self._about.items():
                self._writer.add_text(name, text, self._games)
            for row in self.history.rows:
                if row["games"] == self._games:
                    self._tell(self._games, row["curves"])
        return self._writer

    def _tell(self, games: int, values: Mapping[str, float]) -> None:
        if self._unlaid is not None and games > self._unlaid:
            self._lay_out()
        for name, value in values.items():
            self._writer.add_scalar(name, value, games)
        if not self._known.issuperset(values):
            self._known.update(values)
            self._unlaid = games

    def _lay_out(self) -> None:
        """Once for a number of games, when all curves of that point are known: a layout names only what there is."""
        from torch.utils.tensorboard.summary import custom_scalars

        writer = self._writer._get_file_writer()
        writer.add_summary(custom_scalars(layout(self.history.names())), self._unlaid)  # type: ignore[no-untyped-call]
        self._unlaid = None

    def close(self) -> None:
        if self._unlaid is not None:
            self._lay_out()
        if self._writer is not None:
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def take_back(board: Path, games: int) -> None:
    """Events from this point on leave the files, and what a kill has left of one that was being written.

    A file is a row of frames: length (8 bytes), its checksum (4), an event, its checksum (4). What follows a damaged one goes too.
    """
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.event_pb2 import Event

    for path in board.glob("events.out.tfevents.*"):
        data, kept, at = path.read_bytes(), bytearray(), 0
        while len(data) >= (end := at + 16 + int.from_bytes(data[at : at + 8], "little")) > at + 16:
            try:
                event = Event.FromString(data[at + 12 : end - 4])
            except DecodeError:
                break
            if event.step < games or event.HasField("file_version"):
                kept += data[at:end]
            at = end
        if len(kept) != len(data):
            write_bytes(path, bytes(kept))


def compact(number: float) -> str:
    """1234567 as 1.23M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"
