"""The tree of a search, its four phases and the driver inside compiled code."""

import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_walker import max_n, walk

from base.errors import UserError
from base.seeds import generator
from games import CHANCE, Game, load
from mcts.phases import uniform_evaluator
from mcts.puct import PUCT, factor
from mcts.search import Search
from mcts.settings import SearchSettings
from mcts.simulations import run_factory
from mcts.tree import NONE, Tree
from mcts.ucb1 import UCB1
from mcts.ucb1 import factor as ucb1_factor
from mcts.variant import names, settings_class, variant_of

BLIND = PUCT(immediate_wins=False)  # no rollouts, nothing known: every leaf is worth 0
GAMES = [
    "tic_tac_toe",
    "connect_four",
    "nim",
    "othello:size=6",
    "dots_and_boxes:rows=2,cols=2,players=3",
    "dots_and_boxes",
    "checkers",
    "go:size=3",
    "backgammon:start=hyper",
    "tree:two_ply.json",
    "tree:three_players.json",
    "tree:cooperation.json",
    "tree:chance.json",
]


def searched(
    game: Game, simulations: int, how: SearchSettings | None = None, state: Any = None, seed: int = 1, **options: Any
) -> Search:
    search = Search(game, how, **({"nodes": 20_000} | options))
    search.begin(0, game.initial() if state is None else state, generator(seed, "test"))
    search.run(simulations)
    return search


def random_position(game: Game, plies: int, seed: int) -> Any:
    """So many random moves from the start, fewer where the game would end; a player is to move."""
    rng, state = np.random.default_rng(seed), game.initial()
    positions = [state]
    for _ in range(plies):
        actions = game.legal_actions(state)
        state = game.result(state, int(rng.choice(actions)))
        if game.is_terminal(state):
            break
        if game.to_move(state) != CHANCE:
            positions.append(state)
    return positions[-1] if game.to_move(positions[-1]) != CHANCE else positions[-2]


def rows(search: Search, slot: int = 0) -> tuple[Any, Any]:
    """The rows in use."""
    nodes, edges = search.tree.used(slot)
    return search.tree.nodes[slot, :nodes], search.tree.edges[slot, :edges]


def assert_same_tree(one: Search, other: Search, slot: int = 0, other_slot: int = 0) -> None:
    for mine, theirs in zip(rows(one, slot), rows(other, other_slot), strict=True):
        assert len(mine) == len(theirs)
        for name in mine.dtype.names:
            assert np.array_equal(mine[name], theirs[name]), name
    assert one.tree.slots[slot].rng == other.tree.slots[other_slot].rng


# ── what the arrays promise ──


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("how", [UCB1(), BLIND, UCB1(solve=False), PUCT(immediate_wins=False, rollout=0.5)], ids=str)
def test_tree_keeps_its_laws(name: str, how: SearchSettings) -> None:
    search = searched(load(name), 500, how)
    assert search.tree.slots[0].refused == 0
    walk(search)
    if not how.solve:
        assert search.tree.root().visits >= 499


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(0, 30), st.integers(1, 400), st.booleans())
def test_tree_keeps_its_laws_from_random_positions(seed: int, plies: int, simulations: int, blind: bool) -> None:
    game = load("dots_and_boxes:rows=2,cols=2,players=3")
    state = random_position(game, min(plies, 8), seed)
    walk(searched(game, simulations, BLIND if blind else UCB1(), state, seed))


def test_visits_are_simulations() -> None:
    search = searched(load("connect_four"), 1234)
    assert search.tree.root().visits == 1234 == search.tree.slots[0].simulations
    assert search.tree.children(search.tree.root())["visits"].sum() == 1233


def test_same_seed_same_tree_and_another_seed_another() -> None:
    game = load("othello:size=6")
    assert_same_tree(searched(game, 700, seed=3), searched(game, 700, seed=3))
    other = searched(game, 700, seed=4)
    assert not np.array_equal(searched(game, 700, seed=3).tree.root().sums, other.tree.root().sums)


