"""Batches of leaves: many trees side by side, several leaves of one tree, evaluators that answer in Python."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_mcts import BLIND, assert_same_tree
from tree_walker import walk

from base.errors import UserError
from base.seeds import generator
from games import Game, load
from mcts.puct import PUCT
from mcts.search import Search
from mcts.settings import SearchSettings
from mcts.ucb1 import UCB1


class Uniform:
    """Knows nothing, and remembers what it was asked."""

    def __init__(self, game: Game, utilities: tuple[float, ...] | None = None) -> None:
        self.game, self.batches = game, []
        self.utilities = utilities or (0.0,) * game.players

    def __call__(self, observations: Any) -> tuple[Any, Any]:
        self.batches.append(observations.copy())
        n = len(observations)
        return np.zeros((n, self.game.actions)), np.tile(np.array(self.utilities), (n, 1))


def begun(game: Game, how: SearchSettings, slots: int = 1, leaves: int = 1, **options: Any) -> Search:
    search = Search(game, how, slots=slots, leaves=leaves, **({"nodes": 5000} | options))
    for slot in range(slots):
        search.begin(slot, game.initial(), generator(slot, "test"))
    return search


def stepped(search: Search, simulations: int, evaluator: Any) -> int:
    search.add(simulations)
    steps = 0
    while search.step(evaluator):
        steps += 1
    return steps


@pytest.mark.parametrize(
    "name",
    [
        "connect_four",
        "dots_and_boxes:rows=2,cols=2,players=3",
        "backgammon:start=hyper",
        "go:size=3",
        "tree:chance.json",
    ],
)
@pytest.mark.parametrize("how", [BLIND, UCB1(rollout=0.0), PUCT(immediate_wins=False, rollout=0.5)], ids=str)
def test_batches_of_a_uniform_evaluator_grow_the_tree_of_the_compiled_one(name: str, how: SearchSettings) -> None:
    game = load(name)
    batched, compiled = begun(game, how, slots=3), begun(game, how, slots=3)
    stepped(batched, 400, Uniform(game))
    compiled.run(400)
    for slot in range(3):
        assert_same_tree(batched, compiled, slot, slot)
        walk(batched, slot)


def test_full_memory_is_the_same_in_batches() -> None:
    game = load("backgammon:start=hyper")
    batched, compiled = begun(game, BLIND, nodes=60, edges=400), begun(game, BLIND, nodes=60, edges=400)
    stepped(batched, 500, Uniform(game))
    compiled.run(500)
    assert compiled.tree.slots[0].refused > 0
    assert_same_tree(batched, compiled)


def test_batch_has_one_size_and_rows_without_a_leaf_are_zero() -> None:
    game = load("connect_four")
    search, evaluator = begun(game, BLIND, slots=4), Uniform(game)
    search.add(50)
    search.add(100, slot=2)
    while search.step(evaluator):
        pass
    assert {batch.shape for batch in evaluator.batches} == {(4, 2, 6, 7)}
    assert search.tree.slots["simulations"].tolist() == [50, 50, 100, 50]
    assert not evaluator.batches[-1][[0, 1, 3]].any()
    assert evaluator.batches[-1][2].any()


def test_leaf_is_observed_by_its_mover() -> None:
    game = load("connect_four")
    search, evaluator = begun(game, BLIND), Uniform(game)
    stepped(search, 2, evaluator)
    first = game.result(game.initial(), int(search.tree.edges[0, 0].action))
    assert np.array_equal(evaluator.batches[1][0], game.observe(first, 1))


@pytest.mark.parametrize("players", [2, 3])
def test_relative_utilities_become_absolute(players: int) -> None:
    game = load(f"dots_and_boxes:rows=2,cols=2,players={players}")
    relative = (0.5, -0.25, 0.125)[:players]
    search = begun(game, PUCT(immediate_wins=False, solve=False))
    stepped(search, 300, Uniform(game, relative))
    nodes = search.tree.nodes[0, : search.tree.used()[0]]
    movers = set()
    for node in nodes[nodes["mover"] >= 0]:
        movers.add(int(node.mover))
        assert [node.utility[(node.mover + seat) % players] for seat in range(players)] == list(relative)
    assert movers == set(range(players))
    walk(search)


@pytest.mark.parametrize("temperature", [1.0, 1.6])
def test_priors_are_the_policy_over_legal_actions_at_the_temperature_of_the_settings(temperature: float) -> None:
    game = load("connect_four")
    search = begun(game, replace(BLIND, prior_temperature=temperature))
    search.begin(0, game.play("1 1 1 1 1 1"), generator(1))
    logits = np.arange(7.0) * 0.3

    def evaluator(observations: Any) -> tuple[Any, Any]:
        return logits[None], np.zeros((1, 2))

    stepped(search, 1, evaluator)
    edges = search.tree.children(search.tree.root())
    assert edges["action"].tolist() == [1, 2, 3, 4, 5, 6]
    expected = np.exp(logits[1:] / temperature) / np.exp(logits[1:] / temperature).sum()
    assert edges["prior"] == pytest.approx(expected, abs=1e-6)


def test_policy_is_read_in_the_movers_view() -> None:
    game = load("connect_four")
    mirrored = np.stack([np.arange(7), np.arange(7)[::-1]]).astype(np.int32)  # player 1 sees the board mirrored
    game = Game(replace(game.rules, action_view=mirrored), game.name, game.spec, game.options)
    search = begun(game, BLIND)
    logits = np.log(np.arange(1.0, 8.0))
    search.begin(0, game.play("4"), generator(1))
    stepped(search, 1, lambda observations: (logits[None], np.zeros((1, 2))))
    assert search.tree.children(search.tree.root())["prior"] == pytest.approx(np.arange(7, 0, -1) / 28)


def test_prior_draws_visits_to_it() -> None:
    game = load("connect_four")
    search = begun(game, BLIND)
    logits = np.zeros(7)
    logits[5] = 3.0
    stepped(search, 200, lambda observations: (logits[None], np.zeros((1, 2))))
    visits = search.tree.children(search.tree.root())["visits"]
    assert int(visits.argmax()) == 5
    assert visits[5] > visits.sum() / 2


@pytest.mark.parametrize("how", [BLIND, UCB1(rollout=0.0)], ids=["puct", "ucb1"])
@pytest.mark.parametrize("name", ["connect_four", "backgammon:start=hyper", "dots_and_boxes:rows=2,cols=2,players=3"])
def test_several_leaves_of_one_tree_keep_its_laws(name: str, how: SearchSettings) -> None:
    game = load(name)
    search = begun(game, how, slots=2, leaves=8)
    steps = stepped(search, 400, Uniform(game))
    for slot in range(2):
        assert search.is_done(slot) and search.tree.slots[slot].waiting == 0
        walk(search, slot)  # among others: nothing is left in flight
    assert steps < 200


def test_leaves_of_one_batch_are_different_positions() -> None:
    game = load("connect_four")
    search, evaluator = begun(game, BLIND, leaves=7), Uniform(game)
    stepped(search, 300, evaluator)
    for batch in evaluator.batches:
        asked = [row.tobytes() for row in batch if row.any()]
        assert len(set(asked)) >= len(asked) - 1  # two orders of moves may meet in one position
    assert evaluator.batches[1].reshape(7, -1).any(axis=1).all()  # after the root, seven at once


def test_simulations_are_met_exactly_with_several_leaves() -> None:
    game = load("connect_four")
    search = begun(game, BLIND, leaves=16)
    stepped(search, 101, Uniform(game))
    assert search.tree.slots[0].simulations == 101 == search.tree.root().visits


def test_solved_tree_hands_out_no_leaves() -> None:
    game = load("connect_four")
    search, evaluator = begun(game, BLIND, slots=2), Uniform(game)
    search.begin(1, game.play("1 2 1 2 1 3"), generator(1))
    stepped(search, 200, evaluator)
    assert search.tree.root(1).proven and search.tree.slots[1].simulations < 50
    assert search.tree.slots[0].simulations == 200


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((np.zeros((1, 6)), np.zeros((1, 2))), r"expected logits \(1, 7\) and utilities \(1, 2\), got \(1, 6\)"),
        ((np.zeros((1, 7)), np.full((1, 2), np.nan)), "expected finite logits and utilities"),
    ],
)
def test_answer_that_does_not_fit_is_refused(answer: Any, words: str) -> None:
    search = begun(load("connect_four"), BLIND)
    search.add(1)
    with pytest.raises(UserError, match=words):
        search.step(lambda observations: answer)
    with pytest.raises(UserError, match="expected no leaf under evaluation"):
        search.advance(0, 3)


def test_search_goes_on_after_an_evaluator_failed() -> None:
    game = load("connect_four")
    search, evaluator = begun(game, BLIND, slots=2, leaves=4), Uniform(game)
    stepped(search, 50, evaluator)
    search.add(50)

    def failing(observations: Any) -> Any:
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        search.step(failing)
    assert search.tree.slots["waiting"].any()
    search.begin(1, game.initial(), generator(1))
    while search.step(evaluator):
        pass
    assert search.tree.slots["simulations"].tolist() == [100, 0]
    walk(search)
