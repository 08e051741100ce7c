"""Worker processes for long jobs over all cores.

    for number, result in run_jobs(play_game, seeds, cores()):     # as they finish
        ...
    run_jobs(play_game, seeds, cores(), ordered=True)              # in the order of the jobs
    run_jobs(play_game, seeds, workers=0)                          # in this process, for a debugger

`function`, `initializer` and jobs are pickled, so they are importable names and plain data. A result is yielded with
its job's number; what a job computes must not depend on which worker computes it, or when.

Why not concurrent.futures: its executor cannot say which job a killed worker was at, waits for running jobs at Ctrl-C
while its children print tracebacks, and leaves them behind when the parent is SIGKILLed. Hence one pipe per worker and
one job at a time in it: a worker that dies is an end of file on its pipe.

Jobs that arrive one by one (`base/lines.py`) may be `NOTHING_YET`, from an iterator with a `fileno()` to wait for: then results are
not held up by a job that is not there.
"""

import math
import multiprocessing
import os
import pickle
import reprlib
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal, TypeVar

from base.errors import UserError

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 4  # jobs per worker that may be started before the oldest of them is yielded; matters only for ordered=True
GRACE = 5.0  # seconds for a worker without work to leave by itself

NOTHING_YET = object()
_END = object()
_GO_HOME = b""  # no pickle is empty

_Start = Literal["spawn", "fork"]
_Initializer = Callable[[], object] | None


class WorkerDied(RuntimeError):
    """A worker left in the middle of a job without a word: killed from outside, out of memory, crashed, or sys.exit."""


def run_jobs(
    function: Callable[[T], R],
    jobs: Iterable[T],
    workers: int,
    *,
    initializer: _Initializer = None,
    ordered: bool = False,
    start: _Start = "spawn",
) -> Generator[tuple[int, R], None, None]:
    """Yield (number of the job, function(job)) for every job, computed by so many worker processes; 0 means right here.

    `jobs` is consumed as workers become free, results are held for at most `AHEAD * workers` jobs. `initializer` runs
    in each worker before its first job. What a job raises is raised here, with the worker's traceback as a note.
    However the iteration ends (an error, Ctrl-C, `close()`), all workers end with it; when this process is killed, they
    leave by themselves.
    """
    if workers < 0:
        raise UserError(f"expected 0 or more workers, got {workers}")
    if workers == 0:
        return _run_here(function, jobs, initializer)
    return _run_in_workers(function, jobs, workers, initializer, ordered, start)


def cores() -> int:
    """How many cores this process may use: its affinity, and its cgroup's quota (a container's share) rounded up."""
    allowed = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return max(1, math.ceil(min(allowed, _cgroup_limit(Path("/")))))


def _run_here(
    function: Callable[[T], R], jobs: Iterable[T], initializer: _Initializer
) -> Generator[tuple[int, R], None, None]:
    if initializer is not None:
        initializer()
    number = 0
    for job in jobs:
        if job is NOTHING_YET:
            wait([jobs])  # type: ignore[list-item]
        else:
            yield number, function(job)
            number += 1


def _run_in_workers(
    function: Callable[[T], R],
    jobs: Iterable[T],
    workers: int,
    initializer: _Initializer,
    ordered: bool,
    start: _Start,
) -> Generator[tuple[int, R], None, None]:
    source = iter(jobs)
    given = yielded = 0
    crew: list[_Worker] = []
    idle: list[_Worker] = []
    busy: dict[Connection, _Worker] = {}
    results: dict[int, R] = {}
    try:
        while True:
            # Workers get their next job before the caller gets a result: it may take its time.
            waiting: list[Any] = []
            while len(busy) < workers and given < yielded + AHEAD * workers and (job := next(source, _END)) is not _END:
                if job is NOTHING_YET:
                    waiting = [source]
                    break
                if not idle:
                    with interrupts_held_back():
                        crew.append(_Worker(start, function, initializer))
                    idle.append(crew[-1])
                worker = idle.pop()
                worker.give(given, job)
                busy[worker.connection] = worker
                given += 1
            number = yielded if ordered else next(iter(results), -1)
            if number in results:
                yielded += 1
                yield number, results.pop(number)
            elif busy or waiting:
                ready = set(wait([*busy, *waiting]))
                done = next((connection for connection in busy if connection in ready), None)  # the longest at it
                if done is not None:
                    worker = busy.pop(done)
                    results[worker.number] = worker.answer()
                    idle.append(worker)
            else:
                break
        for worker in crew:
            with suppress(ConnectionError):  # killed while it had nothing to do: no harm done
                worker.connection.send_bytes(_GO_HOME)
        for worker in crew:
            worker.process.join(GRACE)
    finally:
        for worker in crew:
            worker.process.kill()
        for worker in crew:
            worker.process.join()
            worker.connection.close()


