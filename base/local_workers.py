"""Workers on this machine: processes, or threads of this one.

    for number, result in run_jobs(play_game, seeds, cores()):     # as they finish
        ...
    run_jobs(play_game, seeds, cores(), ordered=True)              # in the order of the jobs
    run_jobs(play_game, seeds, 0)                                  # in this process, for a debugger
    run_jobs(play_game, seeds, workers)                            # by any `Workers`

Where a function takes `workers`, a number stands for so many processes, which end with the call.

Why not concurrent.futures: its executor cannot say which job a killed worker was at, waits for running jobs at Ctrl-C while its
children print tracebacks, and leaves them behind when the parent is SIGKILLed. Hence one pipe per worker: a worker that dies is an end
of file for its parent, and a parent that dies is one for its workers.
"""

from __future__ import annotations

import itertools
import math
import multiprocessing
import os
import reprlib
import signal
import subprocess
import sys
import threading
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from queue import SimpleQueue
from typing import Any, ClassVar, Self, TypeVar

from base.errors import UserError
from base.worker_messages import LEAVE, failure_message, job_message, opened_result, serve, task_message
from base.workers import AHEAD, Calls, InProcess, Jobs, Results, Task, WorkerDied, Workers

T = TypeVar("T")
R = TypeVar("R")

PATIENCE = 10.0  # seconds without a result after which it is looked whether a worker is stopped
GRACE = 5.0  # seconds for a worker without work to leave by itself
QUOTA = Path("/sys/fs/cgroup/cpu.max")  # a container's share of the processors: microseconds of each period


def cores() -> int:
    """How many cores this process may use: its affinity, and where it runs in a container, that one's share rounded up."""
    found = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # no container, or one without a limit: "max 100000"
        quota, period = map(int, QUOTA.read_text().split())
        found = min(found, math.ceil(quota / period))
    return max(1, found)


@contextmanager
def opened(workers: Workers | int) -> Iterator[Workers]:
    """`workers` themselves; or so many processes (0: this one alone), which end with the block."""
    if not isinstance(workers, int):
        yield workers
        return
    check_workers(workers)
    with InProcess() if workers == 0 else Processes(workers) as local:
        yield local


def run_jobs(
    function: Callable[[T], R],
    jobs: Iterable[T],
    workers: Workers | int,
    *,
    initializer: Callable[[], object] | None = None,
    ordered: bool = False,
) -> Results[R]:
    """Yield (number of the job, function(job)) for every job. `initializer` runs in each worker before its first job.

    What a job raises is raised here, with the worker's traceback as a note.
    """
    if isinstance(workers, int):
        check_workers(workers)
    return _results(Calls(function, initializer), jobs, workers, ordered)


def _results(task: Task[T, R], jobs: Iterable[T], workers: Workers | int, ordered: bool) -> Results[R]:
    with opened(workers) as open_workers:
        yield from open_workers.run(task, jobs, ordered=ordered)


def most_workers() -> int:
    """So many cannot be meant on this machine if they are more."""
    return max(256, 4 * cores())


def check_workers(workers: int) -> None:
    if not 0 <= workers <= most_workers():
        raise UserError(f"workers: expected 0 to {most_workers()} on a machine of {cores()} cores, got {workers}")


