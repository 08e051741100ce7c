"""The checkpoint store: what is saved is loaded bit for bit, what does not fit is refused in one sentence, nothing is executed."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

import games
from base.errors import UserError
from checkpoints import (
    Card,
    Elo,
    all_of,
    best,
    folder_of,
    folders,
    keep_every,
    latest,
    load,
    newest_whole,
    read_card,
    resolve,
    save,
    verify,
    write_card,
)
from checkpoints.__main__ import main
from checkpoints.store import hash_of, weights_of
from games import load as load_game
from nets import Inference, make_net

GAME = load_game("tic_tac_toe")
NET = make_net("resnet:1x8", GAME)


def card_for(net=NET, **fields):
    return Card(net.game, net.version, net.text, **fields)


def in_one_line(error):
    return "\n" not in str(error.value)


@pytest.fixture
def saved(tmp_path):
    return save(tmp_path / "one", NET, card_for(step=7, games=70))


@pytest.fixture
def stores(tmp_path, monkeypatch):
    """Runs and released nets in folders of the test's own."""
    monkeypatch.setattr(folders, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(folders, "RELEASED", tmp_path / "released")
    return tmp_path


def run_with(stores, name, elos, game=GAME):
    """A run whose checkpoint at step 10·i has the i-th rating."""
    net = make_net("mlp:1x8", game)
    for i, elo in enumerate(elos):
        rating = None if elo is None else Elo(elo, elo - 10, elo + 10)
        save(
            folder_of(stores / "runs" / name, 10 * i),
            make_net("mlp:1x8", game, seed=i),
            card_for(net, step=10 * i, elo=rating),
        )
    return stores / "runs" / name


# ── in and out ──


def test_what_is_saved_is_loaded_bit_for_bit(tmp_path):
    net = make_net("resnet:2x8,pool=on", GAME, seed=3)
    net.train()(torch.rand(16, *net.observation, generator=torch.Generator().manual_seed(0)))
    card = card_for(
        net,
        step=1200,
        games=3000,
        configuration={"learner": {"rate": 0.01, "batch": 256}, "game": "tic_tac_toe"},
        commit="0123abc-dirty",
        seeds={"run": 7},
        elo=Elo(120.5, 100.0, 140.0),
        command="python -m train tic_tac_toe --games 3000",
        note="ä first one",
    )
    path = save(tmp_path / "deep/er/one", net, card)
    loaded, found = load(path, GAME)
    assert replace(found, weights="", parameters=0) == card
    assert found.parameters == net.parameter_count
    assert loaded.text == net.text and not loaded.training
    assert all(torch.equal(a, b) for a, b in zip(loaded.state_dict().values(), net.state_dict().values(), strict=True))
    x = np.random.default_rng(0).random((4, *net.observation), np.float32)
    for one, other in zip(Inference(net, 4)(x), Inference(loaded, 4)(x), strict=True):
        assert (one == other).all()
    assert verify(path, GAME) == verify(path) == read_card(path) == found


def test_equal_weights_are_equal_bytes_however_they_are_laid_out(tmp_path):
    one, other = make_net("resnet:1x8", GAME), make_net("resnet:1x8", GAME).to(memory_format=torch.channels_last)
    assert weights_of(one) == weights_of(other)
    again = load(save(tmp_path / "one", one, card_for(one)), GAME)[0]
    assert weights_of(again) == weights_of(one) == (tmp_path / "one/weights.safetensors").read_bytes()
    assert weights_of(make_net("resnet:1x8", GAME, seed=1)) != weights_of(one)


def test_a_card_survives_its_json():
    card = card_for(elo=Elo(-3.25, -10, 4), seeds={"a": -1}, configuration={"x": [1, None, {"y": "z"}]})
    assert Card.from_json(json.loads(json.dumps(card.to_json()))) == card
    assert Card.from_json({"game": "nim:most=7", "version": 1, "net": "mlp:1x8"}) == Card("nim:most=7", 1, "mlp:1x8")


def test_saving_twice_is_refused_unless_meant(saved):
    with pytest.raises(UserError, match="exists already"):
        save(saved, NET, card_for())
    other = make_net("resnet:1x8", GAME, seed=5)
    save(saved, other, card_for(other, step=8), overwrite=True)
    assert load(saved, GAME)[1].step == 8
    assert weights_of(load(saved, GAME)[0]) == weights_of(other)
    assert os.listdir(saved.parent) == ["one"]


def test_a_card_of_another_net_is_not_saved(tmp_path):
    with pytest.raises(UserError, match="expected the card's net to be the net's, resnet:1x8,pool=off; got mlp:1x8"):
        save(tmp_path / "one", NET, replace(card_for(), net="mlp:1x8"))
    with pytest.raises(UserError, match="expected the card's game to be the net's"):
        save(tmp_path / "one", NET, replace(card_for(), version=2))
    assert not (tmp_path / "one").exists()


def test_weights_that_are_not_numbers_are_not_saved(tmp_path):
    net = make_net("mlp:1x8", GAME)
    with torch.no_grad():
        net.policy.bias[3] = float("nan")
    with pytest.raises(UserError, match=r"weights: expected finite numbers, got others in policy\.bias"):
        save(tmp_path / "one", net, card_for(net))
    assert list(tmp_path.iterdir()) == []


def test_a_writer_that_is_killed_leaves_no_half_checkpoint(tmp_path):
    program = """if True:
        import sys
        from checkpoints import Card, save
        from games import load
        from nets import make_net
        game = load("tic_tac_toe")
        net = make_net("mlp:1x8", game)
        print(flush=True)
        for i in range(10**6):
            save(f"{sys.argv[1]}/{i}", net, Card(game.name, game.version, net.text))
    """
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while len(list(tmp_path.glob("[0-9]*"))) < 5:
            time.sleep(0.001)
        process.kill()
    found = list(tmp_path.glob("[0-9]*"))
    assert len(found) >= 5
    for path in found:
        load(path, GAME)


# ── what does not fit ──


def test_another_game_or_version_is_refused(saved):
    with pytest.raises(UserError) as error:
        load(saved, load_game("connect_four"))
    expected = "expected a net for connect_four (version 1), got one for tic_tac_toe (version 1)"
    assert str(error.value) == f"{saved}: {expected}"
    data = json.loads((saved / "card.json").read_text())
    (saved / "card.json").write_text(json.dumps(data | {"version": 99}))
    with pytest.raises(UserError, match=r"got one for tic_tac_toe \(version 99\)"):
        load(saved, GAME)
    net = make_net("mlp:1x8", load_game("othello"))
    two = save(saved.parent / "two", net, card_for(net))
    with pytest.raises(UserError, match=r"expected a net for othello:size=6 .* got one for othello:size=8"):
        load(two, load_game("othello:size=6"))


def test_exchanged_weights_are_refused(saved):
    other = weights_of(make_net("resnet:1x8", GAME, seed=9))
    (saved / "weights.safetensors").write_bytes(other)
    with pytest.raises(
        UserError, match=r"weights\.safetensors: expected the weights of the card, sha256:.*damaged or exchanged"
    ) as e:
        load(saved, GAME)
    assert in_one_line(e)


def rehashed(saved, data, **fields):
    """Weights that the card vouches for: made to deceive."""
    (saved / "weights.safetensors").write_bytes(data)
    card = json.loads((saved / "card.json").read_text())
    (saved / "card.json").write_text(json.dumps(card | {"weights": hash_of(data)} | fields))


def test_weights_of_another_shape_are_refused(saved):
    rehashed(saved, weights_of(make_net("resnet:1x16", GAME)))
    with pytest.raises(
        UserError, match=r"expected for resnet:1x8,pool=off the tensor \S+ of shape \(.*\), got of shape"
    ) as e:
        load(saved, GAME)
    assert in_one_line(e)
    rehashed(saved, weights_of(make_net("resnet:2x8", GAME)))
    with pytest.raises(UserError, match=r"the tensor tower\.1\.\S+ none, got of shape"):
        load(saved, GAME)


def test_a_card_that_asks_for_a_huge_net_is_refused_before_memory_is_taken(saved):
    rehashed(saved, weights_of(NET), net="resnet:2x9999")
    with pytest.raises(UserError, match="expected for resnet:2x9999,pool=off the tensor"):
        load(saved, GAME)


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (torch.tensor([float("inf")]), "expected finite numbers, got others in x"),
        (torch.tensor([1], dtype=torch.int64), "expected float32, got int64 in x"),
    ],
)
def test_odd_tensors_are_refused(saved, tensor, words):
    rehashed(saved, safetensors.torch.save({"x": tensor}))
    with pytest.raises(UserError, match=words):
        verify(saved)


