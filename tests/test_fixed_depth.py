"""Minimax, max^n, expectiminimax: against the textbooks, the definition, and each other."""

import functools
import json
import math
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_evaluation import random_positions

from base.errors import UserError
from classical import fixed_depth
from classical.eval import INSIDE, Eval, default_eval
from classical.expectiminimax import Expectiminimax
from classical.maxn import MaxN
from classical.minimax import Minimax, minimax_search
from classical.scores import UNIT, WIN, score_of, utility_of
from games import CHANCE, load

TREES = Path(__file__).parent / "data" / "random_tree.py"


def random_trees(options=""):
    """The game of random trees, and their roots by number."""
    game = load(f"{TREES}:{options}" if options else str(TREES))

    def root(number):
        state = game.initial()
        state.number = number
        return state

    return game, root


def named(game, actions):
    return " ".join(game.names[action] for action in actions)


# ── the textbooks ──


def test_minimax_visits_549946_positions_of_tic_tac_toe_and_finds_a_draw():
    game = load("tic_tac_toe")
    choice = Minimax(game, 9).choose(game.initial())
    assert (choice.nodes, choice.value, choice.proven) == (549_946, 0.0, True)
    assert [one.value for one in choice.actions] == [0.0] * 9


def test_the_textbooks_minimax_search_counts_the_same_positions():
    game = load("tic_tac_toe")
    after = game.play("b2")
    assert minimax_search(game, after) == (0.0, 0, Minimax(game, 8).choose(after).nodes) == (0.0, 0, 55_505)


def test_the_textbooks_minimax_search_is_the_compiled_one_on_random_trees():
    game, root = random_trees()
    search = Minimax(game, 9)
    for number in range(150):
        answer, choice = minimax_search(game, root(number)), search.choose(root(number))
        assert (answer.utility, answer.nodes) == (pytest.approx(choice.value), choice.nodes)
        if abs(choice.value) < 1:  # of wins, the textbook's takes the first, the compiled one the fastest
            assert answer.move == choice.action


def test_the_two_ply_tree_is_worth_3():
    game = load("tree:two_ply.json")
    choice = Minimax(game, 2).choose(game.initial())
    assert choice.value * 16 == 3
    assert named(game, choice.pv) == "a1 b1"
    assert choice.nodes == 13
    assert {game.names[one.action]: one.value * 16 for one in choice.actions} == {"a1": 3, "a2": 2, "a3": 2}
    assert minimax_search(game, game.initial()) == (3 / 16, choice.action, 13)


def test_the_three_player_tree_backs_up_the_right_vectors():
    game = load("tree:three_players.json")
    search = MaxN(game, 3)
    backed_up = {"": (1, 2, 6), "a1": (1, 2, 6), "a2": (1, 5, 2), "a1 b1": (1, 2, 6), "a1 b2": (6, 1, 2)}
    backed_up |= {"a2 e1": (1, 5, 2), "a2 e2": (5, 4, 5)}
    for path, vector in backed_up.items():
        assert tuple(8 * utility for utility in search.utilities(game.play(path))) == vector
    assert named(game, search.choose(game.initial()).pv) == "a1 b1 c1"


def test_in_a_general_sum_game_both_cooperate():
    game = load("tree:cooperation.json")
    choice = MaxN(game, 2).choose(game.initial())
    assert named(game, choice.pv) == "cooperate share"
    assert MaxN(game, 2).utilities(game.initial()) == pytest.approx((1000 / 1024, 1000 / 1024), abs=1e-6)


@pytest.mark.parametrize("pruning", [True, False])
def test_the_chance_tree_prefers_a1(pruning):
    game = load("tree:chance.json")
    choice = Expectiminimax(game, 9, pruning=pruning).choose(game.initial())
    assert game.names[choice.action] == "a1"
    assert choice.value * 4 == pytest.approx(2.1)
    if not pruning:
        assert [one.value * 4 for one in choice.actions] == pytest.approx([2.1, 1.3])