class _LocalWorkers:
    """Workers at the other ends of pipes. They start as they are needed, and stay until `close`."""

    member: ClassVar[type[_Member]]

    def __init__(self, size: int) -> None:
        if size < 1:
            raise UserError(f"expected 1 or more workers, got {size}")
        self.size = size
        self._members: list[_Member] = []
        self._noted: set[str] = set()  # workers that are stopped, and were named
        self._is_running = False

    def run(self, task: Task[T, R], jobs: Iterable[T], *, ordered: bool = False) -> Results[R]:
        if self._is_running:
            raise RuntimeError("expected the run before to be over; one run at a time")
        self._is_running = True
        known: Jobs[T, R] = Jobs(jobs, AHEAD * self.size * task.in_hand, ordered)
        sent = b""
        begun: set[_Member] = set()
        prepared = ExitStack()
        try:
            self._end([each for each in self._members if not each.is_alive()])  # killed since the last run
            while True:
                # Workers get their next job before the caller gets a result: it may take its time.
                while self._has_room(task) and (job := known.take()) is not None:
                    if not sent:
                        task = prepared.enter_context(task.prepared(self.size))
                        sent = task_message(task)
                    member = self._least_busy()
                    if member not in begun:
                        member.send(sent)
                        begun.add(member)
                    member.give(*job)
                if (result := known.ready()) is not None:
                    yield result
                elif known.in_hand or known.waits_for:
                    busy = {each.connection: each for each in self._members if each.jobs}
                    ready = wait([*busy, *known.waits_for], timeout=PATIENCE)
                    if not ready:
                        self._note_stopped(busy.values())
                    for connection in ready:
                        if connection in busy:
                            known.done(*busy[connection].receive())
                else:
                    return
        finally:
            self._end([each for each in self._members if each.jobs])
            prepared.close()
            self._is_running = False

    def _note_stopped(self, members: Iterable[_Member]) -> None:
        """A worker that was stopped is alive and silent; without a word this would wait for it without end."""
        stopped = {each.name for each in members if each.is_stopped()}
        for name in sorted(stopped - self._noted):
            with suppress(OSError):
                print(
                    f"waiting for worker {name}, which is stopped; kill -CONT continues it", file=sys.stderr, flush=True
                )
        self._noted = stopped

    def _has_room(self, task: Task[T, R]) -> bool:
        return len(self._members) < self.size or any(len(each.jobs) < task.in_hand for each in self._members)

    def _least_busy(self) -> _Member:
        """A new one before an old one gets a second job."""
        found = min(self._members, key=lambda each: len(each.jobs), default=None)
        if found is None or (found.jobs and len(self._members) < self.size):
            with _interrupts_held_back():
                found = self.member()
                self._members.append(found)
        return found

    def _end(self, members: list[_Member]) -> None:
        for each in members:
            self._members.remove(each)
            each.kill()
        for each in members:
            each.join()

    def metrics(self) -> Mapping[str, float]:
        return {}

    def kill(self) -> None:
        """From any thread: the workers end at once, and a run that has them at work raises `WorkerDied`."""
        for each in tuple(self._members):
            each.kill()

    def close(self) -> None:
        self._end([each for each in self._members if each.jobs])
        for each in self._members:
            each.leave()
        for each in self._members:
            each.join(GRACE)
        self._end(list(self._members))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


class _Member(ABC):
    """The parent's end of one worker, and the jobs that this has in hand."""

    connection: Connection
    name: str

    def __init__(self) -> None:
        self.jobs: dict[int, object] = {}

    def give(self, number: int, job: object) -> None:
        self.jobs[number] = job
        self.send(job_message(number, job))

    def leave(self) -> None:
        with suppress(OSError):
            self.connection.send_bytes(LEAVE)

    def send(self, message: bytes) -> None:
        with suppress(ConnectionError):  # it died; `receive` raises that
            self.connection.send_bytes(message)

    def receive(self) -> tuple[int, Any]:
        """A result that is there, by the number of its job."""
        try:
            message = self.connection.recv_bytes()
        except (EOFError, OSError):
            self.join(GRACE)
            raise WorkerDied(f"worker {self.manner()} in {self._whereabouts()}") from None
        number, result = opened_result(message, self._whereabouts)
        del self.jobs[number]
        return number, result

    def _whereabouts(self) -> str:
        if len(self.jobs) == 1:
            [(number, job)] = self.jobs.items()
            return f"job {number}: {reprlib.repr(job)} ({self.name})"
        first = ", ".join(map(str, itertools.islice(self.jobs, 5)))
        return f"one of {len(self.jobs)} jobs: {first}, … ({self.name})"

    @abstractmethod
    def is_alive(self) -> bool: ...

    def is_stopped(self) -> bool:
        """By a signal, as Ctrl-Z or a debugger sends it."""
        return False

    @abstractmethod
    def manner(self) -> str:
        """How it ended."""

    @abstractmethod
    def kill(self) -> None: ...

    @abstractmethod
    def join(self, seconds: float | None = None) -> None: ...


