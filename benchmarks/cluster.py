"""What a cluster costs, and whether it keeps its word when nodes fail.

    python -m benchmarks.cluster coordinator                     # simulated workers that answer by a timer: the coordinator's cost
    python -m benchmarks.cluster throughput                      # two nodes of one core on this machine against two local workers
    python -m benchmarks.cluster failures --kills 50 --stops 20 --ends 10
    python -m benchmarks.cluster broadcast                       # a task's bytes to every node, by Ray

`failures` makes tiny runs of tic-tac-toe on a private Ray cluster, and kills nodes (the raylet, SIGKILL), stops them or their worker
processes (SIGSTOP, then SIGCONT), and kills coordinators (SIGKILL; the same command resumes) at random moments. Each run must end with
the weights and the games of a run in one process. Exit code 1 where one does not. All but `coordinator` need the extra `[cluster]`.
"""

from __future__ import annotations

import argparse
import heapq
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.errors import Arguments, UserError, run_command
from base.local_workers import Processes, opened
from base.seeds import Rng, generator, uniform
from base.worker_messages import opened_job, result_message
from base.workers import Caller, Workers
from cluster.coordinator import Coordinator, Patience
from cluster.fingerprint import fingerprint
from cluster.links import Answered, Inbox, Joined
from cluster.node import Description, Order, Reply
from cluster.private import below
from selfplay.play import WorkCounts


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    added = parser.command("coordinator", run_coordinator, "cost of the coordinator for each game and byte")
    added.add_argument("--workers", type=int, default=1000, metavar="N", help="simulated nodes of one worker")
    added.add_argument("--each", type=float, default=1.0, metavar="S", help="seconds of a worker for a game")
    added.add_argument("--seconds", type=float, default=15.0, metavar="S", help="how long each measurement takes")
    added = parser.command("throughput", run_throughput, "self-play on a private cluster against local workers")
    added.add_argument("--games", type=int, default=300, metavar="N", help="of each turn")
    added.add_argument("--turns", type=int, default=5, metavar="N", help="of each of the two, in turns")
    added.add_argument(
        "--simulations", type=int, default=64, metavar="N", help="of a full search; fast ones have a quarter"
    )
    added = parser.command("failures", run_failures, "kills and stops in tiny runs: equal records and weights")
    added.add_argument("--kills", type=int, default=50, metavar="N", help="of nodes")
    added.add_argument("--stops", type=int, default=20, metavar="N", help="of nodes and of worker processes, in turns")
    added.add_argument("--ends", type=int, default=10, metavar="N", help="kills of coordinators")
    added.add_argument("--games", type=int, default=96, metavar="N", help="of each run")
    added.add_argument("--seed", type=int, default=1, metavar="S", help="of the moments")
    parser.command("broadcast", run_broadcast, "one put and its way to the nodes, by size")
    return parser.run(argv)


# ── the coordinator alone ──


@dataclass(frozen=True)
class Records:
    """A task without workers: the simulation answers."""

    in_hand: int = 3

    def prepared(self, workers: int) -> AbstractContextManager[Any]:
        return nullcontext(self)

    def worker(self) -> Caller[int, int]:
        raise AssertionError("simulated")

    def exact(self, result: tuple[bytes, WorkCounts]) -> bytes:
        return result[0]


class SimulatedNodes:
    """Nodes of one worker each, which takes so many seconds for a game, and whose records have so many bytes."""

    text = "simulated nodes"

    def __init__(self, count: int, seconds: float, size: int) -> None:
        self.count, self.seconds, self.size = count, seconds, size
        self.orders = 0
        self._due: list[tuple[float, int, SimulatedLink, Reply]] = []
        self._news = threading.Condition()
        self._is_closed = False

    def open(self, inbox: Inbox) -> int:
        self._inbox = inbox
        for k in range(self.count):
            inbox.put(Joined(SimulatedLink(f"node{k}", self), Description(1, fingerprint())))
        threading.Thread(target=self._answer, daemon=True).start()
        return self.count

    def share(self, task: bytes) -> bytes:
        return task

    def close(self) -> None:
        with self._news:
            self._is_closed = True
            self._news.notify()

    def later(self, when: float, link: SimulatedLink, reply: Reply) -> None:
        with self._news:
            self.orders += 1
            heapq.heappush(self._due, (when, self.orders, link, reply))
            if self._due[0][2] is link:
                self._news.notify()

    def _answer(self) -> None:
        while not self._is_closed:
            with self._news:
                wait = self._due[0][0] - time.monotonic() if self._due else 1.0
                if wait > 0:
                    self._news.wait(min(wait, 1.0))
                    continue
                _, _, link, reply = heapq.heappop(self._due)
            self._inbox.put(Answered(link, reply))


