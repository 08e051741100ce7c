"""Worker processes: every job once, no hangs, no orphans, no noise."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from base import pool
from base.errors import UserError
from base.pool import AHEAD, WorkerDied, cores, run_jobs

ROOT = Path(__file__).parents[1]

# Spawned workers are slow to start, so laws that do not depend on how a worker is started use fork.
fork: Literal["fork"] = "fork"

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


def no_children_left() -> bool:
    return multiprocessing.active_children() == []


@pytest.mark.parametrize(("workers", "start"), [(0, "fork"), (1, "fork"), (3, "fork"), (2, "spawn")])
def test_every_job_is_answered_once_under_its_number(workers: int, start: Literal["spawn", "fork"]) -> None:
    results = list(run_jobs(square, iter(range(100)), workers, start=start))
    assert sorted(results) == [(n, n * n) for n in range(100)]
    assert no_children_left()


def test_no_jobs_start_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_Worker", None)
    assert list(run_jobs(square, [], 2)) == []


def test_ordered_results_come_in_order_though_they_finish_in_another() -> None:
    jobs = [(number, 0.2 if number % 5 == 0 else 0.0) for number in range(20)]
    results = list(run_jobs(sleep_then_number, jobs, 3, ordered=True, start=fork))
    assert results == [(number, number) for number in range(20)]
    unordered = list(run_jobs(sleep_then_number, [(0, 0.5), (1, 0.0), (2, 0.0)], 2, start=fork))
    assert [number for number, _ in unordered] == [1, 2, 0]


@pytest.mark.parametrize("ordered", [False, True])
def test_jobs_are_taken_only_as_they_are_needed(ordered: bool) -> None:
    taken = yielded = most = 0

    def jobs() -> Iterator[tuple[int, float]]:
        nonlocal taken
        while True:  # as good as endless
            taken += 1
            yield taken, 0.3 if taken == 1 else 0.0

    with contextlib.closing(run_jobs(sleep_then_number, jobs(), 2, ordered=ordered, start=fork)) as results:
        for _ in results:
            yielded += 1
            most = max(most, taken - yielded)
            if yielded == 200:
                break
    assert 2 <= most <= AHEAD * 2
    assert no_children_left()


def test_large_jobs_and_results_do_not_block_each_other() -> None:
    results = dict(run_jobs(big, range(6), 2, start=fork))
    assert results == {number: big(number) for number in range(6)}
    assert sum(len(data) for _, data in run_jobs(bytes, [bytes(3_000_000)] * 4, 2, start=fork)) == 12_000_000


@pytest.mark.parametrize("workers", [0, 2])
def test_the_initializer_runs_once_in_each_worker(workers: int) -> None:
    global prepared
    prepared = 0
    results = run_jobs(what_was_prepared, range(10), workers, initializer=prepare, start=fork)
    assert {result for _, result in results} == {1}


def test_what_an_initializer_raises_is_raised_here() -> None:
    with pytest.raises(LookupError, match="no net here"):
        list(run_jobs(square, range(3), 2, initializer=break_down, start=fork))
    assert no_children_left()


def test_an_error_is_raised_here_with_the_worker_s_traceback_and_stops_the_others() -> None:
    began = time.monotonic()
    with pytest.raises(UserError, match="three is not allowed") as caught:
        list(run_jobs(fail_at_three, range(100), 3, start=fork))
    assert time.monotonic() - began < 20
    note = "".join(caught.value.__notes__)
    assert note.startswith("in job 3: 3 (process ") and "in fail_at_three" in note
    assert no_children_left()


def test_errors_and_results_that_cannot_travel_are_reported() -> None:
    with pytest.raises(RuntimeError, match="TwoPart: 1 and 2"):
        list(run_jobs(raise_two_part, [0], 1, start=fork))
    with pytest.raises(Exception, match="pickle"):
        list(run_jobs(return_a_lambda, [0], 1, start=fork))
    assert no_children_left()


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_worker_killed_from_outside_is_an_error_that_names_the_job(start: Literal["spawn", "fork"]) -> None:
    message = r"worker was killed by SIGKILL \(out of memory\?\) in job 2: 2 \(process \d+\)"
    with pytest.raises(WorkerDied, match=message):
        list(run_jobs(kill_self_at_two, range(100), 2, start=start))
    assert no_children_left()


def test_a_worker_that_leaves_is_an_error_that_says_how() -> None:
    with pytest.raises(WorkerDied, match=r"worker left with exit code 7 in job 0: 7 "):
        list(run_jobs(leave_with_code, [7], 1, start=fork))


def test_a_worker_killed_between_two_jobs_is_named_with_the_second() -> None:
    def jobs() -> Iterator[int]:
        yield 10
        if workers := multiprocessing.active_children():
            workers[0].kill()
            workers[0].join()
        yield 11

    results = run_jobs(square, jobs(), 1, start=fork)
    with pytest.raises(WorkerDied, match=r"worker was killed by SIGKILL .* in job 1: 11"):
        list(results)


def test_a_worker_killed_when_nothing_is_left_for_it_to_do_harms_nothing() -> None:
    results = run_jobs(sleep_then_pid, [0.0, 0.3], 2, start=fork)
    first, idle = next(results)
    os.kill(idle, signal.SIGKILL)
    assert first == 0 and [number for number, _ in results] == [1]
    assert no_children_left()


def test_an_iteration_that_is_given_up_leaves_no_workers() -> None:
    results = run_jobs(sleep_then_number, [(0, 0.0), (1, 60.0), (2, 60.0)], 2, start=fork)
    assert next(results) == (0, 0)
    assert not no_children_left()
    results.close()
    assert no_children_left()


def test_a_negative_number_of_workers_is_refused_at_once() -> None:
    with pytest.raises(UserError, match="expected 0 or more workers, got -1"):
        run_jobs(square, [1], -1)


# Three commands with two workers, all of whom hold its stdout: end of file there means that all are gone.
SCRIPT = """
import contextlib, multiprocessing, os, signal, sys, threading, time
from base.errors import run_command
from base.pool import run_jobs

