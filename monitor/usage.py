"""What a run uses: seconds of its parts, and memory.

clock = Clock()
with clock.of("learning"): ...
clock.read()                                    # {"learning": 3.1, "total": 4.0}, and from 0 again
clock.overall()                                 # the same from the start
resident()                                      # megabytes of this process and of those that it has started
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np


class Clock:
    """Seconds of the parts of a loop since the last `read`."""

    def __init__(self) -> None:
        self._parts: defaultdict[str, float] = defaultdict(float)
        self._all: defaultdict[str, float] = defaultdict(float)
        self._began = self._start = time.monotonic()

    @contextmanager
    def of(self, part: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self._parts[part] += time.monotonic() - began

    def seconds(self, part: str) -> float:
        return self._parts[part]

    def read(self) -> dict[str, float]:
        """The parts, none inside another one, and "total"."""
        now = time.monotonic()
        found = dict(self._parts) | {"total": now - self._began}
        for part, seconds in self._parts.items():
            self._all[part] += seconds
        self._parts.clear()
        self._began = now
        return found

    def overall(self) -> dict[str, float]:
        """The parts and "total" from the start of this process to the last `read`."""
        return dict(self._all) | {"total": self._began - self._start}


def resident(processes: list[int] | None = None) -> float:
    """Megabytes that processes keep in memory, pages that they share counted once; without a list, this process and its children.
    NaN where the system has no such figure."""
    children = (child.pid for child in multiprocessing.active_children())
    wanted = processes or [os.getpid(), *(pid for pid in children if pid)]
    found = [_kilobytes(pid) for pid in wanted]
    return float(np.sum(found)) / 1e3


def _kilobytes(pid: int) -> float:
    """Its proportional set size: a page shared by n processes counts as 1/n in each."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return float(line.split()[1]) * 1.024
    except OSError:
        return float("nan")
    return float("nan")
