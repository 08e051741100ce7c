"""The cache of evaluations: nothing but the work changes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hunches import Hunch
from test_learned import GUMBEL, PLAIN, assert_same_games, decision, played
from test_mcts import assert_same_tree
from tree_walker import walk

from base.bits import U
from base.errors import UserError
from base.seeds import generator
from games import Game, load
from mcts.cache import EvaluationCache, entry_dtype
from mcts.puct import PUCT
from mcts.search import Search
from mcts.settings import SearchSettings

ROLLOUTS = replace(PLAIN, rollout=0.5)


def games_of(game: Game, how: SearchSettings, evaluator: Any, **options: Any) -> tuple[Any, Search]:
    search = Search(game, how, slots=2, nodes=1500, **options)
    return played(search, {0: 1, 1: 2}, evaluator, 40, 5), search


@pytest.mark.parametrize("how", [PLAIN, GUMBEL, ROLLOUTS], ids=["puct", "gumbel", "rollouts"])
@pytest.mark.parametrize(
    "name", ["connect_four", "backgammon:start=hyper", "dots_and_boxes:rows=2,cols=2,players=3", "go:size=3"]
)
@pytest.mark.parametrize("symmetry", [False, True])
def test_games_are_the_same_with_and_without(name: str, how: SearchSettings, symmetry: bool) -> None:
    game = load(name)
    asked = []
    found = []
    for megabytes in (0, 1, 8 * entry_dtype(game.rules).itemsize / 2**20):
        evaluator = Hunch(game)
        games, search = games_of(game, how, evaluator, cache_mb=megabytes, symmetry=symmetry)
        found.append(games)
        asked.append(evaluator.rows)
        if megabytes:
            assert evaluator.rows + search.cache.counts[1] == asked[0]
        walk(search)
    for number in (1, 2):
        assert_same_games(found[0][number], found[1][number])
        assert_same_games(found[0][number], found[2][number])
    assert asked[1] < asked[2] <= asked[0]


@pytest.mark.parametrize("name", ["connect_four", "go:size=3", "backgammon:start=hyper"])
def test_whole_keys_are_compared(name: str) -> None:
    """Where all positions share one key, each is found only by its own observation and actions."""
    game = load(name)

    def same(state: Any) -> Any:
        return U(7)

    clashing = Game(replace(game.rules, key=same), game.name, game.spec, game.options)
    for how in (PLAIN, GUMBEL):
        honest, _ = games_of(game, how, Hunch(game))
        games, search = games_of(clashing, how, Hunch(game), cache_mb=1)
        assert search.cache.counts[0] > 20
        for number in (1, 2):
            assert_same_games(honest[number], games[number])


def test_positions_that_look_alike_but_allow_other_actions_are_told_apart() -> None:
    game = load("nim")

    def blank(state: Any, player: Any, planes: Any) -> None:
        planes[0, 0, 0] = 1

    def same(state: Any) -> Any:
        return U(7)

    rules = replace(game.rules, observe=blank, observation=(1, 1, 1), key=same)
    vague = Game(rules, game.name, game.spec, game.options)
    one, _ = games_of(vague, PLAIN, Hunch(vague))
    other, search = games_of(vague, PLAIN, Hunch(vague), cache_mb=1)
    assert search.cache.counts[1] > 0
    for number in (1, 2):
        assert_same_games(one[number], other[number])


def test_a_hit_costs_no_row_and_is_counted() -> None:
    game = load("connect_four")
    search, evaluator = Search(game, PUCT(), slots=2, nodes=500, cache_mb=32), Hunch(game)
    for turn in range(2):
        for slot in range(2):
            search.begin(slot, game.play("4 4"), generator(1))
            search.start(slot, 100)
        while search.step(evaluator):
            pass
        lookups, hits, evaluations = search.cache.counts
        assert lookups == evaluator.rows + hits == evaluations + hits == 200 * (turn + 1)
        if turn == 0:
            first = evaluator.rows
    assert evaluator.rows < 1.1 * first  # the second time all was known, but for entries that share a place
    assert_same_tree(search, search, 0, 1)


def test_another_net_finds_the_cache_empty() -> None:
    game = load("connect_four")
    search = Search(game, PUCT(), slots=1, nodes=500, cache_mb=4)
    for seed in (1, 2, 1):
        search.begin(0, game.initial(), generator(1))
        search.start(0, 100)
        evaluator = Hunch(game, seed)
        while search.step(evaluator):
            pass
        fresh = Search(game, PUCT(), slots=1, nodes=500)
        fresh.begin(0, game.initial(), generator(1))
        fresh.start(0, 100)
        while fresh.step(Hunch(game, seed)):
            pass
        assert_same_tree(search, fresh)


def test_weights_changed_in_place_are_asked_again_after_clearing() -> None:
    game = load("connect_four")
    search, evaluator = Search(game, PUCT(), slots=1, nodes=500, cache_mb=4), Hunch(game)
    utilities = []
    for clear in (False, False, True):
        if clear:
            search.cache.clear()
        search.begin(0, game.play("4"), generator(1))
        search.start(0, 1)
        search.step(evaluator)
        utilities.append(float(search.tree.root().utility[0]))
        evaluator.value = -evaluator.value
    assert utilities[0] == utilities[1] != 0
    assert utilities[2] == utilities[0]  # turned twice
    assert evaluator.rows == 2


@pytest.mark.parametrize("name", ["connect_four", "backgammon:start=hyper"])
def test_several_leaves_of_one_tree_keep_its_laws_with_a_cache(name: str) -> None:
    game = load(name)
    search = Search(game, PUCT(), slots=2, nodes=2000, leaves=8, cache_mb=1)
    for _ in range(2):
        for slot in range(2):
            search.begin(slot, decision(game), generator(slot))
            search.start(slot, 300, explore=True)
        while search.step(Hunch(game)):
            pass
        for slot in range(2):
            walk(search, slot)
            assert search.tree.slots[slot].simulations == 300


def test_memory_is_bounded() -> None:
    game = load("connect_four")
    cache = EvaluationCache(game, 0.01)
    assert 0 < cache.entries.nbytes <= 0.01 * 2**20
    assert len(EvaluationCache(game, 0).entries) == 0
    search = Search(game, PUCT(), slots=1, nodes=3000, cache_mb=0.01)
    search.begin(0, game.initial(), generator(1))
    search.start(0, 1000)
    evaluator = Hunch(game)
    while search.step(evaluator):
        pass
    assert search.cache.entries.nbytes == cache.entries.nbytes
    assert np.all(search.cache.entries["count"] > 0)


@pytest.mark.parametrize(
    ("megabytes", "words"), [(-1, "expected megabytes from 0"), (1e-5, "expected room for an entry of")]
)
def test_sizes_that_mean_nothing_are_refused(megabytes: float, words: str) -> None:
    with pytest.raises(UserError, match=words):
        EvaluationCache(load("connect_four"), megabytes)
