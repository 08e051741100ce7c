"""Networks: every kind in the folder learns and answers in the right terms; inference is the net, whatever the row."""

import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from base.errors import UserError
from base.seeds import generator
from benchmarks import inference as inference_benchmark
from games import load
from nets import Inference, Symmetries, make_net
from nets.heads import Outcome, policy_loss
from nets.inference import cpu_has_bf16, device_of, resolve_precision
from nets.layers import Normed, convolution
from nets.names import kinds
from nets.outcome import FEW

GAMES = ["tic_tac_toe", "connect_four", "dots_and_boxes:players=3", "backgammon"]
SMALL = {kind: f"{kind}:2x24" for kind in kinds()}
SIZED = [*SMALL.values(), "resnet:2x16,pool=on"]


@pytest.fixture(autouse=True)
def one_thread():
    """Threads that wait for each other take longer than one alone where tests share the machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def positions(game, n, seed=0):
    """Observations in the mover's eyes, legal actions in the mover's numbers, from random games."""
    rng = np.random.default_rng(seed)
    planes, legal, state = [], np.zeros((n, game.actions), bool), game.initial()
    while len(planes) < n:
        state = game.initial() if game.is_terminal(state) else state
        mover, actions = game.to_move(state), game.legal_actions(state)
        if mover >= 0:
            view = game.rules.action_view
            legal[len(planes), [a if view is None else view[mover, a] for a in actions]] = True
            planes.append(game.observe(state))
        state = game.result(state, int(rng.choice(actions)))
    return np.stack(planes), legal


def targets_for(game, legal, seed=0):
    """A policy and utilities that nothing but learning by heart can give."""
    rng = np.random.default_rng(seed)
    policies = np.zeros(legal.shape, np.float32)
    for row, may in enumerate(legal):
        policies[row, rng.choice(np.flatnonzero(may))] = 1
    values = np.array(game.rules.values or (-0.5, 0.25))
    utilities = rng.choice(values, (len(legal), game.players)).astype(np.float32)
    if game.players == 2 and game.rules.zero_sum:
        utilities[:, 1] = -utilities[:, 0]
    return policies, utilities


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("text", SIZED)
def test_every_net_learns_one_batch_by_heart(text, name):
    game = load(name)
    net = make_net(text, game)
    # Equal planes with different targets could not be learned.
    observations, legal = (each[:32] for each in positions(game, 400))
    _, first = np.unique(observations.reshape(len(observations), -1), axis=0, return_index=True)
    observations, legal = observations[first], legal[first]
    policies, utilities = targets_for(game, legal)
    planes, may, policy = torch.from_numpy(observations), torch.from_numpy(legal), torch.from_numpy(policies)
    values = net.outcome.value_targets(torch.from_numpy(utilities))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2, weight_decay=0.0)
    for _ in range(250):
        logits, outputs = net.train()(planes)
        loss = (policy_loss(logits, policy, may) + net.outcome.value_loss(outputs, values)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss < 0.02:
            break
    for _ in range(60):  # the running statistics catch up with the weights
        net(planes)
    logits, answer = Inference(net, len(planes), precision="fp32")(observations)
    assert (np.where(legal, logits, -np.inf).argmax(1) == policies.argmax(1)).mean() > 0.95
    assert np.abs(answer - utilities).mean() < 0.1


@pytest.mark.parametrize("text", SIZED)
def test_a_nets_text_makes_the_same_net_again(text):
    game = load("tic_tac_toe")
    one, other, third = make_net(text, game), make_net(make_net(text, game).text, game), make_net(text, game, seed=1)
    assert one.text == other.text
    assert all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(one.parameters(), third.parameters(), strict=True))
    assert all(each.dtype == torch.float32 for each in one.state_dict().values())


def test_making_a_net_leaves_torchs_random_numbers_alone():
    before = torch.random.get_rng_state()
    make_net("mlp:1x8", load("tic_tac_toe"))
    assert torch.equal(before, torch.random.get_rng_state())


def test_options_change_the_net_and_have_words():
    game = load("go:size=9")
    plain, pooling = make_net("resnet:2x16", game), make_net("resnet:2x16,pool=on", game)
    assert plain.text == "resnet:2x16,pool=off" and pooling.parameter_count > plain.parameter_count
    assert set(kinds()) >= {"resnet", "mlp"}
    with pytest.raises(UserError, match="resnet: pool: expected on or off, got 'yes'"):
        make_net("resnet:2x16,pool=yes", load("connect_four"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "resent:3x32",
            f"unknown net 'resent': expected one of {', '.join(kinds())}, or a file.py; did you mean 'resnet'?",
        ),
        ("resnet", "resnet: expected a value for 'size', as in resnet:…"),
        ("resnet:3", "resnet: expected BLOCKSxCHANNELS, as in resnet:3x32, got '3'"),
        ("resnet:0x32", "resnet: expected BLOCKSxCHANNELS, as in resnet:3x32, got '0x32'"),
        ("mlp:2x", "mlp: expected LAYERSxWIDTH, as in mlp:3x32, got '2x'"),
        ("resnet:3x32,pol=on", "resnet: unknown option 'pol'; options are size, pool; did you mean 'pool'?"),
        ("resnet:3x32,pool=maybe", "resnet: pool: expected on or off, got 'maybe'"),
    ],
)
def test_wrong_text_is_one_line(text, words):
    with pytest.raises(UserError) as error:
        make_net(text, load("tic_tac_toe"))
    assert str(error.value) == words


# ── heads ──


@pytest.mark.parametrize(
    ("name", "seats", "values"),
    [
        ("connect_four", 1, (-1, 0, 1)),
        ("backgammon", 1, (-1, -2 / 3, -1 / 3, 0, 1 / 3, 2 / 3, 1)),
        ("go:size=9", 1, (-1, 1)),
        ("dots_and_boxes:players=3", 3, None),
        ("tree:cooperation.json", 2, None),
    ],
)
def test_outcome_speaks_of_as_many_players_as_it_must(name, seats, values):
    rules = load(name).rules
    outcome = Outcome.of(rules)
    assert outcome.seats == seats
    assert outcome.values == tuple(rules.values if values is None else values)
    assert outcome.size == seats * len(outcome.values)


def test_many_utilities_are_one_number_for_each_player():
    outcome = Outcome(3, 3, ())
    found = outcome.utilities(torch.tensor([[0.0, 100.0, -1.0]]))
    assert found.tolist() == [pytest.approx([0, 1, np.tanh(-1)])]
    targets = outcome.value_targets(torch.tensor([[0.1, 0.2, -0.3]]))
    assert targets.tolist() == [pytest.approx([0.1, 0.2, -0.3])]
    assert outcome.value_loss(torch.atanh(targets), targets).item() == pytest.approx(0, abs=1e-12)
    assert Outcome.of(load("dots_and_boxes:rows=5,cols=5,players=3").rules).values == ()  # the game lists none
    listed = replace(load("nim").rules, values=np.linspace(-1, 1, FEW + 1))
    assert Outcome.of(listed).values == ()
    assert len(Outcome.of(replace(listed, values=np.linspace(-1, 1, FEW))).values) == FEW


def test_two_players_of_a_zero_sum_are_each_others_negative_in_relative_order():
    outcome = Outcome(2, 1, (-1.0, 0.0, 1.0))
    found = outcome.utilities(torch.tensor([[0.0, 0.0, 50.0], [50.0, 0.0, 0.0], [0.0, 50.0, 0.0]]))
    assert found.tolist() == [[1, -1], [-1, 1], [pytest.approx(0, abs=1e-6)] * 2]


@pytest.mark.parametrize("name", ["connect_four", "backgammon", "dots_and_boxes:players=3", "go:size=9", "nim"])
def test_target_is_a_distribution_over_two_neighbours_with_the_utility_as_its_mean(name):
    outcome = Outcome.of(load(name).rules)
    values = torch.tensor(outcome.values)
    rng = np.random.default_rng(1)
    wanted = rng.uniform(outcome.values[0], outcome.values[-1], (500, outcome.players)).astype(np.float32)
    wanted[: len(values)] = values[:, None]  # the declared ones, first and last too
    if outcome.seats < outcome.players:
        wanted[:, 1] = -wanted[:, 0]
    targets = outcome.value_targets(torch.from_numpy(wanted))
    assert targets.shape == (500, outcome.seats, len(values))
    assert (targets >= 0).all() and torch.allclose(targets.sum(2), torch.ones(()))
    assert torch.allclose((targets * values).sum(2), torch.from_numpy(wanted[:, : outcome.seats]), atol=1e-6)
    assert ((targets > 0).sum(2) <= 2).all()
    assert ((targets[: len(values)] > 1e-6).sum(2) == 1).all()
    used = targets[len(values) :] > 0
    assert (used[..., 1:] & used[..., :-1]).any(2).all()  # neighbours
    # and the network that answers with the target's logarithm answers with the utility
    answer = outcome.utilities(torch.log(targets + 1e-30).flatten(1))
    assert torch.allclose(answer, torch.from_numpy(wanted), atol=1e-5)


def test_a_single_possible_utility_is_certain():
    outcome = Outcome(1, 1, (0.5,))
    assert outcome.value_targets(torch.tensor([[0.5]])).tolist() == [[[1.0]]]
    assert outcome.utilities(torch.tensor([[3.0]])).tolist() == [[0.5]]


def test_losses_are_least_at_the_target():
    outcome = Outcome(2, 1, (-1.0, 0.0, 1.0))
    targets = outcome.value_targets(torch.tensor([[0.5, -0.5]]))
    entropy = np.log(2)
    assert outcome.value_loss(torch.log(targets + 1e-30).flatten(1), targets).item() == pytest.approx(entropy)
    assert outcome.value_loss(torch.zeros(1, 3), targets).item() == pytest.approx(np.log(3))
    policy = torch.tensor([[0.5, 0.5, 0.0, 0.0]])
    legal = torch.tensor([[True, True, True, False]])
    assert policy_loss(torch.zeros(1, 4), policy).item() == pytest.approx(np.log(4))
    assert policy_loss(torch.zeros(1, 4), policy, legal).item() == pytest.approx(np.log(3))
    assert policy_loss(torch.tensor([[9.0, 9.0, -99.0, 77.0]]), policy, legal).item() == pytest.approx(np.log(2))


def test_illegal_logits_have_no_gradient():
    logits = torch.zeros(1, 4, requires_grad=True)
    policy_loss(
        logits, torch.tensor([[1.0, 0.0, 0.0, 0.0]]), torch.tensor([[True, True, False, False]])
    ).sum().backward()
    assert logits.grad is not None
    assert logits.grad.tolist() == [[-0.5, 0.5, 0.0, 0.0]]


@pytest.mark.parametrize(
    "name", ["tic_tac_toe", "othello:size=6", "go:size=9", "chess", "checkers", "backgammon", "nim"]
)
@pytest.mark.parametrize("text", SIZED)
def test_shapes_are_the_games(text, name):
    game = load(name)
    net = make_net(text, game)
    logits, values = net.eval()(torch.zeros(3, *game.rules.observation))
    assert logits.shape == (3, game.actions) and values.shape == (3, net.outcome.size)
    assert net.outcome.utilities(values).shape == (3, game.players)


def test_policy_planes_lie_on_the_board():
    """With the trunk's board turned, and no position told apart otherwise, the planes' logits turn with it."""
    game = load("go:size=9")
    net = make_net("resnet:1x8", game).eval()
    x = torch.rand(1, 8, 9, 9)
    head = net.policy
    one, turned = head(x)[0], head(x.transpose(2, 3))[0]
    assert torch.allclose(one[:81].view(9, 9).T, turned[:81].view(9, 9), atol=1e-6)
    assert torch.allclose(one[81], turned[81], atol=1e-6)  # to pass


# ── inference ──


def trained_a_little(text, game):
    """A net whose normalization has seen something and whose answers differ."""
    net = make_net(text, game)
    rng = generator(3, "test")
    for _ in range(3):
        net.train()(torch.from_numpy(np.random.default_rng(int(rng[0])).random((64, *net.observation), np.float32)))
    with torch.no_grad():
        for each in net.modules():
            if isinstance(each, Normed):
                each.scale.uniform_(0.5, 2.0, generator=torch.Generator().manual_seed(1))
                each.shift.uniform_(-0.5, 0.5, generator=torch.Generator().manual_seed(2))
    return net


@pytest.mark.parametrize("name", [*GAMES, "nim", "go:size=9"])
@pytest.mark.parametrize("text", SIZED)
def test_inference_answers_as_the_net_does(text, name):
    game = load(name)
    net = trained_a_little(text, game)
    x = np.random.default_rng(0).random((16, *net.observation), np.float32)
    with torch.inference_mode():
        logits, values = net.eval()(torch.from_numpy(x))
        utilities = net.outcome.utilities(values)
    exact = Inference(net, 16, precision="fp32")(x)
    assert [each.dtype for each in exact] == [np.float32] * 2
    np.testing.assert_allclose(exact[0], logits, atol=2e-4, rtol=2e-4)
    np.testing.assert_allclose(exact[1], utilities, atol=2e-4)
    rough = Inference(net, 16, precision="bf16")(x)
    scale = np.abs(logits.numpy()).max() + 1
    np.testing.assert_allclose(rough[0], logits, atol=0.05 * scale)
    np.testing.assert_allclose(rough[1], utilities, atol=0.1)


def test_unfused_inference_answers_as_the_fused_one_does(monkeypatch):
    net = trained_a_little("resnet:2x16,pool=on", load("connect_four"))
    x = np.random.default_rng(0).random((8, *net.observation), np.float32)
    fused = Inference(net, 8, precision="fp32")(x)
    monkeypatch.setattr("nets.inference.fuses", lambda device, dtype: False)
    plain = Inference(net, 8, precision="fp32")(x)
    for one, other in zip(fused, plain, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("text", ["resnet:2x16,pool=on", "resnet:1x5,pool=on", "mlp:2x18", "mlp:1x64"])
def test_equal_positions_get_equal_bits_in_every_row_and_beside_any_neighbour(text, precision):
    """torch's own linear layer breaks this for some sizes, such as 18 inputs in a batch of 2."""
    for name in ("tic_tac_toe", "dots_and_boxes:players=3", "go:size=9"):
        net = trained_a_little(text, load(name))
        for batch in (2, 7, 33):
            evaluate = Inference(net, batch, precision=precision)
            x = np.random.default_rng(0).random(evaluate.shape, np.float32)
            expected = [each[0] for each in evaluate(x)]
            for row in range(batch):
                other = np.random.default_rng(row + 1).random(evaluate.shape, np.float32)
                other[row] = x[0]
                for found, bits in zip(evaluate(other), expected, strict=True):
                    assert (found[row] == bits).all(), (name, batch, row)


