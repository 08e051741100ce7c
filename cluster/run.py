"""One run of a coordinator: which jobs are given to which node, and what came back.

The order of things: events are taken, leases looked at, jobs handed out, a result is yielded; again and again. What holds of it is in
cluster/coordinator.py.
"""

from __future__ import annotations

import hashlib
import heapq
import math
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from base.errors import UserError, short
from base.worker_messages import job_message, opened_result, task_message
from base.workers import AHEAD, InProcess, Jobs, Results, Task, WorkerDied
from cluster.leases import Leases
from cluster.links import TICK
from cluster.node import Order, Reply, hash_of

if TYPE_CHECKING:
    from cluster.coordinator import Coordinator, Member

J = TypeVar("J")
R = TypeVar("R")

DEATHS = 3
"""A job that was in hand so many times when a worker process died is not given again."""
REST = 0.001
"""Seconds between two answers of a node, for each node that there is: so many answers a second, however many nodes."""
TOGETHER = 0.05
"""Seconds, where more jobs are to come at once: quick ones are then answered several at a time. The call costs more than a result."""


class First(NamedTuple):
    """The first result of a job that another node may answer, too."""

    exact: bytes
    """The hash of its part that is compared."""
    node: str
    job: Any


class Run(Generic[J, R]):
    """One run: which jobs are given to whom, and what came back."""

    def __init__(self, owner: Coordinator, number: int, task: Task[J, R], jobs: Iterable[J], ordered: bool) -> None:
        self.number = number
        self._owner, self._task = owner, task
        self._known: Jobs[J, R] = Jobs(jobs, 1, ordered)
        self._leases = Leases(owner.patience.lease)
        self._again: deque[int] = deque()  # jobs that no lease holds any more
        self._audits: deque[int] = deque()  # jobs that one node has, and a second one is to do
        self._first: dict[int, First] = {}
        self._deaths: Counter[int] = Counter()
        self._dropped: defaultdict[str, list[int]] = defaultdict(
            list
        )  # jobs that a node has and that are done elsewhere
        self._finished: Counter[str] = Counter()  # results in a node's last answer
        self._ahead = 0  # their sum
        self._audit = owner.audit
        self._in_hand = task.in_hand
        self._hash, self._shared = "", None
        self._looked = owner.now()
        self._alone_since: float | None = None  # without any node

    # ── the loop ──

    def results(self) -> Results[R]:
        known, owner = self._known, self._owner
        while True:
            owner.receive(self)
            self._look_at_leases()
            self._hand_out()  # nodes get their next jobs before the caller gets a result: it may take its time
            if (result := known.ready()) is not None:
                since = time.monotonic()
                yield result
                owner.away(since)
            elif known.in_hand or not known.is_exhausted:
                owner.inbox.wait(known.waits_for, TICK)
            else:
                return

    def finish(self) -> None:
        """All results are there. What is still under way is a duplicate of one, and may end."""
        for member in self._owner.members.values():
            if member.begun == self.number:
                self._owner.send(member, Order(self.number, is_over=True))
        self._leases = Leases()

    def stop(self) -> None:
        """The results are not wanted any more: nothing continues."""
        for member in self._owner.members.values():
            if self._leases.jobs(member.name):
                member.begun = 0
                self._owner.send(member, Order(self.number, is_stopped=True))

    # ── events ──

    def answered(self, member: Member, reply: Reply) -> None:
        name, now = member.name, self._owner.now()
        self._owner.figures.idle[name] += reply.idle
        self._count_finished(name, len(reply.results))
        for message in reply.results:
            number, result = opened_result(message, lambda: f"a job on node {name}")
            self._leases.end(number, name, now)
            self._take(number, name, result)
        for number in reply.given_back:
            self._leases.forget(number, name)
            self._give_again([number])
        if reply.failure:
            opened_result(reply.failure, lambda: f"a job on node {name}")
        if reply.died:
            self._died(member, reply.died)

    def lost(self, member: Member) -> None:
        self._count_finished(member.name, 0)
        self._give_again(self._leases.lose(member.name))

    def _died(self, member: Member, how: str) -> None:
        """A worker process did, and took what its node had in hand with it. A job that ends its worker would do so without end."""
        found = self._leases.lose(member.name)
        self._deaths.update(found)
        if any(self._deaths[number] >= DEATHS for number in found):
            raise WorkerDied(f"node {member.name}: {how}, as {DEATHS - 1} workers before it")
        self._owner.report(f"node {member.name}: {how}; its jobs are given again")
        member.begun = 0
        self._give_again(found)

    def _take(self, number: int, name: str, result: R) -> None:
        if number not in self._known.in_hand:
            self._owner.figures.duplicates[name] += 1
            self._compare(number, name, result)
            return
        job = self._known.in_hand[number]
        self._known.done(number, result)
        self._owner.figures.results[name] += 1
        others = self._leases.nodes(number)
        is_audited = self._is_audited(number)
        if others or is_audited:
            exact = None if self._owner.mixed else self._task.exact(result)
            if exact is not None:
                self._first[number] = First(_digest(exact), name, job)
            else:
                self._audit = 0.0  # nothing to compare
        if not is_audited:
            for other in others & self._owner.members.keys():
                self._dropped[other].append(number)

    def _compare(self, number: int, name: str, result: R) -> None:
        first = self._first.get(number)
        if first is None:
            return
        if not self._leases.nodes(number) and number not in self._audits:
            del self._first[number]
        exact = self._task.exact(result)
        assert exact is not None
        if _digest(exact) == first.exact:
            return
        [(_, here)] = InProcess().run(self._task, [first.job])
        right = self._task.exact(here)
        assert right is not None
        found = {first.node: first.exact, name: _digest(exact)}
        wrong = [node for node, digest in found.items() if digest != _digest(right)]
        raise UserError(
            f"node {' and node '.join(wrong)}: expected the bits of this machine in job {number}, {short(repr(first.job))}, "
            "got others; start it without that node"
        )

    # ── giving ──

    def _look_at_leases(self) -> None:
        now, owner = self._owner.now(), self._owner
        if now < self._looked + TICK:
            return
        self._looked = now
        expired = self._leases.expire(now)
        for name, since in owner.waiting.items():
            member = owner.members[name]
            if now - since > owner.patience.silence and self._leases.jobs(name):
                expired += self._leases.expire_all(name)
                if not member.is_silent:
                    member.is_silent = True
                    owner.report(f"node {name} does not answer; others do its jobs, too")
        owner.figures.expired.update(name for _, name in expired)
        self._give_again([number for number, _ in expired])
        if owner.members:
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = now
        elif now - self._alone_since > owner.patience.notice:
            self._alone_since = math.inf  # one notice is enough
            owner.report("no node is left; waiting for one")

    def _give_again(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            if number in self._known.in_hand and not self._leases.is_live(number) and number not in self._again:
                self._again.append(number)

    def _hand_out(self) -> None:
        """To the nodes that wait for orders, one job after the other to the one with the fewest for each worker."""
        owner, leases = self._owner, self._leases
        free = list(owner.free.values())
        if not free:
            return
        self._known.most = AHEAD * (owner.size * self._in_hand + self._ahead)
        jobs: dict[str, list[bytes]] = {member.name: [] for member in free}
        load = [(len(leases.jobs(member.name)) / member.workers, member.name) for member in free]
        heapq.heapify(load)
        while load:
            _, name = load[0]
            member = owner.members[name]
            number = self._next(member) if len(leases.jobs(name)) < self._room(member) else None
            if number is None:
                heapq.heappop(load)
                continue
            leases.give(number, name, owner.now())
            jobs[name].append(job_message(number, self._job(number)))
            heapq.heapreplace(load, (len(leases.jobs(name)) / member.workers, name))
        for member in free:
            self._order(member, jobs[member.name])

    def _count_finished(self, name: str, results: int) -> None:
        self._ahead += results - self._finished[name]
        self._finished[name] = results

    def _room(self, member: Member) -> int:
        """How many jobs a node should have: those that its workers make use of, and as many as they may take until more arrive."""
        return member.workers * self._in_hand + max(member.workers, 2 * self._finished[member.name])

    def _order(self, member: Member, jobs: list[bytes]) -> None:
        """Its new jobs; without any, a call for the results of those that it has."""
        if not self._leases.jobs(member.name):
            return
        if not self._hash:
            message = task_message(self._task)
            self._hash, self._shared = hash_of(message), self._owner.share(message)
        dropped = self._dropped.pop(member.name, [])
        more = not self._known.is_exhausted and not self._known.waits_for
        rest = max(REST * len(self._owner.members), TOGETHER if more else 0.0)
        order = Order(self.number, self._hash, jobs, dropped, rest)
        self._owner.send(member, order, self._shared if member.begun != self.number else None)
        member.begun = self.number

    def _next(self, member: Member) -> int | None:
        """The number of a job for this node; none where it has to wait."""
        for waiting in (self._again, self._audits):
            for _ in range(len(waiting)):
                number = waiting.popleft()
                if number not in self._known.in_hand and (waiting is self._again or number not in self._first):
                    continue
                if member.name not in self._leases.nodes(number) and self._is_other(member, number):
                    return number
                waiting.append(number)
        if (job := self._known.take()) is not None:
            if self._is_audited(job[0]) and len(self._owner.members) > 1:
                self._audits.append(job[0])
            return job[0]
        if not self._leases.jobs(member.name):
            slow = self._leases.slow(self._owner.now())
            return next((number for number in slow if number in self._known.in_hand), None)
        return None

    def _is_other(self, member: Member, number: int) -> bool:
        """Not the node whose result is there already."""
        return number not in self._first or self._first[number].node != member.name

    def _job(self, number: int) -> Any:
        return self._known.in_hand[number] if number in self._known.in_hand else self._first[number].job

    def _is_audited(self, number: int) -> bool:
        if not self._audit:
            return False
        drawn = int.from_bytes(hashlib.blake2b(b"%d %d" % (self.number, number), digest_size=4).digest(), "little")
        return drawn < self._audit * 2**32


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
