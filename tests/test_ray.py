"""A cluster on Ray: a private one of two nodes on this machine, the real thing but for the distance. Skipped where Ray is missing."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cluster_tasks import Squares, double, fail_at_three, square
from miniature import GAME, run, weights

pytest.importorskip("ray")

from base.errors import UserError
from base.local_workers import opened
from base.workers import Calls
from cluster.coordinator import Coordinator, Patience
from cluster.options import opened_cluster
from cluster.private import PrivateCluster
from cluster.ray_nodes import RayNodes
from games.record import read_records

ROOT = Path(__file__).parents[1]
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def private() -> Iterator[PrivateCluster]:
    tests = str(Path(__file__).parent)
    with PrivateCluster(2, {"PYTHONPATH": os.pathsep.join([tests, str(ROOT)])}) as found:
        yield found


@pytest.fixture(scope="module")
def shared(private: PrivateCluster) -> Iterator[tuple[Coordinator, list[str]]]:
    said: list[str] = []
    patience = Patience(silence=3.0, lease=2.0)
    with Coordinator(RayNodes(private.address), patience=patience, report=said.append, audit=0.05) as workers:
        yield workers, said


def squares(count: int) -> list[tuple[int, int]]:
    return [(number, number * number) for number in range(count)]


def records(folder: Path) -> dict[int, bytes]:
    return {record.metadata["number"]: record.to_bytes() for record in read_records(folder / "games", GAME)}


def test_every_job_is_answered_once_under_its_number(shared: Any) -> None:
    workers, _ = shared
    assert workers.size == 2
    for ordered in (False, True):
        for count in (200, 0, 3):
            results = list(workers.run(Calls(square), iter(range(count)), ordered=ordered))
            assert sorted(results) == squares(count)
            assert not ordered or results == sorted(results)


def test_large_jobs_and_results_pass(shared: Any) -> None:
    jobs = [bytes([number]) * 1_000_000 for number in range(12)]
    assert dict(shared[0].run(Calls(double), jobs)) == {number: job * 2 for number, job in enumerate(jobs)}


def test_what_a_job_raises_is_raised_by_the_run(shared: Any) -> None:
    with pytest.raises(LookupError, match="three is not allowed"):
        list(shared[0].run(Calls(fail_at_three), range(100)))


def test_a_node_killed_in_a_run_leaves_the_records_and_weights_of_one_process(
    private: PrivateCluster, shared: Any, tmp_path: Path
) -> None:
    workers, said = shared
    run(tmp_path / "here", 32)

    def harm() -> None:
        time.sleep(0.3)
        private.kill(private.alive()[0])
        private.add()

    thread = threading.Thread(target=harm)
    thread.start()
    for k in range(3):
        run(tmp_path / f"there{k}", 32, workers=workers)
        assert weights(tmp_path / f"there{k}") == weights(tmp_path / "here")
        assert records(tmp_path / f"there{k}") == records(tmp_path / "here")
    thread.join()
    assert sorted(workers.run(Squares(0.02), range(200))) == squares(200)
    assert any("is lost" in line for line in said)


def test_a_stopped_node_is_noticed_and_continues(private: PrivateCluster, shared: Any) -> None:
    workers, said = shared
    del said[:]
    pids = private.pids(private.alive()[0])

    def send(number: int) -> None:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    results = workers.run(Squares(0.05), range(300))
    found = [next(results)]
    send(signal.SIGSTOP)
    try:
        found += results
    finally:
        send(signal.SIGCONT)
    assert sorted(found) == squares(300)
    assert any("does not answer" in line for line in said)
    assert sorted(workers.run(Squares(0.01), range(50))) == squares(50)


def test_processes_of_a_private_cluster_end_with_a_coordinator_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "selfplay", "tic_tac_toe", "--player", "uniform:sims=8", "--games", "1000000"]
    command += ["--out", str(tmp_path / "games"), "--cluster", "local:1"]
    mark = f"ZERMELO_TEST={tmp_path}"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "ZERMELO_TEST": str(tmp_path)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    log = tmp_path / "games/games.log"
    until = time.monotonic() + 200
    while not (log.exists() and log.stat().st_size > 10_000) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.1)
    assert process.poll() is None and log.stat().st_size > 10_000
    process.kill()
    process.wait()
    until = time.monotonic() + 120
    while (left := marked(mark)) and time.monotonic() < until:
        time.sleep(0.5)
    assert left == []


def marked(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark.encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
    return found


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1:1", "expected the head node of a Ray cluster there, got: Connection refused"),
        ("nonsense", "expected auto, HOST:PORT, local:N or folder:PATH, got 'nonsense'"),
        ("ray://127.0.0.1:1", "expected auto, HOST:PORT"),
        ("local:none", "expected local:N with N from 1 to 64, got 'local:none'"),
    ],
)
def test_a_cluster_that_is_not_there_is_one_line(address: str, words: str) -> None:
    with pytest.raises(UserError, match=words), opened_cluster(address):
        pass


@pytest.mark.parametrize(("answer", "words"), [(None, "no answer"), (b"HTTP/1.1 400\r\n", "another program")])
def test_a_program_that_is_no_head_node_is_one_line(
    answer: bytes | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cluster.ray_nodes.REACHED", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with server.accept()[0] as one, suppress(ConnectionError):
                if answer is not None:
                    one.sendall(answer)
                while one.recv(100):
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        with (
            pytest.raises(UserError, match=f"head node of a Ray cluster there, got: {words}"),
            opened_cluster(f"127.0.0.1:{server.getsockname()[1]}"),
        ):
            pass
        thread.join()


def test_workers_of_a_cluster_are_workers(shared: Any) -> None:
    with opened(shared[0]) as workers:
        assert workers is shared[0]