class SimulatedLink:
    """Its worker does one game after the other; an answer has those that are done when it is sent, as with a real node."""

    def __init__(self, name: str, nodes: SimulatedNodes) -> None:
        self.name, self._nodes = name, nodes
        self._busy_until = 0.0
        self._in_hand: list[tuple[float, bytes]] = []

    def send(self, order: Order, task: Any) -> None:
        now = time.monotonic()
        for job in order.jobs:
            self._busy_until = max(now, self._busy_until) + self._nodes.seconds
            data = (b"%09d" % opened_job(job)[0]).ljust(self._nodes.size, b".")
            message = result_message(opened_job(job)[0], (data, WorkCounts()))
            self._in_hand.append((self._busy_until, message))
        when = min(max(self._in_hand[0][0], now) if self._in_hand else now, now + 1.0) + order.rest
        done = [message for until, message in self._in_hand if until <= when]
        self._in_hand = self._in_hand[len(done) :]
        self._nodes.later(when, self, Reply(order.run, done))

    def close(self) -> None:
        pass


def run_coordinator(options: argparse.Namespace) -> int:
    print(f"{'record':>10}{'games/s':>10}{'of possible':>13}{'orders/s':>10}{'µs a game':>11}{'share of a core':>17}")
    measured = {}
    for size in (1_000, 10_000, 100_000):
        games, orders, seconds, spent = simulate(options.workers, options.each, size, options.seconds)
        measured[size] = spent / games
        possible = games / seconds / (options.workers / options.each)
        print(
            f"{size:>10,}{games / seconds:>10,.0f}{possible:>13.1%}{orders / seconds:>10,.0f}{1e6 * spent / games:>11.1f}"
            f"{spent / seconds:>17.1%}",
            flush=True,
        )
    slope = (measured[100_000] - measured[1_000]) / 99_000
    print(
        f"{1e9 * slope:.2f} ns for each byte of a record; {1e6 * (measured[1_000] - 1_000 * slope):.1f} µs for a game"
    )
    return 0


def simulate(workers: int, each: float, size: int, seconds: float) -> tuple[int, int, float, float]:
    """Games, orders, seconds, and seconds of the coordinator's thread. A quarter before them, in which all begin at once, does not
    count."""
    nodes = SimulatedNodes(workers, each, size)
    with Coordinator(nodes, report=lambda line: None) as coordinator:
        results = coordinator.run(Records(), iter(range(1 << 60)))
        end = time.monotonic() + seconds / 4
        while time.monotonic() < end:
            next(results)
        games, orders, began, spent = 0, nodes.orders, time.monotonic(), time.thread_time()
        while time.monotonic() < began + seconds:
            next(results)
            games += 1
        took, spent = time.monotonic() - began, time.thread_time() - spent
        orders = nodes.orders - orders
    return games, orders, took, spent


# ── on Ray ──


