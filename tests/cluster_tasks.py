"""Tasks for tests of clusters, in a file that imports little: each worker process imports it."""

from __future__ import annotations

import os
import signal
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from base.workers import Caller


@dataclass(frozen=True)
class Squares:
    """A task whose results are compared bit for bit, and whose worker takes a while for each."""

    seconds: float = 0.0
    in_hand: int = 2

    def prepared(self, workers: int) -> AbstractContextManager[Any]:
        return nullcontext(self)

    def worker(self) -> Caller[int, int]:
        return Caller(self.square)

    def square(self, number: int) -> int:
        time.sleep(self.seconds)
        return number * number

    def exact(self, result: int) -> bytes:
        return str(result).encode()


def square(number: int) -> int:
    return number * number


def sleep_then_number(job: tuple[int, float]) -> int:
    time.sleep(job[1])
    return job[0]


def sleep_then_pid(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def no_net_here() -> None:
    raise LookupError("no net here")


def fail_at_three(number: int) -> int:
    if number == 3:
        raise LookupError("three is not allowed")
    time.sleep(0 if number < 3 else 60)
    return number


def kill_self_at_two(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def double(data: bytes) -> bytes:
    return data * 2
