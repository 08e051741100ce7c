"""Workers: every job once, a state that lasts, no hangs, no orphans, no noise."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from base import local_workers
from base.errors import UserError
from base.local_workers import Processes, Threads, cores, opened, run_jobs
from base.workers import AHEAD, Calls, InProcess, WorkerDied, Workers

ROOT = Path(__file__).parents[1]

backends = pytest.mark.parametrize(
    "backend", [InProcess, lambda: Processes(2), lambda: Threads(2)], ids=["here", "processes", "threads"]
)
several = pytest.mark.parametrize("backend", [lambda: Processes(2), lambda: Threads(2)], ids=["processes", "threads"])
Backend = Callable[[], Workers]

prepared = 0


def square(number: int) -> int:
    return number * number


def sleep_then_number(job: tuple[int, float]) -> int:
    time.sleep(job[1])
    return job[0]


def prepare() -> None:
    global prepared
    prepared += 1


def what_was_prepared(_: int) -> int:
    return prepared


def break_down() -> None:
    raise LookupError("no net here")


def fail_at_three(number: int) -> int:
    if number == 3:
        raise UserError("three is not allowed")
    time.sleep(0 if number < 3 else 60)
    return number


class TwoPart(Exception):
    """Can be pickled but not unpickled."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def raise_two_part(_: int) -> None:
    raise TwoPart(1, 2)


def return_a_lambda(_: int) -> object:
    return lambda: None