def test_simulations_may_be_made_in_parts() -> None:
    game = load("connect_four")
    parts = searched(game, 100)
    for n in (1, 250, 0, 49):
        parts.run(n)
    assert_same_tree(parts, searched(game, 400))


def test_tree_does_not_depend_on_its_neighbours() -> None:
    game = load("connect_four")
    many = Search(game, slots=5, nodes=1000)
    for slot in range(5):
        many.begin(slot, random_position(game, slot, 9), generator(slot, "test"))
    many.run(300)
    for slot in range(5):
        assert_same_tree(many, searched(game, 300, None, random_position(game, slot, 9), slot), slot)


@pytest.mark.parametrize("name", ["tic_tac_toe", "tree:chance.json", "tree:three_players.json"])
@pytest.mark.parametrize("how", [UCB1(), PUCT(immediate_wins=False, rollout=0.5, rollout_plies=1)], ids=str)
def test_compiled_is_interpreted(name: str, how: SearchSettings) -> None:
    game = load(name)
    slow = Search(game, how, nodes=1000)
    slow._run = run_factory(slow.variant, uniform_evaluator)(game.rules)
    slow.begin(0, game.initial(), generator(1, "test"))
    with np.errstate(over="ignore"):
        slow.run(60)
    assert_same_tree(slow, searched(game, 60, how))


@pytest.mark.parametrize("name", ["go:size=3", "backgammon:start=hyper", "dots_and_boxes:rows=2,cols=2,players=3"])
def test_no_index_leaves_its_array(name: str) -> None:
    for how in (UCB1(), BLIND):
        walk(searched(load(name), 300, how, nodes=150, edges=600, checked=True))


# ── values ──


def test_two_ply_tree_is_worth_three_sixteenths() -> None:
    search = searched(load("tree:two_ply.json"), 200)
    root = search.tree.root()
    assert root.proven and tuple(root.utility) == (3 / 16, -3 / 16)
    assert search.is_done() and search.tree.slots[0].simulations < 200


def test_values_converge_to_minimax_without_proofs() -> None:
    search = searched(load("tree:two_ply.json"), 200_000, UCB1(solve=False))
    root = search.tree.root()
    best = max(search.tree.children(root), key=lambda edge: edge.visits)
    assert search.game.names[best.action] == "a1"
    assert best.value / best.visits == pytest.approx(3 / 16, abs=0.02)
    assert root.sums[0] / root.visits == pytest.approx(3 / 16, abs=0.02)


@pytest.mark.parametrize(
    ("name", "utilities"),
    [
        ("three_players", (1 / 8, 2 / 8, 6 / 8)),
        ("cooperation", (1000 / 1024, 1000 / 1024)),
        ("chance", (2.1 / 4, -2.1 / 4)),
    ],
)
def test_textbook_trees_are_proven(name: str, utilities: tuple[float, ...]) -> None:
    search = searched(load(f"tree:{name}.json"), 2000)
    assert search.tree.root().proven
    assert tuple(search.tree.root().utility) == pytest.approx(utilities, abs=1e-12)


def test_each_player_of_three_maximizes_its_own_component_without_proofs() -> None:
    search = searched(load("tree:three_players.json"), 300_000, UCB1(solve=False, c=0.1))
    root = search.tree.root()
    assert root.sums[0] / root.visits == pytest.approx(1 / 8, abs=0.05)  # player 0 gets 1 from either action
    edges = sorted(search.tree.children(root), key=lambda each: int(each.action))
    for edge, expected in zip(edges, ((1, 2, 6), (1, 5, 2)), strict=True):
        child = search.tree.nodes[0, edge.child]
        assert tuple(child.sums / child.visits) == pytest.approx(tuple(u / 8 for u in expected), abs=0.05)


def test_chance_is_sampled_by_its_probabilities() -> None:
    search = searched(load("tree:chance.json"), 20_000, UCB1(solve=False))
    best = max(search.tree.children(search.tree.root()), key=lambda edge: edge.visits)
    outcomes = search.tree.children(search.tree.nodes[0, best.child])
    share = outcomes["visits"] / best.visits
    assert share.tolist() == pytest.approx([0.9, 0.1], abs=4 * math.sqrt(0.09 / best.visits))
    assert best.value / best.visits == pytest.approx(2.1 / 4, abs=0.02)


