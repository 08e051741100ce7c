"""Search where information is hidden: trees over information sets, and worlds searched as if everything were seen."""

import functools

import pytest

from arena.players import make_player
from base.errors import UserError
from base.seeds import generator
from classical.equilibrium import measure, unfold
from classical.pimc import PIMC
from games import load
from mcts.ismcts import ISMCTS, ISMCTSSettings

KUHN, PHANTOM = load("kuhn_poker"), load("phantom_tic_tac_toe")
TREE = unfold(KUHN)
FLOOR = 1 / 6
"""Chips that play loses which takes all cards of the opponent for equally likely, whatever was bet."""


@functools.cache
def chips(simulations, worlds, select, seed=0):
    """The exploitability of a search in Kuhn poker."""
    search = ISMCTS(KUHN, ISMCTSSettings(simulations, worlds, select), seed)
    return measure(TREE, TREE.strategy(search.policy)).exploitability * 2


# ── what worlds are worth ──


def test_with_uniform_worlds_more_simulations_are_more_exploitable_up_to_a_sixth():
    """Measured for OpenSpiel's ISMCTS: 0.159 after 1000 simulations, 0.1655 after 10,000."""
    few, many, most = (chips(number, "uniform", "ucb") for number in (1000, 10_000, 40_000))
    assert few < many < most == pytest.approx(FLOOR, abs=2e-3)
    assert many == pytest.approx(0.1655, abs=0.006)


def test_regret_matching_over_uniform_worlds_has_the_same_floor():
    assert chips(10_000, "uniform", "regret") == pytest.approx(FLOOR, abs=4e-3)


def test_worlds_weighted_by_the_policy_have_no_floor():
    few, many, most = (sum(chips(n, "policy", "regret", seed) for seed in range(3)) / 3 for n in (300, 10_000, 100_000))
    assert few > many > most
    assert many < FLOOR / 2
    assert most < FLOOR / 5


# ── the search itself ──


@pytest.mark.parametrize("worlds", ["policy", "uniform"])
def test_a_policy_depends_on_the_view_and_the_seed_alone(worlds):
    settings = ISMCTSSettings(200, worlds)
    one, other = ISMCTS(KUHN, settings, 1), ISMCTS(KUHN, settings, 1)
    views = [KUHN.view(KUHN.play(f"K {card} pass bet"), 0) for card in "JQ"]
    other.policy(KUHN.view(KUHN.play("Q J bet"), 1))
    assert one.policy(views[0]) == other.policy(views[1])
    first = KUHN.view(KUHN.play("Q J"), 0)
    assert one.policy(first) != ISMCTS(KUHN, settings, 2).policy(first)
    assert sum(one.policy(views[0]).values()) == pytest.approx(1)


def test_what_is_worse_in_every_world_is_not_played():
    for settings in (ISMCTSSettings(3000), ISMCTSSettings(3000, "uniform"), ISMCTSSettings(3000, "uniform", "ucb")):
        search = ISMCTS(KUHN, settings)
        assert search.policy(KUHN.view(KUHN.play("J K bet"), 1))[1] > 0.95  # a king calls
        assert search.policy(KUHN.view(KUHN.play("K J bet"), 1))[1] < 0.05  # a jack folds


def test_moves_are_drawn_from_the_policy():
    search = ISMCTS(KUHN, ISMCTSSettings(1000, "uniform", "ucb"))
    view = KUHN.view(KUHN.play("Q J"), 0)
    share = search.policy(view)[1]
    bets = sum(search.choose(view).action for _ in range(300))
    assert abs(bets - 300 * share) < 5 * (300 * share * (1 - share)) ** 0.5 + 1


def test_games_with_invisible_moves_and_three_players_are_searched():
    state = PHANTOM.play("b2 a1 a3 c3")
    for settings in (ISMCTSSettings(300), ISMCTSSettings(300, "uniform", "ucb")):
        found = ISMCTS(PHANTOM, settings).policy(PHANTOM.view(state, 0))
        assert set(found) == set(PHANTOM.legal_actions(state))
    three = load("kuhn_poker:players=3")
    dealt = three.play("T J K")
    assert set(ISMCTS(three, ISMCTSSettings(300)).policy(three.view(dealt, 0))) == {0, 1}


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: ISMCTS(load("nim")), "ismcts: expected a game that hides information, got nim"),
        (lambda: PIMC(load("nim"), 5, 2), "pimc: expected a game that hides information, got nim"),
        (lambda: PIMC(KUHN, 0, 2), "worlds: expected 1 or more, got 0"),
        (
            lambda: ISMCTS(KUHN, ISMCTSSettings(9, "policy", "ucb")),
            "select: expected regret with worlds=policy, got ucb",
        ),
        (lambda: ISMCTS(KUHN).policy(KUHN.play("K")), "ismcts: expected a view of kuhn_poker.* with a move to choose"),
        (
            lambda: PIMC(KUHN, 2, 2).policy(KUHN.play("K")),
            "pimc: expected a view of kuhn_poker.* with a move to choose",
        ),
        (lambda: make_player("ismcts:sims=0", KUHN), "sims: expected .* got '0'"),
    ],
)
def test_what_does_not_fit_is_refused(make, expected):
    with pytest.raises(UserError, match=expected):
        make()


# ── worlds searched as if everything were seen ──


def test_determinization_values_actions_by_their_mean_over_worlds():
    """A queen that faces a bet: called, it wins 2 chips from a jack and loses 2 to a king; folded, it loses 1."""
    choice = PIMC(KUHN, 2000, 3).choose(KUHN.view(KUHN.play("J Q bet"), 1))
    values = {each.action: each.value for each in choice.actions}
    assert values[0] == pytest.approx(-0.5)
    assert values[1] == pytest.approx(0, abs=0.1)
    assert choice.action == 1


def test_determinization_wins_at_once_where_every_world_allows_it():
    state = PHANTOM.play("b2 a1 a3 c3")
    for seed in range(3):
        assert PIMC(PHANTOM, 10, 1, seed=seed).choose(PHANTOM.view(state, 0)).action == PHANTOM.id_of("c1")


def test_equal_actions_share_the_policy():
    found = PIMC(KUHN, 50, 3).policy(KUHN.view(KUHN.play("K J pass bet"), 0))
    assert found == {0: 0.0, 1: 1.0}
    even = PIMC(PHANTOM, 2, 1).policy(PHANTOM.initial())
    assert even == pytest.approx(dict.fromkeys(range(9), 1 / 9))


@pytest.mark.parametrize(
    "text", ["ismcts:sims=100", "ismcts:sims=100,worlds=uniform,select=ucb", "pimc:worlds=5,depth=3"]
)
def test_players_play_the_same_game_again_from_the_same_seed(text):
    player, games = make_player(text, KUHN), []
    for _ in range(2):
        player.new_game(5)
        moves = []
        for seed in range(20):
            state, rng = KUHN.initial(), generator(seed, "deal")
            while (mover := KUHN.to_move(state)) is not None:
                legal = KUHN.legal_actions(state)
                action = legal[int(rng[0]) % len(legal)] if mover == -1 else player.choose(state).action
                state = KUHN.result(state, action)
                moves.append(action)
        games.append(moves)
    assert games[0] == games[1]
