"""The exact solver: against brute force, against theory, against published facts."""

import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from base.errors import UserError
from classical.induction import Induction
from classical.prover import prover
from classical.solver import Solver, Unsolved
from games import Game, Rules, load

SCORES = Path(__file__).parent / "data" / "connect_four_scores.txt"


def brute_force(game, state, known):
    """(utility, distance) for player 0 by the definition; a win's distance is the least, a loss's the greatest, a draw's 0."""
    key = state.tobytes()
    if key not in known:
        if game.is_terminal(state):
            known[key] = (game.utility(state)[0], 0)
        else:
            sign = 1 if game.to_move(state) == 0 else -1
            after = [brute_force(game, game.result(state, a), known) for a in game.legal_actions(state)]
            best = max(after, key=lambda pair: (sign * pair[0], -sign * np.sign(pair[0]) * pair[1]))
            known[key] = (best[0], best[1] + 1 if best[0] else 0)
    return known[key]


def expected_of(game, state, known):
    """The mover's value, distance, and both of every action."""
    sign = 1 if game.to_move(state) == 0 else -1
    after = {a: brute_force(game, game.result(state, a), known) for a in game.legal_actions(state)}
    values = {a: sign * utility for a, (utility, _) in after.items()}
    distances = {a: distance + 1 if utility else None for a, (utility, distance) in after.items()}
    utility, distance = brute_force(game, state, known)
    return sign * utility, distance or None, values, distances


def assert_equals_brute_force(game, state, known, plain, fast=None):
    value, distance, values, distances = expected_of(game, state, known)
    found = plain.solve(state)
    assert found.value == plain.value(state) == value
    assert found.values == values
    assert set(found.actions) == {a for a, each in values.items() if each == value}
    assert found.candidates[0].value == value
    one = plain.solve(state, "one")
    assert len(one.actions) == 1 and values[one.actions[0]] == value
    assert all(values[each.action] <= each.value <= value for each in one.candidates)
    assert all(values[action] == each for action, each in one.values.items()) and one.actions[0] in one.values
    if fast:
        found = fast.solve(state)
        assert (found.value, found.values) == (value, values)
        assert (found.distance, found.distances) == (distance, distances)
        best = found.actions[0]
        assert distances[best] == distance
        assert fast.choose(state).action in [a for a in values if values[a] == value and distances[a] == distance]


def reachable(game):
    seen, waiting = {}, [game.initial()]
    while waiting:
        state = waiting.pop()
        if state.tobytes() not in seen:
            seen[state.tobytes()] = state
            waiting += [game.result(state, action) for action in game.legal_actions(state)]
    return list(seen.values())


def random_position(game, plies, seed):
    """After uniformly random plies; unfinished."""
    rng = np.random.default_rng(seed)
    while True:
        state = game.initial()
        for _ in range(plies):
            actions = game.legal_actions(state)
            if not actions:
                break
            state = game.result(state, actions[rng.integers(len(actions))])
        if not game.is_terminal(state):
            return state


def test_every_position_of_tic_tac_toe_is_solved_as_by_brute_force():
    game, known = load("tic_tac_toe"), {}
    plain, fast = Solver(game, megabytes=1), Solver(game, megabytes=1, distance=True)
    positions = reachable(game)
    assert len(positions) == 5478
    for number, state in enumerate(positions):
        if not game.is_terminal(state):
            if number % 5 == 0:  # all that the solver answers
                assert_equals_brute_force(game, state, known, plain, fast)
            assert plain.value(state) == expected_of(game, state, known)[0]


@pytest.mark.parametrize(
    "name", ["nim:most=4", "dots_and_boxes:rows=1,cols=2", "dots_and_boxes:rows=2,cols=1", "tree:two_ply.json"]
)
def test_every_position_of_small_games_is_solved_as_by_brute_force(name):
    game, known = load(name), {}
    plain = Solver(game, megabytes=1)
    fast = Solver(game, megabytes=1, distance=True) if "tree" not in name else None
    for state in reachable(game):
        if not game.is_terminal(state):
            assert_equals_brute_force(game, state, known, plain, fast)


@pytest.mark.parametrize(
    ("name", "plies", "count"),
    [
        ("connect_four", range(32, 42), 25),
        ("othello:size=6", range(26, 32), 20),
        ("dots_and_boxes:rows=2,cols=2", range(4, 12), 25),
        ("dots_and_boxes:rows=3,cols=3", range(17, 24), 25),
    ],
)
def test_late_positions_are_solved_as_by_brute_force(name, plies, count):
    game, known = load(name), {}
    plain, fast = Solver(game, megabytes=8), Solver(game, megabytes=8, distance=True)
    for seed in range(count):
        known.clear()
        assert_equals_brute_force(game, random_position(game, plies[seed % len(plies)], seed), known, plain, fast)