class _Worker:
    """The parent's end of one worker process, and the job it is at."""

    def __init__(self, start: _Start, function: Callable[[Any], Any], initializer: _Initializer) -> None:
        context = multiprocessing.get_context("fork") if start == "fork" else multiprocessing.get_context("spawn")
        self.number = -1
        self.job: object = None
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_work, args=(theirs, function, initializer), daemon=True)
        try:
            self.process.start()
        finally:
            theirs.close()  # or the worker's death would not be an end of file

    def give(self, number: int, job: object) -> None:
        self.number, self.job = number, job
        with suppress(ConnectionError):  # it died; `answer` says so
            self.connection.send_bytes(pickle.dumps(job))

    def answer(self) -> Any:
        try:
            data = self.connection.recv_bytes()
        except (EOFError, OSError):
            self.process.join(GRACE)
            raise WorkerDied(f"worker {manner_of(self.process.exitcode)} in {self._whereabouts()}") from None
        good, value = pickle.loads(data)
        if good:
            return value
        error, trace = value
        error.add_note(f"in {self._whereabouts()}\n{trace}")
        raise error

    def _whereabouts(self) -> str:
        return f"job {self.number}: {reprlib.repr(self.job)} (process {self.process.pid})"


def manner_of(exitcode: int | None) -> str:
    if exitcode is None:
        return "closed its pipe"
    if exitcode >= 0:
        return f"left with exit code {exitcode}"
    name = signal.Signals(-exitcode).name if -exitcode in set(signal.Signals) else f"signal {-exitcode}"
    return f"was killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")


def _work(connection: Connection, function: Callable[[Any], Any], initializer: _Initializer) -> None:
    """The life of a worker: the initializer, then jobs until it is sent home."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=leave_with_parent, daemon=True).start()
    with suppress(EOFError, ConnectionError):  # the parent is gone
        while (data := connection.recv_bytes()) != _GO_HOME:
            connection.send_bytes(_outcome(data, function, initializer))
            initializer = None


def _outcome(data: bytes, function: Callable[[Any], Any], initializer: _Initializer) -> bytes:
    """(True, result) or (False, (exception, its traceback)), pickled."""
    try:
        if initializer is not None:
            initializer()
        return pickle.dumps((True, function(pickle.loads(data))))
    except Exception as error:
        trace = traceback.format_exc()
        try:
            pickle.loads(pickle.dumps(error))  # many exceptions can be pickled, but not unpickled
            return pickle.dumps((False, (error, trace)))
        except Exception:
            return pickle.dumps((False, (RuntimeError(f"{type(error).__name__}: {error}"), trace)))


def leave_with_parent() -> None:
    """Needs the GIL for a moment: compiled code that never lets go of it, or a slow import, delays this so long."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """A process started in here inherits a blocked SIGINT: Ctrl-C cannot hit it before it has learned to ignore it."""
    if sys.platform == "win32":
        yield
    else:
        resource_tracker.ensure_running()  # which would unblock SIGINT when it starts by itself, later
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _cgroup_limit(root: Path) -> float:
    """Cores granted by the CPU quotas above this process; infinite where there are none."""
    limits = [math.inf]
    with suppress(OSError, ValueError):  # not Linux, or no cgroup of this kind
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, inside = line.split(":", 2)
            if controllers and "cpu" not in controllers.split(","):  # version 2 names no controllers
                continue
            mount = root / "sys/fs/cgroup" / ("cpu" if controllers else "")
            group = mount / inside.lstrip("/")
            limits += [_quota(folder) for folder in (group, *group.parents) if folder.is_relative_to(mount)]
    return min(limits)


def _quota(group: Path) -> float:
    with suppress(OSError, ValueError):
        quota, period = (group / "cpu.max").read_text().split()  # version 2; without a limit: "max 100000"
        return float(quota) / float(period)
    with suppress(OSError, ValueError):
        quota, period = ((group / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))  # version 1; or -1
        return float(quota) / float(period) if float(quota) > 0 else math.inf
    return math.inf