def test_star1_leaves_out_an_outcome_that_cannot_matter(tmp_path):
    """After 1/2 a loss, the other half of a2 is at most a win: at most 0, and a1 is worth more."""
    leaves = {"p": [0.5, -1], "q": [0.5, {"player": 0, "actions": {"x": 1, "y": 0, "z": -1}}]}
    tree = {"player": 0, "actions": {"a1": 0.1, "a2": {"chance": leaves}}}
    path = tmp_path / "star1.json"
    path.write_text(json.dumps({"scale": 1, "tree": tree}))
    game = load(f'tree:"{path}"')
    whole = Expectiminimax(game, 9, pruning=False).choose(game.initial())
    pruned = Expectiminimax(game, 9).choose(game.initial())
    assert (whole.nodes, pruned.nodes) == (8, 4)
    assert pruned.counters["star1 cuts"] == 1
    assert pruned.action == whole.action and pruned.value == whole.value == 0.1
    assert pruned.actions[1].bound == "upper" and pruned.actions[1].value >= whole.actions[1].value


# ── the definition ──


def by_definition(game, weights, state, depth, before=None, ply=0):
    """The vector of scores of a position, straight from the definition, over pure functions."""
    players, zero_sum = range(game.players), game.rules.zero_sum
    if game.is_terminal(state):
        utilities = game.utility(state)
        if game.rules.chance is not None:
            return [utility * UNIT for utility in utilities]
        return [math.copysign(WIN - ply, u) if abs(u) == 1 else round(u * UNIT) for u in utilities]
    mover = game.to_move(state)
    if depth == 0 and mover != before:
        guesses = [weights.value(game, state, player) for player in players]
        if zero_sum and game.players > 2:
            guesses = [guess - sum(guesses) / game.players for guess in guesses]
        largest = max(INSIDE, *map(abs, guesses))
        return [UNIT * INSIDE * guess / largest for guess in guesses]
    left = depth if mover == CHANCE else max(depth - 1, 0)
    children = [
        (action, by_definition(game, weights, game.result(state, action), left, mover, ply + 1))
        for action in game.legal_actions(state)
    ]
    if mover == CHANCE:
        return [sum(game.chance(state, action) * value[player] for action, value in children) for player in players]
    return max((value for _, value in children), key=lambda value: value[mover])


@pytest.mark.parametrize(
    ("search", "options"),
    [
        (Minimax, ""),
        (MaxN, ""),
        (MaxN, "players=3"),
        (MaxN, "players=3,chance=1"),
        (MaxN, "players=4,zero_sum=0"),
        (MaxN, "players=2,zero_sum=0,chance=1"),
        (Expectiminimax, "chance=1"),
        (functools.partial(Expectiminimax, pruning=False), "chance=1"),
    ],
)
def test_searches_follow_the_definition_on_random_trees(search, options):
    game, root = random_trees(options)
    weights = default_eval(game)
    for number in range(60):
        depth = 1 + number % 5
        state = root(number)
        found = search(game, depth).choose(state)
        scores = by_definition(game, weights, state, depth)
        assert found.value == pytest.approx(utility_of(scores[game.to_move(state)]), abs=2e-6)


def test_eval_of_three_players_sums_to_zero_where_the_game_does_and_stays_inside():
    game, root = random_trees("players=3")
    strong = Eval(game.name, game.version, {"hunch": 5.0})
    search = MaxN(game, 1, strong)
    seen = 0
    for number in range(300):
        utilities = search.utilities(root(number))
        assert sum(utilities) == pytest.approx(0, abs=2e-6)
        assert max(map(abs, utilities)) <= 1
        seen += max(map(abs, utilities)) == pytest.approx(INSIDE, abs=1e-6)
    assert seen > 0  # some had to be shrunk


def test_a_turn_is_never_cut():
    """A jump at depth 1 is searched until the turn ends; a line that closes a box at depth 1 is followed by another."""
    checkers, boxes = load("checkers"), load("dots_and_boxes:rows=1,cols=2")
    for game, state in (
        (checkers, checkers.parse("B:W15,23,24:B11,1")),
        (boxes, boxes.play("a1b1 b1c1 a1a2 b1b2")),
    ):
        choice = Minimax(game, 1).choose(state)
        mover, after = game.to_move(state), state
        for action in choice.pv:
            assert game.to_move(after) == mover
            after = game.result(after, action)
        assert len(choice.pv) > 1
        assert game.is_terminal(after) or game.to_move(after) != mover


# ── each other ──