def negamax(rules):
    """negamax(states, actions, lower, upper) -> utility of states[0] for its mover: alpha-beta by the book, which keeps nothing."""
    legal_actions, result, is_terminal = rules.legal_actions, rules.result, rules.is_terminal
    utility, to_move = rules.utility, rules.to_move

    def search(states, actions, level, lower, upper):
        best, mover = -2.0, to_move(states[level])
        n = legal_actions(states[level], actions[level])
        for i in range(n):
            states[level + 1] = states[level]
            result(states[level + 1], actions[level, i])
            if is_terminal(states[level + 1]):
                value = utility(states[level + 1], mover) * 1.0
            elif to_move(states[level + 1]) == mover:
                value = search(states, actions, level + 1, max(best, lower), upper)
            else:
                value = -search(states, actions, level + 1, -upper, -max(best, lower))
            best = max(best, value)
            if best >= upper:
                break
        return best

    def negamax(states, actions):
        return search(states, actions, np.int64(0), -2.0, 2.0)

    return negamax


def slow_value(game, state):
    actions = np.zeros((game.rules.max_plies + 1, game.rules.max_legal), np.int32)
    return game.kernel(negamax)(game.scratch(state, game.rules.max_plies + 2), actions)


@pytest.mark.parametrize(
    ("name", "plies", "count"),
    [
        ("connect_four", range(30, 42), 60),
        ("othello:size=6", range(25, 32), 100),
        ("othello", range(53, 60), 100),
        ("dots_and_boxes:rows=3,cols=3", range(17, 24), 100),
        ("dots_and_boxes:rows=1,cols=4", range(3, 13), 80),
        ("dots_and_boxes:rows=2,cols=2", range(2, 12), 80),
    ],
)
def test_random_positions_have_the_value_of_plain_alpha_beta(name, plies, count):
    game = load(name)
    solver = Solver(game, megabytes=16)
    for seed in range(count):
        state = random_position(game, plies[seed % len(plies)], seed)
        value = slow_value(game, state)
        found = solver.solve(state, "optimal")
        assert found.value == value, game.text(state)
        after = {action: game.result(state, action) for action in game.legal_actions(state)}
        mover = game.to_move(state)
        optimal = set()
        for action, child in after.items():
            if game.is_terminal(child):
                utility = game.utility(child)[mover]
            else:
                utility = slow_value(game, child) * (1 if game.to_move(child) == mover else -1)
            if utility == value:
                optimal.add(action)
        assert set(found.actions) == optimal, game.text(state)


