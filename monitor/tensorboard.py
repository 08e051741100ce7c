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
from monitor.dashboard import layout
from monitor.history import History

Array = np.ndarray[Any, Any]


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

    def __init__(self, folder: Path, games: int, history: History, texts: Mapping[str, str]) -> None:
        """`games`: where the run begins or resumes. `texts`: Markdown by tag, shown from there on."""
        from torch.utils.tensorboard import SummaryWriter

        self.history = history
        self._known: set[str] = set()  # tags written so far
        self._unlaid: int | None = None  # the point at which tags came that no layout has yet
        purge = games if folder.is_dir() else None
        take_back(folder, games)
        self._writer: Any = SummaryWriter(str(folder), purge_step=purge, flush_secs=5)
        for name, text in texts.items():
            self._writer.add_text(name, text, games)
        for row in history.rows:
            if row["games"] == games:
                self.scalars(games, row["curves"])

    def scalars(self, games: int, values: Mapping[str, float]) -> None:
        if self._unlaid is not None and games > self._unlaid:
            self._lay_out()
        for name, value in values.items():
            self._writer.add_scalar(name, value, games)
        if not self._known.issuperset(values):
            self._known.update(values)
            self._unlaid = games

    def media(self, games: int, media: Media) -> None:
        """Once for a number of games."""
        for name, values in media.histograms.items():
            finite = values[np.isfinite(values)]
            if finite.size:
                self._writer.add_histogram(name, finite, games)
        for name, picture in media.pictures.items():
            self._writer.add_image(name, picture, games, dataformats="HWC")
        for name, text in media.texts.items():
            self._writer.add_text(name, text, games)

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        if self._unlaid is not None:
            self._lay_out()
        self._writer.close()

    def _lay_out(self) -> None:
        """Once for a number of games, when all tags of that point are known: a layout names only tags that exist."""
        from torch.utils.tensorboard.summary import custom_scalars

        writer = self._writer._get_file_writer()
        writer.add_summary(custom_scalars(layout(self.history.names())), self._unlaid)  # type: ignore[no-untyped-call]
        self._unlaid = None


def take_back(folder: Path, games: int) -> None:
    """Remove events from this point on, and what a kill has left of one that was being written.

    A file is a row of frames: length (8 bytes), its checksum (4), an event, its checksum (4). What follows a damaged one goes too.
    """
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.event_pb2 import Event

    for path in folder.glob("events.out.tfevents.*"):
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