def test_rolls_of_backgammon_come_as_often_as_dice_say() -> None:
    game = load("backgammon:start=hyper")
    search = searched(game, 20_000, UCB1(solve=False), nodes=50_000)
    root = search.tree.root()
    assert root.mover == CHANCE
    outcomes = search.tree.children(root)
    odds = np.array([game.chance(search.roots[0], int(edge.action)) for edge in outcomes])
    expected = odds * root.visits
    chi_squared = float(((outcomes["visits"] - expected) ** 2 / expected).sum())
    assert chi_squared < 40  # 14 degrees of freedom: one in four thousand lies above


def test_chance_is_proven_only_when_all_outcomes_are() -> None:
    game = load("tree:chance.json")
    search = Search(game, nodes=100)
    search.begin(0, game.initial(), generator(2, "test"))
    seen = set()
    while search.run(1):
        walk(search)  # says so of each chance node that is proven
        for node in rows(search)[0]:
            if node.mover == CHANCE:
                seen.add((int(search.tree.children(node)["proven"].sum()), bool(node.proven)))
    assert {(1, False), (2, True)} <= seen
    assert (1, True) not in seen


def test_proven_utilities_are_minimax_on_late_connect_four_positions() -> None:
    game = load("connect_four")
    memory: dict[bytes, tuple[float, ...]] = {}
    proven, seed = 0, 0
    for _ in range(20):
        while (state := random_position(game, 32, seed)).plies < 32:
            seed += 1
        seed += 1
        search = searched(game, 3000, None, state, seed)
        proven += search.tree.root().proven
        for number, position in walk(search).items():
            node = search.tree.nodes[0, number]
            if node.proven and node.mover >= 0 and number % 7 == 0:
                assert tuple(node.utility) == max_n(game, position, memory)
    assert proven >= 18


def test_proven_utilities_are_minimax_where_a_player_moves_twice() -> None:
    game = load("dots_and_boxes:rows=2,cols=2")
    memory: dict[bytes, tuple[float, ...]] = {}
    twice, proven = 0, 0
    for seed in range(6):
        search = searched(game, 500, None, random_position(game, 7, seed), seed)
        for number, position in walk(search).items():
            node = search.tree.nodes[0, number]
            for edge in search.tree.children(node):
                twice += edge.child != NONE and search.tree.nodes[0, edge.child].mover == node.mover
            if node.proven and node.mover >= 0:
                proven += 1
                assert tuple(node.utility) == max_n(game, position, memory)
    assert twice > 100 and proven > 100


def test_proven_win_ends_the_search() -> None:
    game = load("connect_four")
    search = searched(game, 10_000, None, game.play("1 2 1 2 1 3"))
    root = search.tree.root()
    assert root.proven and tuple(root.utility) == (1.0, -1.0)
    assert search.tree.slots[0].simulations < 1000
    assert search.run(100) == 0


def test_proven_loss_is_avoided_inside_the_tree() -> None:
    game = load("connect_four")  # after any move but 1, the second player completes column 1
    search = searched(game, 20_000, None, game.play("2 1 2 1 7 1"))
    edges = search.tree.children(search.tree.root())
    others = edges[edges["action"] != 0]
    assert others["proven"].all()
    assert others["visits"].max() < 1000


# ── leaf values ──


def ply_counter(rules: Any) -> Any:
    """For connect four: worth more the later, to player 0."""

    def evaluate(state: Any, player: Any, weights: Any, values: Any) -> float:
        return weights[0] * state.plies if player == 0 else -weights[0] * state.plies

    return evaluate


