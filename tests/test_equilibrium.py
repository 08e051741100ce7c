"""The oracle of hidden information: published values of poker games, and OpenSpiel's CFR and best responses."""

import itertools

import numpy as np
import pytest

from base.errors import UserError
from base.seeds import generator, uniform
from classical.equilibrium import CFR, action_values, measure, unfold
from games import load

KUHN, LEDUC = unfold(load("kuhn_poker")), unfold(load("leduc_poker"))


def chips(tree, strategy):
    return measure(tree, strategy).exploitability * tree.game.rules.payoff_scale


def random_strategy(tree, seed):
    rng = generator(seed, "strategy")
    weights = np.array([uniform(rng) for _ in range(tree.entries[-1])])
    totals = np.add.reduceat(weights, tree.entries[:-1])
    return weights / np.repeat(totals, np.diff(tree.entries))


@pytest.mark.parametrize(("tree", "expected"), [(KUHN, 0.4583), (LEDUC, 2.3736)], ids=["kuhn", "leduc"])
def test_uniform_play_loses_what_is_published(tree, expected):
    assert chips(tree, tree.uniform()) == pytest.approx(expected, abs=1e-4)


# Measured with OpenSpiel 2.0.2, in chips after 10, 100 and 1000 iterations. Rounding errors decide ties of regrets, hence 10 %.
CURVES = {
    ("kuhn", False): (0.0687, 0.0082, 0.00094),
    ("kuhn", True): (0.0327, 0.0012, 0.00009),
    ("leduc", False): (0.889, 0.0957, 0.0118),
    ("leduc", True): (0.610, 0.0134, 0.00026),
}


@pytest.mark.parametrize(("name", "plus"), CURVES)
def test_regret_minimization_converges_iteration_by_iteration_as_open_spiels_does(name, plus):
    tree = KUHN if name == "kuhn" else LEDUC
    solver = CFR(tree, plus)
    for iterations, expected in zip((10, 100, 1000), CURVES[name, plus], strict=True):
        solver.run(iterations - solver.iterations)
        assert chips(tree, solver.average()) == pytest.approx(expected, rel=0.1)


def test_kuhn_is_worth_minus_one_eighteenth():
    solver = CFR(KUHN)
    solver.run(5000)
    assert measure(KUHN, solver.average()).values[0] * 2 == pytest.approx(-1 / 18, abs=1e-6)


def test_leduc_is_worth_what_is_published():
    solver = CFR(LEDUC)
    solver.run(5000)
    found = measure(LEDUC, solver.average())
    low, high = -found.best_responses[1] * 13, found.best_responses[0] * 13
    assert low <= -0.085606424 <= high
    assert high - low < 1e-4


def test_stopping_and_continuing_changes_nothing():
    whole, parts = CFR(LEDUC), CFR(LEDUC)
    whole.run(20)
    for _ in range(4):
        parts.run(5)
    assert np.array_equal(whole.average(), parts.average())


def test_three_players_of_kuhn_come_to_rest_though_nothing_guarantees_it():
    tree = unfold(load("kuhn_poker:players=3"))
    solver = CFR(tree)
    solver.run(1000)
    assert measure(tree, solver.average()).nash_conv * 4 < 1e-3