def kill_self_at_two(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def leave_with_code(number: int) -> None:
    os._exit(number)


def sleep_then_pid(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def big(number: int) -> bytes:
    return bytes([number]) * 3_000_000


@dataclass(frozen=True)
class Sums:
    """Workers with three jobs in hand, which are done together: each result is the sum of all jobs that the worker ever had."""

    start: int
    in_hand: int = 3

    @contextlib.contextmanager
    def prepared(self, workers: int) -> "Iterator[Sums]":
        global prepared
        prepared += 1
        yield self
        prepared += 100

    def worker(self) -> "Summing":
        return Summing(self.start)

    def exact(self, result: object) -> None:
        return None


class Summing:
    def __init__(self, total: int) -> None:
        self.total, self.numbers = total, list[int]()

    def add(self, number: int, job: int) -> None:
        if job < 0:
            raise UserError("expected no negative number")
        self.total += job
        self.numbers.append(number)

    def step(self) -> Iterator[tuple[int, tuple[int, int]]]:
        numbers, self.numbers = self.numbers, []
        for number in numbers:
            yield number, (len(numbers), self.total)


@dataclass(frozen=True)
class Heavy:
    """Jobs and results of some megabytes, several in hand."""

    in_hand: int = 4

    def prepared(self, workers: int) -> "contextlib.AbstractContextManager[Heavy]":
        return contextlib.nullcontext(self)

    def worker(self) -> "Doubling":
        return Doubling()

    def exact(self, result: object) -> None:
        return None


class Doubling:
    def __init__(self) -> None:
        self.jobs: list[tuple[int, bytes]] = []

    def add(self, number: int, job: bytes) -> None:
        self.jobs.append((number, job))

    def step(self) -> Iterator[tuple[int, bytes]]:
        number, job = self.jobs.pop(0)
        yield number, job * 2


def break_a_pipe(_: int) -> None:
    raise BrokenPipeError("of something else")


def leave_politely(_: int) -> None:
    sys.exit(7)


def no_children_left() -> bool:
    return multiprocessing.active_children() == []


@backends
@pytest.mark.parametrize("ordered", [False, True])
def test_every_job_is_answered_once_under_its_number(backend: Backend, ordered: bool) -> None:
    with contextlib.closing(backend()) as workers:
        for count in (100, 0, 3):  # one run after the other
            results = list(workers.run(Calls(square), iter(range(count)), ordered=ordered))
            assert sorted(results) == [(n, n * n) for n in range(count)]
            assert not ordered or results == sorted(results)
    assert no_children_left()


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_a_number_of_workers_stands_for_processes_that_end_with_the_call(workers: int) -> None:
    assert sorted(run_jobs(square, iter(range(20)), workers)) == [(n, n * n) for n in range(20)]
    assert no_children_left()


@several
def test_workers_stay_between_runs_and_a_task_begins_anew(backend: Backend) -> None:
    with contextlib.closing(backend()) as workers:
        found = [dict(workers.run(Calls(sleep_then_pid), [0.1, 0.1])) for _ in range(2)]
        assert set(found[0].values()) == set(found[1].values())
        for start in (1000, 2000):
            totals = dict(workers.run(Sums(start), [1])).values()
            assert list(totals) == [(1, start + 1)]


@backends
def test_a_worker_has_several_jobs_in_hand_and_keeps_its_state(backend: Backend) -> None:
    with contextlib.closing(backend()) as workers:
        results = dict(workers.run(Sums(0), [1] * 60))
    assert set(results) == set(range(60))
    assert max(together for together, _ in results.values()) in (2, 3)
    assert max(total for _, total in results.values()) >= 60 / workers.size


@several
def test_a_task_is_prepared_once_before_the_first_job_until_the_run_is_over_and_not_without_a_job(
    backend: Backend,
) -> None:
    global prepared
    with contextlib.closing(backend()) as workers:
        prepared = 0
        assert list(workers.run(Sums(0), [])) == [] and prepared == 0
        results = workers.run(Sums(0), range(9))
        next(results)
        assert prepared == 1
        assert len(list(results)) == 8 and prepared == 101


def test_no_jobs_start_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Processes, "member", None)
    assert list(run_jobs(square, [], 2)) == []


@several
def test_one_run_at_a_time(backend: Backend) -> None:
    with contextlib.closing(backend()) as workers:
        first = workers.run(Calls(square), range(9))
        next(first)
        with pytest.raises(RuntimeError, match="expected the run before to be over"):
            next(workers.run(Calls(square), range(9)))
        first.close()
        assert len(list(workers.run(Calls(square), range(9)))) == 9


def test_ordered_results_come_in_order_though_they_finish_in_another() -> None:
    with Processes(2) as workers:
        jobs = [(number, 0.2 if number % 5 == 0 else 0.0) for number in range(20)]
        results = list(workers.run(Calls(sleep_then_number), jobs, ordered=True))
        assert results == [(number, number) for number in range(20)]
        unordered = list(workers.run(Calls(sleep_then_number), [(0, 0.5), (1, 0.0), (2, 0.0)]))
        assert [number for number, _ in unordered] == [1, 2, 0]


@pytest.mark.parametrize("ordered", [False, True])
def test_jobs_are_taken_only_as_they_are_needed(ordered: bool) -> None:
    taken = yielded = most = 0

    def jobs() -> Iterator[tuple[int, float]]:
        nonlocal taken
        while True:  # as good as endless
            taken += 1
            yield taken, 0.3 if taken == 1 else 0.0

    with contextlib.closing(run_jobs(sleep_then_number, jobs(), 2, ordered=ordered)) as results:
        for _ in results:
            yielded += 1
            most = max(most, taken - yielded)
            if yielded == 200:
                break
    assert 2 <= most <= AHEAD * 2
    assert no_children_left()


@several
def test_large_jobs_and_results_do_not_block_each_other(backend: Backend) -> None:
    with contextlib.closing(backend()) as workers:
        jobs = [bytes([number]) * 1_000_000 for number in range(24)]
        results = dict(workers.run(Heavy(), jobs))
    assert results == {number: job * 2 for number, job in enumerate(jobs)}


@pytest.mark.parametrize("workers", [0, 2])
def test_the_initializer_runs_once_in_each_worker(workers: int) -> None:
    global prepared
    prepared = 0
    results = run_jobs(what_was_prepared, range(10), workers, initializer=prepare)
    assert {result for _, result in results} == {1}


@backends
def test_what_an_initializer_raises_is_raised_by_the_run(backend: Backend) -> None:
    with contextlib.closing(backend()) as workers, pytest.raises(LookupError, match="no net here"):
        list(workers.run(Calls(square, break_down), range(3)))
    assert no_children_left()


def test_an_error_is_raised_with_the_worker_s_traceback_and_stops_the_others() -> None:
    began = time.monotonic()
    with Processes(3) as workers:
        with pytest.raises(UserError, match="three is not allowed") as caught:
            list(workers.run(Calls(fail_at_three), range(100)))
        note = "".join(caught.value.__notes__)
        assert note.startswith("in job 3: 3 (process ") and "in fail_at_three" in note
        assert time.monotonic() - began < 20
        assert list(workers.run(Calls(square), [5])) == [(0, 25)]  # the next run is not touched by it
    assert no_children_left()


@several
def test_an_error_with_several_jobs_in_hand_names_them_all(backend: Backend) -> None:
    with contextlib.closing(backend()) as workers:
        with pytest.raises(UserError, match="expected no negative number") as caught:
            list(workers.run(Sums(0), [-1] * 20))
        assert caught.value.__notes__[0].startswith("in one of 3 jobs: ")


@several
def test_errors_and_results_that_cannot_travel_are_reported(backend: Backend) -> None:
    with contextlib.closing(backend()) as workers:
        with pytest.raises(RuntimeError, match="TwoPart: 1 and 2"):
            list(workers.run(Calls(raise_two_part), [0]))
        with pytest.raises(Exception, match="pickle"):
            list(workers.run(Calls(return_a_lambda), [0]))
        with pytest.raises(BrokenPipeError, match="of something else"):  # not taken for the pipe to the parent
            list(workers.run(Calls(break_a_pipe), [0]))
    assert no_children_left()


def test_a_worker_killed_from_outside_is_an_error_that_names_the_job() -> None:
    message = r"worker was killed by SIGKILL \(out of memory\?\) in job 2: 2 \(process \d+\)"
    with Processes(2) as workers:
        with pytest.raises(WorkerDied, match=message):
            list(workers.run(Calls(kill_self_at_two), range(100)))
        assert len(list(workers.run(Calls(square), range(10)))) == 10  # others take the place of the dead
    assert no_children_left()


def test_a_worker_that_leaves_is_an_error_that_says_how() -> None:
    with pytest.raises(WorkerDied, match=r"worker left with exit code 7 in job 0: 7 "):
        list(run_jobs(leave_with_code, [7], 1))
    with pytest.raises(WorkerDied, match=r"worker left with exit code 7 in job 0: 7 "):
        list(run_jobs(leave_politely, [7], 1))
    with contextlib.closing(Threads(1)) as workers, pytest.raises(WorkerDied, match=r"worker left by sys.exit"):
        list(workers.run(Calls(leave_politely), [7]))


def test_a_worker_killed_between_two_jobs_is_named_with_the_second() -> None:
    def jobs() -> Iterator[int]:
        yield 10
        if workers := multiprocessing.active_children():
            workers[0].kill()
            workers[0].join()
        yield 11

    with pytest.raises(WorkerDied, match=r"worker was killed by SIGKILL .* in job 1: 11"):
        list(run_jobs(square, jobs(), 1))


def test_a_worker_killed_when_nothing_is_left_for_it_to_do_harms_nothing() -> None:
    with Processes(2) as workers:
        results = workers.run(Calls(sleep_then_pid), [0.0, 0.3])
        first, idle = next(results)
        os.kill(idle, signal.SIGKILL)
        assert first == 0 and [number for number, _ in results] == [1]
        assert len(list(workers.run(Calls(square), range(10)))) == 10
    assert no_children_left()


def test_an_iteration_that_is_given_up_leaves_no_workers_at_work() -> None:
    with Processes(2) as workers:
        results = workers.run(Calls(sleep_then_number), [(0, 0.0), (1, 60.0), (2, 60.0)])
        assert next(results) == (0, 0)
        assert not no_children_left()
        results.close()
        assert no_children_left()


def test_closing_does_not_wait_for_jobs_in_hand() -> None:
    began = time.monotonic()
    with Processes(2) as workers:
        results = workers.run(Calls(sleep_then_number), [(0, 0.0), (1, 60.0), (2, 60.0)])
        assert next(results) == (0, 0)
    assert no_children_left() and time.monotonic() - began < local_workers.GRACE
    results.close()


def test_a_thread_ends_with_the_step_that_it_is_at() -> None:
    with contextlib.closing(Threads(2)) as workers:
        results = workers.run(Calls(sleep_then_number), [(0, 0.0), (1, 0.3), (2, 0.3)])
        members = workers._members
        assert next(results) == (0, 0)
        threads = [member.thread for member in members]  # type: ignore[attr-defined]
        results.close()
        for thread in threads:
            thread.join(5)
            assert not thread.is_alive()


def test_a_negative_number_of_workers_is_refused_at_once() -> None:
    with pytest.raises(UserError, match=r"workers: expected 0 to .* cores, got -1"):
        run_jobs(square, [1], -1)
    with pytest.raises(UserError, match=r"workers: expected 0 to .* cores, got -1"), opened(-1):
        pass
    with pytest.raises(UserError, match="expected 1 or more workers, got 0"):
        Processes(0)


# Three commands with two workers, all of whom hold its stdout: end of file there means that all are gone.
SCRIPT = """
import contextlib, multiprocessing, os, signal, sys, threading, time
from base.errors import run_command
from base.local_workers import run_jobs

def work(seconds):
    print("working", flush=True)
    time.sleep(seconds)

def busy():
    for _ in run_jobs(work, [3600] * 9, 2):
        pass

def idle():
    for _ in run_jobs(work, [0, 0], 2):
        time.sleep(3600)

def pestered():
    def pester():
        while True:
            for process in multiprocessing.active_children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGINT)
            time.sleep(0.001)
    threading.Thread(target=pester, daemon=True).start()
    print(sum(1 for _ in run_jobs(work, [0.1] * 4, 2)), "done", flush=True)

def main(argv):
    print("starting", flush=True)
    globals()[argv[0]]()
    return 0

if __name__ == "__main__":
    run_command(main)
"""


def command(tmp_path: Path, name: str) -> subprocess.Popen[str]:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    return subprocess.Popen(
        [sys.executable, str(script), name],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def read_lines(process: subprocess.Popen[str], count: int) -> None:
    assert process.stdout is not None
    for _ in range(count):
        assert process.stdout.readline()


@pytest.mark.parametrize("name", ["busy", "idle"])
def test_workers_leave_within_two_seconds_when_their_parent_is_killed(tmp_path: Path, name: str) -> None:
    process = command(tmp_path, name)
    read_lines(process, 3)
    process.send_signal(signal.SIGKILL)
    _, err = process.communicate(timeout=2)
    assert err == ""


def stop_and_square(number: int) -> int:
    os.kill(os.getpid(), signal.SIGSTOP)
    return number * number


def test_a_stopped_worker_is_named_and_continued_it_gives_its_result(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(local_workers, "PATIENCE", 0.2)
    said = ""

    def go_on() -> None:
        nonlocal said
        until = time.monotonic() + 60
        while "is stopped" not in said and time.monotonic() < until:
            time.sleep(0.1)
            said += capfd.readouterr().err
        os.kill(int(said.split("process ")[1].split(",")[0]), signal.SIGCONT)

    helper = threading.Thread(target=go_on)
    helper.start()
    assert list(run_jobs(stop_and_square, [7], 1)) == [(0, 49)]
    helper.join()
    assert said.count("waiting for worker process ") == 1 and "; kill -CONT continues it\n" in said


# After one line the workers are only starting; after three they work.
@pytest.mark.parametrize(("lines", "delay"), [(3, 0), (1, 0), (1, 0.05), (1, 0.1)])
def test_ctrl_c_stops_everything_at_once_and_quietly(tmp_path: Path, lines: int, delay: float) -> None:
    process = command(tmp_path, "busy")
    read_lines(process, lines)
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the parent and all workers get it
    _, err = process.communicate(timeout=2)
    assert (process.returncode, err) == (130, "")


def test_ctrl_c_never_hits_a_worker_not_even_a_starting_one(tmp_path: Path) -> None:
    process = command(tmp_path, "pestered")
    out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (0, "") and out.endswith("4 done\n")


def test_cores_are_those_this_process_may_use() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)
    if hasattr(os, "sched_setaffinity"):
        seen: list[int] = []

        def on_one_core() -> None:  # affinity belongs to a thread, so the rest of the tests keep theirs
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            seen.append(cores())

        thread = threading.Thread(target=on_one_core)
        thread.start()
        thread.join()
        assert seen == [1]


@pytest.mark.parametrize(
    ("quota", "most"), [("150000 100000", 2), ("50000 100000", 1), ("max 100000", 999), (None, 999)]
)
def test_the_share_of_a_container_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str | None, most: int
) -> None:
    monkeypatch.setattr(local_workers, "QUOTA", tmp_path / "cpu.max")
    without = cores()
    if quota is not None:
        (tmp_path / "cpu.max").write_text(quota + "\n")
    assert cores() == min(without, most)
