"""Worker processes that stay: each has work in hand all the time, is sent more, and sends back what is ready.

    def serve(inbox: Inbox) -> Iterator[object]:            # runs in each worker; what it yields is sent to the parent
        first = inbox.get()                                 # waits
        while working:
            for order in inbox.all():                       # does not wait
                ...
            yield result

    with Crew(serve, workers=2) as crew:
        crew.send(0, order)
        worker, result = crew.receive()

`base/pool.py` is for jobs that have nothing to do with each other. This is for workers with a state worth keeping: compiled code,
a network, many games under way at once. Orders and results are pickled, from process to process only. With `workers=0` one worker runs
in this process, for debuggers and for runs that want no more than one core: then it gets its turn inside `receive`.
"""

from __future__ import annotations

import pickle
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol, Self

from base.errors import UserError
from base.pool import GRACE, WorkerDied, interrupts_held_back, leave_with_parent, manner_of


class Inbox(Protocol):
    """A worker's orders, in the order in which they were sent."""

    def get(self) -> Any:
        """The next one; waits for it."""

    def all(self) -> list[Any]:
        """Whatever has come; does not wait."""


Serve = Callable[[Inbox], Iterator[object]]


class Crew:
    """The parent's end. However the block ends (an error, Ctrl-C), the workers end with it; a killed parent takes them along."""

    def __init__(self, serve: Serve, workers: int) -> None:
        if workers < 0:
            raise UserError(f"expected 0 or more workers, got {workers}")
        self.size = max(1, workers)
        self._members: list[_Here | _There] = []
        try:
            for _ in range(workers):
                with interrupts_held_back():
                    self._members.append(_There(serve))
        except BaseException:
            self.close()
            raise
        if workers == 0:
            self._members.append(_Here(serve))

    def send(self, worker: int, order: object) -> None:
        self._members[worker].send(order)

    def receive(self) -> tuple[int, Any]:
        """(worker, result) of whoever has one; waits. What a worker raised is raised here, with its traceback as a note."""
        here = self._members[0]
        if isinstance(here, _Here):
            return 0, here.receive()
        others = {each.connection: number for number, each in enumerate(self._members) if isinstance(each, _There)}
        ready = wait(list(others))[0]
        number = others[ready]  # type: ignore[index]
        return number, self._members[number].receive()

    def close(self) -> None:
        for each in self._members:
            each.kill()
        for each in self._members:
            each.join()
        self._members.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


class _There:
    """One worker in a process of its own."""

    def __init__(self, serve: Serve) -> None:
        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, serve), daemon=True)
        try:
            self.process.start()
        finally:
            theirs.close()  # or the worker's death would not be an end of file

    def send(self, order: object) -> None:
        with suppress(ConnectionError):  # it died; `receive` says so
            self.connection.send_bytes(pickle.dumps(order))

    def receive(self) -> Any:
        try:
            good, value = pickle.loads(self.connection.recv_bytes())
        except (EOFError, OSError):
            self.process.join(GRACE)
            raise WorkerDied(f"worker {self.process.pid} {manner_of(self.process.exitcode)}") from None
        if good:
            return value
        error, trace = value
        error.add_note(f"in worker {self.process.pid}\n{trace}")
        raise error

    def kill(self) -> None:
        self.process.kill()

    def join(self) -> None:
        self.process.join()
        self.connection.close()


class _Here:
    """The one worker of a crew without processes. It is its own inbox."""

    def __init__(self, serve: Serve) -> None:
        self._orders: deque[Any] = deque()
        self._results = serve(self)

    def get(self) -> Any:
        if not self._orders:
            raise UserError("crew: expected an order for the worker of this process before it is asked for a result")
        return self._orders.popleft()

    def all(self) -> list[Any]:
        found = list(self._orders)
        self._orders.clear()
        return found

    def send(self, order: object) -> None:
        self._orders.append(order)

    def receive(self) -> Any:
        return next(self._results)

    def kill(self) -> None:
        pass

    def join(self) -> None:
        pass


class _Pipe:
    """A worker's inbox at the end of a pipe."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self) -> Any:
        return pickle.loads(self._connection.recv_bytes())

    def all(self) -> list[Any]:
        found = []
        while self._connection.poll():
            found.append(self.get())
        return found


def _work(connection: Connection, serve: Serve) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=leave_with_parent, daemon=True).start()
    with suppress(EOFError, ConnectionError):  # the parent is gone
        try:
            for result in serve(_Pipe(connection)):
                connection.send_bytes(pickle.dumps((True, result)))
        except (EOFError, ConnectionError):
            raise
        except Exception as error:
            connection.send_bytes(_failure(error))


def _failure(error: Exception) -> bytes:
    trace = traceback.format_exc()
    try:
        data = pickle.dumps((False, (error, trace)))
        pickle.loads(data)  # many exceptions can be pickled, but not unpickled
    except Exception:
        return pickle.dumps((False, (RuntimeError(f"{type(error).__name__}: {error}"), trace)))
    return data