@pytest.mark.parametrize("net", ["resent:1x8", "resnet:1x8,pol=on", "resnet"])
def test_a_net_that_nobody_knows_is_refused(saved, net):
    rehashed(saved, weights_of(NET), net=net)
    with pytest.raises(UserError) as error:
        load(saved, GAME)
    assert str(error.value).startswith(f"{saved}: ") and in_one_line(error)


def test_a_pickle_is_not_weights(saved):
    torch_file = b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00true\x85R."
    rehashed(saved, torch_file)
    with pytest.raises(UserError, match=r"weights\.safetensors: expected safetensors, got something else") as e:
        load(saved, GAME)
    assert in_one_line(e)


def test_truncated_or_flipped_weights_are_refused_whether_or_not_the_card_vouches_for_them(saved):
    data, card = (saved / "weights.safetensors").read_bytes(), (saved / "card.json").read_text()
    rng = np.random.default_rng(0)
    refused = 0
    for attempt in range(150):
        damaged = bytearray(data)
        if attempt % 3 == 0:
            damaged = damaged[: int(rng.integers(len(data)))]
        else:  # in the header, where the structure is, every other time
            at = int(rng.integers(len(data) if attempt % 3 == 1 else 900))
            damaged[at] ^= 1 << int(rng.integers(8))
        (saved / "card.json").write_text(card)
        (saved / "weights.safetensors").write_bytes(damaged)
        with pytest.raises(UserError, match="damaged or exchanged"):
            load(saved, GAME)
        rehashed(saved, bytes(damaged))
        try:
            load(saved, GAME)  # a number may still be a number
        except UserError as error:
            refused += 1
            assert str(error).startswith(str(saved)) and "\n" not in str(error)
    assert refused > 75


