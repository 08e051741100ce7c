"""Compiled networks: the same numbers as torch, on every instruction set, for every kind, game and layout."""

import importlib
import inspect
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import checkpoints
from base.compiler import compiled
from base.errors import UserError
from base.native import call_native
from games import load
from nets import CannotCompile, CompiledNet, Inference, make_net
from nets.compiled import instructions, packing, vectors, winograd
from nets.compiled.compiled_net import sample
from nets.compiled.form import apply_form
from nets.compiled.forward import forward_for
from nets.compiled.instructions import SETS, available, choose, has_bf16, multiplies_bf16_twice_as_fast
from nets.compiled.reference import Reference
from nets.compiled.winograd import SIDES, WORTH, cut_of, matrices, prefers_bf16
from nets.folding import Weights
from nets.heads import Outcome
from nets.inference import cpu_has_bf16
from nets.layers import Normed
from nets.names import compiled_kinds, kinds

ROOT = Path(__file__).resolve().parent.parent
GAMES = [
    "tic_tac_toe",
    "connect_four",
    "othello:size=6",
    "go:size=9",
    "chess",
    "checkers",
    "backgammon",
    "nim",
    "dots_and_boxes:players=3",
    "hearts",
    "tree:cooperation.json",
    "column",
]
NETS = ["resnet:1x5", "resnet:2x24,pool=on", "resnet:3x48,pool=on", "resnet:1x80", "mlp:1x18", "mlp:3x70"]
WITH_BF16 = has_bf16(SETS["avx512"])
WITH_TILES = "amx" in available()
FORMS = [("fp32", "avx512"), *([("bf16", "avx512")] if WITH_BF16 else []), *([("bf16", "amx")] if WITH_TILES else [])]


