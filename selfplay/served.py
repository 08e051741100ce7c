"""One network for all workers of a machine: on a GPU a few large batches are much faster than many small ones.

    with NetworkServer(evaluate, game) as server:              # in the process that has the workers: `evaluate` in batches of B rows
        ...
    network = ServedNetwork(server.address, game, rows=16)     # in a worker: batches of its own, of 16 rows

A worker writes its rows into memory that it shares with the server, and waits. The server's thread fills a batch with the rows of those
that wait, evaluates it, and answers them. Meanwhile other workers fill the next one. All batches have B rows, of any workers: a
row's bits depend on the size of the batch, not on what else is in it.
"""

from __future__ import annotations

import mmap
import selectors
import socket
import struct
import tempfile
import threading
import weakref
from collections import deque
from contextlib import suppress
from typing import Any, NamedTuple, Self

import numpy as np

from base.workers import WorkerDied
from games import Game
from mcts.search import BatchEvaluator, Floats

_ROWS = struct.Struct("<I")
_READY = b"\x01"
_LONGEST = 1 << 16  # bytes of an error's text


class SharedRows(NamedTuple):
    """Arrays in memory that a worker shares with the server."""

    observations: Floats
    logits: Floats
    utilities: Floats

    @classmethod
    def at(cls, handle: int, game: Game, rows: int) -> SharedRows:
        """In an open file, which grows to the size that it takes."""
        shapes = [(rows, *game.rules.observation), (rows, game.actions), (rows, game.players)]
        counts = [int(np.prod(shape)) for shape in shapes]
        memory = mmap.mmap(handle, 4 * sum(counts))
        firsts = np.cumsum([0, *counts])[:-1].tolist()
        parts = zip(shapes, counts, firsts, strict=True)
        return cls(*(np.frombuffer(memory, np.float32, n, 4 * first).reshape(shape) for shape, n, first in parts))

    @staticmethod
    def size(game: Game, rows: int) -> int:
        return 4 * rows * (int(np.prod(game.rules.observation)) + game.actions + game.players)


class ServedNetwork:
    """A `BatchEvaluator` whose answers come from a server."""

    def __init__(self, address: str, game: Game, rows: int) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        weakref.finalize(self, self._socket.close)
        self._socket.connect(address)
        with tempfile.TemporaryFile() as file:
            file.truncate(SharedRows.size(game, rows))
            self._shared = SharedRows.at(file.fileno(), game, rows)
            socket.send_fds(self._socket, [_ROWS.pack(rows)], [file.fileno()])

    def __call__(self, observations: Floats, /) -> tuple[Floats, Floats]:
        shared = self._shared
        shared.observations[:] = observations
        answer = b""
        with suppress(OSError):
            self._socket.sendall(_READY)
            answer = self._socket.recv(_LONGEST)
        if answer != _READY:
            raise WorkerDied(f"network of the machine: {answer.decode() or 'its process is gone'}")
        return shared.logits.copy(), shared.utilities.copy()


class NetworkServer:
    def __init__(self, evaluate: BatchEvaluator, batch: int, game: Game) -> None:
        self.game, self._evaluate = game, evaluate
        self._observations = np.zeros((batch, *game.rules.observation), np.float32)
        self._folder = tempfile.TemporaryDirectory(prefix="zermelo-")  # 0700: no other user can connect
        self.address = f"{self._folder.name}/socket"
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(self.address)
        self._listening.listen(1024)
        self._end, self._ended = socket.socketpair()
        self._shared: dict[socket.socket, SharedRows] = {}
        self._waiting: deque[socket.socket] = deque()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._end.close()
        self._thread.join()
        self._folder.cleanup()

    def _serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            for each in (self._listening, self._ended):
                selector.register(each, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select(0 if self._waiting else None):
                    if key.fileobj is self._ended:
                        self._close()
                        return
                    self._hear(key.fileobj, selector)
                if self._waiting:
                    self._answer()

    def _hear(self, one: Any, selector: selectors.BaseSelector) -> None:
        """A new worker, its memory, its rows, or its end."""
        if one is self._listening:
            selector.register(one.accept()[0], selectors.EVENT_READ)
            return
        data = b""
        with suppress(OSError):
            if one in self._shared:
                data = one.recv(1)
            else:
                data, handles, _, _ = socket.recv_fds(one, _ROWS.size, 1)
        if not data:
            selector.unregister(one)
            self._shared.pop(one, None)
            one.close()
        elif one in self._shared:
            self._waiting.append(one)
        else:
            [rows] = _ROWS.unpack(data)
            assert 0 < rows <= len(self._observations), f"expected 1 to {len(self._observations)} rows, got {rows}"
            with open(handles[0], "r+b", buffering=0) as file:
                self._shared[one] = SharedRows.at(file.fileno(), self.game, rows)

    def _answer(self) -> None:
        """One batch, with the rows of those that have waited longest."""
        batch: list[tuple[socket.socket, SharedRows, slice]] = []
        filled = 0
        while self._waiting:
            one = self._waiting[0]
            shared = self._shared.get(one)
            rows = 0 if shared is None else len(shared.observations)
            if filled + rows > len(self._observations):
                break
            self._waiting.popleft()
            if shared is not None:
                batch.append((one, shared, slice(filled, filled + rows)))
                self._observations[filled : filled + rows] = shared.observations
                filled += rows
        self._observations[filled:] = 0.0
        answer = _READY
        try:
            logits, utilities = self._evaluate(self._observations)
            for _, shared, part in batch:
                shared.logits[:], shared.utilities[:] = logits[part], utilities[part]
        except Exception as error:
            answer = f"{type(error).__name__}: {error}".encode()[:_LONGEST]
        for one, _, _ in batch:
            with suppress(OSError):
                one.sendall(answer)

    def _close(self) -> None:
        for each in (*self._shared, self._listening, self._ended):
            each.close()
