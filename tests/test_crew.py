"""Workers that stay: what they send arrives, what they raise is raised, and their death is not a hang."""

import os
import signal
from collections.abc import Iterator

import pytest

from base.crew import Crew, Inbox
from base.errors import UserError
from base.pool import WorkerDied


def adder(inbox: Inbox) -> Iterator[object]:
    """Sums what came since it last had nothing to do: a worker with a state."""
    total = inbox.get()
    while True:
        total += sum(inbox.all())
        yield os.getpid(), total
        total += inbox.get()


def thrower(inbox: Inbox) -> Iterator[object]:
    yield inbox.get()
    raise UserError("expected better")


def leaver(inbox: Inbox) -> Iterator[object]:
    os.kill(os.getpid(), signal.SIGKILL)
    yield inbox.get()


@pytest.mark.parametrize("workers", [0, 2])
def test_workers_keep_their_state_from_order_to_order(workers: int) -> None:
    with Crew(adder, workers) as crew:
        totals = dict.fromkeys(range(crew.size), 0)
        pids = set()
        for turn in range(3):
            for worker in range(crew.size):
                crew.send(worker, 10 * worker + turn)
            for _ in range(crew.size):
                worker, (pid, total) = crew.receive()
                totals[worker] += 10 * worker + turn
                assert total == totals[worker]
                pids.add(pid)
        assert len(pids) == crew.size
        assert (os.getpid() in pids) == (workers == 0)


@pytest.mark.parametrize("workers", [0, 1])
def test_what_a_worker_raises_is_raised_behind_what_it_sent_before(workers: int) -> None:
    with Crew(thrower, workers) as crew:
        crew.send(0, "first")
        assert crew.receive() == (0, "first")
        with pytest.raises(UserError, match="expected better"):
            crew.receive()


def test_a_killed_worker_is_named_and_nobody_waits_for_it() -> None:
    with Crew(leaver, 1) as crew, pytest.raises(WorkerDied, match=r"worker \d+ was killed by SIGKILL"):
        crew.receive()


def test_workers_end_with_the_block() -> None:
    with Crew(adder, 1) as crew:
        crew.send(0, 1)
        _, (pid, _) = crew.receive()
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_fewer_than_no_workers_are_refused() -> None:
    with pytest.raises(UserError, match="expected 0 or more workers, got -1"):
        Crew(adder, -1)


def test_a_worker_of_this_process_does_not_wait_for_an_order_that_nobody_can_send() -> None:
    with Crew(adder, 0) as crew, pytest.raises(UserError, match="expected an order"):
        crew.receive()
