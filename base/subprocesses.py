"""External programs that read and write lines, and are not trusted: `Companion("gnugo --mode gtp")`.

    with Companion("stockfish") as engine:
        engine.send("uci", deadline=time.monotonic() + 5)
        line = engine.receive(deadline=time.monotonic() + 5)

No call waits longer than its deadline, whatever the program does: it may write nothing, or too much, stop reading, or end. Its stderr
is read and dropped, except for the last line. It has a process group of its own, so Ctrl-C does not reach it, and the whole group is
killed when the companion is closed or garbage-collected, or this process ends. Where this process is killed without a chance to clean
up, a shell that waits for its end kills the group.
"""

from __future__ import annotations

import os
import select
import shlex
import shutil
import signal
import subprocess
import time
import weakref
from collections import deque
from contextlib import suppress
from types import TracebackType

from base.errors import UserError

MORE_FOLDERS = "/usr/games:/usr/local/games"  # where Debian installs engines; not in every PATH
LONGEST_LINE = 1 << 20  # bytes
MOST_WAITING = 1 << 16  # lines read ahead of `receive`
FAREWELL = 0.5  # seconds that a program has to end after it closed its output
_CHUNK = 1 << 16
_WATCH = (
    'read -r word || kill -s KILL -- "-$1"'  # the end of the pipe is the end of the process that holds its other end
)


class Failed(Exception):
    """The program can no longer be used."""


class Ended(Failed):
    """It has ended, or what it writes are no lines."""


class Silent(Failed):
    """It did not write, or did not read, in time."""


class Companion:
    """One running program. `command` is as in a shell, without the shell: words, some of them quoted."""

    def __init__(self, command: str) -> None:
        self.command = command
        process = _started(command)
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._process = process
        self._in, self._out, self._err = (pipe.fileno() for pipe in (process.stdin, process.stdout, process.stderr))
        for handle in (self._in, self._out, self._err):
            os.set_blocking(handle, False)
        watch = ["/bin/sh", "-c", _WATCH, "sh", str(process.pid)]
        watcher = subprocess.Popen(watch, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        self._end = weakref.finalize(self, _end, process, watcher)
        self._lines: deque[str] = deque()
        self._rest = b""  # of stdout, behind the last whole line
        self._last_words = b""  # the end of stderr
        self._open = {self._out, self._err}

    def __enter__(self) -> Companion:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, line: str, deadline: float) -> None:
        """Write a line to it, by `deadline` on the monotonic clock."""
        data = line.encode() + b"\n"
        while data:
            if self._process.poll() is not None or not self._end.alive:
                raise Ended(self._manner())
            if self._in in self._ready(deadline, writing=True):
                try:
                    data = data[os.write(self._in, data) :]
                except BlockingIOError:
                    continue
                except OSError:
                    raise Ended(self._manner()) from None

    def receive(self, deadline: float) -> str:
        """Its next line, without the end, by `deadline` on the monotonic clock. A line read before is returned even then."""
        while not self._lines:
            if self._out not in self._open:
                raise Ended(self._manner())
            self._ready(deadline, writing=False)
        return self._lines.popleft()

    def close(self) -> None:
        """Kill it and its process group."""
        self._end()

    def _ready(self, deadline: float, writing: bool) -> set[int]:
        """Wait until something can be read or written; read it."""
        poll = select.poll()
        is_full = writing and len(self._lines) >= MOST_WAITING
        for handle in self._open - ({self._out} if is_full else set()):
            poll.register(handle, select.POLLIN)
        if writing:
            poll.register(self._in, select.POLLOUT)
        left = deadline - time.monotonic()
        found = {handle for handle, _ in poll.poll(max(0.0, left) * 1000)}
        for handle in found & self._open:
            self._read(handle)
        if not found and left <= 0:
            raise Silent("no answer in time" if not writing else "it does not read")
        if not writing and left <= 0 and not self._lines and self._out in self._open:
            raise Silent("no answer in time")
        return found

    def _read(self, handle: int) -> None:
        try:
            data = os.read(handle, _CHUNK)
        except BlockingIOError:
            return
        if not data:
            self._open.discard(handle)
        if handle == self._err:
            self._last_words = (self._last_words + data)[-1000:]
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._lines.extend(line.decode("utf-8", errors="replace").rstrip("\r") for line in lines)
        if len(self._rest) > LONGEST_LINE:
            self._open.discard(handle)

    def _manner(self) -> str:
        """How it ended, and the last line of its stderr."""
        if len(self._rest) > LONGEST_LINE:
            return f"wrote a line of more than {LONGEST_LINE:,} bytes"
        try:
            code = self._process.wait(FAREWELL)
        except subprocess.TimeoutExpired:
            return "closed its output"
        with suppress(OSError, ValueError):
            while self._err in self._open and (data := os.read(self._err, _CHUNK)):
                self._last_words = (self._last_words + data)[-1000:]
        words = " ".join(self._last_words.decode("utf-8", errors="replace").strip().split("\n")[-1].split())
        manner = f"left with exit code {code}" if code >= 0 else f"was killed by signal {-code}"
        return f"{manner} ({words[:100]})" if words else manner


def missing_program(command: str) -> str | None:
    """The program of a command, where it is not installed."""
    words, path = _parsed(command)
    return words[0] if path is None else None


def _parsed(command: str) -> tuple[list[str], str | None]:
    """Its words, and the path of its program if it is installed."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"expected a command, got {command!r}: {error}") from None
    if not words:
        raise UserError("expected a command, got nothing")
    return words, shutil.which(words[0]) or shutil.which(words[0], path=MORE_FOLDERS)


def _started(command: str) -> subprocess.Popen[bytes]:
    words, path = _parsed(command)
    if path is None:
        raise UserError(f"expected a program that can be run, found none called {words[0]!r}")
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(
            [path, *words[1:]], stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"{words[0]!r} can't be started: {reason}") from None


def _end(process: subprocess.Popen[bytes], watcher: subprocess.Popen[bytes]) -> None:
    """Kill the group and reap the process. A finalizer must not refer to the object that it finalizes."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    if watcher.stdin is not None:
        with suppress(OSError):
            watcher.stdin.write(b"over\n")  # it has nothing to kill
            watcher.stdin.close()
    watcher.wait()
