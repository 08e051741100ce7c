"""Lines as they arrive, for programs that answer line by line: `for number, answer in run_jobs(think, Lines(sys.stdin), cores())`.

The writer may wait for an answer before it writes the next line. So the iterator does not wait: where no whole line has come, it
gives `NOTHING_YET`, and `fileno()` is what to wait for. `waiting(Lines(sys.stdin))` waits.

Only the first `LONGEST` bytes of a line are kept, so that memory is bounded; `whole(line)` refuses a line that was cut.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from multiprocessing.connection import wait
from typing import IO, Any

from base.errors import UserError
from base.workers import NOTHING_YET

LONGEST = 1 << 20
_CHUNK = 1 << 16


class Lines:
    """An iterator over the lines of an open file, pipe or terminal, without their ends. Bytes that are not UTF-8 are replaced."""

    def __init__(self, file: IO[Any] | None) -> None:
        if file is None:
            raise UserError("expected lines on standard input, but it is closed")
        self._handle = file.fileno()
        self._lines: list[bytes] = []  # last first
        self._rest = bytearray()
        self._is_over = False

    def fileno(self) -> int:
        return self._handle

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> Any:
        while not self._lines:
            if self._is_over:
                raise StopIteration
            if not wait([self._handle], timeout=0):
                return NOTHING_YET
            self._read()
        return self._lines.pop().decode("utf-8", errors="replace").rstrip("\r")

    def _read(self) -> None:
        data = os.read(self._handle, _CHUNK)
        self._is_over = not data
        first, *others = data.split(b"\n")
        self._rest += first[: LONGEST + 1 - len(self._rest)]
        if others or (self._is_over and self._rest):
            *whole, rest = others or [b""]
            self._lines = [bytes(self._rest), *whole][::-1]
            self._rest = bytearray(rest)


def waiting(lines: Lines) -> Iterator[str]:
    """The lines, each as soon as it has come."""
    for line in lines:
        if line is NOTHING_YET:
            wait([lines.fileno()])
        else:
            yield line


def whole(line: str) -> str:
    """The line itself; an error where it was so long that only its beginning was kept."""
    if len(line) > LONGEST or len(line.encode()) > LONGEST:
        raise UserError(f"line: expected at most {LONGEST} bytes, got more; it begins with '{line[:40]}'")
    return line
