"""The nodes of a Ray cluster: one actor on each, which owns all of the node's processors.

    nodes = RayNodes("auto")                  # or HOST:PORT, as `ray start --head` prints it
    with Coordinator(nodes) as workers: ...

Ray carries orders, replies and one object for each task; nodes fetch that from each other. Ray repeats and restarts nothing: a call
that failed is a node that is lost, and the coordinator gives its jobs to others. A thread looks for nodes that came or went.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
import math
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, suppress
from io import StringIO
from typing import Any

from base.errors import UserError, short
from base.local_workers import cores
from cluster.fingerprint import environment, fingerprint, take_over
from cluster.links import Answered, Inbox, Joined, Lost, Refused
from cluster.node import Description, Node, Order, Reply

SCAN = 2.0
"""Seconds between two looks for new nodes."""
AGAIN = 10.0
"""Seconds until a node that is lost is begun with again; a machine that is gone is known to Ray by then."""
REACHED = 5.0
"""Seconds for the head node to take a connection."""

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # no data about the cluster to others
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
"""Environment of Ray, where it is not set."""


def need_ray() -> None:
    if importlib.util.find_spec("ray") is None:
        raise UserError("--cluster: expected Ray, found none; pip install 'zermelo[cluster]' installs it")


class NodeActor:
    """A node (cluster/node.py) as an actor. Its calls come one after the other."""

    def __init__(self, workers: int, environment: Mapping[str, str]) -> None:
        take_over(environment)  # Ray sets OMP_NUM_THREADS
        self._workers = workers or cores()
        self._node = Node(self._workers)

    def describe(self) -> Description:
        return Description(self._workers, fingerprint())

    def exchange(self, order: Order, task: bytes | None = None) -> Reply:
        return self._node.exchange(order, task)


class RayNodes:
    def __init__(self, address: str, workers: int | None = None, on_close: Callable[[], object] = lambda: None) -> None:
        """`workers`: of each node; without it, as many as Ray has processors for there."""
        need_ray()
        self.text = f"--cluster {address}"
        self._workers = workers
        self._on_close = on_close
        self._links: dict[str, RayLink] = {}  # by Ray's id of the node
        self._known: dict[str, float] = {}
        """Nodes that were begun with, and from when on they may be again, by `time.monotonic`."""
        self._is_closed = threading.Event()
        connect(address)

    def open(self, inbox: Inbox) -> int:
        self._inbox = inbox
        self._scan()
        threading.Thread(target=self._scan_again, daemon=True).start()
        return len(self._known)

    def share(self, task: bytes) -> Any:
        import ray

        return ray.put(task)

    def close(self) -> None:
        import ray

        self._is_closed.set()
        for link in tuple(self._links.values()):
            link.close()
        with suppress(Exception):
            ray.shutdown()
        self._on_close()

    def _scan_again(self) -> None:
        while not self._is_closed.wait(SCAN):
            with suppress(Exception):  # the head node is away for a while, or this process is about to end
                self._scan()

    def _scan(self) -> None:
        """Begin on nodes that are new; a node that is back has a new id."""
        import ray

        alive = {found["NodeID"]: found for found in ray.nodes() if found["Alive"]}
        for key in self._links.keys() - alive.keys():
            self._lose(key, "Ray lost it")
        for key, found in alive.items():
            processors = int(found["Resources"].get("CPU", 0))
            if processors and time.monotonic() > self._known.get(key, 0.0):
                self._known[key] = math.inf
                self._begin(key, found["NodeManagerAddress"], processors)

    def _begin(self, key: str, address: str, processors: int) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        strategy = NodeAffinitySchedulingStrategy(key, soft=False)
        kind = ray.remote(NodeActor).options(
            num_cpus=processors, max_restarts=0, max_task_retries=0, scheduling_strategy=strategy
        )
        workers = processors if self._workers is None else self._workers
        link = RayLink(
            self._name(address), kind.remote(workers, environment()), self._inbox, functools.partial(self._lose, key)
        )
        self._links[key] = link

        def describe(description: Description | None, error: BaseException | None) -> None:
            if description is not None:
                self._inbox.put(Joined(link, description))
            elif self._links.pop(key, None) is not None:
                if _is_raised_there(error):
                    self._inbox.put(Refused(link.name, _reason(error)))
                else:  # it is gone already; where it is not, the next look begins anew
                    self._known[key] = time.monotonic() + AGAIN

        when_done(link.actor.describe.remote(), describe)

    def _lose(self, key: str, why: str, for_good: bool = False) -> None:
        """Where it is still there, it begins anew; `for_good`: it would fail again."""
        link = self._links.pop(key, None)
        if link is not None:
            if not for_good:
                self._known[key] = time.monotonic() + AGAIN
            self._inbox.put(Lost(link, why, for_good))

    def _name(self, address: str) -> str:
        """The address; with a number where several nodes share it."""
        taken = {link.name for link in self._links.values()}
        names = (address if k == 1 else f"{address}-{k}" for k in range(1, len(taken) + 2))
        return next(name for name in names if name not in taken)


class RayLink:
    def __init__(self, name: str, actor: Any, inbox: Inbox, lose: Callable[[str, bool], object]) -> None:
        self.name, self.actor, self._inbox, self._lose = name, actor, inbox, lose

    def send(self, order: Order, task: Any) -> None:
        def answered(reply: Reply | None, error: BaseException | None) -> None:
            if reply is not None:
                self._inbox.put(Answered(self, reply))
            else:
                self._lose(_reason(error), _is_raised_there(error))

        try:
            when_done(self.actor.exchange.remote(order, task), answered)
        except Exception as error:  # Ray has lost the actor already
            self._lose(_reason(error), False)

    def close(self) -> None:
        import ray

        with suppress(Exception):
            ray.kill(self.actor)


def when_done(reference: Any, call: Callable[[Any, BaseException | None], object]) -> None:
    """`call(result, None)` or `call(None, error)`, on a thread of Ray."""

    def done(future: Any) -> None:
        error = future.exception()
        call(None if error is not None else future.result(), error)

    reference.future().add_done_callback(done)


def connect(address: str) -> None:
    """This process to a cluster that runs; one line where that fails. Signals stay as they are."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    if address != "auto":
        _check_reached(address)
    import ray

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    noise = StringIO()
    try:
        with redirect_stderr(noise):
            ray.init(address=address, log_to_driver=False, configure_logging=False, include_dashboard=False)
    except Exception as error:
        raise UserError(f"--cluster {short(address)}: {_reason(error)}") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    logging.getLogger("ray").setLevel(logging.ERROR)
    # Ray prints each node that dies, with twenty lines of its log, to standard output, which holds results alone.
    ray._private.worker.print_to_stdstream = lambda *given, **named: None