def test_a_damaged_card_is_refused_in_one_line(saved):
    data = (saved / "card.json").read_bytes()
    rng = np.random.default_rng(1)
    refused = 0
    for attempt in range(300):
        damaged = bytearray(data)
        if attempt % 3 == 0:
            damaged = damaged[: int(rng.integers(len(data)))]
        else:
            damaged[int(rng.integers(len(data)))] = int(rng.integers(256))
        (saved / "card.json").write_bytes(damaged)
        try:
            load(saved, GAME)
        except UserError as error:
            refused += 1
            assert str(error).startswith(str(saved)) and "\n" not in str(error)
    assert refused > 150


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stp": 3}, "unknown key 'stp': expected game, version, net, .*; did you mean 'step'?"),
        ({"step": -1}, "step: expected a whole number of at least 0, got -1"),
        ({"step": True}, "step: expected a whole number of at least 0, got True"),
        ({"games": 1.5}, "games: expected a whole number of at least 0, got 1.5"),
        ({"parameters": 10**30}, "expected whole numbers of 64 bits, got 1000"),
        ({"game": ""}, "game: expected a game's name, got ''"),
        ({"game": "a\nb"}, "game: expected a game's name"),
        ({"version": "1"}, "version: expected a whole number, got '1'"),
        ({"net": 3}, "net: expected a net's text, got 3"),
        ({"weights": "md5:77"}, "weights: expected 'sha256:' and 64 hexadecimal digits, got 'md5:77'"),
        ({"weights": ""}, "weights: expected the hash of the weights, got none"),
        ({"configuration": [1]}, r"configuration: expected an object, got \[1\]"),
        ({"seeds": {"run": "7"}}, "seeds: expected a whole number for each purpose"),
        ({"commit": None}, "commit: expected text, got None"),
        ({"elo": 3}, "elo: expected an object with value, low, high, got 3"),
        ({"elo": {"value": 3}}, "elo: expected a 'low', got"),
        ({"elo": {"value": 3, "low": 4, "high": 5}}, "elo: expected low ≤ value ≤ high, got 4, 3, 5"),
        ({"elo": {"value": "3", "low": 4, "high": 5}}, "elo: expected three numbers, got"),
        ({"elo": {"value": 10**400, "low": 4, "high": 5}}, "expected whole numbers of 64 bits, got 1000"),
        ({"elo": {"value": 3, "low": 2, "hihg": 5}}, "elo: unknown key 'hihg': .*did you mean 'high'?"),
    ],
)
def test_wrong_cards_say_what_was_expected(saved, change, words):
    data = json.loads((saved / "card.json").read_text())
    (saved / "card.json").write_text(json.dumps(data | change))
    with pytest.raises(UserError, match=words) as error:
        read_card(saved)
    assert str(error.value).startswith(str(saved / "card.json")) and in_one_line(error)


