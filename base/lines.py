"""Lines as they arrive, for programs that answer line by line: `for number, answer in run_jobs(think, Lines(sys.stdin), cores())`.

A person or a program at the other end may wait for an answer before it writes the next line. So nothing here waits: where no whole
line is there, the iterator gives `NOTHING_YET`, and `fileno()` is what to wait for.
"""

from __future__ import annotations

import os
from multiprocessing.connection import wait
from typing import IO, Any

from base.pool import NOTHING_YET

_CHUNK = 1 << 16


class Lines:
    """An iterator over the lines of an open file, pipe or terminal, without their ends. What is not UTF-8 is replaced."""

    def __init__(self, file: IO[Any]) -> None:
        self._handle = file.fileno()
        self._lines: list[bytes] = []  # last first
        self._rest = b""
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
        *lines, self._rest = (self._rest + data).split(b"\n")
        if self._is_over and self._rest:
            lines, self._rest = [self._rest], b""
        self._lines = lines[::-1]
