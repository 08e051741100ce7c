"""A Ray cluster of its own on this machine: `--cluster local:2`, to try how a cluster works, and for tests.

    with private_cluster(2) as cluster:                # two nodes with one processor each
        connect(cluster.address)                       # cluster/ray_nodes.py

A process of its own holds it. When this process ends, in any manner, its end of the pipe is closed, and the other one stops the
cluster. Everything listens on 127.0.0.1.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from base.errors import UserError
from cluster.ray_nodes import QUIET, need_ray

STORE = 100 << 20
"""Bytes of each node's object store: it holds a task, a few megabytes."""
HERE = "127.0.0.1"
ATTEMPTS = 3
"""To start a node."""
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Ray's way, whatever the system, to take 127.0.0.1 for this machine's address instead of the one that others reach it by."""
_PROGRAM = "from cluster.private import _hold; _hold({nodes})"


class PrivateCluster:
    """Its nodes are numbered from 0."""

    def __init__(self, nodes: int, environment: Mapping[str, str] | None = None) -> None:
        if nodes < 1:
            raise UserError(f"--cluster: expected local:1 or more nodes, got local:{nodes}")
        need_ray()
        _use_loopback()  # this process will be a part of the cluster, too
        root = str(Path(__file__).resolve().parent.parent)
        given = {**os.environ, **(environment or {})}
        paths = [root, *filter(None, [given.get("PYTHONPATH")])]
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  until close()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM.format(nodes=nodes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**QUIET, **given, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,  # Ctrl-C is for this process
        )
        self.address = self._answer()

    def add(self) -> int:
        """One more node; its number."""
        return int(self._ask("add"))

    def kill(self, node: int) -> None:
        """Its raylet by SIGKILL, as where a machine loses power."""
        self._ask(f"kill {node}")

    def alive(self) -> list[int]:
        """The numbers of its nodes that were not killed."""
        return [int(word) for word in self._ask("alive").split()]

    def pids(self, node: int) -> list[int]:
        """The raylet of a node, and all processes below it."""
        return [int(word) for word in self._ask(f"pids {node}").split()]

    def close(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._errors.close()

    def __enter__(self) -> PrivateCluster:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _ask(self, order: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(order + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:  # Ray writes there, too
            if line.startswith("> "):
                return line[2:].strip()
            if line.startswith("! "):
                raise UserError(f"--cluster local: expected a node to start, stop or be found, got: {line[2:].strip()}")
        self._errors.seek(0)
        words = self._errors.read().strip().splitlines() or ["it ended"]
        self.close()
        raise UserError(f"--cluster local: expected a Ray cluster on this machine, got: {words[-1]}")


def _use_loopback() -> None:
    os.environ.update(LOOPBACK)
    if "ray" in sys.modules:  # which reads its environment once
        from ray._private import ray_constants

        ray_constants.ENABLE_RAY_CLUSTER = False


# ── in the process that holds the cluster ──


def _hold(nodes: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from ray.cluster_utils import Cluster

    common: dict[str, Any] = {"node_ip_address": HERE, "object_store_memory": STORE, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={**common, "num_cpus": 0})

    def add() -> Any:
        for _ in range(ATTEMPTS - 1):
            with contextlib.suppress(Exception):  # Ray gives up after half a minute, which a busy machine needs
                return cluster.add_node(num_cpus=1, **common)
        return cluster.add_node(num_cpus=1, **common)

    added = [add() for _ in range(nodes)]
    gone: set[int] = set()
    print(f"> {cluster.address}", flush=True)

    def obey(order: str, number: str) -> str:
        if order == "add":
            added.append(add())
            return str(len(added) - 1)
        if order == "alive":
            return " ".join(str(k) for k in range(len(added)) if k not in gone)
        if order == "pids":
            return " ".join(map(str, below(_raylet_of(added[int(number)]))))
        assert order == "kill"
        gone.add(int(number))
        cluster.remove_node(added[int(number)], allow_graceful=False)
        return ""

    for line in sys.stdin:
        order, _, number = line.strip().partition(" ")
        try:
            print(f"> {obey(order, number)}", flush=True)
        except Exception as error:
            print(f"! {type(error).__name__}: {error}".replace("\n", " "), flush=True)
    cluster.shutdown()


def _raylet_of(node: Any) -> int:
    from ray._private import ray_constants

    found: int = node.all_processes[ray_constants.PROCESS_TYPE_RAYLET][0].process.pid
    return found


def below(process: int) -> list[int]:
    """It and its descendants, the oldest first."""
    done = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True)
    children: dict[int, list[int]] = {}
    for line in done.stdout.splitlines():
        pid, parent = map(int, line.split())
        children.setdefault(parent, []).append(pid)
    found = [process]
    for each in found:
        found += children.get(each, ())
    return found