SMALL = [
    ("tic_tac_toe", 4),
    ("nim", 4),
    ("connect_four", 4),
    ("othello:size=6", 3),
    ("checkers", 3),
    ("dots_and_boxes:rows=2,cols=2", 3),
    ("go:size=3,komi=0", 2),
    (str(TREES), 6),
]


def zero_sum(value, mover):
    """The utilities of two players, from the mover's."""
    return (value, -value) if mover == 0 else (-value, value)


@pytest.mark.parametrize(("name", "deepest"), SMALL)
def test_maxn_with_two_players_is_minimax(name, deepest):
    game = load(name)
    searches = [
        (Minimax(game, depth), MaxN(game, depth), Expectiminimax(game, depth)) for depth in range(1, deepest + 1)
    ]
    for number, state in enumerate(random_positions(game, 240)):
        minimax, maxn, pruned = searches[number % deepest]
        one, other, third = minimax.choose(state), maxn.choose(state), pruned.choose(state)
        assert (one.action, one.value, one.pv, one.nodes) == (other.action, other.value, other.pv, other.nodes)
        assert one.actions == tuple(replace(each, utilities=None) for each in other.actions)
        assert one.proven == other.proven
        assert all(each.utilities == zero_sum(each.value, game.to_move(state)) for each in other.actions)
        assert (one.action, one.value, one.pv) == (third.action, third.value, third.pv)
        assert third.nodes <= one.nodes
        mover = game.to_move(state)
        assert one.value == -maxn.utilities(state)[1 - mover] == maxn.utilities(state)[mover]


def decided(game, n):
    """Random positions where there is something to decide."""
    return [state for state in random_positions(game, 3 * n) if game.to_move(state) != CHANCE][:n]


@pytest.mark.parametrize(
    ("name", "depth", "n"),
    [("backgammon:start=hyper", 1, 200), ("backgammon:start=hyper", 3, 40), ("backgammon", 1, 40)],
)
def test_star1_changes_neither_move_nor_value_in_backgammon(name, depth, n):
    game = load(name)
    pruned, whole, maxn = Expectiminimax(game, depth), Expectiminimax(game, depth, pruning=False), MaxN(game, depth)
    nodes = np.zeros(2, np.int64)
    for state in decided(game, n):
        one, other = pruned.choose(state), whole.choose(state)
        assert (one.action, one.value, one.pv) == (other.action, other.value, other.pv)
        assert other.value == maxn.choose(state).value
        nodes += one.nodes, other.nodes
    assert nodes[0] <= nodes[1]


def test_star1_changes_no_value_on_random_trees_and_saves_work():
    game, root = random_trees("chance=1")
    pruned, whole = Expectiminimax(game, 6), Expectiminimax(game, 6, pruning=False)
    nodes, cuts = np.zeros(2, np.int64), 0
    for number in range(1000):
        one, other = pruned.choose(root(number)), whole.choose(root(number))
        assert (one.action, one.value, one.pv) == (other.action, other.value, other.pv)
        exact = {candidate.action: candidate.value for candidate in other.actions}
        for candidate in one.actions:
            if candidate.bound == "exact":
                assert candidate.value == exact[candidate.action]
            else:
                assert candidate.bound == "upper" and candidate.value >= exact[candidate.action] - 1e-8
        nodes += one.nodes, other.nodes
        cuts += one.counters["star1 cuts"]
    assert cuts > 1000
    assert nodes[0] < 0.8 * nodes[1]


# ── answers ──


def test_faster_wins_and_slower_losses_are_better():
    assert score_of(1.0, 3) > score_of(1.0, 4) > INSIDE * UNIT > score_of(-1.0, 4) > score_of(-1.0, 3)
    assert utility_of(score_of(1.0, 30)) == 1.0 and utility_of(score_of(-1.0, 30)) == -1.0
    game = load("connect_four")
    choice = Minimax(game, 5).choose(game.play("4 1 4 1 3 7"))
    assert len(choice.pv) == 3  # a double threat wins now, not later
    assert choice.value == 1.0 and choice.proven


def test_a_value_without_eval_is_proven():
    game = load("tic_tac_toe")
    assert not Minimax(game, 2).choose(game.initial()).proven
    late = game.play("a1 b2 c3 a3 c1 b1")
    assert Minimax(game, 3).choose(late).proven
    three, root = random_trees("players=3")
    assert MaxN(three, 6).choose(root(1)).proven
    assert not any(
        MaxN(three, 1).choose(root(number)).proven for number in range(20) if not_over_soon(three, root(number))
    )


