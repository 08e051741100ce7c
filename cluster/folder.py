"""Nodes that share a folder with the coordinator, for machines without Ray.

    python -m cluster PATH                                  # a node, on each machine; Ctrl-C ends it
    python -m train connect_four --cluster folder:PATH      # on one of them

    PATH/SESSION/environment                 what nodes take over; a session is one coordinator, from its start to its end
                 tasks/HASH                  tasks, by the hash of what they hold
                 nodes/NAME/describe         what a node reports of itself: it takes part
                            order-000000012  what the coordinator sent it, in turn
                            reply-000000012  what it answered
                            gone             it takes no part any more

Every file is renamed into place whole, read once, and removed. They hold pickles, so the folder has to belong to this user alone: who
writes there runs programs as this user on every node. Nothing reports a node that dies; it is silent, and its jobs are given to others.
"""

from __future__ import annotations

import os
import platform
import secrets
import shutil
import stat
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from base.errors import UserError
from base.files import file_lock, make_folder, write_bytes
from base.local_workers import cores
from base.worker_messages import opened_message, sent_message
from cluster.fingerprint import environment, fingerprint, take_over
from cluster.links import Answered, Inbox, Joined, Lost
from cluster.node import Description, Node, Order, Reply, hash_of

LOOK = 0.02
"""Seconds between two looks for a file."""
GONE = "gone"


def own_folder(path: str) -> Path:
    """The folder, made where it is missing; one that others can write to is refused."""
    if not path:
        raise UserError("--cluster: expected folder:PATH, got no path")
    folder = Path(path)
    if not folder.exists():
        if not folder.parent.is_dir():
            raise UserError(f"--cluster: expected a folder in one that is there, found no {folder.parent}")
        make_folder(folder)
        folder.chmod(0o700)
    found = folder.stat()
    if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o022:
        raise UserError(f"{folder}: expected a folder that this user alone can write to; what is in it is executed")
    return folder


class FolderNodes:
    """The coordinator's side. One coordinator at a time has the folder."""

    def __init__(self, path: str) -> None:
        self.text = f"--cluster folder:{path}"
        folder = own_folder(path)
        self._lock = file_lock(folder / ".lock", wait=False)
        self._lock.__enter__()
        for old in folder.glob(
            "session-*"
        ):  # of a coordinator that was killed, or of nodes that were later than its end
            shutil.rmtree(old)
        self._session = folder / f"session-{secrets.token_hex(8)}"
        self._links: dict[str, FolderLink] = {}
        self._tasks: list[Path] = []
        self._is_closed = threading.Event()

    def open(self, inbox: Inbox) -> int:
        self._inbox = inbox
        for name in ("tasks", "nodes"):
            make_folder(self._session / name)
        write_bytes(self._session / "environment", sent_message(environment()))
        self._looking = threading.Thread(target=self._look_again, daemon=True)
        self._looking.start()
        return 0

    def share(self, task: bytes) -> str:
        """A node may still begin with the task before."""
        found = hash_of(task)
        for path in self._tasks[:-1]:
            path.unlink(missing_ok=True)
        self._tasks = [*self._tasks[-1:], self._session / "tasks" / found]
        write_bytes(self._tasks[-1], task)
        return found

    def close(self) -> None:
        self._is_closed.set()
        self._looking.join()
        (self._session / "environment").unlink(missing_ok=True)
        shutil.rmtree(self._session, ignore_errors=True)
        self._lock.__exit__(None, None, None)

    def _look_again(self) -> None:
        while not self._is_closed.wait(LOOK):
            with suppress(OSError):
                for folder in sorted((self._session / "nodes").iterdir()):
                    if folder.name in self._links:
                        self._links[folder.name].look()
                    elif (found := read_once(folder / "describe")) is not None:
                        link = self._links[folder.name] = FolderLink(folder, self._inbox)
                        self._inbox.put(Joined(link, found))


class FolderLink:
    def __init__(self, folder: Path, inbox: Inbox) -> None:
        self.name, self._folder, self._inbox = folder.name, folder, inbox
        self._sent = self._answered = 0
        self._is_open = True

    def send(self, order: Order, task: str | None) -> None:
        with suppress(OSError):  # the next look finds out
            write_bytes(self._folder / f"order-{self._sent:09}", sent_message((order, task)))
        self._sent += 1

    def look(self) -> None:
        if not self._is_open:
            return
        reply = read_once(self._folder / f"reply-{self._answered:09}")
        if isinstance(reply, Reply):
            self._answered += 1
            self._inbox.put(Answered(self, reply))
        elif reply is not None or (self._folder / GONE).exists():
            self._is_open = False
            self._inbox.put(Lost(self, str(reply or "it left")))

    def close(self) -> None:
        self._is_open = False
        with suppress(OSError):
            write_bytes(self._folder / GONE, b"")


def serve(path: str, workers: int | None, report: Callable[[str], object], is_over: Callable[[], bool]) -> None:
    """A node: it takes part in one session after the other."""
    folder = own_folder(path)
    report(f"{folder}: a node with {workers or cores()} workers, for any command with --cluster folder:{path}")
    done: set[Path] = set()
    while not is_over():
        ready = [each for each in sessions(folder) if each not in done]
        if ready:
            done.add(ready[0])
            with suppress(OSError):  # the session ended
                _serve(ready[0], workers or cores(), is_over)
        time.sleep(LOOK)


def _serve(session: Path, workers: int, is_over: Callable[[], bool]) -> None:
    take_over(opened_message((session / "environment").read_bytes()))
    name = f"{platform.node().partition('.')[0]}-{secrets.token_hex(2)}"
    folder, node, count = session / "nodes" / name, Node(workers), 0
    try:
        write_bytes(folder / "describe", sent_message(Description(workers, fingerprint())))
        while (session / "environment").exists() and not is_over() and not (folder / GONE).exists():
            taken = read_once(folder / f"order-{count:09}")
            if taken is None:
                time.sleep(LOOK)
                continue
            order, task = taken
            reply: Any
            try:
                reply = node.exchange(order, None if task is None else (session / "tasks" / task).read_bytes())
            except ValueError as error:
                reply = str(error)
            write_bytes(folder / f"reply-{count:09}", sent_message(reply))
            count += 1
    finally:
        node.close()
        if (session / "environment").exists():
            write_bytes(folder / GONE, b"")


def sessions(folder: Path) -> list[Path]:
    """Those that have begun and not ended."""
    return [path.parent for path in sorted(folder.glob("session-*/environment"))]


def read_once(path: Path) -> Any:
    """What a file holds, which is removed; None where there is none."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    path.unlink()
    return opened_message(data)