def test_inference_is_a_copy_that_training_does_not_touch():
    net = make_net("resnet:1x8", load("tic_tac_toe"))
    evaluate = Inference(net, 4)
    x = np.random.default_rng(0).random(evaluate.shape, np.float32)
    before, weights = evaluate(x), [each.clone() for each in net.state_dict().values()]
    net.train()(torch.ones(8, *net.observation))
    with torch.no_grad():
        for each in net.parameters():
            each.add_(1)
    for one, other in zip(before, evaluate(x), strict=True):
        assert (one == other).all()
    fresh = make_net("resnet:1x8", load("tic_tac_toe"))
    Inference(fresh, 4)
    assert fresh.training and all(each.requires_grad for each in fresh.parameters())
    assert all(torch.equal(a, b) for a, b in zip(weights, fresh.state_dict().values(), strict=True))


def test_threads_share_one_inference():
    net = trained_a_little("resnet:2x16", load("connect_four"))
    evaluate = Inference(net, 8)
    inputs = [np.random.default_rng(i).random(evaluate.shape, np.float32) for i in range(4)]
    expected = [evaluate(x) for x in inputs]
    wrong = []

    def work(i):
        for _ in range(50):
            found = evaluate(inputs[i])
            if any((a != b).any() for a, b in zip(found, expected[i], strict=True)):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


