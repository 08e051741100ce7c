"""Hearts: the rules of a full deck against OpenSpiel, drawn positions for each rule, worlds that fit."""

import numpy as np
import pytest

from base.seeds import below, generator
from games import CHANCE, load

GAME = load("hearts")


def dealt(game, hands):
    """The position in which these hands have been dealt, and the lowest club is to be led."""
    cards = [hand.split() for hand in hands]
    deal = [cards[seat][i] for i in range(len(cards[0])) for seat in range(len(hands))]
    state = game.play(" ".join(deal))
    return game.result(state, game.legal_actions(state)[0])


def legal(game, state):
    return " ".join(sorted(game.names[action] for action in game.legal_actions(state)))


def test_random_games_are_open_spiels():
    pyspiel = pytest.importorskip("pyspiel")
    for seed in range(60):
        state, rng = GAME.initial(), generator(seed, "hearts")
        theirs = pyspiel.load_game("hearts(pass_cards=false)").new_initial_state()
        theirs.apply_action(0)  # no pass
        while not GAME.is_terminal(state):
            actions = GAME.legal_actions(state)
            mover = GAME.to_move(state)
            if mover == CHANCE and len(actions) == 1 and actions[0] >= 52:
                state = GAME.result(state, actions[0])
                continue
            assert sorted(theirs.legal_actions()) == actions
            assert theirs.current_player() == (pyspiel.PlayerId.CHANCE if mover == CHANCE else mover)
            action = actions[below(rng, len(actions))]
            theirs.apply_action(action)
            state = GAME.result(state, action)
        points = [26 - each for each in theirs.returns()]
        payoffs = [GAME.rules.payoff_scale * each for each in GAME.utility(state)]
        assert payoffs == pytest.approx([sum(points) / 4 - each for each in points])


THREE = load("hearts:players=3,ranks=4")  # 15 cards without the lowest diamond: AKQJ of each suit


def test_the_lowest_club_leads_and_suit_is_followed():
    state = dealt(THREE, ["JC QD KD JH JS", "QC KC AD QH QS", "AC KH AH KS AS"])
    assert (THREE.to_move(state), legal(THREE, state)) == (0, "JC")
    state = THREE.play("JC", state)
    assert legal(THREE, state) == "KC QC"


def test_no_points_go_to_the_first_trick_unless_there_is_nothing_else():
    state = dealt(THREE, ["JC QC KC AC JS", "QD KD JH QH QS", "AD KH AH KS AS"])
    assert legal(THREE, THREE.play("JC", state)) == "KD QD"
    state = dealt(THREE, ["JC QC KC AC JS", "JH QH KH AH QS", "QD KD AD KS AS"])
    assert legal(THREE, THREE.play("JC", state)) == "AH JH KH QH QS"


def test_hearts_are_led_once_one_or_the_queen_of_spades_has_been_played():
    state = dealt(THREE, ["JC QD KD JH JS", "QC KC AD QH QS", "AC KH AH KS AS"])
    state = THREE.play("JC QC AC", state)
    assert legal(THREE, state) == "AS KS"
    state = THREE.play("KS JS QS", state)
    assert (THREE.to_move(state), state.points.tolist()) == (2, [0, 0, 13])
    assert legal(THREE, state) == "AH AS KH"


def test_all_points_are_none_and_the_others_have_them():
    state = dealt(THREE, ["JC QC KC AC QD", "KD JH QH KH JS", "AD AH QS KS AS"])
    over = THREE.play("JC JS AD QC KD KS KC KH QS AC QH AH QD JH AS", state)
    assert over.points.tolist() == [17, 0, 0]
    assert [each * THREE.rules.payoff_scale for each in THREE.utility(over)] == pytest.approx(
        [34 / 3, -17 / 3, -17 / 3]
    )


@pytest.mark.parametrize("name", ["hearts", "hearts:players=3"])
def test_worlds_fit_what_was_played(name):
    """No hand has a suit again that was not followed, hands keep their size, and other hands differ from world to world."""
    game, rng = load(name), generator(3, name)
    state = game.initial()
    while int(state.played) < 22:
        actions = game.legal_actions(state)
        state = game.result(state, actions[below(rng, len(actions))])
    mover = game.to_move(state)
    worlds = [game.resample(state, mover, rng) for _ in range(20)]
    for world in worlds:
        assert game.view(world, mover).tobytes() == game.view(state, mover).tobytes()
        assert world.hand.sum((1, 2)).tolist() == state.hand.sum((1, 2)).tolist()
        assert not (world.hand.sum(1) * state.void).any()
    assert len({world.hand.tobytes() for world in worlds}) > 15
    assert np.array_equal(sum(world.hand.sum(0) for world in worlds), 20 * state.hand.sum(0))


def test_a_view_shows_one_hand_and_how_many_cards_others_hold():
    state = dealt(THREE, ["JC QD KD JH JS", "QC KC AD QH QS", "AC KH AH KS AS"])
    drawn = THREE.render(THREE.view(THREE.play("JC", state), 1)).splitlines()
    assert drawn == [
        "player 0: JC   0 points  ? ? ? ?",
        "player 1: --   0 points  QC KC AD QH QS",
        "player 2: --   0 points  ? ? ? ? ?",
    ]
