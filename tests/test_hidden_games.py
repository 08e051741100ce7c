"""The games that hide information: rules, payoffs and information sets are those of OpenSpiel, an independent implementation."""

import numpy as np
import pytest

from base.seeds import below, generator
from classical.equilibrium import unfold
from games import CHANCE, load

pyspiel = pytest.importorskip("pyspiel")

# ours: theirs, the factor from our utilities to their payoffs
PAIRS = {
    "kuhn_poker": ("kuhn_poker", 2),
    "kuhn_poker:players=3": ("kuhn_poker(players=3)", 4),
    "leduc_poker": ("leduc_poker", 13),
    "liars_dice": ("liars_dice", 1),
    "liars_dice:faces=3": ("liars_dice(dice_sides=3)", 1),
    "phantom_tic_tac_toe": ("phantom_ttt", 1),
}
SETS = {
    "kuhn_poker": 12,
    "kuhn_poker:players=3": 48,
    "leduc_poker": 936,
    "liars_dice:faces=3": 192,
    "liars_dice": 24_576,
}


def their_action(name, game, state, action):
    """The number that OpenSpiel gives our action."""
    words = game.names[action]
    if game.to_move(state) == CHANCE:
        return {
            "kuhn_poker": lambda: action - 2,
            "leduc_poker": lambda: action - 3,
            "liars_dice": lambda: int(words) - 1,
        }[name]()
    return action


def walk(name, seed, check):
    """A random game in both; `check(state, theirs)` at each position."""
    game, theirs = load(name), pyspiel.load_game(PAIRS[name][0]).new_initial_state()
    kind = name.partition(":")[0]
    state, rng = game.initial(), generator(seed, name)
    while not game.is_terminal(state):
        check(game, state, theirs)
        legal = game.legal_actions(state)
        named = {their_action(kind, game, state, action): action for action in legal}
        assert sorted(named) == sorted(theirs.legal_actions())
        mover = game.to_move(state)
        assert theirs.current_player() == (pyspiel.PlayerId.CHANCE if mover == CHANCE else mover)
        if mover == CHANCE:
            odds = dict(theirs.chance_outcomes())
            for number, action in named.items():
                assert game.chance(state, action) == pytest.approx(odds[number])
        action = legal[below(rng, len(legal))]
        theirs.apply_action(their_action(kind, game, state, action))
        state = game.result(state, action)
    assert theirs.is_terminal()
    payoffs = [PAIRS[name][1] * utility for utility in game.utility(state)]
    assert payoffs == pytest.approx(theirs.returns())


@pytest.mark.parametrize("name", PAIRS)
def test_moves_chances_and_payoffs_are_open_spiels_on_random_games(name):
    for seed in range(100):
        walk(name, seed, lambda game, state, theirs: None)


@pytest.mark.parametrize("name", PAIRS)
def test_movers_cannot_tell_apart_exactly_what_they_cannot_in_open_spiel(name):
    ours, others = {}, {}

    def check(game, state, theirs):
        mover = game.to_move(state)
        if mover == CHANCE:
            return
        own, other = (mover, int(state.information[mover])), (mover, theirs.information_state_string(mover))
        assert ours.setdefault(own, other) == other
        assert others.setdefault(other, own) == own

    for seed in range(300):
        walk(name, seed, check)
    assert len(ours) > 5


@pytest.mark.parametrize("name", SETS)
def test_numbers_of_information_sets_are_the_published_ones(name):
    assert len(unfold(load(name)).sets) == SETS[name]


def test_two_dice_are_rolled_as_one_hand_without_an_order():
    game = load("liars_dice:dice=2,faces=3")
    rolls = {game.names[action]: game.chance(game.initial(), action) for action in game.legal_actions(game.initial())}
    assert rolls == pytest.approx({"11": 1 / 9, "12": 2 / 9, "13": 2 / 9, "22": 1 / 9, "23": 2 / 9, "33": 1 / 9})
    true = game.play("11 33 3x1 4x1 liar")  # the highest face counts as every face: all four dice
    assert game.utility(true) == (-1, 1)
    false = game.play("11 23 4x1 liar")
    assert game.utility(false) == (-1, 1)


def test_a_failed_move_is_noticed_by_its_mover_alone():
    game = load("phantom_tic_tac_toe")
    once, twice = game.play("b2"), game.play("b2 b2")
    assert (game.to_move(twice), game.information(twice, 1).text) == (1, "placed b2-taken")
    assert game.information(once, 0).text == game.information(twice, 0).text == "b2"
    assert np.array_equal(game.view(once, 0).known, game.view(twice, 0).known)


def test_a_fold_ends_leduc_and_loses_what_was_paid():
    game = load("leduc_poker")
    over = game.play("Js Kh raise call Jh raise fold")
    assert game.utility(over) == pytest.approx((3 / 13, -3 / 13))
