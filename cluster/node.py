"""What does the work on one machine: worker processes of its own, and jobs for them as the coordinator sends them.

    node = Node(workers=8)
    reply = node.exchange(Order(run=3, jobs=[job_message(17, job)], task_hash=…), task)     # waits for results, a second at most
    node.close()

A node does one run at a time. Its processes stay between runs. Whoever carries orders and replies (cluster/ray_nodes.py,
cluster/folder.py) calls `exchange` again and again; each call is answered within about a second, so an answer is a sign of life.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from base.local_workers import Processes
from base.worker_messages import failure_message, opened_job, opened_task, result_message
from base.workers import NOTHING_YET, Task, WorkerDied

POLL = 1.0
"""Seconds after which a call is answered, with results or without."""
GRACE = 2.0
"""Seconds for jobs of the run before that are still under way. Then their processes are killed: to start others takes as long."""


class Order(NamedTuple):
    """From the coordinator to a node."""

    run: int
    """Which run of the coordinator this is about; a new number begins it."""
    task_hash: str = ""
    jobs: Sequence[bytes] = ()
    dropped: Sequence[int] = ()
    """Jobs whose results are there already: given back if they are not begun."""
    rest: float = 0.0
    """Seconds at least from one answer with results to the next, so that a large cluster does not flood its coordinator."""
    is_over: bool = False
    """The run needs nothing more. What is under way may end."""
    is_stopped: bool = False
    """The run was given up: nothing continues."""


class Reply(NamedTuple):
    """What a node answers."""

    run: int
    results: Sequence[bytes] = ()
    given_back: Sequence[int] = ()
    failure: bytes = b""
    """What a job raised; the run has ended here."""
    died: str = ""
    """How a worker process died; the jobs that are without a result are lost, the next order begins anew."""
    idle: float = 0.0
    """Seconds of its workers without a job, since the reply before."""


class Description(NamedTuple):
    """What a node reports of itself before it takes part."""

    workers: int
    fingerprint: dict[str, str]


class Node:
    """Its methods are called by one thread."""

    def __init__(self, workers: int) -> None:
        self._workers = Processes(workers)
        self._run: _Run | None = None

    def exchange(self, order: Order, task: bytes | None = None) -> Reply:
        """Take jobs; give results. `task` comes with the first order of a run, and again after a worker died."""
        if order.is_stopped:
            self._end(kill_after=0.0)
            return Reply(order.run)
        if task is not None:
            self._begin(order, task)
        run = self._run
        if run is None or run.number != order.run:
            raise ValueError(f"expected an order for the run under way, got one for run {order.run}")
        given_back = run.take(order.jobs, order.dropped)
        if order.is_over:
            run.close()
            return Reply(order.run, given_back=given_back)
        results = run.results(order.rest, bool(given_back))
        return Reply(order.run, results, given_back, run.failure, run.died, run.idle_seconds())

    def _begin(self, order: Order, task: bytes) -> None:
        if (found := hash_of(task)) != order.task_hash:
            raise ValueError(f"expected a task with hash {order.task_hash[:16]}, got {found[:16]}")
        self._end(kill_after=GRACE)
        self._run = _Run(order.run, opened_task(task), self._workers)
        self._run.start()

    def _end(self, kill_after: float) -> None:
        if self._run is None:
            return
        self._run.close()
        self._run.join(kill_after)
        while self._run.is_alive():
            self._workers.kill()
            self._run.join(0.05)
        self._run = None

    def close(self) -> None:
        self._end(kill_after=0.0)
        self._workers.close()


def hash_of(task: bytes) -> str:
    return hashlib.sha256(task).hexdigest()


class _Run(threading.Thread):
    """One run of the node's workers, whose jobs come one by one."""

    def __init__(self, number: int, task: Task[Any, Any], workers: Processes) -> None:
        super().__init__(daemon=True)
        self.number, self._task, self._workers = number, task, workers
        self.failure, self.died = b"", ""
        self._jobs = _Inbox()
        self._results: deque[bytes] = deque()
        self._news = threading.Event()
        self._lock = threading.Lock()
        self._in_hand = 0
        self._idle, self._since = 0.0, time.monotonic()

    def run(self) -> None:
        try:
            for local, result in self._workers.run(self._task, self._jobs):
                message = result_message(self._jobs.numbers.pop(local), result)
                self._count(-1)
                self._results.append(message)
                self._news.set()
        except WorkerDied as error:
            self.died = str(error)
        except Exception as error:
            self.failure = failure_message(error)
        self._news.set()

    def take(self, jobs: Sequence[bytes], dropped: Sequence[int]) -> list[int]:
        """Which of the dropped ones were not begun."""
        self._count(len(jobs))
        self._jobs.put(jobs)
        found = self._jobs.drop(dropped)
        self._count(-len(found))
        return found

    def results(self, rest: float, is_news: bool) -> list[bytes]:
        """Those that there are, after waiting for the first one where there is one to come."""
        if self._in_hand and not is_news and not self._results and not self._news.wait(POLL):
            return []
        if rest > 0:
            time.sleep(rest)
        self._news.clear()
        found = []
        while self._results:
            found.append(self._results.popleft())
        if not self.is_alive():
            self._news.set()  # how it ended is still to be read
            while self._results:
                found.append(self._results.popleft())
        return found

    def idle_seconds(self) -> float:
        """Since the call before."""
        self._count(0)
        with self._lock:
            found, self._idle = self._idle, 0.0
        return found

    def close(self) -> None:
        """No more jobs, and none of those that are not begun."""
        self._jobs.close()

    def _count(self, change: int) -> None:
        with self._lock:
            now = time.monotonic()
            self._idle += max(0, self._workers.size - self._in_hand) * (now - self._since)
            self._in_hand, self._since = self._in_hand + change, now


class _Inbox:
    """The jobs of a run as they come, for `Workers.run` on another thread."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        """The coordinator's number of a job, by that of `Workers.run`."""
        self._waiting: OrderedDict[int, bytes] = OrderedDict()
        self._taken = 0
        self._is_open = True
        self._lock = threading.Lock()
        self._reader, self._writer = os.pipe()

    def put(self, jobs: Sequence[bytes]) -> None:
        with self._lock:
            for job in jobs:
                self._waiting[opened_job(job)[0]] = job
            os.write(self._writer, b".")

    def drop(self, numbers: Sequence[int]) -> list[int]:
        with self._lock:
            return [number for number in numbers if self._waiting.pop(number, None) is not None]

    def close(self) -> None:
        with self._lock:
            self._is_open = False
            self._waiting.clear()
            os.write(self._writer, b".")

    def fileno(self) -> int:
        return self._reader

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        with self._lock:
            if not self._waiting and self._is_open:
                os.set_blocking(self._reader, False)
                try:
                    while os.read(self._reader, 4096):
                        pass
                except BlockingIOError:
                    return NOTHING_YET
            if not self._waiting:
                raise StopIteration
            number, job = self._waiting.popitem(last=False)
            self.numbers[self._taken] = number
            self._taken += 1
        return opened_job(job)[1]

    def __del__(self) -> None:
        os.close(self._reader)
        os.close(self._writer)