def test_answers_belong_to_the_caller():
    evaluate = Inference(make_net("mlp:1x8", load("tic_tac_toe")), 2)
    x = np.random.default_rng(0).random(evaluate.shape, np.float32)
    first = evaluate(x)
    kept = [each.copy() for each in first]
    evaluate(x + 1)
    for one, other in zip(first, kept, strict=True):
        assert (one == other).all()


def test_observations_may_lie_in_memory_as_they_like():
    evaluate = Inference(make_net("resnet:1x8", load("tic_tac_toe")), 4)
    x = np.random.default_rng(0).random(evaluate.shape, np.float32)
    expected = evaluate(x)
    frozen = x.copy()
    frozen.flags.writeable = False
    for other in (frozen, np.asfortranarray(x), x[::-1].copy()[::-1], np.stack([x, x], -1)[..., 0]):
        for one, bits in zip(evaluate(other), expected, strict=True):
            assert (one == bits).all()


def test_nets_train_in_mixed_precision():
    """As a learner does on a processor that multiplies in bf16: the statistics and the losses stay in 32 bits."""
    for text in SIZED:
        net = make_net(text, load("tic_tac_toe")).to(memory_format=torch.channels_last)
        planes = torch.rand(8, 2, 3, 3, generator=torch.Generator().manual_seed(0))
        with torch.autocast("cpu", torch.bfloat16):
            logits, values = net.train()(planes.to(memory_format=torch.channels_last))
        targets = net.outcome.value_targets(torch.zeros(8, 2))
        loss = (policy_loss(logits, torch.full((8, 9), 1 / 9)) + net.outcome.value_loss(values, targets)).mean()
        loss.backward()
        assert loss.dtype == torch.float32
        assert all(
            each.dtype == torch.float32 and bool(torch.isfinite(each).all()) for each in net.state_dict().values()
        )
        assert all(each.grad is not None and bool(torch.isfinite(each.grad).all()) for each in net.parameters())