def test_estimate_takes_the_place_of_rollouts() -> None:
    game = load("connect_four")
    none = UCB1(rollout=0.0, solve=False)
    root = searched(game, 1, none, game.play("4 4 4"), evaluator=ply_counter, weights=[0.01]).tree.root()
    assert tuple(root.sums) == pytest.approx((0.03, -0.03))
    half = UCB1(rollout=0.5, solve=False)
    root = searched(game, 1, half, game.play("4 4 4"), evaluator=ply_counter, weights=[0.01]).tree.root()
    assert abs(root.sums[0] - 0.015) == pytest.approx(0.5)  # and half of a game won or lost


def test_cut_rollout_is_judged_where_it_ends() -> None:
    game = load("connect_four")
    how = UCB1(rollout=1.0, rollout_plies=2, solve=False)
    root = searched(game, 1, how, game.play("4 4 4"), evaluator=ply_counter, weights=[0.01]).tree.root()
    assert tuple(root.sums) == pytest.approx((0.05, -0.05))


def test_rollouts_are_uniform_games() -> None:
    game = load("tic_tac_toe")
    search = Search(game, UCB1(solve=False), slots=4000, nodes=2)
    for slot in range(4000):
        search.begin(slot, game.initial(), generator(slot, "test"))
    search.run(1)
    expected = game.random_games(100_000, 1)[0]
    assert search.tree.nodes["sums"][:, 0].mean(axis=0) == pytest.approx(expected, abs=0.06)


# ── selection ──


def test_ucb1_is_stated_for_rewards_from_zero_to_one() -> None:
    c, visits, n, mean = math.sqrt(2), 50, 7, 0.3
    in_rewards = (mean + 1) / 2 + c * math.sqrt(math.log(visits) / n)
    in_utilities = mean + ucb1_factor(UCB1(c=c).record(), visits) * math.sqrt(1 / n)
    assert in_utilities == pytest.approx(2 * in_rewards - 1)


def test_puct_explores_more_as_visits_grow() -> None:
    assert factor(PUCT().record(), 101) == pytest.approx((1.25 + math.log(19754 / 19652)) * 10)


def test_ucb1_tries_every_action_once_before_any_twice() -> None:
    for seed in range(20):
        search = searched(load("connect_four"), 8, UCB1(solve=False), None, seed)
        assert search.tree.children(search.tree.root())["visits"].tolist() == [1] * 7
    first = {int(searched(load("connect_four"), 2, None, None, seed).tree.nodes[0, 0].edges) for seed in range(5)}
    assert first == {0}


def test_ucb1_tries_actions_in_random_order() -> None:
    game = load("connect_four")
    firsts = []
    for seed in range(140):
        search = searched(game, 2, None, None, seed, nodes=10)
        edges = search.tree.children(search.tree.root())
        firsts += edges[edges["visits"] == 1]["action"].tolist()
    assert min(np.bincount(firsts, minlength=7)) > 5


# ── memory and reuse ──


@pytest.mark.parametrize("name", ["connect_four", "backgammon:start=hyper", "go:size=3", "tree:chance.json"])
@pytest.mark.parametrize("how", [UCB1(), BLIND], ids=["ucb1", "puct"])
def test_memory_is_bounded_and_the_search_goes_on(name: str, how: SearchSettings) -> None:
    game = load(name)
    roomy = game.rules.max_legal
    for nodes, edges in ((1, 10 * roomy), (7, 10 * roomy), (200, roomy), (50, 3 * roomy)):
        search = searched(game, 1000, how, nodes=nodes, edges=edges)
        used = search.tree.used()
        assert used[0] <= nodes and used[1] <= edges
        assert search.is_done()
        if name != "tree:chance.json":
            assert search.tree.slots[0].refused > 0
            walk(search)


def test_full_tree_still_finds_the_better_move() -> None:
    game = load("connect_four")
    search = searched(game, 50_000, None, game.play("4 1 4 1 4"), nodes=60, edges=60)  # column 4 must be stopped
    edges = search.tree.children(search.tree.root())
    best = max(edges, key=lambda edge: edge.visits)
    assert game.names[best.action] == "4"


