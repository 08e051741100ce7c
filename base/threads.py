"""Calls that can be ended: compiled ones from outside, plain Python ones after a time.

    nodes = interruptible(lambda: kernel(states, actions, depth))           # Ctrl-C works
    interruptible(search, stop=lambda: flag.fill(1), deadline=start + 0.1)  # and so does the clock
    within(5.0, lambda: rules.result(state, action))                        # or `Overtime`, raised at the line it was at

A compiled loop on the main thread keeps Python from seeing an interrupt until it returns. In a thread of its own, without the GIL, it
leaves the main thread free to see it at once, and to keep the time without a clock in compiled code.
"""

from __future__ import annotations

import ctypes
import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

R = TypeVar("R")

GLANCE = 0.05  # seconds between looks at whether a signal came, should another thread have received it


class Overtime(BaseException):
    """What ran was not done in time. Not an Exception, which rules may catch."""


def interruptible(
    call: Callable[[], R],
    stop: Callable[[], None] | None = None,
    deadline: float = math.inf,
    stack: int = 0,
) -> R:
    """What `call` returns or raises, run in a thread of its own with `stack` bytes of stack (0: as many as usual).

    `stop` makes it return soon. It is called at the deadline, as `time.perf_counter` counts, and at an interrupt, and then `call` is
    waited for. Without `stop` it goes on in the background until the process ends, its scratch space not to be used again, and
    the deadline raises `Overtime`.
    """
    results: list[R] = []
    errors: list[BaseException] = []
    done = threading.Event()  # `join` is no place to be interrupted in: Python 3.11 then takes the thread for ended

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    _start(work, stack)
    try:
        while not done.wait(min(GLANCE, max(0.0, deadline - time.perf_counter()))):
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


def _start(work: Callable[[], None], stack: int) -> None:
    before = threading.stack_size(stack) if stack else 0
    try:
        threading.Thread(target=work, daemon=True).start()
    finally:
        if stack:
            threading.stack_size(before)


def within(seconds: float, call: Callable[[], R]) -> R:
    """What `call`, plain Python on this thread, returns or raises; where it takes longer, `Overtime` is raised inside it, so that the
    traceback says how far it got. Compiled code is not interrupted."""
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
        with suppress(Overtime), lock:  # should it be raised only now, what was found counts
            is_over = True
        timer.cancel()
