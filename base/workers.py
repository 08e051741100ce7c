"""Work done by others, wherever they are: jobs out, results in.

    with Processes(2) as workers:                                   # base/local_workers.py; or InProcess(), or Threads(2)
        for number, result in workers.run(task, jobs):              # as they finish
            ...

A `Task` is what all jobs of a run have in common: rules, settings, a network. It makes the `Worker` that does the jobs, one in each
place where work is done. A worker takes several jobs in hand at once where that pays: games whose positions share a network's batches.
`Calls(function)` is the task whose jobs are the arguments of a function, one at a time.

What every implementation of `Workers` keeps:

- Each job's result is yielded once, under the job's number, in any order; with `ordered`, in that of the jobs.
- Jobs are taken as workers become free. Neither jobs nor results pile up.
- Tasks, jobs and results are pickled. They hold contents, never a path that only this machine has.
- A result depends on task and job alone, not on the worker or the time. So a job may be done again where a worker was lost.
- What a job raises is raised by the run. A worker that is lost is `WorkerDied`, unless its jobs are done elsewhere.
- However a run ends (an error, Ctrl-C, `close()` of the iterator), no worker continues with its jobs.

Jobs that arrive one by one (`base/lines.py`) may be `NOTHING_YET`, from an iterator with a `fileno()` to wait for: then no result is
held up by a job that has not come.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any, Generic, Protocol, Self, TypeVar

from base.errors import ProcessLost

J = TypeVar("J")
R = TypeVar("R")
J_in = TypeVar("J_in", contravariant=True)
R_out = TypeVar("R_out", covariant=True)

AHEAD = 4
"""Jobs, for each that can be in hand, that may be handed out before the oldest of them is yielded; matters for `ordered` alone."""

NOTHING_YET: Any = object()
_END: Any = object()

Results = Generator[tuple[int, R], None, None]


class WorkerDied(ProcessLost):
    """A worker was lost with jobs in hand: killed from outside, out of memory, crashed, or sys.exit."""


class Worker(Protocol[J_in, R_out]):
    """Does the jobs of one task. It belongs to one thread and may keep what it likes: compiled code, a network, games under way."""

    def add(self, number: int, job: J_in, /) -> None:
        """Take one more job in hand."""

    def step(self) -> Iterable[tuple[int, R_out]]:
        """Work for a while; the results that this finished, by number. Called only with a job in hand."""


class Task(Protocol[J_in, R_out]):
    """What all jobs of a run have in common. Pickled, so made of importable names and plain data."""

    @property
    def in_hand(self) -> int:
        """How many jobs a worker can make use of at once."""

    def prepared(self, workers: int) -> AbstractContextManager[Task[J_in, R_out]]:
        """The task as so many workers on the machine of this process get it. Entered once before they start: compile into the cache, so
        that not all of them do; start what they share. Left when the run is over."""

    def worker(self) -> Worker[J_in, R_out]:
        """Called once in each worker."""

    def exact(self, result: Any) -> bytes | None:
        """The part of a result that task and job alone decide, bit for bit: where a job is done twice, it is compared. None: no part,
        as where times were measured."""


class Workers(Protocol):
    """Where work is done, one run at a time. Between runs it may keep what is slow to start."""

    @property
    def size(self) -> int:
        """How many workers there are."""

    @property
    def processes(self) -> int:
        """How many processes they add to this one, on all machines together."""

    def run(self, task: Task[J, R], jobs: Iterable[J], *, ordered: bool = False) -> Results[R]:
        """Yield (number of the job, result) for every job."""

    def metrics(self) -> Mapping[str, float]:
        """What the work since the last call was like, by the tags of docs/tensorboard.md; nothing where all is on this machine."""

    def close(self) -> None:
        """Let go of what is kept between runs."""


@dataclass(frozen=True)
class Calls(Generic[J, R]):
    """The task `function(job)`; `initializer` is called in each worker before its first job."""

    function: Callable[[J], R]
    initializer: Callable[[], object] | None = None
    in_hand: int = 1

    def prepared(self, workers: int) -> AbstractContextManager[Task[J, R]]:
        return nullcontext(self)

    def worker(self) -> Worker[J, R]:
        if self.initializer is not None:
            self.initializer()
        return Caller(self.function)

    def exact(self, result: Any) -> bytes | None:
        return None


class Caller(Generic[J, R]):
    """The worker of `Calls`."""

    def __init__(self, function: Callable[[J], R]) -> None:
        self.function = function
        self.jobs: list[tuple[int, J]] = []

    def add(self, number: int, job: J) -> None:
        self.jobs.append((number, job))

    def step(self) -> list[tuple[int, R]]:
        number, job = self.jobs.pop(0)
        return [(number, self.function(job))]


class Jobs(Generic[J, R]):
    """The jobs of one run by number: which are in hand, and which results may be yielded. For implementations of `Workers`."""

    def __init__(self, source: Iterable[J], most: int, ordered: bool) -> None:
        """At most `most` jobs are handed out and not yielded; it may change as workers come and go."""
        self._source, self.most, self._ordered = iter(source), most, ordered
        self._results: dict[int, R] = {}
        self.in_hand: dict[int, J] = {}
        self.taken = self.yielded = 0
        self.is_exhausted = False
        self.waits_for: list[Any] = []
        """[source] where its next job has not come yet, for `multiprocessing.connection.wait`."""

    def take(self) -> tuple[int, J] | None:
        """The next job; None where there is none now, or enough are handed out."""
        self.waits_for = []
        if self.taken >= self.yielded + self.most:
            return None
        job = next(self._source, _END)
        self.is_exhausted = job is _END
        if self.is_exhausted:
            return None
        if job is NOTHING_YET:
            self.waits_for = [self._source]
            return None
        number = self.taken
        self.taken += 1
        self.in_hand[number] = job
        return number, job

    def done(self, number: int, result: R) -> None:
        del self.in_hand[number]
        self._results[number] = result

    def ready(self) -> tuple[int, R] | None:
        """The next result to yield, if it is there."""
        number = self.yielded if self._ordered else next(iter(self._results), -1)
        if number not in self._results:
            return None
        self.yielded += 1
        return number, self._results.pop(number)


class InProcess:
    """One worker, in this process and thread: for a debugger, or where no more than one core is to be used."""

    size, processes = 1, 0

    def run(self, task: Task[J, R], jobs: Iterable[J], *, ordered: bool = False) -> Results[R]:
        worker: Worker[J, R] | None = None
        known: Jobs[J, R] = Jobs(jobs, AHEAD * task.in_hand, ordered)
        while True:
            while (result := known.ready()) is not None:
                yield result
            while len(known.in_hand) < task.in_hand and (job := known.take()) is not None:
                worker = worker or task.worker()
                worker.add(*job)
            if known.in_hand:
                assert worker is not None
                for number, found in worker.step():
                    known.done(number, found)
            elif known.waits_for:
                wait(known.waits_for)
            else:
                return

    def metrics(self) -> Mapping[str, float]:
        return {}

    def close(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()
