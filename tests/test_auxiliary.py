"""The auxiliary targets that are built in: reply, ownership and score, computed from records and learned by heads of training."""

from typing import Any

import numpy as np
import pytest
import torch
from test_window import played

from base.errors import UserError
from games import CHANCE, load
from nets import make_net
from train.auxiliary import AUXILIARY, ownership_loss
from train.learner import Learner, LearningSettings
from train.losses import Losses
from train.window import Window, WindowSettings, check

SCORED = [
    "othello:size=6",
    "go:size=3,komi=0.5",
    "dots_and_boxes:rows=2,cols=2",
    "dots_and_boxes:rows=2,cols=2,players=3",
]


def of_one_game(name: str, seed: int = 3) -> Any:
    """A game, a record of it, its positions, and a window of it alone."""
    game = load(name)
    record = played(game, seed)
    return game, record, record.positions(game), Window.of(game, check(game, [record]))


@pytest.mark.parametrize("name", ["chess", "dots_and_boxes:rows=2,cols=2", "backgammon:start=hyper"])
def test_reply_is_the_policy_of_the_opponents_next_move(name: str) -> None:
    game, record, states, window = of_one_game(name)
    targets = AUXILIARY["reply"].target(window, np.arange(len(record)))
    movers = [game.to_move(state) for state in states]
    seen = 0
    for ply in range(len(record)):
        actions, probabilities, _ = record.policy(ply + 1) if ply + 1 < len(record) else ([], [], None)
        if len(actions) == 0 or movers[ply + 1] == movers[ply] or not record.searched[ply + 1]:
            assert np.isnan(targets[ply]).all()
        elif movers[ply] != CHANCE:
            expected = np.zeros(game.actions, np.float32)
            expected[window.views[movers[ply]][actions]] = probabilities
            np.testing.assert_array_equal(targets[ply], expected)
            seen += 1
    assert seen or name.startswith("backgammon")  # there the dice come between


@pytest.mark.parametrize("name", SCORED)
def test_ownership_and_score_are_those_of_the_last_position_in_the_movers_view(name: str) -> None:
    game, record, states, window = of_one_game(name)
    plies = np.arange(len(record))
    shares, scores = (AUXILIARY[each].target(window, plies) for each in ("ownership", "score"))
    assert shares.shape == (len(record), game.players, *game.rules.observation[1:]) and shares.dtype == np.float32
    for ply in plies:
        mover = game.to_move(states[ply])
        np.testing.assert_array_equal(shares[ply], game.ownership(states[-1], mover))
        expected = np.roll(game.scores(states[-1]), -mover) / game.rules.largest_score
        np.testing.assert_allclose(scores[ply], expected, rtol=1e-6)
        order = np.sign(scores[ply, 0] - scores[ply, 1])
        utilities = np.roll(record.outcome, -mover)
        assert order == np.sign(utilities[0] - utilities[1])
    assert np.nanmax(np.abs(scores)) <= 1 and shares.any()


@pytest.mark.parametrize("name", SCORED[:3])
def test_window_of_many_games_keeps_each_games_own_end(name: str) -> None:
    game = load(name)
    records = [played(game, seed) for seed in range(12)]
    window = Window(game, WindowSettings(constant=40, most=60))
    for start in range(0, 12, 4):
        window.extend(check(game, records[start : start + 4]))
    assert 0 < window.games < 12
    for number, record in enumerate(records[-window.games :]):
        ply = int(window._starts[number])
        states = record.positions(game)
        np.testing.assert_array_equal(
            window.ownership(np.array([ply]))[0], game.ownership(states[-1], game.to_move(states[0]))
        )


def test_games_that_were_broken_off_have_neither_owners_nor_scores() -> None:
    game = load("othello:size=6")
    records = [played(game, 0), played(game, 1, 20), played(game, 2)]
    assert [record.ending for record in records] == ["", "resigned", ""]
    window = Window.of(game, check(game, records))
    plies = np.arange(len(window._moves))
    is_second = window._games_of(plies) == 1
    for target in (window.ownership(plies), window.scores(plies)):
        unknown = np.isnan(target.reshape(len(plies), -1))
        assert unknown[is_second].all() and not unknown[~is_second].any()


