"""Between a coordinator and whatever carries its orders: links to nodes, and the events that come back.

A new way to reach nodes is one file with two classes, `Nodes` and `Link`: cluster/ray_nodes.py, cluster/folder.py.
"""

from __future__ import annotations

import os
from contextlib import suppress
from multiprocessing.connection import wait
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol

from cluster.node import Description, Order, Reply

TICK = 0.5
"""Seconds between two looks at the leases."""


class Link(Protocol):
    """The way to one node. Each order is answered by an event, `Answered` or `Lost`; a second one may be sent before that."""

    @property
    def name(self) -> str: ...

    def send(self, order: Order, task: Any) -> None:
        """Never waits. `task`: what `Nodes.share` returned, or None."""

    def close(self) -> None:
        """The node takes no part any more."""


class Joined(NamedTuple):
    """A node that was not there before."""

    link: Link
    description: Description


class Answered(NamedTuple):
    link: Link
    reply: Reply


class Lost(NamedTuple):
    """Nothing will come of this link any more."""

    link: Link
    why: str
    is_for_good: bool = False
    """Its own code raised it, and would again."""


class Refused(NamedTuple):
    """A node that cannot take part at all."""

    name: str
    why: str


Event = Joined | Answered | Lost | Refused


class Nodes(Protocol):
    """Where nodes come from."""

    text: str
    """For messages."""

    def open(self, inbox: Inbox) -> int:
        """From now on events are put there, by any thread; how many nodes are expected at once."""

    def share(self, task: bytes) -> Any:
        """Send a task's message to where every node finds it; what stands for it in `Link.send`."""

    def close(self) -> None: ...


class Inbox:
    """Events by any thread for one that also waits for jobs."""

    def __init__(self) -> None:
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)

    def put(self, event: Event) -> None:
        self._events.put(event)
        with suppress(BlockingIOError):  # full: it is awake
            os.write(self._writer, b".")

    def take(self) -> Event | None:
        try:
            return self._events.get_nowait()
        except Empty:
            return None

    def wait(self, others: list[Any], seconds: float) -> None:
        """Until there may be an event, or one of the others is ready."""
        if self._events.empty():
            wait([self._reader, *others], seconds)
        with suppress(BlockingIOError):
            while len(os.read(self._reader, 65536)) == 65536:
                pass