@pytest.fixture(autouse=True)
def one_thread():
    """Threads that wait for each other take longer than one alone where tests share the machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def game_of(name):
    """A game by name; `column` is one of eight rows and one column, with two policy planes and utilities that are not declared."""
    if name != "column":
        return load(name)
    rules = SimpleNamespace(
        observation=(3, 8, 1),
        actions=19,
        policy_planes=2,
        players=2,
        zero_sum=False,
        values=tuple(np.linspace(-1, 1, 40)),
    )
    return SimpleNamespace(name="column", version=1, rules=rules, actions=19, players=2)


def random_net(text, game, seed=0):
    """Weights, normalization and its statistics at random, so that every number counts."""
    net = make_net(text, game, seed).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for each in net.modules():
            if isinstance(each, Normed):
                each.scale.uniform_(0.5, 1.5, generator=generator)
                each.shift.uniform_(-0.5, 0.5, generator=generator)
                each.mean.uniform_(-0.5, 0.5, generator=generator)
                each.variance.uniform_(0.5, 2.0, generator=generator)
    return net


def by_torch(net, observations):
    with torch.inference_mode():
        logits, values = net(torch.from_numpy(observations))
        return logits.numpy(), net.outcome.utilities(values).numpy()


def planes(game, count, seed=0):
    """Numbers of every size, zeros among them."""
    rng = np.random.default_rng(seed)
    shape = count, *game.rules.observation
    return (rng.random(shape) * (rng.random(shape) < 0.6)).astype(np.float32)


def close(found, expected, precision):
    for one, other in zip(found, expected, strict=True):
        scale = max(1.0, np.abs(other).max())
        np.testing.assert_allclose(one, other, rtol=0, atol=(1e-4 if precision == "fp32" else 0.03) * scale)
        assert one.dtype == np.float32 and one.shape == other.shape


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("text", NETS)
@pytest.mark.parametrize(("precision", "which"), FORMS)
def test_a_compiled_net_computes_what_torch_does(name, text, precision, which):
    game = game_of(name)
    net = random_net(text, game)
    observations = planes(game, 5)
    close(CompiledNet.of_net(net, game, precision, which)(observations), by_torch(net, observations), precision)


@pytest.mark.parametrize("name", ["tic_tac_toe", "othello:size=6", "hearts", "backgammon", "column"])
@pytest.mark.parametrize("text", NETS)
@pytest.mark.parametrize("which", ["avx2", "neon", "portable"])
def test_every_instruction_set_computes_what_torch_does(name, text, which):
    game = game_of(name)
    net = random_net(text, game)
    observations = planes(game, 3)
    close(CompiledNet.of_net(net, game, "fp32", which)(observations), by_torch(net, observations), "fp32")


@pytest.mark.parametrize("text", ["resnet:1x5,pool=on", "mlp:1x18"])
def test_interpreted_and_compiled_code_agree(text):
    game = load("tic_tac_toe")
    net = CompiledNet.of_net(random_net(text, game), game, "fp32", "portable")
    observation = planes(game, 1)
    logits, utilities = np.zeros(game.actions, np.float32), np.zeros(game.players, np.float32)
    forward = forward_for(game.rules.observation[2], None, choose("portable"), False)
    forward(net.weights, net.scratch(), observation[0], logits, utilities)  # plain Python
    close((logits[None], utilities[None]), net(observation), "fp32")


@pytest.mark.parametrize("name", ["tic_tac_toe", "go:size=9", "column"])
@pytest.mark.parametrize("text", NETS)
def test_reference_in_numpy_computes_what_torch_does(name, text):
    game = game_of(name)
    net = random_net(text, game)
    observations = planes(game, 3)
    weights = Weights({key: each.numpy() for key, each in net.state_dict().items()})
    reference = Reference(weights, Outcome.of(game.rules), observations)
    apply_form(net.text, reference)
    weights.finish()
    close((reference.logits, reference.utilities), by_torch(net, observations), "fp32")


def positions(game, count):
    """Observations from random games."""
    rng = np.random.default_rng(0)
    found, state = [], game.initial()
    while len(found) < count:
        state = game.initial() if game.is_terminal(state) else state
        if game.to_move(state) >= 0:
            found.append(game.observe(state))
        state = game.result(state, int(rng.choice(game.legal_actions(state))))
    return np.stack(found)


@pytest.mark.parametrize("name", ["connect_four/small", "tic_tac_toe/best"])
def test_a_released_net_keeps_its_policy_in_bf16(name):
    if not WITH_BF16:
        pytest.skip("this CPU does not compute with bf16")
    game = load(name.split("/")[0])
    net, _ = checkpoints.load(checkpoints.resolve(name), game)
    observations = positions(game, 2000)
    logits, utilities = by_torch(net, observations)
    found, values = CompiledNet.of_net(net, game, "bf16")(observations)
    exact = torch.from_numpy(logits).log_softmax(1)
    divergence = (exact.exp() * (exact - torch.from_numpy(found).log_softmax(1))).sum(1).mean()
    assert divergence < 1e-3
    assert (found.argmax(1) == logits.argmax(1)).mean() > 0.985
    assert np.abs(values - utilities).mean() < 0.01


# ── contract ──


def compiled_tic_tac_toe(text="resnet:2x24,pool=on", **settings):
    game = load("tic_tac_toe")
    return CompiledNet.of_net(random_net(text, game), game, **settings)


@pytest.mark.parametrize(("precision", "which"), [*FORMS, ("fp32", "portable")])
@pytest.mark.parametrize("text", ["resnet:2x24,pool=on", "mlp:1x18"])
def test_a_row_has_the_same_bits_in_every_batch(text, precision, which):
    net = compiled_tic_tac_toe(text, precision=precision, instructions=which)
    observations = planes(load("tic_tac_toe"), 33)
    whole = net(observations)
    for order in (slice(None, None, -1), slice(5, 6), slice(0, 0), slice(3, 20, 4)):
        for part, all_rows in zip(net(observations[order]), whole, strict=True):
            assert (part == all_rows[order]).all()


def test_a_net_has_the_same_bits_inside_another_kernel():
    net = compiled_tic_tac_toe()

    def twice(address, weights, scratch, observations, logits, utilities):
        for i in range(len(observations)):
            call_native(address, (weights, scratch, observations[i], logits[0], utilities[0]))
            call_native(address, (weights, scratch, observations[i], logits[i], utilities[i]))

    observations = planes(load("tic_tac_toe"), 7)
    logits, utilities = np.zeros((7, 9), np.float32), np.zeros((7, 2), np.float32)
    compiled(twice)(net.address, net.weights, net.scratch(), observations, logits, utilities)
    for found, expected in zip((logits[1:], utilities[1:]), net(observations), strict=True):
        assert (found == expected[1:]).all()


def test_threads_share_one_compiled_net():
    net = compiled_tic_tac_toe()
    inputs = [planes(load("tic_tac_toe"), 64, seed) for seed in range(4)]
    expected = [net(x) for x in inputs]
    wrong = []

    def work(i):
        for _ in range(50):
            if any((a != b).any() for a, b in zip(net(inputs[i]), expected[i], strict=True)):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


def test_code_depends_on_board_width_tiles_precision_and_instructions_only():
    small, large = compiled_tic_tac_toe("resnet:1x5"), compiled_tic_tac_toe("resnet:2x24,pool=on")
    other = CompiledNet.of_net(random_net("mlp:1x18", load("nim")), load("nim"))
    assert small.address == large.address
    forms = [small, compiled_tic_tac_toe(precision="fp32", instructions="avx2"), other]
    forms.append(compiled_tic_tac_toe(precision="fp32", instructions="portable"))
    assert len({each.address for each in forms}) == len(forms)


def test_an_edit_of_the_vector_code_makes_new_keys(monkeypatch):
    before = vectors.row((3,), 1, False).content_key
    assert vectors.row((3,), 1, False).content_key == before
    assert vectors.row((3,), 2, False).content_key != before
    monkeypatch.setattr(vectors, "_SOURCE", b"edited")
    assert vectors.row((3,), 1, False).content_key != before
    gathered = winograd._gather(4).content_key
    assert winograd._gather(3).content_key != gathered
    monkeypatch.setattr(winograd, "_SOURCE", b"edited")
    assert winograd._gather(4).content_key != gathered


def test_observations_may_lie_in_memory_as_they_like():
    net = compiled_tic_tac_toe()
    x = planes(load("tic_tac_toe"), 4)
    expected = net(x)
    frozen = x.copy()
    frozen.flags.writeable = False
    for other in (frozen, np.asfortranarray(x), x[::-1].copy()[::-1], np.stack([x, x], -1)[..., 0]):
        for one, bits in zip(net(other), expected, strict=True):
            assert (one == bits).all()


def test_a_compiled_net_is_a_copy_that_training_does_not_touch():
    game = load("tic_tac_toe")
    net = random_net("resnet:1x5", game)
    found = CompiledNet.of_net(net, game)
    before = found(planes(game, 3))
    with torch.no_grad():
        for each in net.parameters():
            each.add_(1)
    for one, other in zip(before, found(planes(game, 3)), strict=True):
        assert (one == other).all()


def test_inference_and_a_compiled_net_agree():
    game = load("connect_four")
    net = random_net("resnet:2x24,pool=on", game)
    x = planes(game, 8)
    close(CompiledNet.of_net(net, game, "fp32")(x), Inference(net, 8, precision="fp32")(x), "fp32")


# ── kinds ──


def test_every_form_takes_the_options_of_its_kind():
    assert set(compiled_kinds()) <= set(kinds())
    assert {"resnet", "mlp"} <= set(compiled_kinds())
    for kind in compiled_kinds():
        net, form = importlib.import_module(f"nets.{kind}").net, importlib.import_module(f"nets.compiled.{kind}").form
        own = list(inspect.signature(net).parameters.values())[1:]
        assert own == list(inspect.signature(form).parameters.values())[1:], kind


def test_a_kind_without_a_form_cannot_be_compiled():
    known = ", ".join(compiled_kinds())
    words = f"none_such:2x8: expected a network with a compiled form ({known}), got none_such"
    with pytest.raises(CannotCompile, match=re.escape(words)):
        CompiledNet.of({}, "none_such:2x8", load("tic_tac_toe"))


# ── instruction sets and precisions ──


def test_the_fastest_set_of_this_cpu_is_the_default_and_the_environment_overrides_it(monkeypatch):
    monkeypatch.delenv(instructions.VARIABLE, raising=False)
    assert choose().name == available()[0] and available()[-1] == "portable"
    monkeypatch.setenv(instructions.VARIABLE, "portable")
    assert choose().name == "portable" == compiled_tic_tac_toe().instructions
    assert compiled_tic_tac_toe().precision == "fp32"
    assert choose("avx2").name == "avx2"
    monkeypatch.setenv(instructions.VARIABLE, "avx51")
    with pytest.raises(
        UserError, match=r"ZERMELO_INSTRUCTIONS: expected one of .*, got 'avx51'; did you mean 'avx512'"
    ):
        choose()


def test_auto_is_bf16_where_it_is_faster():
    """Winograd's products are in fp32, and only of 3×3 convolutions on boards that tiles suit."""
    expected = {"resnet:1x24": ("fp32", "fp32"), "mlp:1x18": ("fp32", "bf16")}
    for text, (on_intel, on_amd) in expected.items():
        game = load("othello")
        net = CompiledNet.of_net(random_net(text, game), game, instructions="avx512")
        assert net.precision == (on_amd if multiplies_bf16_twice_as_fast(SETS["avx512"]) else on_intel)


