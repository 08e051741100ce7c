"""The list of losses: weights, and auxiliary targets with heads of their own that no checkpoint has."""

from typing import Any

import numpy as np
import pytest
import torch
from test_window import played
from torch import nn

from base.errors import UserError
from games import Game, load
from nets import make_net
from nets.net import Net
from train.auxiliary import AUXILIARY, Auxiliary
from train.learner import Learner, LearningSettings
from train.losses import LOSSES
from train.window import Window, WindowSettings, check

GAME = load("tic_tac_toe")


def plies_left(window: Window, plies: Any) -> Any:
    """[B, 1], as a share of the longest game; positions of the longest game have no target."""
    left = (window.ends(plies) - plies) / 9
    left[window._plies[window._games_of(plies)] == 9] = np.nan
    return left[:, None].astype(np.float32)


def first_policy(window: Window, plies: Any) -> Any:
    return window.positions(plies).policies


def flat(outputs: int) -> Any:
    def head(game: Game, shape: torch.Size) -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(shape.numel(), outputs))

    return head


@pytest.fixture
def extra(monkeypatch: pytest.MonkeyPatch) -> None:
    squares = Auxiliary(flat(1), plies_left, lambda outputs, targets: (outputs - targets).square().sum(1))
    policy = Auxiliary(flat(9), first_policy, lambda outputs, targets: (outputs - targets).square().sum(1), "policy")
    for name in tuple(AUXILIARY):
        monkeypatch.delitem(AUXILIARY, name)
    monkeypatch.setitem(AUXILIARY, "length", squares)
    monkeypatch.setitem(AUXILIARY, "copy", policy)


def learner(*auxiliary: str, net: str = "resnet:1x8", **settings: Any) -> Learner:
    how = LearningSettings(batch=32, threads=1, auxiliary=auxiliary, **settings)
    return Learner(GAME, make_net(net, GAME, 1), how)


def window(games: int = 6) -> Window:
    found = Window(GAME, WindowSettings())
    found.extend(check(GAME, [played(GAME, seed) for seed in range(games)]))
    return found


def test_window_has_what_targets_need() -> None:
    game = load("backgammon")
    records = [played(game, seed) for seed in range(2)]
    games = Window.of(game, check(game, records))
    plies = games._samples
    wanted = [game.to_move(state) for record in records for state, ply in record.replay(game) if ply < len(record)]
    assert games.movers(plies).tolist() == [wanted[ply] for ply in plies]
    assert set(games.ends(plies)) == {len(records[0]), len(records[0]) + len(records[1])}
    assert games.has_policy(plies).tolist() == games.positions(plies).policies.any(1).tolist()


def test_total_is_the_losses_times_their_weights() -> None:
    losses = learner(value_weight=0.5).losses
    assert losses.weights == {"policy": 1.0, "value": 0.5} and [each.name for each in LOSSES] == list(losses.weights)
    assert losses.total({"policy": 2.0, "value": 3.0}) == 3.5


@pytest.mark.usefixtures("extra")
@pytest.mark.parametrize("net", ["resnet:1x8", "mlp:1x16"])
def test_auxiliary_target_is_learned_and_its_loss_is_a_metric(net: str) -> None:
    learns = learner("length=0.5", "copy=0.25", net=net, rate=1e-2, warmup=0)
    assert learns.losses.weights == {"policy": 1.0, "value": 1.0, "auxiliary length": 0.5, "auxiliary copy": 0.25}
    first = learns.learn(window(), 1, np.random.default_rng(1), 0.0)
    learns.learn(window(), 60, np.random.default_rng(2), 0.0)
    last = learns.learn(window(), 5, np.random.default_rng(3), 0.0)
    for name in ("loss/auxiliary length", "loss/auxiliary copy"):
        assert last.metrics()[name] < 0.5 * first.metrics()[name]
    assert last.total == pytest.approx(sum(learns.losses.weights[name] * last.losses[name] for name in last.losses))


@pytest.mark.usefixtures("extra")
def test_positions_without_an_auxiliary_target_do_not_count() -> None:
    learns, games = learner("length=1"), window(20)
    plies = games._samples[np.isnan(plies_left(games, games._samples)[:, 0])]
    batch = games.positions(plies)._replace(auxiliary={"length": plies_left(games, plies)})
    losses, _ = learns.losses_of(batch)
    assert len(plies) and float(losses["auxiliary length"].detach()) == 0.0


@pytest.mark.usefixtures("extra")
def test_auxiliary_policy_is_turned_with_its_position() -> None:
    games = window()
    batch = games.batch(np.random.default_rng(1), 64, {"copy": AUXILIARY["copy"]})
    np.testing.assert_array_equal(batch.auxiliary["copy"], batch.policies)


@pytest.mark.usefixtures("extra")
def test_run_with_an_auxiliary_target_resumes_to_the_same_bits_and_its_head_is_in_no_checkpoint() -> None:
    whole, before = learner("length=0.5"), learner("length=0.5")
    for seed in range(3):
        whole.learn(window(), 5, np.random.default_rng(seed), seed / 3)
    before.learn(window(), 5, np.random.default_rng(0), 0.0)
    after = learner("length=0.5")
    after.restore({name: value.clone() for name, value in before.tensors().items()}, before.steps)
    for seed in (1, 2):
        after.learn(window(), 5, np.random.default_rng(seed), seed / 3)
    assert after.tensors().keys() == whole.tensors().keys()
    for name, value in whole.tensors().items():
        assert torch.equal(value, after.tensors()[name]), name
    assert any(name.startswith("auxiliary.length.") for name in whole.tensors())
    assert whole.mean.state_dict().keys() == learner().mean.state_dict().keys()


def test_learner_that_begins_again_equals_a_new_one_with_these_weights() -> None:
    old, games = learner(), window()
    old.learn(games, 5, np.random.default_rng(0), 0.0)
    net = make_net("resnet:1x8", GAME, 1)
    net.load_state_dict(old.mean.state_dict())
    new = Learner(GAME, net, old.settings)
    old.begin_again()
    for each in (old, new):
        each.learn(games, 5, np.random.default_rng(1), 0.0)
    for name, value in new.tensors().items():
        assert torch.equal(value, old.tensors()[name]), name


@pytest.mark.usefixtures("extra")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lenght=1", "auxiliary: expected NAME=WEIGHT of length, copy, got 'lenght=1'; did you mean 'length'?"),
        ("length", "auxiliary: expected a weight above 0, as in length=0.15, got 'length'"),
        ("length=-1", "auxiliary: expected a weight above 0"),
    ],
)
def test_wrong_auxiliary_target_is_one_line(text: str, words: str) -> None:
    with pytest.raises(UserError) as refusal:
        LearningSettings(auxiliary=(text,))
    assert words in str(refusal.value)


@pytest.mark.usefixtures("extra")
def test_network_without_features_is_refused_with_auxiliary_targets() -> None:
    class Plain(Net):
        def forward(self, observations: Any) -> Any:
            return torch.zeros(len(observations), 9), torch.zeros(len(observations), self.outcome.size)

    net = Plain(GAME)
    net.text = "plain"
    with pytest.raises(UserError, match=r"auxiliary: expected a network with features\(\), 'plain' has none"):
        Learner(GAME, net, LearningSettings(auxiliary=("length=1",)))
