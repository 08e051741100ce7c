"""What each node did, as metrics of a run (monitor/metrics.toml)."""

from __future__ import annotations

import time
from collections import Counter, defaultdict


class Figures:
    """Counts since the last `read`, by node."""

    def __init__(self) -> None:
        self.results: Counter[str] = Counter()
        """Jobs of which the node gave the first result."""
        self.duplicates: Counter[str] = Counter()
        """Results of jobs that had one already."""
        self.expired: Counter[str] = Counter()
        """Leases that expired."""
        self.idle: defaultdict[str, float] = defaultdict(float)
        """Seconds of its workers without a job."""
        self.workers: dict[str, int] = {}
        self._working = 0.0  # seconds within runs
        self._begun: float | None = None

    def begin(self) -> None:
        self._begun = time.monotonic()

    def end(self) -> None:
        if self._begun is not None:
            self._working += time.monotonic() - self._begun
            self._begun = None

    def read(self) -> dict[str, float]:
        """By tag; then everything counts from 0 again."""
        is_running = self._begun is not None
        self.end()
        found: dict[str, float] = {}
        if self._working > 0:
            for node, workers in self.workers.items():
                found[f"cluster/{node} games per second"] = self.results[node] / self._working
                found[f"cluster/{node} idle"] = min(1.0, self.idle[node] / (workers * self._working))
            found["cluster/leases expired"] = self.expired.total()
            found["cluster/duplicates"] = self.duplicates.total() / max(1, self.results.total())
            found["cluster/workers"] = sum(self.workers.values())
        for each in (self.results, self.duplicates, self.expired):
            each.clear()
        self.idle.clear()
        self._working = 0.0
        if is_running:
            self.begin()
        return found