def not_over_soon(game, state):
    return not all(game.is_terminal(game.result(state, action)) for action in game.legal_actions(state))


def test_turn_deeper_than_the_workspace_is_searched_again_with_more_levels(monkeypatch):
    game = load("checkers")
    states = random_positions(game, 200, seed=3)
    search = Minimax(game, 2)
    expected = [search.choose(state).actions for state in states]
    monkeypatch.setattr(fixed_depth, "SPARE", 1)
    given, workspace = [], search.workspace
    monkeypatch.setattr(search, "workspace", lambda state, levels: (given.append(levels), workspace(state, levels))[1])
    assert [search.choose(state).actions for state in states] == expected
    assert set(given) >= {3, 6}


@pytest.mark.parametrize("name", ["tic_tac_toe", "tree:chance.json", "checkers"])
def test_interpreted_searches_are_the_compiled_ones(name, monkeypatch):
    game = load(name)
    states = [state for state in random_positions(game, 6) if game.to_move(state) != CHANCE]
    searches = [search(game, 3) for search in (MaxN, Expectiminimax)]
    searches += [] if game.rules.chance else [Minimax(game, 3)]
    compiled = [search.searched(state)[:4] for search in searches for state in states]
    monkeypatch.setattr(game, "kernel", lambda factory: factory(game.rules))
    with np.errstate(over="ignore"):
        assert [search.searched(state)[:4] for search in searches for state in states] == compiled


def test_the_position_searched_is_not_changed():
    game = load("othello:size=6")
    state = game.initial()
    before = state.copy()
    Minimax(game, 3).choose(state)
    assert state == before


@pytest.mark.parametrize(
    ("search", "name", "expected"),
    [
        (Minimax, "backgammon", "minimax: expected a game without chance, got backgammon:start=standard; expecti"),
        (Minimax, "tree:three_players.json", r"minimax: expected two players and zero sum, got .* \(3 players\); maxn"),
        (Minimax, "tree:cooperation.json", r"minimax: expected two players and zero sum, got .* \(general sum\); maxn"),
        (Expectiminimax, "dots_and_boxes:players=3", r"expectiminimax: expected two players and zero sum, .* \(3 play"),
    ],
)
def test_what_does_not_apply_is_refused_in_one_sentence(search, name, expected):
    with pytest.raises(UserError, match=expected):
        search(load(name), 1)


def test_the_textbooks_minimax_search_refuses_the_same():
    for name, expected in (("backgammon", "without chance"), ("tree:cooperation.json", "zero sum")):
        with pytest.raises(UserError, match=f"minimax: expected .*{expected}"):
            minimax_search(load(name), load(name).initial())
    game = load("tic_tac_toe")
    with pytest.raises(UserError, match="minimax: expected an unfinished game of tic_tac_toe"):
        minimax_search(game, game.play("a1 a2 b1 b2 c1"))


def test_what_cannot_be_searched_is_refused():
    game = load("tic_tac_toe")
    with pytest.raises(UserError, match="minimax: depth: expected 1 or more, got 0"):
        Minimax(game, 0)
    with pytest.raises(
        UserError, match=r"minimax: expected a position of tic_tac_toe with a move .*, got a finished game"
    ):
        Minimax(game, 1).choose(game.play("a1 a2 b1 b2 c1"))
    with pytest.raises(UserError, match=r"expectiminimax: expected .*, got one where chance is to move"):
        Expectiminimax(load("backgammon"), 1).choose(load("backgammon").initial())
    with pytest.raises(UserError, match=r"expected weights for nim:most=7 .*, got some for tic_tac_toe"):
        Minimax(load("nim"), 1, default_eval(game))


ENDLESS = """
from classical.minimax import Minimax
from games import load
game = load("connect_four")
Minimax(game, 2).choose(game.initial())
print("begun", flush=True)
Minimax(game, 16).choose(game.initial())
"""


def test_ctrl_c_ends_a_long_search_at_once():
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begun\n"
    time.sleep(1)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT and time.monotonic() - start < 20
    assert err.rstrip().endswith("KeyboardInterrupt")
