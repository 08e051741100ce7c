"""Nodes in this process, for tests of what a coordinator does when nodes fail: real nodes with real worker processes, each served by a
thread instead of Ray, which can be killed, stopped, delayed, or made to compute other bits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from base.worker_messages import opened_result, result_message
from cluster.fingerprint import fingerprint
from cluster.links import Answered, Inbox, Joined, Lost
from cluster.node import Description, Node, Order, Reply


class HereLink:
    def __init__(self, name: str, inbox: Inbox, workers: int = 1) -> None:
        self.name, self.workers, self._inbox = name, workers, inbox
        self._orders: SimpleQueue[tuple[Order, Any] | None] = SimpleQueue()
        self._node = Node(workers)
        self._goes = threading.Event()
        self._goes.set()
        self.is_dead = False
        self.delay = 0.0
        self.spoil: Callable[[Any], Any] | None = None
        self.answers = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def send(self, order: Order, task: Any) -> None:
        self._orders.put((order, task))

    def close(self) -> None:
        """As Ray kills an actor."""
        self.is_dead = True
        self._goes.set()
        self._orders.put(None)

    def stop(self) -> None:
        """As SIGSTOP: it does not answer, and nothing says so."""
        self._goes.clear()

    def proceed(self) -> None:
        self._goes.set()

    def kill(self) -> None:
        """As where a machine loses power: what it did since its last answer is gone."""
        self.close()
        self._inbox.put(Lost(self, "killed"))

    def join(self) -> None:
        self._thread.join()

    def _serve(self) -> None:
        while (taken := self._orders.get()) is not None and not self.is_dead:
            self._goes.wait()
            reply = self._node.exchange(*taken)
            time.sleep(self.delay)
            self._goes.wait()
            if not self.is_dead:
                self.answers += 1
                self._inbox.put(Answered(self, self._spoiled(reply)))
        self._node.close()

    def _spoiled(self, reply: Reply) -> Reply:
        if self.spoil is None:
            return reply
        opened = [opened_result(message, lambda: "") for message in reply.results]
        return reply._replace(results=[result_message(number, self.spoil(result)) for number, result in opened])


class HereNodes:
    """So many at the beginning; `add` and a link's `kill`, `stop` and `proceed` at any time, from any thread."""

    text = "nodes here"

    def __init__(self, count: int, workers: int = 1) -> None:
        self.count, self.workers = count, workers
        self.links: list[HereLink] = []
        self.shared = 0

    def open(self, inbox: Inbox) -> int:
        self._inbox = inbox
        for _ in range(self.count):
            self.add()
        return self.count

    def add(self, name: str = "", their_fingerprint: dict[str, str] | None = None) -> HereLink:
        link = HereLink(name or f"node{len(self.links)}", self._inbox, self.workers)
        self.links.append(link)
        self._inbox.put(Joined(link, Description(link.workers, their_fingerprint or fingerprint())))
        return link

    def share(self, task: bytes) -> Any:
        self.shared += 1
        return task

    def close(self) -> None:
        for link in self.links:
            link.close()
        for link in self.links:
            link.join()
