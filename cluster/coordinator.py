"""The `Workers` of a cluster: gives jobs to nodes and takes their results, each once, whatever carries them.

    with Coordinator(nodes) as workers:                          # nodes: cluster/ray_nodes.py, cluster/folder.py
        for number, result in workers.run(task, jobs):           # as with any `Workers`
            ...

What holds, whatever happens to nodes:

- The first result of a job is yielded, once. Those that come later are compared with it, where the task has a part to compare
  (`Task.exact`), and dropped.
- A job is given again where its node is lost, where its lease expired (cluster/leases.py), and where another node is idle.
- A node that was stopped or cut off continues when it is heard again. One that comes later is given jobs as the others are.
- Nodes that would compute other bits (cluster/fingerprint.py) take no part, unless `mixed` allows it.
- A share of all jobs that can be compared is done by two nodes. Where results differ, this process does the job itself, and the node
  that differs is named; the run ends. With `mixed` nothing is compared.

Everything happens in the caller's thread; nodes only put events into the inbox. An exception (Ctrl-C, a time limit) may end a run at
any line, so nothing here relies on two assignments being made together: a run has its own state, and each event is valid by itself.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from base.errors import UserError
from base.workers import Results, Task, WorkerDied
from cluster.figures import Figures
from cluster.fingerprint import differences, fingerprint
from cluster.leases import LEAST
from cluster.links import TICK, Inbox, Joined, Link, Lost, Nodes, Refused
from cluster.node import Order
from cluster.run import Run

J = TypeVar("J")
R = TypeVar("R")


@dataclass(frozen=True)
class Patience:
    """Seconds. Nothing but duplicate work and waiting depends on them."""

    silence: float = 10.0
    """Without an answer, until what a node has in hand is given to others. Nodes answer each second."""
    lease: float = LEAST
    """Which any lease lasts at least."""
    first: float = 60.0
    """For the nodes that are there at the beginning to answer."""
    notice: float = 10.0
    """Without any node, until that is written to standard error."""


@dataclass
class Member:
    """A node that takes part, and how it stands."""

    link: Link
    workers: int
    begun: int = 0
    """The run whose task it has."""
    is_silent: bool = False

    @property
    def name(self) -> str:
        return self.link.name


class Coordinator:
    """Workers on the nodes that there are at any time."""

    def __init__(
        self,
        nodes: Nodes,
        mixed: bool = False,
        audit: float = 0.01,
        patience: Patience | None = None,
        report: Callable[[str], object] | None = None,
    ) -> None:
        """`audit`: the share of comparable jobs that two nodes do; `report` takes a line about nodes that come and go."""
        self.mixed, self.audit, self.patience = mixed, 0.0 if mixed else audit, patience or Patience()
        self.report = report or _to_stderr
        self.inbox = Inbox()
        self.members: dict[str, Member] = {}
        self.free: dict[str, Member] = {}
        """Those that wait for an order."""
        self.waiting: dict[str, float] = {}
        """Nodes with an order that they have not answered, and since when by `now`."""
        self.figures = Figures()
        self._nodes = nodes
        self._runs = 0
        self._is_running = False
        self._away = 0.0
        self._refused: list[str] = []
        try:
            self._wait_for_first(nodes.open(self.inbox))
        except BaseException:
            nodes.close()
            raise

    def _wait_for_first(self, expected: int) -> None:
        """Those that are there, so that the first jobs are spread evenly; one at least."""
        noticed = False
        began = time.monotonic()
        while not self.members or len(self.members) + len(self._refused) < expected:
            self.receive()
            if self._refused and not self.members and len(self._refused) >= expected:
                raise UserError(f"{self._nodes.text}: {self._refused[0]}")
            waited = time.monotonic() - began
            if self.members and waited > self.patience.first:
                break
            if waited > self.patience.notice and not noticed:
                noticed = True
                self.report(f"{self._nodes.text}: waiting for nodes; {len(self.members)} of {expected} have answered")
            self.inbox.wait([], TICK)

    @property
    def size(self) -> int:
        return max(1, sum(each.workers for each in self.members.values()))

    @property
    def processes(self) -> int:
        """With one for each node, that its workers belong to."""
        return self.size + len(self.members)

    def run(self, task: Task[J, R], jobs: Iterable[J], *, ordered: bool = False) -> Results[R]:
        if self._is_running:
            raise RuntimeError("expected the run before to be over; one run at a time")
        self._is_running = True
        self._runs += 1
        run: Run[J, R] = Run(self, self._runs, task, jobs, ordered)
        self.figures.begin()
        try:
            yield from run.results()
            run.finish()
        finally:
            self._is_running = False
            self.figures.end()
            run.stop()

    def now(self) -> float:
        """Seconds, without those that a run's caller spent on a result: meanwhile no answer is read."""
        return time.monotonic() - self._away

    def away(self, since: float) -> None:
        self._away += time.monotonic() - since

    def receive(self, run: Run[Any, Any] | None = None) -> None:
        """Every event that is there."""
        while (event := self.inbox.take()) is not None:
            if isinstance(event, Joined):
                self._join(event, run)
            elif isinstance(event, Refused):
                self._refuse(event.name, event.why)
            elif (member := self.members.get(event.link.name)) is None or member.link is not event.link:
                pass  # of a node that was lost or refused
            elif isinstance(event, Lost):
                self._lose(member, event, run)
            else:
                self.waiting.pop(member.name, None)
                self.free[member.name] = member
                if member.is_silent:
                    member.is_silent = False
                    self.report(f"node {member.name} answers again")
                if run is not None and event.reply.run == run.number:
                    run.answered(member, event.reply)

    def _lose(self, member: Member, event: Lost, run: Run[Any, Any] | None) -> None:
        del self.members[member.name]
        for each in (self.waiting, self.free, self.figures.workers):
            each.pop(member.name, None)
        member.link.close()
        self.report(f"node {member.name} is lost: {event.why}; others do its jobs")
        if run is not None:
            run.lost(member)
        if event.is_for_good and not self.members:
            raise WorkerDied(f"node {member.name}, the last one: {event.why}")

    def send(self, member: Member, order: Order, task: Any = None) -> None:
        member.link.send(order, task)
        self.waiting[member.name] = self.now()
        self.free.pop(member.name, None)

    def _join(self, event: Joined, run: Run[Any, Any] | None) -> None:
        link, (workers, theirs) = event
        if found := differences(fingerprint(), theirs):
            words = "; ".join(found)
            if not self.mixed:
                link.close()
                self._refuse(link.name, f"{words}; --mixed takes it, and gives up equal bits")
                return
            self.report(f"node {link.name} may compute other bits: {words}")
        self.members[link.name] = self.free[link.name] = Member(link, workers)
        self.figures.workers[link.name] = workers
        if run is not None:
            self.report(f"node {link.name} joins with {counted(workers)}")

    def _refuse(self, name: str, why: str) -> None:
        self._refused.append(f"node {name} takes no part: {why}")
        self.report(self._refused[-1])

    def share(self, task: bytes) -> Any:
        return self._nodes.share(task)

    def metrics(self) -> Mapping[str, float]:
        return self.figures.read()

    def close(self) -> None:
        self._nodes.close()
        self.members.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def counted(workers: int) -> str:
    return f"{workers} worker{'' if workers == 1 else 's'}"


def _to_stderr(text: str) -> None:
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)