@pytest.mark.parametrize("name", ["connect_four", "dots_and_boxes", "backgammon:start=hyper", "go:size=3"])
@pytest.mark.parametrize("how", [UCB1(), BLIND], ids=["ucb1", "puct"])
def test_advancing_keeps_the_subtree_as_it_was(name: str, how: SearchSettings) -> None:
    search = searched(load(name), 1000, how)
    for _ in range(3):
        edge = max(search.tree.children(search.tree.root()), key=lambda each: each.visits)
        before = by_path(search, search.tree.nodes[0, edge.child])
        assert search.advance(0, int(edge.action))
        assert by_path(search, search.tree.root()) == before
        assert len(walk(search)) == len(before)
        search.run(200)
        walk(search)
        if search.tree.root().proven:
            break


def by_path(search: Search, node: Any, path: tuple[int, ...] = ()) -> dict[tuple[int, ...], Any]:
    """What the tree knows below a node, by the actions that lead there."""
    edges = search.tree.children(node)
    about = [(int(e.action), int(e.visits), float(e.value), float(e.prior), int(e.proven)) for e in edges]
    whole = tuple(node.sums), tuple(node.utility), int(node.visits), int(node.mover), int(node.proven), int(node.tried)
    found = {path: (whole, float(node.mass), about)}
    for edge in edges:
        if edge.child != NONE:
            found |= by_path(search, search.tree.nodes[0, edge.child], (*path, int(edge.action)))
    return found


def test_memory_comes_back_when_the_root_advances() -> None:
    game = load("connect_four")
    search = searched(game, 5000, nodes=500, edges=3000)
    assert search.tree.used()[0] == 500
    best = max(search.tree.children(search.tree.root()), key=lambda edge: edge.visits)
    assert search.advance(0, int(best.action))
    used = search.tree.used()[0]
    assert used < 500
    search.run(1000)
    assert search.tree.used()[0] > used


def test_advancing_where_nothing_was_searched_starts_an_empty_tree() -> None:
    game = load("connect_four")
    search = searched(game, 1)
    assert not search.advance(0, 3)
    assert search.tree.used() == (0, 0)
    search.run(10)
    assert search.roots[0].plies == 1
    walk(search)


def test_big_games_run_within_memory() -> None:
    for name in ("go", "backgammon"):
        for how in (UCB1(), BLIND):
            search = searched(load(name), 400, how, nodes=300, edges=10_000)
            assert search.tree.slots[0].simulations == 400
            walk(search)


# ── what is refused ──


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"c": -1.0}, "c: expected a number of at least 0, got -1.0"),
        ({"immediate_wins": True}, "immediate_wins: expected false with method 'ucb1'"),
        ({"rollout": 1.5}, "rollout: expected the share of random games in a leaf's value, 0 to 1, got 1.5"),
        ({"rollout_plies": -1}, "rollout_plies: expected 0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        UCB1(**wrong)


def test_impossible_trees_are_refused() -> None:
    game = load("connect_four")
    with pytest.raises(UserError, match="expected a tree or more, of 1 node and 7 edges at least, got 1 of 10 and 6"):
        Tree(game, variant_of(UCB1()), 1, 10, 6)
    with pytest.raises(UserError, match="leaves: expected 1 or more"):
        Search(game, leaves=0)
    with pytest.raises(UserError, match="expected an unfinished game"):
        Search(game).begin(0, game.play("1 2 1 2 1 2 1"), generator(1))


def test_unknown_variants_are_refused() -> None:
    with pytest.raises(UserError, match=r"method: expected one of .*puct.*, got 'thompson'"):
        settings_class("thompson")
    with pytest.raises(UserError, match="did you mean 'puct'"):
        settings_class("punct")


def test_every_number_of_the_settings_reaches_the_kernels_record() -> None:
    assert {"ucb1", "puct", "gumbel"} <= set(names())
    for method in names():
        settings = settings_class(method)()
        assert settings.method == method
        numbers = {each.name for each in fields(settings)} - {"method"}
        record = settings.record()
        assert set(record.dtype.names) == numbers
        assert all(record[name] == getattr(settings, name) for name in numbers)