def test_connect_four_has_its_published_scores():
    game = load("connect_four")
    solver, plain = Solver(game, megabytes=32, distance=True), Solver(game, megabytes=32)
    lines = [line.split() for line in SCORES.read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == 38
    for moves, score in lines:
        state = game.play(" ".join(moves))
        found = solver.solve(state, "one")
        left = (42 - len(moves) - (found.distance or 0)) // 2
        assert found.value * (left + 1) == int(score), moves
        assert plain.value(state) == found.value


def test_nim_is_won_where_the_nim_sum_is_not_zero():
    game = load("nim:most=9")
    solver = Solver(game, megabytes=4)
    for a in range(4):
        for b in range(6):
            for c in range(10):
                if a + b + c:
                    state = game.parse(f"heaps={a},{b},{c} mover=1")
                    found = solver.solve(state)
                    assert (found.value == 1) == (a ^ b ^ c != 0)
                    keeps = {
                        x for x in game.legal_actions(state) if np.bitwise_xor.reduce(game.result(state, x).heaps) == 0
                    }
                    assert set(found.actions) == (keeps if found.value == 1 else set(game.legal_actions(state)))


def by_margin(name):
    """Dots and boxes in which every box counts: the utility is the share of boxes won by."""
    game = load(name)
    boxes = game.options["rows"] * game.options["cols"]

    def utility(state, player):
        return (np.int64(state.boxes[player]) - np.int64(state.boxes[1 - player])) / boxes

    values = [margin / boxes for margin in range(-boxes, boxes + 1, 2)]
    return Game(
        replace(game.rules, utility=utility, values=values, utility_range=None), f"margin of {name}", "", {}
    ), boxes


@pytest.mark.parametrize(
    ("name", "margin"),
    [("rows=1,cols=1", -1), ("rows=1,cols=2", 0), ("rows=2,cols=2", None), ("rows=3,cols=3", -3)],
)
def test_the_margins_of_dots_and_boxes(name, margin):
    """3×3: the second player takes six boxes of nine."""
    game, boxes = by_margin(f"dots_and_boxes:{name}")
    value = Solver(game, megabytes=64).value(game.initial())
    expected = slow_value(game, game.initial()) * boxes if margin is None else margin
    assert value * boxes == pytest.approx(expected)


def test_a_position_whose_key_is_zero_is_not_an_empty_entry():
    game = load("dots_and_boxes:rows=1,cols=2")
    state = game.initial()
    assert game.rules.canonical_key(state) == 0
    assert Solver(game, megabytes=1).value(state) == slow_value(game, state)


def counting_game():
    """Take one or two of ten; the player who takes the last wins, but after six moves it is a draw.

    `moves` is history, and affects the value."""
    State = np.dtype([("pile", np.int8), ("mover", np.int8), ("moves", np.int8)])

    def initial(state):
        state.pile = 10

    def to_move(state):
        return state.mover

    def legal_actions(state, actions):
        n = min(state.pile, 2)
        for i in range(n):
            actions[i] = i
        return n

    def result(state, action):
        state.pile -= action + 1
        state.moves += 1
        state.mover = 1 - state.mover

    def is_terminal(state):
        return state.pile == 0 or state.moves == 6

    def utility(state, player):
        if state.pile:
            return 0.0
        return 1.0 if player != state.mover else -1.0

    rules = Rules(
        State, initial, to_move, legal_actions, result, is_terminal, utility,
        players=2, actions=2, max_plies=6, history=["moves"],
    )  # fmt: skip
    return Game(rules, "take", "take", {})


def test_history_that_affects_the_value_is_part_of_the_key():
    game, known = counting_game(), {}
    solver = Solver(game, megabytes=1)
    values = {}
    for state in reachable(game):
        if not game.is_terminal(state):
            assert_equals_brute_force(game, state, known, solver)
            values.setdefault(game.key(state), set()).add(solver.value(state))
    assert any(len(each) > 1 for each in values.values())  # equal keys, other values: the game is a test of it


@pytest.mark.parametrize("name", ["connect_four", "dots_and_boxes:rows=3,cols=3", "dots_and_boxes:rows=2,cols=1"])
def test_static_bounds_of_the_rules_are_true(name):
    game = load(name)
    rules, actions = game.rules, np.zeros(game.rules.max_legal, np.int32)
    least = 32 if name == "connect_four" else 3 * game.rules.max_plies // 4
    for seed in range(100):
        state = random_position(game, least + seed % (rules.max_plies - least), seed)
        mover = game.to_move(state)
        value = slow_value(game, state)
        low, high = rules.utility_range(state, mover)
        assert low <= value <= high
        assert rules.utility_range(state, 1 - mover) == (-high, -low)
        if rules.sufficient_actions:
            with np.errstate(over="ignore"):
                some = actions[: rules.sufficient_actions(state, actions)].tolist()
            assert 0 < len(set(some)) == len(some) and set(some) <= set(game.legal_actions(state))


def test_mirrored_positions_of_connect_four_share_a_key_and_others_do_not():
    game = load("connect_four")
    texts = {}
    for seed in range(500):
        text = game.text(random_position(game, 3 + seed % 30, seed))
        mirrored = "/".join(row[::-1] for row in text.split("/"))
        with np.errstate(over="ignore"):
            key = game.rules.canonical_key(game.parse(text))
            assert key == game.rules.canonical_key(game.parse(mirrored))
        texts.setdefault(int(key), set()).add(min(text, mirrored))
    assert all(len(each) == 1 for each in texts.values())


def test_the_kernel_stays_within_its_arrays_and_interpreted_gives_the_same():
    game = load("tic_tac_toe")
    solver = Solver(game, megabytes=1)
    states = [random_position(game, plies, plies) for plies in (3, 4, 5, 6, 7, 8)]
    values = [solver.value(state) for state in states]
    for kernel in (game.kernel(prover, checked=True), prover(game.rules)):
        other = Solver(game, megabytes=1)
        other._prover.kernel = kernel
        for state, value in zip(states, values, strict=True):
            other._prover.begin(1 << 62)
            with np.errstate(over="ignore"):
                assert other._prover.utility_of(other._prover.value(state)) == value


# ── games of another kind ──


@pytest.mark.parametrize(
    ("name", "payoffs"),
    [
        ("tree:three_players.json", (0.125, 0.25, 0.75)),
        ("tree:chance.json", (0.525, -0.525)),
        ("tree:cooperation.json", (1000 / 1024, 1000 / 1024)),
        ("dots_and_boxes:rows=1,cols=2,players=3", None),
    ],
)
def test_other_games_are_solved_by_backward_induction(name, payoffs):
    game = load(name)
    state = game.initial()
    found = Solver(game).solve(state)
    if payoffs:
        assert found.utilities == pytest.approx(payoffs)
    mover = game.to_move(state)
    assert found.value == found.utilities[mover] == max(found.values.values())
    assert all(found.values[action] == pytest.approx(found.value) for action in found.actions)
    assert found.candidates[0].value == found.value and Solver(game).value(state) == found.value


def test_backward_induction_and_search_agree():
    game = load("tic_tac_toe")
    state = game.play("b2 a1")
    assert Induction(game).utilities(state)[0] == Solver(game, megabytes=1).value(state)


@pytest.mark.parametrize("name", ["backgammon", "dots_and_boxes:players=3"])
def test_a_game_too_large_for_induction_is_refused_in_one_sentence(name):
    game = load(name)
    state = game.initial()
    while game.to_move(state) == -1:
        state = game.result(state, game.legal_actions(state)[0])
    with pytest.raises(UserError, match=r"expected a game of at most 300 positions, or one of two players"):
        Solver(game, positions=300).solve(state)


# ── limits, choices, mistakes ──


def test_a_limit_of_nodes_is_kept_and_reported():
    game = load("connect_four")
    solver = Solver(game, megabytes=4, nodes=2000)
    with pytest.raises(Unsolved, match="the value lies between -1 and 1") as stopped:
        solver.solve(game.initial())
    assert stopped.value.nodes <= 2001 and (stopped.value.least, stopped.value.most) == (-1, 1)
    state = random_position(game, 34, 1)
    assert solver.solve(state).value == slow_value(game, state)  # and the next call is right all the same


def test_a_limit_of_seconds_is_kept():
    game = load("connect_four")
    solver = Solver(game, megabytes=4, seconds=0.2)
    Solver(game, megabytes=4).value(random_position(game, 34, 1))  # compiles
    started = time.perf_counter()
    with pytest.raises(Unsolved):
        solver.value(game.initial())
    assert 0.15 < time.perf_counter() - started < 2


def test_an_interrupt_stops_compiled_code():
    game = load("connect_four")
    solver = Solver(game, megabytes=4)
    solver.value(random_position(game, 34, 1))
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        solver.value(game.initial())
    assert time.perf_counter() - started < 3
    state = random_position(game, 34, 1)
    assert solver.value(state) == slow_value(game, state)


def test_a_choice_is_proven_and_wins_as_fast_as_can_be():
    game = load("tic_tac_toe")
    choice = Solver(game, megabytes=1, distance=True).choose(game.play("a1 b1 c3 a3"))
    assert (game.names[choice.action], choice.value, choice.proven, choice.depth) == ("b2", 1.0, True, 1)
    assert choice.pv == (choice.action,) and choice.actions[0].action == choice.action
    assert all(each.bound in ("exact", "upper") for each in choice.actions)


def test_what_was_proven_is_kept_until_forgotten():
    game = load("dots_and_boxes:rows=2,cols=2")
    solver = Solver(game, megabytes=4)
    first = solver.solve(game.initial())
    again = solver.solve(game.initial())
    assert again.nodes < first.nodes / 10 and again.values == first.values
    solver.forget()
    assert solver.solve(game.initial()).nodes > again.nodes


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Solver(load("nim"), megabytes=0), "megabytes: expected 1 to 1048576, got 0"),
        (lambda: Solver(load("nim"), nodes=0), "nodes: expected more than 0, got 0"),
        (
            lambda: Solver(load("backgammon"), distance=True),
            "distance: expected a two-player zero-sum game without chance",
        ),
        (
            lambda: Solver(load("tree:two_ply.json"), distance=True),
            "distance: expected a game of wins, draws and losses",
        ),
        (
            lambda: Solver(load("nim"), megabytes=1).solve(load("nim").initial(), "some"),
            "moves: expected all, optimal or one",
        ),
        (
            lambda: Solver(load("tic_tac_toe"), megabytes=1).solve(load("tic_tac_toe").play("a1 a2 b1 b2 c1")),
            "in which a player is to move, got a finished game",
        ),
        (lambda: Solver(load("backgammon")).value(load("backgammon").initial()), "got chance's turn"),
    ],
)
def test_a_mistake_is_one_sentence(make, message):
    with pytest.raises(UserError, match=message):
        make()
