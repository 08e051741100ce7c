"""Game trees given as data."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import UserError
from games import CHANCE, load
from games.tree import VARIANTS


def minimax(game, state):
    """Max^n over chance and players, by the definition."""
    if game.is_terminal(state):
        return game.utility(state)
    children = [(action, minimax(game, game.result(state, action))) for action in game.legal_actions(state)]
    mover = game.to_move(state)
    if mover == CHANCE:
        odds = [game.chance(state, action) for action, _ in children]
        return tuple(
            sum(p * value[i] for p, (_, value) in zip(odds, children, strict=True)) for i in range(game.players)
        )
    return max((value for _, value in children), key=lambda value: value[mover])


@pytest.mark.parametrize(
    ("file", "scale", "payoffs"),
    [
        ("two_ply.json", 16, (3, -3)),
        ("three_players.json", 8, (1, 2, 6)),
        ("chance.json", 4, (2.1, -2.1)),
        ("cooperation.json", 1024, (1000, 1000)),
        ("chance_rescaled.json", 400, (40.9, -40.9)),
        ("best_first.json", 8, (0, 0)),
        ("worst_first.json", 8, (0, 0)),
    ],
)
def test_the_textbooks_trees_have_the_textbooks_values(file, scale, payoffs):
    game = load(f"tree:{file}")
    assert minimax(game, game.initial()) == pytest.approx([payoff / scale for payoff in payoffs])


def test_every_tree_that_comes_along_is_proved_here():
    proved = {"two_ply.json", "three_players.json", "chance.json", "cooperation.json", "chance_rescaled.json"}
    assert set(VARIANTS) == proved | {"best_first.json", "worst_first.json"}


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ("[", r"2?:?\d*: expected JSON"),
        ({"players": 2}, 'the top: expected an object with "tree", got'),
        ({"tree": 3}, "the root: expected a decision or chance"),
        ({"tree": {"player": 2, "actions": {"a": 1}}}, "the root: expected a player from 0 to 1, got 2"),
        ({"tree": {"player": 0, "actions": {}}}, "the root: expected one or more named actions, got {}"),
        ({"tree": {"player": 0, "actions": {"a b": 1}}}, 'the root: expected action names of one word, got "a b"'),
        ({"tree": {"player": 0, "actions": {"a": [1, 2]}}}, r"a: expected payoffs that sum to zero .*, got \[1, 2\]"),
        ({"tree": {"player": 0, "actions": {"a": "x"}}}, 'a: expected "player" with "actions", "chance", or 2 payoffs'),
        (
            {"tree": {"chance": {"a": [0.5, 1], "b": [0.6, 1]}}},
            "the root: expected probabilities that sum to 1, got 1.1",
        ),
        ({"tree": {"chance": {"a": 1}}}, r"the root, a: expected \[probability, node\], got 1"),
        ({"players": 0, "tree": 1}, "the top: expected players from 1 to 16"),
        ({"players": True, "tree": 1}, "the top: expected players from 1 to 16"),
        ('{"tree": {"player": 0, "actions": {"a": 1, "a": 2}}}', "expected different keys in an object, got 'a' twice"),
        ('{"tree": {"player": 0, "actions": {"a": 1e999}}}', "expected finite numbers, got 1e999"),
        ({"playres": 2, "tree": 1}, 'the top: expected the keys .*, got "playres"'),
        ({"scale": 1, "tree": {"player": 0, "actions": {"a": 2}}}, "the top: expected a scale of at least 2"),
    ],
)
def test_a_broken_tree_is_an_error_with_its_place(tree, expected, tmp_path):
    path = tmp_path / "t.json"
    path.write_text(tree if isinstance(tree, str) else json.dumps(tree))
    with pytest.raises(UserError, match=re.compile(f"t.json:? ?{expected}")):
        load(f'tree:"{path}"')


def children_of(node):
    return st.dictionaries(st.sampled_from(["a", "b", "c", ""]), node, max_size=3)


LEAVES = st.integers(-9, 9) | st.text(max_size=2) | st.lists(st.integers(-2, 2), max_size=3) | st.none()
NODES = st.recursive(
    LEAVES,
    lambda node: (
        st.fixed_dictionaries({"player": st.integers(-1, 2), "actions": children_of(node)})
        | st.fixed_dictionaries({"chance": children_of(st.tuples(st.sampled_from([0.5, 1, 0]), node))})
    ),
    max_leaves=8,
)


@settings(max_examples=250)
@given(tree=NODES, players=st.sampled_from([2, 2, 2, 3, 1]))
def test_any_json_is_a_tree_or_one_line(tree, players, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "fuzz.json"
    path.write_text(json.dumps({"players": players, "tree": tree}))
    try:
        game = load(f'tree:"{path}"')
    except UserError as error:
        assert "fuzz.json" in str(error) and "\n" not in str(error)
        return
    assert game.rules.zero_sum and game.rules.max_legal >= 1
