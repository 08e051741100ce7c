"""Where the time goes: seconds of the parts of a loop, since they were last asked for.

clock = Clock()
with clock.of("learning"): ...
clock.read()                                    # {"learning": 3.1, "total": 4.0}, and from 0 again
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    def __init__(self) -> None:
        self._parts: defaultdict[str, float] = defaultdict(float)
        self._began = time.monotonic()

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
        self._parts.clear()
        self._began = now
        return found