@pytest.mark.parametrize(("precision", "which"), [*FORMS, ("fp32", "avx2"), ("fp32", "portable")])
@pytest.mark.parametrize("name", ["tic_tac_toe", "othello:size=6"])
def test_what_is_not_a_number_is_seen(name, precision, which):
    game = load(name)
    net = CompiledNet.of_net(random_net("resnet:1x24", game), game, precision, which)
    observations = planes(game, 2)
    observations[0, 0, 1, 1] = np.nan
    logits, utilities = net(observations)
    assert np.isnan(logits[0]).any() and np.isfinite(logits[1]).all() and np.isfinite(utilities[1]).all()


def test_bf16_needs_a_cpu_that_computes_with_it():
    assert compiled_tic_tac_toe().precision == ("bf16" if prefers_bf16(choose(), None, 3, 3) else "fp32")
    assert cpu_has_bf16() >= WITH_BF16
    with pytest.raises(
        CannotCompile, match=r"expected a CPU with avx512_bf16 or AMX for bf16 \(portable is used here\)"
    ):
        compiled_tic_tac_toe(precision="bf16", instructions="portable")
    with pytest.raises(UserError, match="precision: expected one of auto, fp32, bf16, got 'bf61'; did you mean 'bf16'"):
        compiled_tic_tac_toe(precision="bf61")


