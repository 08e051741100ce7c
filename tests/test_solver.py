"""The exact solver: against brute force, against theory, against published facts."""


import numpy as np
import pytest

from classical.solver import Solver
from games import load


def brute_force(game, state, known):
    """(utility, distance) in the eyes of player 0 by the definition; a win's distance is the least, a loss's the greatest, a draw's 0."""
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
    assert all(each.value >= values[each.action] for each in one.candidates)
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
    for state in positions:
        if not game.is_terminal(state):
            assert_equals_brute_force(game, state, known, plain, fast)


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
        ("connect_four", range(30, 42), 600),
        ("othello:size=6", range(25, 32), 120),
        ("dots_and_boxes:rows=2,cols=2", range(3, 12), 200),
        ("dots_and_boxes:rows=3,cols=3", range(15, 24), 150),
    ],
)
def test_late_positions_are_solved_as_by_brute_force(name, plies, count):
    game, known = load(name), {}
    plain, fast = Solver(game, megabytes=8), Solver(game, megabytes=8, distance=True)
    for seed in range(count):
        known.clear()
        assert_equals_brute_force(game, random_position(game, plies[seed % len(plies)], seed), known, plain, fast)