def test_a_game_stopped_by_the_longest_length_has_owners_and_scores() -> None:
    game = load("go:size=2,komi=0.5")
    record = next(found for seed in range(200) if len(found := played(game, seed)) == game.rules.max_plies)
    window = Window.of(game, check(game, [record]))
    assert not np.isnan(window.ownership(np.arange(len(record)))).any()


@pytest.mark.parametrize("name", SCORED[:3])
def test_ownership_is_turned_with_its_position(name: str) -> None:
    game = load(name)
    window = Window.of(game, check(game, [played(game, seed) for seed in range(8)]))
    rng = np.random.default_rng(1)
    batch = window.batch(rng, 64, {"ownership": AUXILIARY["ownership"]})
    rng = np.random.default_rng(1)
    plies = window._samples[rng.integers(len(window), size=64)]
    which = rng.integers(window._symmetries.count, size=64)
    plain = window.ownership(plies)
    turned = 0
    for row in range(64):
        expected = plain[row]
        if which[row]:
            table = game.rules.symmetries[which[row] - 1].observation[: expected[0].size]
            expected = np.stack([plane.ravel()[table].reshape(plane.shape) for plane in expected])
            turned += not np.array_equal(expected, plain[row])
        np.testing.assert_array_equal(batch.auxiliary["ownership"][row], expected)
    assert turned


def test_ownership_loss_is_least_at_the_shares_themselves() -> None:
    shares = torch.tensor([[[[1.0, 0.0, 0.5]], [[0.0, 0.0, 0.5]]]])  # the mover's, without owner, both players'
    whole = torch.cat([shares, 1 - shares.sum(1, keepdim=True)], 1)
    exact = ownership_loss(whole.clamp(min=1e-9).log(), shares)
    assert exact.item() == pytest.approx(np.log(2) / 3, abs=1e-6)
    for seed in range(20):
        logits = whole.clamp(min=1e-9).log() + torch.randn(whole.shape, generator=torch.Generator().manual_seed(seed))
        assert ownership_loss(logits, shares) > exact


@pytest.mark.parametrize("net", ["resnet:1x8", "mlp:1x16"])
@pytest.mark.parametrize("name", SCORED)
def test_all_targets_are_learned_together_and_the_network_that_plays_has_no_head_of_them(name: str, net: str) -> None:
    game = load(name)
    window = Window.of(game, check(game, [played(game, seed) for seed in range(3)]))
    given = ("reply=0.15", "ownership=1.5", "score=1")
    learner = Learner(
        game, make_net(net, game, 1), LearningSettings(batch=32, threads=1, auxiliary=given, rate=1e-2, warmup=0)
    )
    plain = Learner(game, make_net(net, game, 1), LearningSettings(batch=32, threads=1))
    first = learner.learn(window, 1, np.random.default_rng(1), 0.0).metrics()
    learner.learn(window, 80, np.random.default_rng(2), 0.0)
    last = learner.learn(window, 5, np.random.default_rng(3), 0.0).metrics()
    for each in ("ownership", "score"):
        assert last[f"loss/auxiliary {each}"] < 0.6 * first[f"loss/auxiliary {each}"]
    assert last["loss/auxiliary reply"] < first["loss/auxiliary reply"]
    assert learner.mean.state_dict().keys() == plain.mean.state_dict().keys()


@pytest.mark.parametrize("target", ["ownership", "score"])
def test_a_game_that_does_not_declare_a_target_is_refused(target: str) -> None:
    game = load("connect_four")
    with pytest.raises(
        UserError, match=rf"auxiliary: expected a game that declares {target} for '{target}', connect_four"
    ):
        Losses(game, make_net("mlp:1x16", game), LearningSettings(auxiliary=(f"{target}=1",)))
