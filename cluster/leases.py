"""Which node has which job, since when, and when it is given to another one.

A lease is one job at one node. It expires where it has lasted FACTOR times as long as the median of those that ended, or where its
node is silent; then the job is given to another node, too. The node keeps the job: what it answers, however late, is taken or compared.
Times are arguments, in seconds of any clock that never goes back.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Iterator

FACTOR = 4.0
LEAST = 10.0
"""Seconds that any lease lasts: a node may have to compile, or to start its processes again."""
MEASURED = 101
"""The newest leases that ended, of which the median is taken."""


class Leases:
    def __init__(self, least: float = LEAST) -> None:
        self._least = least
        self._given: dict[tuple[int, str], float] = {}  # in the order of time; those that have not expired
        self._jobs: defaultdict[str, set[int]] = defaultdict(set)  # by node, expired ones too
        self._nodes: defaultdict[int, set[str]] = defaultdict(set)  # by job
        self._newest: deque[float] = deque()
        self._sorted: list[float] = []

    def give(self, number: int, node: str, now: float) -> None:
        assert node not in self._nodes[number], "a node gets a job once"
        self._given[number, node] = now
        self._jobs[node].add(number)
        self._nodes[number].add(node)

    def jobs(self, node: str) -> set[int]:
        return self._jobs[node]

    def nodes(self, number: int) -> set[str]:
        return self._nodes.get(number, set())

    def end(self, number: int, node: str, now: float) -> None:
        """The node has answered. Without a lease, nothing."""
        begun = self._given.get((number, node))
        if begun is not None:
            self._measure(now - begun)
        self.forget(number, node)

    def forget(self, number: int, node: str) -> None:
        """The node does not have it any more."""
        self._given.pop((number, node), None)
        self._jobs[node].discard(number)
        if number in self._nodes:
            self._nodes[number].discard(node)
            if not self._nodes[number]:
                del self._nodes[number]

    def lose(self, node: str) -> list[int]:
        """The node is gone; its jobs."""
        found = sorted(self._jobs[node])
        for number in found:
            self.forget(number, node)
        del self._jobs[node]
        return found

    def expire(self, now: float) -> list[tuple[int, str]]:
        """The leases, as (job, node), that expire now."""
        limit = self.limit()
        found = []
        for key, begun in self._given.items():
            if now - begun <= limit:
                break
            found.append(key)
        return self._expired(found)

    def expire_all(self, node: str) -> list[tuple[int, str]]:
        """The node is silent."""
        return self._expired([(number, node) for number in sorted(self._jobs[node]) if (number, node) in self._given])

    def _expired(self, keys: list[tuple[int, str]]) -> list[tuple[int, str]]:
        for key in keys:
            del self._given[key]
        return keys

    def is_live(self, number: int) -> bool:
        """Whether a node has it on a lease that has not expired."""
        return any((number, node) in self._given for node in self.nodes(number))

    def limit(self) -> float:
        """How long a lease lasts; without end until one has ended."""
        return max(self._least, FACTOR * self.median()) if self._sorted else float("inf")

    def median(self) -> float:
        return self._sorted[len(self._sorted) // 2] if self._sorted else 0.0

    def slow(self, now: float) -> Iterator[int]:
        """Jobs that one node alone has for longer than the median, the oldest first. Idle nodes take them."""
        median = self.median()
        for (number, _), begun in self._given.items():
            if now - begun <= median:
                return
            if len(self._nodes[number]) == 1:
                yield number

    def _measure(self, seconds: float) -> None:
        self._newest.append(seconds)
        insort(self._sorted, seconds)
        if len(self._newest) > MEASURED:
            del self._sorted[bisect_left(self._sorted, self._newest.popleft())]