@pytest.mark.skipif(not WITH_TILES, reason="this CPU has no AMX")
def test_torch_and_compiled_nets_take_turns_with_the_tile_registers_of_a_thread():
    game = load("othello:size=6")
    net, x = random_net("resnet:2x48", game), planes(game, 16)
    compiled_net, evaluate = CompiledNet.of_net(net, game, "bf16", "amx"), Inference(net, 16, precision="bf16")
    alone, by_torch_alone = compiled_net(x), evaluate(x)
    for _ in range(3):
        for found, expected in ((compiled_net(x), alone), (evaluate(x), by_torch_alone)):
            assert all((a == b).all() for a, b in zip(found, expected, strict=True))


def test_tile_registers_that_the_cpu_lacks_are_refused(monkeypatch):
    monkeypatch.setattr(instructions, "available", lambda: ["avx512", "portable"])
    with pytest.raises(
        UserError, match="ZERMELO_INSTRUCTIONS: expected what this CPU has, avx512, portable; got 'amx'"
    ):
        choose("amx")


@pytest.mark.parametrize("side", SIDES)
def test_winograds_matrices_give_a_convolution_exactly(side):
    output, weights, inputs = (np.array(each) for each in matrices(side))
    rng = np.random.default_rng(side)
    window, board = rng.integers(-9, 10, (3, 3)), rng.integers(-9, 10, (side + 2, side + 2))
    found = output @ ((weights @ window @ weights.T) * (inputs @ board @ inputs.T)) @ output.T
    expected = [[(board[y : y + 3, x : x + 3] * window).sum() for x in range(side)] for y in range(side)]
    assert (found == expected).all()  # exact numbers


@pytest.mark.parametrize("which", SETS.values(), ids=SETS)
def test_tiles_cover_the_board_and_save_products_or_are_not_used(which):
    for rows, columns in np.ndindex(20, 20):
        cut = cut_of(rows + 1, columns + 1, which)
        if cut is not None:
            assert (
                0 <= cut.rows * cut.side - rows - 1 < cut.side and 0 <= cut.columns * cut.side - columns - 1 < cut.side
            )
            assert cut.share(rows + 1, columns + 1) <= WORTH and not which.is_portable


@pytest.mark.parametrize("blocks", range(1, 12))
@pytest.mark.parametrize("which", SETS.values(), ids=SETS)
def test_tiles_cover_all_blocks(which, blocks):
    assert sum(which.tiles(blocks)) == sum(which.dense_tiles(blocks)) == blocks
    if not which.is_portable:
        assert max(which.tiles(blocks)) <= len(which.positions)
        assert max(which.tiles(16)[:-1]) <= 2


PROGRAM = """if True:
    import sys
    sys.modules["torch"] = None  # not to be imported
    import numpy as np, checkpoints
    from games import load
    game = load("tic_tac_toe")
    net, card = checkpoints.load_compiled(checkpoints.resolve("best", game), game)
    logits, utilities = net(np.ones((2, 2, 3, 3), np.float32))
    print(net.instructions, net.precision, card.net, *logits[0].tolist(), *utilities[0].tolist())
"""