def test_inference_leaves_the_number_of_threads_as_it_was():
    net = make_net("mlp:1x8", load("tic_tac_toe"))
    before = torch.get_num_threads()
    evaluate = Inference(net, 2, threads=before + 1)
    evaluate(np.zeros(evaluate.shape, np.float32))
    assert torch.get_num_threads() == before


def test_precision_is_resolved_to_what_the_processor_has():
    assert resolve_precision("auto", torch.device("cpu")) == ("bf16" if cpu_has_bf16() else "fp32")
    assert Inference(make_net("mlp:1x8", load("tic_tac_toe")), 1, precision="fp32").precision == "fp32"
    with pytest.raises(UserError, match="precision: expected one of auto, fp32, bf16, got 'bf61'; did you mean 'bf16'"):
        resolve_precision("bf61", torch.device("cpu"))


@pytest.mark.parametrize("text", ["gpu", "cuda:99", "cpu:x"])
def test_device_that_is_not_there_is_one_line(text):
    with pytest.raises(
        UserError, match=f"device: expected one that torch can use here, such as cpu, got '{text}'"
    ) as e:
        device_of(text)
    assert "\n" not in str(e.value)


def test_wrong_batches_are_refused():
    net = make_net("mlp:1x8", load("tic_tac_toe"))
    evaluate = Inference(net, 4)
    with pytest.raises(UserError, match=r"float32 of shape \(4, 2, 3, 3\), got float32 of shape \(3, 2, 3, 3\)"):
        evaluate(np.zeros((3, 2, 3, 3), np.float32))
    with pytest.raises(UserError, match="got float64"):
        evaluate(np.zeros((4, 2, 3, 3)))
    with pytest.raises(UserError, match="batch: expected 1 or more, got 0"):
        Inference(net, 0)
    with pytest.raises(UserError, match="threads: expected 1 or more, got -1"):
        Inference(net, 1, threads=-1)


