"""What learns: the loss goes down to what can be reached, and everything resumes exactly where it stopped."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from test_window import played

from base.errors import UserError
from base.local_workers import Processes, Threads
from games import Game, load
from nets import make_net
from train.learner import Learner, LearningSettings, reproducible
from train.shards import cut, gradient_of
from train.window import Batch, Window, WindowSettings, check

GAME = load("tic_tac_toe")


def window_of(game: Game, games: int = 4, **settings: Any) -> Window:
    window = Window(game, WindowSettings(**settings))
    window.extend(check(game, [played(game, seed) for seed in range(games)]))
    return window


def learner_of(net: str = "mlp:1x32", game: Game = GAME, **settings: Any) -> Learner:
    return Learner(game, make_net(net, game, 1), LearningSettings(**({"batch": 32, "warmup": 5} | settings)))


def found(learner: Learner, batch: Batch) -> tuple[list[Any], Any]:
    """The losses of policy and value; the entropy of the policy targets."""
    losses, entropy = learner.losses_of(batch)
    return list(losses.values()), entropy


def weights(learner: Learner) -> dict[str, Any]:
    return {name: value.numpy().copy() for name, value in learner.tensors().items()}


def assert_equal(one: Learner, other: Learner) -> None:
    a, b = weights(one), weights(other)
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


@pytest.mark.parametrize("net", ["mlp:1x32", "resnet:1x8"])
def test_policy_is_learned_down_to_its_entropy(net: str) -> None:
    learner, window = learner_of(net, rate=1e-2, weight_decay=0.0, search_share=0.0), window_of(GAME, 2)
    first = learner.learn(window, 1, np.random.default_rng(1), 0.0)
    learner.learn(window, 150, np.random.default_rng(2), 0.0)
    last = learner.learn(window, 20, np.random.default_rng(3), 0.0)
    assert first.losses["policy"] - first.entropy > 0.1
    assert 0 <= last.losses["policy"] - last.entropy < 0.15
    assert last.losses["value"] < 0.4 * first.losses["value"]


def test_without_a_step_there_is_no_loss() -> None:
    found = learner_of().learn(window_of(GAME), 0, np.random.default_rng(1), 0.0)
    assert all(map(math.isnan, (*found.losses.values(), found.total, found.entropy, found.gradient, found.rate)))
    assert found.update == 0 and found.weights > 0


@pytest.mark.parametrize("net", ["mlp:1x16", "resnet:1x8"])
def test_interrupted_and_restored_is_bit_for_bit_uninterrupted(net: str) -> None:
    window = window_of(GAME)
    whole, before = learner_of(net), learner_of(net)
    for seed in range(3):
        whole.learn(window, 7, np.random.default_rng(seed), seed / 3)
    before.learn(window, 7, np.random.default_rng(0), 0.0)
    for seed in (1, 2):
        after = learner_of(net)
        after.restore({name: value.clone() for name, value in before.tensors().items()}, before.steps)
        after.learn(window, 7, np.random.default_rng(seed), seed / 3)
        before = after
    assert_equal(whole, before)


def test_restored_before_the_first_step_too() -> None:
    whole, again = learner_of(), learner_of()
    again.restore(learner_of().tensors(), 0)
    for each in (whole, again):
        each.learn(window_of(GAME), 3, np.random.default_rng(0), 0.0)
    assert_equal(whole, again)


def test_state_of_another_net_is_refused() -> None:
    with pytest.raises(UserError, match=r"state: mean\..*: expected shape .*, got "):
        learner_of("mlp:1x16").restore(learner_of("mlp:1x32").tensors(), 0)


def test_mean_follows_the_net_and_does_not_learn_itself() -> None:
    learner = learner_of(mean=0.9)
    name = next(name for name, _ in learner.net.named_parameters())
    mean = dict(learner.mean.named_parameters())[name].clone()
    for step in range(12):
        learner.learn(window_of(GAME, 1), 1, np.random.default_rng(step), 0.0)
        stays = min(0.9, (2 + step) / (11 + step))
        mean = stays * mean + (1 - stays) * dict(learner.net.named_parameters())[name].detach()
    torch.testing.assert_close(dict(learner.mean.named_parameters())[name], mean)
    assert not any(each.requires_grad for each in learner.mean.parameters())


def test_position_without_a_policy_trains_the_value_alone() -> None:
    learner, window = learner_of(), window_of(GAME, fast=True)
    batch = window.positions(window._samples)
    taught = batch.policies.sum(1) > 0
    only = Batch(*(each[taught] for each in batch[:5]))
    assert 0 < taught.sum() < len(taught)
    learner.net.eval()
    (policy, value), entropy = found(learner, batch)
    (policy_only, value_only), entropy_only = found(learner, only)
    torch.testing.assert_close(policy, policy_only)
    torch.testing.assert_close(entropy, entropy_only)
    assert float(value.detach()) != float(value_only.detach())
    none = batch._replace(policies=np.zeros_like(batch.policies))
    assert float(found(learner, none)[0][0].detach()) == 0.0


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_value_target_is_the_stated_mixture_of_outcome_and_search(share: float) -> None:
    learner = learner_of(search_share=share)
    learner.net.eval()
    batch = window_of(GAME).batch(np.random.default_rng(1), 16)
    _, values = learner.net(torch.from_numpy(batch.observations))
    log_shares = values.log_softmax(1).detach().numpy()  # of loss, draw, win
    wanted = 0.0
    for row, outcome, searched in zip(log_shares, batch.outcomes[:, 0], batch.searched[:, 0], strict=True):
        for weight, utility in ((1 - share, float(outcome)), (share, float(searched))):
            far = abs(utility)  # the distribution over 0 and ±1 with this mean
            wanted -= weight * ((1 - far) * row[1] + far * row[2 if utility > 0 else 0])
    assert math.isclose(float(found(learner, batch)[0][1].detach()), wanted / 16, rel_tol=1e-4)


def test_rate_warms_up_stays_and_falls() -> None:
    settings = LearningSettings(rate=1.0, warmup=9, cooldown=0.5, rate_end=0.1)
    assert [settings.rate_at(step, 0.0) for step in (0, 4, 9, 1000)] == pytest.approx([0.1, 0.5, 1.0, 1.0])
    assert [settings.rate_at(100, share) for share in (0.5, 0.75, 1.0, 2.0)] == pytest.approx([1.0, 0.55, 0.1, 0.1])


def test_gradient_that_is_not_finite_is_one_line() -> None:
    learner = learner_of()
    with torch.no_grad():
        next(learner.net.parameters()).fill_(math.inf)
    with pytest.raises(UserError, match="expected a finite gradient, got nan; try a lower"):
        learner.learn(window_of(GAME), 1, np.random.default_rng(1), 0.0)


def test_torch_is_left_as_it_was() -> None:
    def state() -> tuple[int, bool]:
        return torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()

    before = state()
    learner_of(threads=1).learn(window_of(GAME), 1, np.random.default_rng(1), 0.0)
    assert state() == before


@pytest.mark.parametrize("name", ["dots_and_boxes:rows=2,cols=2,players=3", "backgammon:start=hyper"])
def test_other_kinds_of_games_learn(name: str) -> None:
    game = load(name)
    learner, window = learner_of("mlp:1x32", game, rate=1e-2), window_of(game, 1)
    losses = [learner.learn(window, 10, np.random.default_rng(seed), 0.0) for seed in range(6)]
    assert losses[-1].losses["policy"] - losses[-1].entropy < losses[0].losses["policy"] - losses[0].entropy
    assert losses[-1].losses["value"] < losses[0].losses["value"]


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: LearningSettings(batch=0), "batch: expected at least 1"),
    (lambda: LearningSettings(rate=0.0), "rate: expected a number above 0"),
    (lambda: LearningSettings(cooldown=2.0), "cooldown: expected 0 to 1"),
    (lambda: LearningSettings(mean=1.0), "mean: expected at least 0 and below 1"),
    (lambda: LearningSettings(warmup=-1), "warmup: expected at least 0"),
]


@pytest.mark.parametrize(("make", "words"), WRONG)
def test_settings_that_make_no_sense_are_refused(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        make()


# ── in parts ──


def test_a_step_in_parts_has_the_same_bits_whoever_computes_them() -> None:
    window = window_of(GAME)
    one, two, three = (learner_of("resnet:1x8", shards=4, threads=1, auxiliary=("reply=0.15",)) for _ in range(3))
    with Processes(2) as processes, Threads(3) as threads:
        for learner, workers in ((one, None), (two, processes), (three, threads)):
            for seed in range(2):
                with gradient_of(learner, workers) as gradient:
                    learner.learn(window, 3, np.random.default_rng(seed), 0.0, gradient=gradient)
    assert_equal(one, two)
    assert_equal(one, three)


def test_gradient_losses_and_running_state_are_means_over_the_parts() -> None:
    window = window_of(GAME)
    learner, alone = learner_of("resnet:1x8", shards=2), learner_of("resnet:1x8")
    batch = window.batch(np.random.default_rng(1), 32, {})
    before = alone.flat_state()
    with gradient_of(learner, None) as gradient:
        losses = gradient(batch)
    found = []
    for part in cut(batch, 2):
        alone.set_state(before)
        alone.net.train()
        with reproducible(alone.settings.threads):
            found.append((alone.gradient(part), alone.flat_gradient(), alone.flat_state()))
    came = losses, learner.flat_gradient(), learner.flat_state()
    for mine, one, other in zip(came, *found, strict=True):
        assert not np.array_equal(one, other)
        np.testing.assert_allclose(mine, (one + other) / 2, rtol=1e-4, atol=1e-7)


def test_parts_have_one_size() -> None:
    with pytest.raises(UserError, match="shards: expected a divisor of the batch, 32, got 5"):
        learner_of(shards=5)