def work(seconds):
    print("working", flush=True)
    time.sleep(seconds)

def busy(start):
    for _ in run_jobs(work, [3600] * 9, 2, start=start):
        pass

def idle(start):
    for _ in run_jobs(work, [0, 0], 2, start=start):
        time.sleep(3600)

def pestered(start):
    def pester():
        while True:
            for process in multiprocessing.active_children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGINT)
            time.sleep(0.001)
    threading.Thread(target=pester, daemon=True).start()
    print(sum(1 for _ in run_jobs(work, [0.1] * 4, 2, start=start)), "done", flush=True)

def main(argv):
    print("starting", flush=True)
    globals()[argv[0]](argv[1])
    return 0

if __name__ == "__main__":
    run_command(main)
"""


def command(tmp_path: Path, name: str, start: str) -> subprocess.Popen[str]:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    return subprocess.Popen(
        [sys.executable, str(script), name, start],
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


@pytest.mark.parametrize("start", ["spawn", "fork"])
@pytest.mark.parametrize("name", ["busy", "idle"])
def test_workers_leave_within_two_seconds_when_their_parent_is_killed(tmp_path: Path, name: str, start: str) -> None:
    process = command(tmp_path, name, start)
    read_lines(process, 3)
    process.send_signal(signal.SIGKILL)
    _, err = process.communicate(timeout=2)
    assert err == ""


# After one line the workers are only starting; after three they work.
@pytest.mark.parametrize(("lines", "delay"), [(3, 0), (1, 0), (1, 0.05), (1, 0.1)])
@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_ctrl_c_stops_everything_at_once_and_quietly(tmp_path: Path, start: str, lines: int, delay: float) -> None:
    process = command(tmp_path, "busy", start)
    read_lines(process, lines)
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the parent and all workers get it
    _, err = process.communicate(timeout=2)
    assert (process.returncode, err) == (130, "")


@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_ctrl_c_never_hits_a_worker_not_even_a_starting_one(tmp_path: Path, start: str) -> None:
    process = command(tmp_path, "pestered", start)
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
    ("membership", "quotas", "limit"),
    [
        ("0::/", {"sys/fs/cgroup/cpu.max": "150000 100000"}, 1.5),
        ("0::/a/b", {"sys/fs/cgroup/a/cpu.max": "200000 100000", "sys/fs/cgroup/a/b/cpu.max": "max 100000"}, 2.0),
        (
            "3:memory:/x\n2:cpu,cpuacct:/x",
            {"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "300000", "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000"},
            3.0,
        ),
        (
            "2:cpu:/",
            {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"},
            float("inf"),
        ),
        ("0::/", {}, float("inf")),
    ],
)
def test_a_quota_above_the_process_is_found(
    tmp_path: Path, membership: str, quotas: dict[str, str], limit: float
) -> None:
    for name, text in {"proc/self/cgroup": membership, **quotas}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    assert pool._cgroup_limit(tmp_path) == limit