def test_a_normed_layer_is_torchs_batch_norm():
    layer = Normed(convolution(3, 5, (4, 4)), relu=False)
    theirs = torch.nn.BatchNorm2d(5)
    x = torch.randn(16, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    for _ in range(3):
        assert torch.allclose(layer(x), theirs(layer.layer(x)), atol=1e-6)
    assert torch.allclose(layer.mean, theirs.running_mean) and torch.allclose(layer.variance, theirs.running_var)
    layer.eval(), theirs.eval()
    assert torch.allclose(layer(x), theirs(layer.layer(x)), atol=1e-6)


def test_compiled_net_and_inference_are_measured_beside_plain_torch():
    game = load("tic_tac_toe")
    cells = inference_benchmark.row(game, make_net("mlp:1x8", game), "fp32", 4, 16)
    assert len(cells) == len(inference_benchmark.TITLES)
    assert cells[0] == "4" and cells[4].endswith("×") and cells[7] == "100.0%"
    assert float(cells[5]) < 1e-4 and float(cells[6]) < 1e-4


# ── symmetries ──


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four", "othello:size=6", "go:size=9", "nim"])
def test_turned_batches_are_the_observations_of_turned_games(name):
    game = load(name)
    symmetries = Symmetries(game.rules)
    rng = np.random.default_rng(0)
    assert symmetries.count == 1 + len(game.rules.symmetries)
    for which in range(symmetries.count):
        state, mirror = game.initial(), game.initial()
        actions = np.arange(game.actions) if which == 0 else game.rules.symmetries[which - 1].actions
        for _ in range(8):
            if game.is_terminal(state):
                break
            legal = np.zeros((1, game.actions), bool)
            legal[0, game.legal_actions(state)] = True
            planes, turned = symmetries.turn(np.array([which]), game.observe(state)[None], legal)
            assert (planes[0] == game.observe(mirror)).all()
            assert set(np.flatnonzero(turned[0])) == set(game.legal_actions(mirror))
            action = int(rng.choice(game.legal_actions(state)))
            state, mirror = game.result(state, action), game.result(mirror, int(actions[action]))


def test_rows_are_turned_each_in_its_own_way():
    game = load("tic_tac_toe")
    symmetries = Symmetries(game.rules)
    planes, legal = positions(game, 16)
    which = np.arange(16) % symmetries.count
    together = symmetries.turn(which, planes, legal)
    for row in range(16):
        alone = symmetries.turn(which[row : row + 1], planes[row : row + 1], legal[row : row + 1])
        assert all((a[row] == b[0]).all() for a, b in zip(together, alone, strict=True))
