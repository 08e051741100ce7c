"""A network that serves all workers of a machine: answers reach those who asked, and games stay the same."""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from base.local_workers import Processes, Threads
from base.workers import InProcess, WorkerDied, Workers
from checkpoints import Card, pack, save
from games import load
from games.engine.registry import files_of
from mcts.puct import PUCT
from nets import make_net
from selfplay.served import NetworkServer, ServedNetwork
from selfplay.settings import SelfPlaySettings
from selfplay.workers import SelfPlay, Setup, play_games

GAME = load("tic_tac_toe")
BATCH = 8


class Sums:
    """Answers of which each row depends on that row alone; and how full batches were."""

    def __init__(self) -> None:
        self.filled: list[int] = []

    def __call__(self, observations: Any) -> tuple[Any, Any]:
        sums = observations.sum((1, 2, 3))
        self.filled.append(int((sums != 0).sum()))
        return np.repeat(sums[:, None], GAME.actions, 1), np.repeat(-sums[:, None], GAME.players, 1)


@contextlib.contextmanager
def served(evaluate: Any) -> Iterator[NetworkServer]:
    with NetworkServer(evaluate, BATCH, GAME) as server:
        yield server


def test_each_of_many_workers_gets_the_answers_of_its_own_rows() -> None:
    evaluate, wrong = Sums(), list[int]()

    def work(number: int, address: str) -> None:
        rows = 1 + number % 4
        network, rng = ServedNetwork(address, GAME, rows), np.random.default_rng(number)
        for _ in range(50):
            observations = rng.integers(1, 9, (rows, *GAME.rules.observation)).astype(np.float32)
            logits, utilities = network(observations)
            sums = observations.sum((1, 2, 3))
            if not ((logits == sums[:, None]).all() and (utilities == -sums[:, None]).all()):
                wrong.append(number)

    with served(evaluate) as server:
        threads = [threading.Thread(target=work, args=(number, server.address)) for number in range(10)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert not wrong
    assert sum(evaluate.filled) == 50 * sum(1 + number % 4 for number in range(10))
    assert max(evaluate.filled) > 4  # several workers in one batch


def test_what_the_network_raises_and_the_end_of_its_process_are_raised_by_the_worker() -> None:
    def fails(_: Any) -> Any:
        raise RuntimeError("out of memory")

    rows = np.zeros((2, *GAME.rules.observation), np.float32)
    with served(fails) as server:
        network = ServedNetwork(server.address, GAME, 2)
        with pytest.raises(WorkerDied, match="RuntimeError: out of memory"):
            network(rows)
    with pytest.raises(WorkerDied, match="is gone"):
        network(rows)


def test_games_are_the_same_with_a_network_for_each_worker_and_with_one_for_all(tmp_path: Path) -> None:
    """`cpu:0` takes the way of a GPU: torch, in batches."""
    path = tmp_path / "net"
    net = make_net("resnet:1x8", GAME, 1)
    save(path, net, Card(GAME.name, GAME.version, net.text, step=0, games=0))
    settings = replace(SelfPlaySettings(), simulations=6, fast_simulations=2, slots=BATCH)
    setup, network = Setup(GAME.spec, settings, PUCT(), 7, device="cpu:0"), pack(path)

    def games(workers: Workers) -> list[bytes]:
        return sorted(data for data, _ in play_games(setup, network, range(24), workers))

    alone = games(InProcess())
    with Threads(3) as threads, Processes(2) as processes:
        assert games(threads) == alone
        assert games(processes) == alone
    with SelfPlay(setup, network, files_of(GAME)).prepared(4) as task:
        assert task.server and task.setup.settings.slots == 2 * BATCH // 4 == task.in_hand - 2
