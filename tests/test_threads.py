"""What runs long can be ended: by an interrupt, by the clock, and from plain Python that never ends."""

import signal
import threading
import time
import traceback
from contextlib import suppress

import numpy as np
import pytest

from base.compiler import compiled
from base.threads import Overtime, interruptible, within


def spin(flag, notes):
    turns = 0
    while flag[0] == 0:
        turns += 1
        notes[turns % len(notes)] = turns  # which might be the flag, as far as the compiler knows: it has to look again
    return turns


def idle():
    while True:
        pass


def test_the_result_or_the_error_of_the_call_is_returned():
    assert interruptible(lambda: 3) == within(9, lambda: 3) == 3
    for run in (interruptible, lambda call: within(9, call)):
        with pytest.raises(ZeroDivisionError):
            run(lambda: 1 // 0)


def test_compiled_code_is_stopped_at_the_deadline_and_its_result_counts():
    run, flag, notes = compiled(spin), np.ones(1, np.uint8), np.zeros(3, np.uint8)
    run(flag, notes)  # compiles
    flag[0] = 0
    start = time.perf_counter()
    assert interruptible(lambda: run(flag, notes), lambda: flag.fill(1), start + 0.05) > 0
    assert time.perf_counter() - start >= 0.05


def test_an_interrupt_stops_compiled_code_and_waits_until_it_has_stopped():
    run, flag, notes, ended = compiled(spin), np.ones(1, np.uint8), np.zeros(3, np.uint8), threading.Event()
    run(flag, notes)
    flag[0] = 0
    timer = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        interruptible(lambda: (run(flag, notes), ended.set()), lambda: flag.fill(1))
    timer.join()
    assert ended.is_set()


def test_a_call_that_cannot_be_stopped_is_abandoned_at_the_deadline():
    release = threading.Event()
    with pytest.raises(Overtime):
        interruptible(release.wait, deadline=time.perf_counter() + 0.05)
    release.set()


def test_the_stack_is_as_large_as_asked_for_and_only_there():
    before = threading.stack_size()

    def depth(n):
        return n if n == 0 else depth(n - 1)

    assert interruptible(lambda: depth(500), stack=64 << 20) == 0
    assert threading.stack_size() == before


def test_plain_python_that_never_ends_is_interrupted_at_its_line():
    for _ in range(20):
        with pytest.raises(Overtime) as caught:
            within(0.01, idle)
        assert "idle" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]


def test_no_overtime_comes_late():
    """Calls that end just about then: an answer or Overtime, and nothing of it afterwards."""
    answers = 0
    for i in range(200):
        with suppress(Overtime):
            answers += within(0.002, lambda i=i: time.sleep(0.0017 + i * 3e-6) or 1)
        time.sleep(0.0005)
    assert answers > 0


def test_rules_that_catch_every_exception_are_interrupted_too():
    def stubborn():
        while True:
            with suppress(Exception):
                int("x")

    with pytest.raises(Overtime):
        within(0.05, stubborn)
