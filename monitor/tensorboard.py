"""TensorBoard's files of a run. No other module imports TensorBoard.

The horizontal axis is games played, for everything. When a run resumes after so many games, events from that point on are first
removed from the files; then what the run's history (monitor/history.py) has of that very point is written again. So no step is there
twice, and the values are those of the history, whatever killed the process. A TensorBoard that has read the removed events already is
notified too (`purge_step`), which not every reader of such files heeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from base.files import write_bytes
from monitor.dashboard import LineNumbers, layout, prefixed
from monitor.history import History

Array = np.ndarray[Any, Any]

COMPARED = ("elo/search", "accuracy/search", "fresh/top-1", "fresh/value loss", "loss/policy", "time/hours")
"""Metrics of the page of hyperparameters. Each is the first line of its chart: that page looks for them in the run's own folder."""


@dataclass(frozen=True)
class Media:
    """What TensorBoard shows beside the metrics, by tag."""

    histograms: Mapping[str, Array] = field(default_factory=dict)
    """Of any shape; what is not finite is left out."""
    pictures: Mapping[str, Array] = field(default_factory=dict)
    """uint8 [height, width, 3]."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Markdown."""


class Board:
    """The writer of one process of a run."""

    def __init__(
        self,
        folder: Path,
        games: int,
        history: History,
        texts: Mapping[str, str],
        game: str = "",
        settings: Mapping[str, str | float] | None = None,
    ) -> None:
        """`games`: where the run begins or resumes. `texts`: Markdown by tag, shown from there on. `game`: leads every tag. `settings`:
        what TensorBoard's page of hyperparameters compares runs by."""
        self.history, self.folder, self.game, self._games = history, folder, game, games
        self._known: set[str] = set()  # tags written so far
        self._unlaid: int | None = None  # the point at which tags came that no layout has yet
        self._is_resumed = folder.is_dir()
        take_back(folder, games)
        self._writers: dict[int, Any] = {}
        self._numbers = LineNumbers()
        for row in history.rows:
            for name in row["curves"]:
                self._numbers.of(name)
        for name, text in texts.items():
            self._writer.add_text(prefixed(game, name), text, games)
        if settings:
            self._compare(settings)
        for row in history.rows:
            if row["games"] == games:
                self.scalars(games, row["curves"])

    @property
    def _writer(self) -> Any:
        """Of the run's own folder: everything but the further lines of charts."""
        return self._of(0)

    def _of(self, number: int) -> Any:
        """The writer of the lines of this number."""
        from torch.utils.tensorboard import SummaryWriter

        if number not in self._writers:
            folder = self.folder / str(number + 1) if number else self.folder
            purge = self._games if self._is_resumed else None
            self._writers[number] = SummaryWriter(str(folder), purge_step=purge, flush_secs=5)
        return self._writers[number]

    def _compare(self, settings: Mapping[str, str | float]) -> None:
        """The run's row on the page of hyperparameters: its settings, and the metrics COMPARED."""
        from torch.utils.tensorboard.summary import hparams

        metrics = {prefixed(self.game, tag): 0.0 for tag in COMPARED}
        for summary in hparams(dict(settings), metrics):  # type: ignore[no-untyped-call]
            self._writer._get_file_writer().add_summary(summary, self._games)

    def scalars(self, games: int, values: Mapping[str, float]) -> None:
        if self._unlaid is not None and games > self._unlaid:
            self._lay_out()
        for name, value in values.items():
            self._of(self._numbers.of(name)).add_scalar(prefixed(self.game, name), value, games)
        if not self._known.issuperset(values):
            self._known.update(values)
            self._unlaid = games

    def media(self, games: int, media: Media) -> None:
        """Once for a number of games."""
        for name, values in media.histograms.items():
            finite = values[np.isfinite(values)]
            if finite.size:
                self._writer.add_histogram(prefixed(self.game, name), finite, games)
        for name, picture in media.pictures.items():
            self._writer.add_image(prefixed(self.game, name), picture, games, dataformats="HWC")
        for name, text in media.texts.items():
            self._writer.add_text(prefixed(self.game, name), text, games)

    def flush(self) -> None:
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        if self._unlaid is not None:
            self._lay_out()
        for writer in self._writers.values():
            writer.close()

    def _lay_out(self) -> None:
        """Once for a number of games, when all tags of that point are known: a layout names only tags that exist."""
        from torch.utils.tensorboard.summary import custom_scalars

        writer = self._writer._get_file_writer()
        writer.add_summary(custom_scalars(layout(self.history.names(), self.game, self._numbers)), self._unlaid)  # type: ignore[no-untyped-call]
        self._unlaid = None


def take_back(folder: Path, games: int) -> None:
    """Remove events from this point on, and what a kill has left of one that was being written.

    A file is a row of frames: length (8 bytes), its checksum (4), an event, its checksum (4). What follows a damaged one goes too.
    """
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.event_pb2 import Event

    for path in folder.rglob("events.out.tfevents.*"):
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
