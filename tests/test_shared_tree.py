"""Several threads in one tree: the same laws as one thread, and the same proofs."""

import threading
import time

import numpy as np
import pytest
from test_mcts_step import begun
from tree_walker import walk

from arena.players import make_player
from base.compiler import compiled
from base.errors import UserError
from base.seeds import Rng, generator
from base.spinlock import acquire, new_lock, release
from games import load
from mcts.gumbel import Gumbel
from mcts.puct import PUCT
from mcts.search import Search
from mcts.settings import SearchSettings
from mcts.ucb1 import UCB1
from nets import CompiledNet, make_net

GAMES = ["connect_four", "dots_and_boxes:rows=2,cols=2,players=3", "backgammon:start=hyper", "tree:chance.json"]


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("how", [UCB1(), PUCT(rollout=0.5)], ids=str)
def test_shared_tree_keeps_the_laws_and_makes_the_simulations_asked_for(name: str, how: SearchSettings) -> None:
    search = begun(load(name), how, threads=3)
    made = search.run(2000)
    assert made == search.tree.slots[0].simulations == 2000 or search.tree.root().proven
    assert search.tree.slots[0].waiting == 0
    walk(search)


def test_shared_tree_with_a_network_and_its_cache_keeps_the_laws() -> None:
    game = load("othello:size=6")
    network = CompiledNet.of_net(make_net("resnet:1x16", game, 1), game)
    for how in (PUCT(), Gumbel()):
        search = Search(game, how, nodes=5000, network=network, cache_mb=1, symmetry=True, threads=4)
        search.begin(0, game.initial(), _rng())
        search.start(0, 600, explore=True)
        assert search.run() == 600
        walk(search)


def test_shared_tree_of_bounded_memory_keeps_the_laws() -> None:
    search = begun(load("connect_four"), UCB1(), nodes=60, edges=400, threads=3)
    assert search.run(3000) == 3000 and search.tree.slots[0].refused > 0
    walk(search)


def test_threads_prove_what_one_thread_proves() -> None:
    game = load("tic_tac_toe")
    for moves in ("b2 a1", "a1 b2 c3", "b2 b1 a1"):
        state = game.play(moves)
        utilities = []
        for threads in (1, 3):
            search = Search(game, UCB1(), nodes=20_000, threads=threads)
            search.begin(0, state, _rng())
            search.run(200_000)
            assert search.tree.root().proven
            utilities.append(search.utilities().tolist())
        assert utilities[0] == utilities[1]


def test_threads_stop_when_they_are_stopped() -> None:
    search, stop = begun(load("othello"), UCB1(), nodes=200_000, threads=3), np.zeros(1, np.uint8)
    search.run(10)  # compiles
    timer = threading.Timer(0.1, lambda: stop.fill(1))
    start = time.perf_counter()
    timer.start()
    made = search.run(1_000_000_000, stop)
    assert 0 < made < 1_000_000_000 and time.perf_counter() - start < 30
    walk(search)


def test_threads_share_one_tree_only() -> None:
    with pytest.raises(UserError, match="threads: expected 1, or more with 1 slot, got 2 with 3 slots"):
        Search(load("nim"), UCB1(), slots=3, threads=2)
    with pytest.raises(UserError, match="threads: expected 1, or more with 1 slot, got 0 with 1 slots"):
        Search(load("nim"), UCB1(), threads=0)


def test_players_take_threads_as_an_option() -> None:
    game = load("connect_four")
    for text in ("uct:sims=2000,threads=2", "net:connect_four/small,sims=300,threads=2"):
        choice = make_player(text, game).choose(game.play("4 4 4 4 4"))
        assert choice.action in game.legal_actions(game.play("4 4 4 4 4")) and choice.nodes >= 300


def test_a_lock_lets_one_thread_in_at_a_time() -> None:
    def count(lock, numbers, times):  # type: ignore[no-untyped-def]
        for _ in range(times):
            acquire(lock)
            for i in range(len(numbers)):  # not one addition: others would slip in between
                numbers[i] = numbers[i] + 1
            release(lock)

    work, lock, numbers = compiled(count), new_lock(), np.zeros(40, np.int64)
    work(lock, numbers, 1)
    threads = [threading.Thread(target=work, args=(lock, numbers, 20_000)) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (numbers == 80_001).all() and lock[0] == 0


def _rng() -> Rng:
    return generator(1, "test")
