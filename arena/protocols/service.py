"""Lines in and out of an engine, and the one thread on which everything happens.

    service = Service(Uci(...), sys.stdin.fileno(), sys.stdout.fileno())
    code = service.run()

Three threads share the work. One reads lines, one writes them, and the main one handles events in the order in which they come: a
line, the end of loading, a report of a search, its result. So a protocol needs no lock.

The reader of the output may stop reading. Lines that only inform are then dropped; answers are kept, and nothing waits for them. A
closed output ends nothing: the input's end does.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import wait
from queue import SimpleQueue
from typing import Protocol

from base.lines import LONGEST, Lines
from base.workers import NOTHING_YET

MOST_LINES = 10_000
"""Of input that are read ahead."""
MOST_INFORMING = 1_000
"""Lines waiting to be written, beyond which those that only inform are dropped."""
FAREWELL = 2.0
"""Seconds, at the end, for the last answers to be read."""

Event = Callable[[], object]


class Handler(Protocol):
    """A protocol's side of the conversation. All its methods are called on one thread."""

    def begin(self, service: Service) -> None:
        """Before the first line."""

    def handle(self, line: str) -> None:
        """A line of input, without its end."""

    def end_of_input(self) -> None:
        """No more lines will come. Sooner or later `service.leave` has to be called."""

    def close(self) -> None:
        """The last call."""


class Service:
    def __init__(self, handler: Handler, reads: int, writes: int) -> None:
        """`reads`, `writes`: open file descriptors."""
        self.handler, self._input = handler, reads
        self.output = Output(writes)
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._room = threading.Semaphore(MOST_LINES)
        self._code: int | None = None

    def post(self, event: Event) -> None:
        """From any thread: call it on the main one."""
        self._events.put(event)

    def send(self, line: str) -> None:
        """An answer."""
        self.output.add(line)

    def inform(self, line: str) -> None:
        """A line that may be lost."""
        self.output.add(line, is_needed=False)

    def leave(self, code: int = 0) -> None:
        """End after the current event."""
        self._code = code

    def run(self) -> int:
        """The exit code."""
        self.handler.begin(self)
        threading.Thread(target=self._read, daemon=True).start()
        try:
            while self._code is None:
                self._events.get()()
        finally:
            self.handler.close()
            self.output.close(FAREWELL)
        return self._code

    def _read(self) -> None:
        lines = Lines(_Descriptor(self._input))  # type: ignore[arg-type]
        try:
            for line in lines:
                if line is NOTHING_YET:
                    wait([self._input])
                    continue
                self._room.acquire()
                self.post(lambda line=line: self._handle(line))  # type: ignore[misc]
        except OSError:
            pass  # as at its end
        self.post(self.handler.end_of_input)

    def _handle(self, line: str) -> None:
        self._room.release()
        self.handler.handle("".join(each if each.isprintable() else " " for each in line[:LONGEST]))


class _Descriptor:
    def __init__(self, number: int) -> None:
        self._number = number

    def fileno(self) -> int:
        return self._number


class Output:
    """Lines to be written, by a thread of its own."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: deque[str] = deque()
        self._changed = threading.Condition()
        self._is_open = True  # false: its reader is gone
        self._is_writing = False
        threading.Thread(target=self._write, daemon=True).start()

    def add(self, line: str, is_needed: bool = True) -> None:
        with self._changed:
            if self._is_open and (is_needed or len(self._lines) < MOST_INFORMING):
                self._lines.append(line)
                self._changed.notify_all()

    def close(self, seconds: float) -> None:
        """Wait until everything is written, so long at most."""
        until = time.monotonic() + seconds
        with self._changed:
            while self._is_open and (self._lines or self._is_writing) and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)

    def _write(self) -> None:
        while True:
            with self._changed:
                while not self._lines:
                    self._changed.wait()
                data = ("\n".join(self._lines) + "\n").encode("utf-8", errors="replace")
                self._lines.clear()
                self._is_writing = True
            try:
                while data:
                    data = data[self._written(data) :]
            except OSError:
                with self._changed:
                    self._is_open = False
                    self._lines.clear()
                    self._changed.notify_all()
                return
            with self._changed:
                self._is_writing = False
                self._changed.notify_all()

    def _written(self, data: bytes) -> int:
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:  # the descriptor was made so before the start
            select.select([], [self._descriptor], [])
            return 0
