"""Calls that can be stopped: compiled ones from another thread, plain Python ones after a time.

    nodes = interruptible(lambda: kernel(states, actions, depth))           # Ctrl-C works
    interruptible(search, stop=lambda: flag.fill(1), deadline=start + 0.1)  # and so does a deadline
    within(5.0, lambda: rules.result(state, action))                        # or `Overtime`, raised at the line that was running
    with time_limit(60.0): ...                                              # the same for what waits for others

While a compiled loop runs on the main thread, Python handles no signal. In a thread of its own, without the GIL, it leaves the main
thread free to handle an interrupt at once, and to keep the time without a clock in compiled code.
"""

from __future__ import annotations

import ctypes
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

R = TypeVar("R")

POLL = 0.05  # seconds between checks for a signal that another thread may have received


class Stop:
    """A request to stop, made once from any thread: `stop()`. What can be stopped registers for as long as it runs:

    with stop.calling(lambda: flag.fill(1)):
        ...
    """

    def __init__(self) -> None:
        self.is_set = False
        self._calls: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            self.is_set = True
            for call in self._calls:
                call()

    @contextmanager
    def calling(self, call: Callable[[], object]) -> Iterator[None]:
        """`call` is called by the request, or now if it came before; never after the block."""
        with self._lock:
            self._calls.append(call)
            if self.is_set:
                call()
        try:
            yield
        finally:
            with self._lock:
                self._calls.remove(call)


class Overtime(BaseException):
    """The call took too long. Not an Exception, because rules may catch those."""


def interruptible(
    call: Callable[[], R],
    stop: Callable[[], None] | None = None,
    deadline: float = math.inf,
    stack: int = 0,
) -> R:
    """What `call` returns or raises, run in a thread of its own with `stack` bytes of stack (0: as many as usual).

    `stop` makes it return soon. It is called at the deadline (by `time.perf_counter`) and at an interrupt, and then the call is
    waited for. Without `stop` the call continues in the background until the process ends, so its scratch space must not be used
    again, and the deadline raises `Overtime`. Where no interrupt can come and there is no deadline, as in a worker, no thread is
    started.
    """
    if deadline == math.inf and not stack and not _may_be_interrupted():
        return call()
    results: list[R] = []
    errors: list[BaseException] = []
    done = threading.Event()  # not `join`: where that is interrupted, Python 3.11 marks the thread as ended

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    _start(work, stack)
    try:
        while not done.wait(min(POLL, max(0.0, deadline - time.perf_counter()))):
            if time.perf_counter() >= deadline:
                if stop is None:
                    raise Overtime
                stop()
                deadline = math.inf
    finally:
        if stop is not None and not done.is_set():
            stop()
            done.wait()
    if errors:
        raise errors[0]
    return results[0]


def _may_be_interrupted() -> bool:
    """Whether SIGINT raises KeyboardInterrupt in this thread."""
    return (
        threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    )


_starting = threading.Lock()  # the size of the next stack is one number for all threads


def _start(work: Callable[[], None], stack: int) -> None:
    with _starting:
        before = threading.stack_size(stack) if stack else 0
        try:
            threading.Thread(target=work, daemon=True).start()
        finally:
            if stack:
                threading.stack_size(before)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """`Overtime` is raised in the block after so many seconds, where the main thread is then: in Python, or waiting for other threads
    and processes. An infinite time is no limit; on other threads there is none."""
    if math.isinf(seconds) or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(_signal: int, _frame: object) -> None:
        raise Overtime

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)


def within(seconds: float, call: Callable[[], R]) -> R:
    """What `call`, plain Python on this thread, returns or raises; where it takes longer, `Overtime` is raised inside it, so that the
    traceback shows the line that was running. Compiled code is not interrupted."""
    thread, lock, is_over = threading.get_ident(), threading.Lock(), False

    def interrupt() -> None:
        with lock:
            if not is_over:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Overtime))

    timer = threading.Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        return call()
    finally:
        with suppress(Overtime), lock:  # where it is raised only now, the result counts
            is_over = True
        timer.cancel()
