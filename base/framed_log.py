"""The framed log: an append-only file of checksummed byte strings. Self-play games live in it.

    with LogWriter("games.log") as log:
        offset = log.append(payload)        # survives the death of this process from here on
        log.sync()                          # and the death of the machine from here on

    for offset, payload in read_log("games.log"):
        ...

    file    HEADER, then frames to the end
    HEADER  8 bytes  b"zermelo\\n"
            u32      format version, 1
    frame   4 bytes  MARKER
            u32      length of the payload, at most FRAME_LIMIT
            u32      CRC-32 of (u64 offset of this frame, u32 length, payload)
            ...      payload
    Integers are little-endian.

A killed writer leaves a prefix of its last frame: a *torn tail*, which ends reading and which the next writer drops.
A bad frame with a whole frame somewhere after it is *damage*: it is reported, and nothing is dropped.
The marker makes it possible to find frames after a damaged length. The offset in the checksum prevents that a log inside a
payload is read as frames of this one.
"""

import os
import re
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import Literal, Self

from base.errors import UserError
from base.files import StrPath, drop_lock, make_folder, sync_folder, take_lock

MAGIC = b"zermelo\n"
VERSION = 1
HEADER = MAGIC + struct.pack("<I", VERSION)
MARKER = b"\xf7\xa9\x0cF"  # not UTF-8, so never in the middle of text
FRAME_LIMIT = 1 << 26

_FRAME = struct.Struct("<4sII")
_COVERED = struct.Struct("<QI")
_WINDOW = 1 << 20


class LogWriter:
    """The one writer of a log; a second one is refused. Not for several threads at once.

    Opening reads the log through: a torn tail is reported, counted in `dropped`, and cut off; damage is a UserError.
    """

    def __init__(self, path: StrPath, *, report: Callable[[str], object] = warnings.warn) -> None:
        self.path = Path(path)
        self.dropped = 0  # bytes of a torn tail, cut off on opening
        make_folder(self.path.parent)
        self._file = FileIO(self.path, "a+b")
        try:
            if not take_lock(self._file.fileno(), wait=False):
                raise UserError(f"{self.path}: expected to be the only writer of this log, but it has one already")
            self._end = self._end_of_last_frame(report)
        except BaseException:
            self._file.close()
            raise

    def append(self, payload: bytes) -> int:
        """Write one frame and return its offset. After an error (disk full, Ctrl-C) nothing of it is there."""
        if len(payload) > FRAME_LIMIT:
            raise UserError(f"{self.path}: expected a payload of at most {FRAME_LIMIT} bytes, got {len(payload)}")
        start = self._end
        frame = memoryview(_FRAME.pack(MARKER, len(payload), _checksum(start, payload)) + payload)
        try:
            while frame:
                frame = frame[self._file.write(frame) :]
            self._end = frame_end(start, payload)
        except BaseException:
            self._file.truncate(start)
            self._end = start
            raise
        return start

    def sync(self) -> None:
        """Everything appended survives a power failure once this returns."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        if not self._file.closed:
            try:
                self.sync()
            finally:
                drop_lock(self._file.fileno())
                self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _end_of_last_frame(self, report: Callable[[str], object]) -> int:
        size = os.fstat(self._file.fileno()).st_size
        if not _has_header(self._file, self.path):  # new, or its first writer was killed
            self._file.truncate(0)
            self._file.write(HEADER)
            self.sync()
            sync_folder(self.path.parent)
            return len(HEADER)
        end = len(HEADER)
        for offset, payload in _frames(self._file, self.path, end, size, "raise"):
            end = frame_end(offset, payload)
        if end < size:
            self.dropped = size - end
            report(f"{self.path}: dropped {self.dropped} bytes of an unfinished frame at {end}")
            self._file.truncate(end)
        return end


def read_log(
    path: StrPath, start: int = 0, *, on_damage: Literal["raise", "skip"] = "raise"
) -> Iterator[tuple[int, bytes]]:
    """The (offset, payload) of every whole frame that is in the log now, from the frame at offset `start` on.

    A writer may append meanwhile: to follow it, start again at `frame_end` of the last frame. A torn tail ends the
    iteration. Damage raises a UserError after all frames before it; with "skip" it is skipped, which gives
    everything that can still be read.
    """
    with FileIO(path) as file:
        if _has_header(file, path):
            size = os.fstat(file.fileno()).st_size
            if start > size:
                raise UserError(f"{path}: expected an offset in its {size} bytes, got {start}")
            yield from _frames(file, path, max(start, len(HEADER)), size, on_damage)


def frame_end(offset: int, payload: bytes) -> int:
    """The offset after the frame of `payload` at `offset`."""
    return offset + _FRAME.size + len(payload)


def _has_header(file: FileIO, path: StrPath) -> bool:
    """False for a file whose header is not complete yet."""
    file.seek(0)
    header = file.read(len(HEADER))
    if header == HEADER:
        return True
    if HEADER.startswith(header):
        return False
    if header.startswith(MAGIC):
        raise UserError(f"{path}: expected a log of version {VERSION}, got {int.from_bytes(header[8:], 'little')}")
    raise UserError(f"{path}: expected a log, which begins with {MAGIC!r}, got {header[:8]!r}")


def _frames(file: FileIO, path: StrPath, start: int, end: int, on_damage: str) -> Iterator[tuple[int, bytes]]:
    """The frames that begin at `start` or later and are whole before `end`."""
    offset = start
    while offset < end:
        payload = _payload_at(file, offset, end)
        if payload is None:
            found = _next_whole_frame(file, offset, end)
            if found is None:
                return
            # A live writer may have cut off a torn tail and appended since, so the frame is read again.
            payload = _payload_at(file, offset, end)
            if payload is None:
                if on_damage == "raise":
                    raise UserError(f"{path}: expected a whole frame at {offset}, got damaged bytes up to {found}")
                offset = found
                continue
        yield offset, payload
        offset = frame_end(offset, payload)


def _payload_at(file: FileIO, offset: int, end: int) -> bytes | None:
    """The payload of the frame at `offset`; None unless the frame is whole, correct, and ends before `end`."""
    file.seek(offset)
    head = file.read(_FRAME.size)
    if len(head) < _FRAME.size:
        return None
    marker, length, checksum = _FRAME.unpack(head)
    if marker != MARKER or length > FRAME_LIMIT or offset + _FRAME.size + length > end:
        return None
    payload = file.read(length)
    return payload if len(payload) == length and _checksum(offset, payload) == checksum else None


def _next_whole_frame(file: FileIO, offset: int, end: int) -> int | None:
    """The offset of the first whole frame after `offset`."""
    base = offset + 1
    while base < end:
        file.seek(base)
        window = file.read(min(_WINDOW, end - base))
        for hit in re.finditer(re.escape(MARKER), window):
            if _payload_at(file, base + hit.start(), end) is not None:
                return base + hit.start()
        base += max(len(window) - len(MARKER) + 1, 1)
    return None


def _checksum(offset: int, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(_COVERED.pack(offset, len(payload))))