@pytest.mark.parametrize(("tree", "name"), [(KUHN, "kuhn_poker"), (LEDUC, "leduc_poker")], ids=["kuhn", "leduc"])
def test_best_responses_to_random_strategies_are_open_spiels(tree, name):
    pyspiel = pytest.importorskip("pyspiel")
    theirs, scale = pyspiel.load_game(name), tree.game.rules.payoff_scale
    first_card = 2 if name == "kuhn_poker" else 3

    def walked(node):
        state = theirs.new_initial_state()
        for action in tree.path(node):
            state.apply_action(action - first_card if state.is_chance_node() else action)
        return state

    order, starts = tree.members
    for seed in range(3):
        strategy = random_strategy(tree, seed)
        table = {}
        for number in range(len(tree.sets)):
            shares = strategy[tree.entries[number] : tree.entries[number + 1]].tolist()
            state = walked(int(order[starts[number]]))
            table[state.information_state_string()] = list(zip(tree.actions_of(number), shares, strict=True))
        policy = pyspiel.TabularPolicy(table)
        found = measure(tree, strategy)
        assert found.nash_conv * scale == pytest.approx(pyspiel.nash_conv(theirs, policy), abs=1e-9)
        expected = pyspiel.expected_returns(theirs.new_initial_state(), policy, -1, False)
        assert np.array(found.values) * scale == pytest.approx(np.array(expected), abs=1e-9)


def test_a_larger_share_of_uniform_play_loses_more():
    """No strategy is exploitable by less than 0."""
    solver = CFR(LEDUC)
    solver.run(300)
    average, even = solver.average(), LEDUC.uniform()
    found = [chips(LEDUC, share * even + (1 - share) * average) for share in (0, 0.25, 0.5, 0.75, 1)]
    assert all(0 <= one <= other for one, other in itertools.pairwise(found))


def test_a_strategy_of_a_player_is_read_by_its_views():
    views = []

    def policy(view):
        views.append(view)
        return {0: 1.0}

    strategy = KUHN.strategy(policy)
    assert [strategy[first] for first in KUHN.entries[:-1]] == [1.0] * 12
    assert all(np.count_nonzero(view.card) == 1 for view in views)
    assert KUHN.by_action(strategy, views[3]) == {0: 1.0, 1: 0.0}


def test_what_is_no_strategy_is_refused():
    with pytest.raises(ValueError, match="sum to 1, got 2"):
        measure(KUHN, 2 * KUHN.uniform())
    with pytest.raises(ValueError, match="negative or infinite"):
        measure(KUHN, np.full(24, np.nan))


def test_games_that_cannot_be_listed_are_refused():
    with pytest.raises(UserError, match="expected a game of at most 1,000 paths, got leduc_poker, which has more"):
        unfold(load("leduc_poker"), most=1000)
    with pytest.raises(UserError, match="expected a game that hides information, got nim:most=7"):
        unfold(load("nim"))


def test_views_from_elsewhere_are_refused():
    state = load("kuhn_poker").play("J Q")
    state.information[0] = 5
    with pytest.raises(UserError, match="expected a view of kuhn_poker:players=2 that its rules lead to"):
        KUHN.by_action(KUHN.uniform(), state)


def test_in_an_equilibrium_no_action_is_worth_more_than_those_that_are_played():
    solver = CFR(KUHN, plus=True)
    solver.run(10_000)
    strategy = solver.average()
    values = action_values(KUHN, strategy)
    best = np.maximum.reduceat(values, KUHN.entries[:-1])
    regret = np.repeat(best, np.diff(KUHN.entries)) - values
    assert regret[strategy > 0.2].max() < 0.02


def test_action_values_add_up_to_the_value_of_the_game_and_are_those_of_the_rules():
    strategy = random_strategy(KUHN, 3)
    values = action_values(KUHN, strategy)
    worth = np.add.reduceat(values * strategy, KUHN.entries[:-1])
    firsts = sorted(
        {int(KUHN.set_of[node]) for node in range(KUHN.nodes) if len(KUHN.path(node)) == 2 and KUHN.counts[node]}
    )
    assert len(firsts) == 3  # a card each, equally likely
    assert worth[firsts].mean() == pytest.approx(measure(KUHN, strategy).values[0])
    answers = [KUHN.by_action(values, view) for view in KUHN.views]
    assert {-0.5: 1.0} in [
        {each[0]: each[1]} for each in answers
    ]  # a king: folding loses a chip of two, calling wins two
    assert {-0.5: -1.0} in [{each[0]: each[1]} for each in answers]  # a jack