@pytest.mark.parametrize("text", ["[]", "3", '{"game": "x"}', "{}", "", "\xff", '{"elo": NaN}'])
def test_other_json_is_not_a_card(saved, text):
    (saved / "card.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError) as error:
        read_card(saved)
    assert str(error.value).startswith(str(saved)) and in_one_line(error)


def test_a_folder_without_its_files_is_no_checkpoint(saved, tmp_path):
    (saved / "weights.safetensors").unlink()
    with pytest.raises(UserError, match=r"expected a checkpoint, a folder with .*; found no weights\.safetensors"):
        load(saved, GAME)
    with pytest.raises(UserError, match=r"found no card\.json"):
        read_card(tmp_path)


def test_strength_is_written_into_the_card_and_nothing_else_may_change(saved):
    card = read_card(saved)
    write_card(saved, replace(card, exploitability=0.25))
    assert load(saved, GAME)[1].exploitability == 0.25
    with pytest.raises(UserError, match="exploitability: expected a number of at least 0, or nothing, got -1"):
        replace(card, exploitability=-1)
    write_card(saved, replace(card, elo=Elo(5, 1, 9)))
    assert load(saved, GAME)[1] == replace(card, elo=Elo(5, 1, 9))
    with pytest.raises(UserError, match="expected a card with the same version, 1; got 2"):
        write_card(saved, replace(card, version=2))


# ── which there are ──


def test_a_runs_checkpoints_are_in_order_of_steps(stores):
    run = run_with(stores, "first", [None, 3.0, 5.0, 5.0, 1.0])
    (run / "checkpoints/notes").mkdir()
    os.rename(run / "checkpoints/00000040", run / "checkpoints/40")  # renamed by hand
    assert [int(path.name) for path in all_of(run)] == [0, 10, 20, 30, 40]
    assert latest(run).name == "40"
    assert best(run).name == "00000030"  # the newer of equals
    with pytest.raises(UserError, match="expected a run with checkpoints, found none"):
        latest(stores)
    with pytest.raises(
        UserError, match="expected a run with checkpoints that have an Elo or an exploitability, found none"
    ):
        best(run_with(stores, "second", [None]))


def test_without_elo_the_least_exploitable_checkpoint_is_the_best(stores):
    run = run_with(stores, "poker", [None] * 4)
    for path, exploitability in zip(all_of(run), [0.01, 0.4, 0.2, 0.3], strict=True):
        write_card(path, replace(read_card(path), exploitability=exploitability))
    assert best(run).name == "00000020"  # the first has learned from no game


def test_the_newest_whole_checkpoint_is_found_past_damaged_ones(stores):
    run = run_with(stores, "first", [None] * 4)
    (folder_of(run, 30) / "weights.safetensors").write_bytes(b"")
    (folder_of(run, 20) / "card.json").write_bytes(b"{")
    said = []
    assert newest_whole(run, GAME, said.append) == folder_of(run, 10)
    assert len(said) == 2 and "damaged" in said[0] and "00000030" in said[0] and "card.json" in said[1]
    assert newest_whole(stores / "nothing", GAME, said.append) is None


def test_keeping_every_so_many_keeps_the_newest_and_the_best_too(stores):
    run = run_with(stores, "first", [None, 9.0, 1.0, None, 2.0, None])
    left = folder_of(run, 20).parent / ".00000099.0123456789abcdef.tmp"
    left.mkdir()  # left by a process that was killed
    assert [int(path.name) for path in keep_every(run, 40, recent=3)] == [20]
    assert [int(path.name) for path in keep_every(run, 40)] == [30]
    assert sorted(os.listdir(run / "checkpoints")) == ["00000000", "00000010", "00000040", "00000050"]
    assert keep_every(run, 40) == []
    assert keep_every(stores / "nothing", 3) == []
    with pytest.raises(UserError, match="keep_every: expected 1 or more, got 0"):
        keep_every(run, 0)


def test_the_best_has_learned_where_any_that_has_is_rated(stores):
    assert int(folders.best(run_with(stores, "first", [50.0, 3.0, 7.0, None])).name) == 20
    assert int(folders.best(run_with(stores, "second", [50.0, None])).name) == 0


def test_a_text_means_one_checkpoint(stores, monkeypatch):
    run = run_with(stores, "first", [None, 3.0, 1.0])
    released = folders.game_folder(load_game("othello:size=6")) / "small"
    net = make_net("mlp:1x8", load_game("othello:size=6"))
    save(released, net, card_for(net))
    monkeypatch.chdir(stores)
    short = read_card(folder_of(run, 10)).short
    assert released.parent.name == "othello-size-6"
    for text, path in {
        "first": folder_of(run, 20),
        "first/latest": folder_of(run, 20),
        "first/10": folder_of(run, 10),
        "first/best": folder_of(run, 10),
        "runs/first": folder_of(Path("runs/first"), 20),
        "runs/first/0": folder_of(Path("runs/first"), 0),
        str(run): folder_of(run, 20),
        str(folder_of(run, 10)): folder_of(run, 10),
        "othello-size-6/small": released,
        short: folder_of(run, 10),
        short[:8]: folder_of(run, 10),
    }.items():
        assert resolve(text) == path, text
    assert resolve("small", load_game("othello:size=6")) == released
    assert resolve("othello/small", load_game("othello:size=6")) == released
    assert resolve(short, GAME) == folder_of(run, 10)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("frist", "unknown checkpoint 'frist': expected a run, .* known are first; did you mean 'first'?"),
        ("first/15", "first: expected the step of a checkpoint, got 15; the nearest is 10"),
        ("first/tenth", "unknown checkpoint 'first/tenth'"),
        ("", "unknown checkpoint ''"),
        ("../first", "unknown checkpoint"),
        ("0123456789", "unknown checkpoint"),
        ("first\0", "unknown checkpoint"),
        ("x" * 300, "unknown checkpoint 'xxx.*: File name too long"),
    ],
)
def test_an_unknown_text_is_one_line(stores, text, words):
    run_with(stores, "first", [None, None, None])
    with pytest.raises(UserError, match=words) as error:
        resolve(text)
    assert in_one_line(error)