def _check_reached(address: str) -> None:
    """Ray itself would try for a minute."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise UserError(f"--cluster: expected auto, HOST:PORT, local:N or folder:PATH, got {short(address)!r}")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), REACHED) as connection:
            _check_speaks_http2(connection)
    except OSError as error:
        why = "no answer" if isinstance(error, TimeoutError) else error.strerror or str(error)
        raise UserError(f"--cluster {address}: expected the head node of a Ray cluster there, got: {why}") from None


def _check_speaks_http2(connection: socket.socket) -> None:
    """A head node is a gRPC server: over HTTP/2, both sides begin with their settings."""
    if os.environ.get("RAY_USE_TLS", "0") != "0":
        return
    settings = b"\0\0\0\x04\0\0\0\0\0"  # a frame: length 0, type 4
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings)
    answer = connection.recv(len(settings))
    if answer[3:4] != settings[3:4]:
        raise OSError("another program" if answer else "a connection that is closed at once")


def _is_raised_there(error: BaseException | None) -> bool:
    """By the node's own code, and not because the node is gone."""
    from ray.exceptions import RayTaskError

    return isinstance(error, RayTaskError) or "creation task" in str(error)


def _reason(error: BaseException | None) -> str:
    """In one short line; Ray's messages have many. Those of what a node raised end with that."""
    from ray.exceptions import RayActorError

    if isinstance(error, RayActorError) and not _is_raised_there(error):
        return "its process ended, or the connection to it"
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return short(lines[-1 if _is_raised_there(error) else 0].strip())