def run_throughput(options: argparse.Namespace) -> int:
    from checkpoints import pack, resolve
    from cluster.options import opened_cluster
    from games import load
    from mcts.puct import PUCT
    from selfplay.settings import SelfPlaySettings
    from selfplay.workers import Setup, play_games

    game = load("connect_four")
    setup = Setup(
        game.spec,
        SelfPlaySettings(simulations=options.simulations, fast_simulations=-(-options.simulations // 4)),
        PUCT(),
        1,
    )
    network = pack(resolve("connect_four/small", game))
    rates: dict[str, list[float]] = {"local": [], "cluster": []}
    costs: dict[str, list[float]] = {"local": [], "cluster": []}
    with Processes(2) as local, opened_cluster("local:2") as cluster:
        every: dict[str, Workers] = {"local": local, "cluster": cluster}
        for turn in range(-1, options.turns):
            for name, workers in every.items():
                workers.metrics()
                began, here, spent = time.monotonic(), time.process_time(), processor_seconds()
                count = len(list(play_games(setup, network, range(options.games), workers)))
                took, here, spent = (
                    time.monotonic() - began,
                    time.process_time() - here,
                    processor_seconds() - spent,
                )
                if turn >= 0:  # the first one compiles and starts processes
                    rates[name].append(count / took)
                    costs[name].append(spent / count)
                    idle = [value for key, value in workers.metrics().items() if key.endswith(" idle")]
                    print(
                        f"{name:>8}: {count / took:8.2f} games/s, {1e3 * spent / count:8.2f} ms of processors a game, "
                        f"{1e6 * here / count:8.1f} µs of them in this process; idle {', '.join(f'{each:.1%}' for each in idle)}",
                        flush=True,
                    )
    ratios = [there / here for here, there in zip(rates["local"], rates["cluster"], strict=True)]
    per_second = [here / there for here, there in zip(costs["local"], costs["cluster"], strict=True)]
    print(
        f"cluster against local, medians of {options.turns} turns: {statistics.median(ratios):.3f} in games a second, "
        f"{statistics.median(per_second):.3f} in games for each second of a processor"
    )
    return 0


def processor_seconds() -> float:
    """Of this process and all below it, so far."""
    found = 0.0
    for pid in below(os.getpid()):
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            found += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def run_broadcast(options: argparse.Namespace) -> int:
    import ray

    from cluster.private import PrivateCluster
    from cluster.ray_nodes import RayNodes

    with PrivateCluster(2) as private:
        nodes = RayNodes(private.address)
        with Coordinator(nodes) as coordinator:
            for size in (100_000, 1_000_000, 10_000_000):
                times = []
                for _ in range(5):
                    data = os.urandom(size)
                    began = time.monotonic()
                    shared = nodes.share(data)
                    put = time.monotonic() - began
                    links: list[Any] = [member.link for member in coordinator.members.values()]
                    ray.get([link.actor.exchange.remote(Order(0, is_stopped=True), shared) for link in links])
                    times.append((put, time.monotonic() - began))
                put, whole = (1e3 * statistics.median(column) for column in zip(*times, strict=True))
                print(f"{size:>12,} bytes: put {put:.1f} ms, on both nodes after {whole:.1f} ms", flush=True)
    return 0


# ── failures ──

SETTINGS = (
    "net=mlp:1x16",
    "games=16",
    "selfplay.simulations=8",
    "selfplay.fast_simulations=2",
    "selfplay.slots=8",
    "learning.batch=16",
    "learning.threads=1",
    "evaluation.every=0",
)
PATIENCE = Patience(silence=3.0, lease=2.0)


def run_failures(options: argparse.Namespace) -> int:
    from benchmarks.kill import outcome
    from cluster.private import PrivateCluster
    from cluster.ray_nodes import RayNodes

    home = Path(tempfile.mkdtemp(prefix="cluster-"))
    rng = generator(options.seed, "cluster failures")
    train(home / "whole", options.games, 0)
    wanted = outcome(home / "whole")
    print(f"a run of {options.games} games in one process is what each has to equal; {home}", flush=True)
    runs = 0
    with ExitStack() as stack:
        private = stack.enter_context(PrivateCluster(2))

        def run_and_compare(workers: Any) -> None:
            nonlocal runs
            folder = home / f"run{runs}"
            train(folder, options.games, workers)
            compare(folder, wanted)
            runs += 1

        with Coordinator(RayNodes(private.address), patience=PATIENCE, audit=0.05) as coordinator:
            for name, most, disturb in (
                ("kills of nodes", options.kills, Kills(private, rng)),
                ("stops of nodes and of worker processes", options.stops, Stops(private, rng)),
            ):
                began, before = time.monotonic(), runs
                disturb.begin(most)
                while not disturb.is_over():
                    run_and_compare(coordinator)
                disturb.join()
                took = time.monotonic() - began
                print(
                    f"{disturb.count} {name} in {runs - before} runs: same records and weights, {took:.0f} s",
                    flush=True,
                )
        ended, before = 0, runs
        while ended < options.ends:
            folder = home / f"run{runs}"
            ended += killed_and_resumed(folder, options.games, private.address, rng, options.ends - ended)
            compare(folder, wanted)
            runs += 1
        print(f"{ended} kills of coordinators in {runs - before} runs: the same records and weights", flush=True)
    shutil.rmtree(home)
    return 0


def compare(folder: Path, wanted: Any) -> None:
    from benchmarks.kill import outcome

    found = outcome(folder)
    if found.games.keys() != wanted.games.keys() or found != wanted:
        raise UserError(f"{folder}: expected the games and weights of the run in one process")
    shutil.rmtree(folder)


def train(folder: Path, games: int, workers: Any) -> None:
    from games import load
    from train.budget import Budget
    from train.config import compose
    from train.start import launch

    config = compose(load("tic_tac_toe"), None, SETTINGS)
    launch(str(folder), config, Budget(games=games), lambda: opened(workers), quiet=True)


class Disturbance(ABC):
    """A thread that does harm so many times, at random moments."""

    def __init__(self, private: Any, rng: Rng) -> None:
        self.private, self.rng = private, rng
        self.count = 0
        self.error: Exception | None = None

    def begin(self, most: int) -> None:
        self.nodes = self.private.alive()
        self._thread = threading.Thread(target=self._work, args=(most,))
        self._thread.start()

    def is_over(self) -> bool:
        return not self._thread.is_alive()

    def join(self) -> None:
        self._thread.join()
        if self.error is not None:
            raise self.error

    def _work(self, most: int) -> None:
        try:
            while self.count < most:
                time.sleep(1.5 * float(uniform(self.rng)))
                self.harm(self.nodes[int(2 * float(uniform(self.rng)))])
                self.count += 1
        except Exception as error:
            self.error = error

    @abstractmethod
    def harm(self, node: int) -> None: ...


class Kills(Disturbance):
    def harm(self, node: int) -> None:
        self.private.kill(node)
        self.nodes[self.nodes.index(node)] = self.private.add()


class Stops(Disturbance):
    def harm(self, node: int) -> None:
        """The whole node, raylet and all; or its worker processes."""
        pids = self.private.pids(node)
        if self.count % 2:
            pids = [pid for pid in pids if is_worker(pid)]
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            time.sleep(2 * PATIENCE.silence if number == signal.SIGSTOP else 0.0)


def is_worker(pid: int) -> bool:
    """A process that does a node's work."""
    with suppress(OSError):
        return b"multiprocessing.spawn" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def killed_and_resumed(folder: Path, games: int, address: str, rng: Rng, most: int) -> int:
    """A run by the command line, killed at random moments until it is complete; how many times it was."""
    command = [sys.executable, "-m", "train", "tic_tac_toe", "--run", str(folder), "--games", str(games)]
    command += ["--cluster", address, *(word for setting in SETTINGS for word in ("--set", setting))]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    killed = 0
    while True:
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            games_there = folder / "games"
            until = until_first(games_there, process) if killed < most else None
            if until is not None:
                time.sleep(2.0 * float(uniform(rng)))
                if process.poll() is None:
                    process.kill()
                    killed += 1
                    continue
            assert process.stderr is not None
            words = process.stderr.read().decode()
            if process.wait() != 0:
                raise UserError(f"expected a run to end with exit code 0, got {process.returncode}: {words[-300:]}")
            return killed


def until_first(games: Path, process: subprocess.Popen[bytes]) -> float | None:
    """Wait until a game more than at the beginning is on disk; None where the command ends before."""
    before = size_of(games)
    while size_of(games) == before:
        if process.poll() is not None:
            return None
        time.sleep(0.02)
    return time.monotonic()


def size_of(folder: Path) -> int:
    with suppress(OSError):
        return sum(path.stat().st_size for path in folder.iterdir())
    return 0


if __name__ == "__main__":
    run_command(main)