# ── at the command line ──


def test_released_nets_are_listed_by_the_names_that_players_take(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a run called as a game comes first there
    assert main(["released"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert main(["released", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [line.split()[0] for line in lines] == [each["name"] for each in found] and len(found) >= 2
    for each in found:
        assert folders.resolve(each["name"], load_game(each["game"])).samefile(each["path"])


def test_list_show_verify(stores, capsys):
    assert main(["list"]) == 0
    assert capsys.readouterr().out == "no checkpoints yet\n"
    run = run_with(stores, "first", [None, 12.0])
    (folder_of(run, 0) / "card.json").write_text("{}")
    assert main(["list"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "damaged" in first and "Elo +12 [+2, +22]" in second and "mlp:1x8" in second
    assert main(["list", "first", "--json"]) == 0
    objects = json.loads(capsys.readouterr().out)
    assert "error" in objects[0] and objects[1]["net"] == "mlp:1x8"
    assert main(["show", "first"]) == 0
    shown = capsys.readouterr().out
    assert "tic_tac_toe, version 1" in shown and read_card(folder_of(run, 10)).weights in shown
    assert main(["show", "first/10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["step"] == 10
    assert main(["verify", "first"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith(str(folder_of(run, 0))) and out[1].startswith(f"{folder_of(run, 10)}: whole, ")
    assert main(["verify", str(folder_of(run, 10))]) == 0
    with pytest.raises(UserError, match="unknown checkpoint"):
        main(["show", "nothing"])


def test_verify_never_runs_a_file_that_a_card_names(stores, capsys):
    """A card whose game is a path: loading that game would run it."""
    trap = stores / "trap.py"
    trap.write_text("import pathlib\npathlib.Path(__file__).with_suffix('.sprung').touch()\n")
    path = save(stores / "one", NET, card_for())
    card = json.loads((path / "card.json").read_text())
    (path / "card.json").write_text(json.dumps(card | {"game": str(trap)}))
    assert main(["verify", str(path)]) == 0
    assert "needs --game" in capsys.readouterr().out
    assert not trap.with_suffix(".sprung").exists()


def test_verify_of_a_game_of_ones_own(stores, capsys):
    own = stores / "my_nim.py"
    own.write_text((Path(games.__file__).parent / "nim.py").read_text())
    game = load_game(str(own))
    net = make_net("mlp:1x8", game)
    path = save(stores / "one", net, card_for(net))
    assert main(["verify", str(path)]) == 0
    assert f"whether it fits {game.name} needs --game" in capsys.readouterr().out
    assert main(["verify", str(path), "--game", str(own)]) == 0
    assert "needs --game" not in capsys.readouterr().out
    assert main(["verify", str(path), "--game", "nim"]) == 1
    assert "expected a net for nim:most=7" in capsys.readouterr().out


# ── what comes with the program ──


def test_a_released_net_is_the_one_that_was_meant_under_its_own_name(stores, capsys):
    for step in (1, 2):
        net = make_net("resnet:1x8", GAME, step)
        path = save(folder_of(folders.RUNS / "first", step), net, card_for(net, step=step))
        assert main(["release", f"first/{step}", "small", "--note", f"the {step}. of them"]) == 0
        found = resolve("tic_tac_toe/small")
        assert found == resolve("small", GAME) == folders.RELEASED / "tic_tac_toe" / "small"
        assert (found / "weights.safetensors").read_bytes() == (path / "weights.safetensors").read_bytes()
        assert read_card(found) == replace(read_card(path), note=f"the {step}. of them")
        assert capsys.readouterr().out.startswith(f"{found}: released, tic_tac_toe  resnet:1x8")
    with pytest.raises(UserError, match=r"name: expected letters, digits, .* got '\.\./small'"):
        main(["release", "first", "../small"])
    with pytest.raises(UserError, match="unknown checkpoint 'second'"):
        main(["release", "second", "small"])


def test_a_net_of_ones_own_game_is_not_released(stores):
    own = stores / "my_nim.py"
    own.write_text((Path(games.__file__).parent / "nim.py").read_text())
    net = make_net("mlp:1x8", load_game(str(own)))
    save(folder_of(folders.RUNS / "first", 1), net, card_for(net))
    with pytest.raises(UserError, match="expected a net for a game of the folder games/, got one for"):
        main(["release", "first", "small"])