class _Process(_Member):
    def __init__(self) -> None:
        super().__init__()
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work_in_process, args=(theirs,), daemon=True)
        try:
            with _no_main_module():
                self.process.start()
        finally:
            theirs.close()  # or the worker's death would not be an end of file
        self.name = f"process {self.process.pid}"

    def is_alive(self) -> bool:
        return self.process.is_alive()

    def is_stopped(self) -> bool:
        command = ["ps", "-o", "state=", "-p", str(self.process.pid)]
        with suppress(OSError, subprocess.TimeoutExpired):
            done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
            return done.stdout.strip()[:1] in ("T", "t")
        return False

    def manner(self) -> str:
        code = self.process.exitcode
        if code is None:
            return "closed its pipe"
        if code >= 0:
            return f"left with exit code {code}"
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return f"was killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")

    def kill(self) -> None:
        self.process.kill()

    def join(self, seconds: float | None = None) -> None:
        self.process.join(seconds)
        if seconds is None:
            self.connection.close()


@contextmanager
def _no_main_module() -> Iterator[None]:
    """A process that is started meanwhile does not import the program that starts it, so a script need not ask for its own name before
    it uses workers. It is imported where a task takes something of it."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


class _Thread(_Member):
    def __init__(self) -> None:
        super().__init__()
        self.connection, theirs = multiprocessing.Pipe()
        self.thread = threading.Thread(target=_work_in_thread, args=(theirs,), daemon=True)
        self.thread.start()
        self.name = self.thread.name

    def is_alive(self) -> bool:
        return self.thread.is_alive()

    def manner(self) -> str:
        return "ended"

    def kill(self) -> None:
        """A thread cannot be killed: it ends with the step that it is at."""
        self.connection.close()

    def join(self, seconds: float | None = None) -> None:
        if seconds is not None:
            self.thread.join(seconds)


class Processes(_LocalWorkers):
    """So many processes. When this one is killed, they leave by themselves."""

    member = _Process

    @property
    def processes(self) -> int:
        return self.size


class Threads(_LocalWorkers):
    """So many threads of this process: for workers that spend their time in code without the GIL, and keep what they have in
    themselves, not in their modules. They share compiled code and start at once."""

    member = _Thread
    processes = 0


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """A process started in here inherits a blocked SIGINT: Ctrl-C cannot end it before it ignores that. A time limit that is over while
    it starts holds afterwards."""
    resource_tracker.ensure_running()  # which would unblock SIGINT if it started by itself, later
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGALRM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# ── at the other end ──


def _work_in_process(connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGALRM})
    _work(connection, lambda: os._exit(1))


def _work_in_thread(connection: Connection) -> None:
    try:
        # Its end is not closed while a step may still send: the number of a closed file is soon that of another pipe.
        _work(connection, lambda: None)
    except SystemExit:
        with suppress(OSError):
            connection.send_bytes(failure_message(WorkerDied("worker left by sys.exit")))


def _work(connection: Connection, parent_is_gone: Callable[[], None]) -> None:
    """The life of a worker at this end of a pipe. `parent_is_gone` is called when the other end is closed."""
    inbox: SimpleQueue[bytes] = SimpleQueue()

    def read() -> None:  # all the time: else the parent, sending, and the worker, sending, could wait for each other
        with suppress(EOFError, OSError):
            while (data := connection.recv_bytes()) != LEAVE:
                inbox.put(data)
            inbox.put(LEAVE)
            return
        parent_is_gone()
        inbox.put(LEAVE)

    def send(message: bytes) -> None:
        try:
            connection.send_bytes(message)
        except OSError:
            sys.exit(1)  # the parent is gone

    threading.Thread(target=read, daemon=True).start()
    serve(inbox, send)