def run_program(cache, **environment):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env=os.environ | {"ZERMELO_CACHE": str(cache)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


def test_a_checkpoint_is_compiled_without_torch_and_a_second_process_finds_the_code(tmp_path):
    first, said = run_program(tmp_path)
    assert said.startswith("compiling the network")
    files = sorted(path.name for path in tmp_path.rglob("*.kernel"))
    again, said = run_program(tmp_path)
    assert again == first and said == ""
    assert files == sorted(path.name for path in tmp_path.rglob("*.kernel")) != []


@pytest.mark.parametrize(
    ("cpu", "features", "expected"),
    [("haswell", "+avx,+avx2,+fma,+sse4.2,+bmi,+bmi2,+popcnt", "avx2"), ("generic", "", "portable")],
)
def test_code_for_another_cpu_computes_the_same(tmp_path, cpu, features, expected):
    """As on a CPU that has no more: what is not in `features` is not in the code."""
    (which, precision, *numbers), _ = run_program(tmp_path, NUMBA_CPU_NAME=cpu, NUMBA_CPU_FEATURES=features)
    assert (which, precision) == (expected, "fp32")
    game = load("tic_tac_toe")
    net, _ = checkpoints.load(checkpoints.resolve("best", game), game)
    logits, utilities = by_torch(net, np.ones((1, 2, 3, 3), np.float32))
    np.testing.assert_allclose(np.array(numbers[1:], float), [*logits[0], *utilities[0]], rtol=1e-4, atol=1e-4)


# ── the check, and what is refused ──


@pytest.mark.parametrize(("precision", "which"), FORMS)
@pytest.mark.parametrize("text", ["resnet:1x24", "mlp:1x18"])
def test_wrong_code_is_noticed_when_a_net_is_made(text, precision, which, monkeypatch):
    pack = packing.Packer._pack_tiles

    def reversed_inputs(self, weight, tiles, half):
        return pack(self, weight[::-1], tiles, half)

    monkeypatch.setattr(packing.Packer, "_pack_tiles", reversed_inputs)
    with pytest.raises(
        CannotCompile, match=rf"expected the (logits|utilities) of the reference .* {precision}, relative error"
    ):
        compiled_tic_tac_toe(text, precision=precision, instructions=which)


def test_sample_positions_are_always_the_same():
    x = sample((2, 6, 7), 2)
    assert x.shape == (2, 2, 6, 7) and (x[0] != x[1]).any()
    assert x.sum() == 52 and x.reshape(-1)[:10].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 1, 0]


def test_wrong_observations_are_refused():
    net = compiled_tic_tac_toe()
    with pytest.raises(
        UserError, match=r"expected float32 of shape \(any, 2, 3, 3\), got float32 of shape \(2, 3, 3\)"
    ):
        net(np.zeros((2, 3, 3), np.float32))
    with pytest.raises(UserError, match="got float64 of shape"):
        net(np.zeros((4, 2, 3, 3)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda w: w.pop("stem.mean"), r"expected the tensor stem\.mean, float32 of shape \(5,\); got none"),
        (lambda w: w.update({"stem.mean": np.zeros(4, np.float32)}), r"stem\.mean, .*; got float32 of shape \(4,\)"),
        (lambda w: w.update({"stem.mean": np.zeros(5)}), r"stem\.mean, .*; got float64 of shape \(5,\)"),
        (lambda w: w.update({"more": np.zeros(5, np.float32)}), r"expected no tensor more, got one"),
        (
            lambda w: w.update({"value.out.weight": w["value.out.weight"][:, :3]}),
            r"expected 10 inputs of value\.out, got 3",
        ),
        (
            lambda w: w.update({k: w[k][:2] for k in ("value.out.weight", "value.out.bias")}),
            "expected 3 outputs of the value head, got 2",
        ),
        (
            lambda w: w.update({k: np.repeat(w[k], 2, 0) for k in ("policy.planes.weight", "policy.planes.bias")}),
            "expected 9 logits, got 18",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused(change, words):
    game = load("tic_tac_toe")
    net = make_net("resnet:1x5", game)
    weights = {name: each.numpy() for name, each in net.state_dict().items()}
    change(weights)
    with pytest.raises(UserError, match=words):
        CompiledNet.of(weights, net.text, game)


def test_a_checkpoint_that_cannot_be_compiled_names_its_folder(tmp_path):
    game = load("tic_tac_toe")
    net = make_net("resnet:1x5", game)
    path = checkpoints.save(tmp_path / "one", net, checkpoints.Card(game.name, game.version, net.text))
    assert checkpoints.load_compiled(path, game)[1].net == net.text
    with pytest.raises(UserError, match=rf"^{path}: precision: expected one of"):
        checkpoints.load_compiled(path, game, "fp16")
    with pytest.raises(UserError, match=r"expected a net for othello:size=6 .* got one for tic_tac_toe"):
        checkpoints.load_compiled(path, load("othello:size=6"))
