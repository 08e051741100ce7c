"""Networks from a file of the user's own: they train and play like any other, and someone else's code is executed only when trusted."""

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import command
from documents import ROOT
from miniature import GAME, run, tiny
from test_match import games_of

from arena.match import Match
from arena.players import make_player
from base.errors import UserError
from base.local_workers import Processes
from checkpoints import latest, load, pack
from checkpoints.folders import release
from checkpoints.store import CARD, SOURCE, trust, verify
from nets import make_net
from train.config import changed
from train.run import stored

EXAMPLE = ROOT / "examples" / "my_net.py"
NET = "layers=1,width=8"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run; the file of its network is gone."""
    folder = tmp_path_factory.mktemp("own")
    file = folder / "attention.py"
    shutil.copy(EXAMPLE, file)
    run(folder / "run", 16, config=tiny(f"net={file}:{NET}"))
    file.unlink()
    return folder


@pytest.fixture
def checkpoint(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(latest(made / "run"), tmp_path / "checkpoint"))


def edit(checkpoint: Path, **changes: Any) -> None:
    path = checkpoint / CARD
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def of_another_user(checkpoint: Path, source: str = "") -> None:
    """As if made elsewhere; with other code and its hash, where that is given."""
    edit(checkpoint, signature="0" * 64)
    if source:
        (checkpoint / SOURCE).write_text(source)
        edit(checkpoint, source="sha256:" + hashlib.sha256(source.encode()).hexdigest())


def test_a_checkpoint_is_loaded_from_its_own_copy_of_the_file(made: Path) -> None:
    net, card = load(latest(made / "run"), GAME)
    assert (card.net, net.source) == (f"attention.py:{NET}", EXAMPLE.read_bytes())
    assert type(net).__name__ == "Attention"
    first, _ = load(made / "run" / "checkpoints" / "00000000", GAME)
    same = make_net(f"{EXAMPLE}:{NET}", GAME, tiny().seed)
    assert all(
        np.array_equal(a.detach(), b.detach()) for a, b in zip(first.parameters(), same.parameters(), strict=True)
    )


def test_it_plays_the_same_games_in_other_processes(made: Path) -> None:
    a, b = (f"net:{latest(made / 'run')},sims={sims}" for sims in (8, 4))
    with Processes(1) as workers:
        elsewhere = Match(GAME, a, b, seed=3).play(4, workers)
    here = Match(GAME, a, b, seed=3).play(4, 0)
    assert games_of(elsewhere) == games_of(here) and here.games == 8


def test_a_run_is_not_resumed_with_a_file_that_was_edited(tmp_path: Path) -> None:
    file = tmp_path / "attention.py"
    shutil.copy(EXAMPLE, file)
    run(tmp_path / "run", 8, config=tiny(f"net={file}:{NET}"))
    before = stored(tmp_path / "run")
    assert before is not None and changed(before, []) == before
    file.write_text(EXAMPLE.read_text() + "\n# edited\n")
    with pytest.raises(
        UserError, match=r"expected .*attention\.py as it was when the run began, but the file was changed"
    ):
        changed(before, [])


def test_code_of_another_user_is_executed_after_it_was_trusted(checkpoint: Path, tmp_path: Path) -> None:
    marker = tmp_path / "EXECUTED"
    of_another_user(checkpoint, f"import pathlib\npathlib.Path({str(marker)!r}).touch()\n" + EXAMPLE.read_text())
    assert verify(checkpoint).source
    with pytest.raises(UserError, match=r"expected `python -m checkpoints trust .*` first, .* the code in net\.py"):
        make_player(f"net:{checkpoint},sims=2", GAME)
    assert not marker.exists()
    assert "net.py may be executed" in trust(checkpoint)
    make_player(f"net:{checkpoint},sims=2", GAME).choose(GAME.initial())
    assert marker.exists()


def test_code_that_is_not_the_cards_is_never_executed(checkpoint: Path, tmp_path: Path) -> None:
    marker = tmp_path / "EXECUTED"
    (checkpoint / SOURCE).write_text(f"import pathlib\npathlib.Path({str(marker)!r}).touch()\n")
    for attempt in (pack, trust):
        with pytest.raises(UserError, match=r"net\.py: expected the card's, sha256:"):
            attempt(checkpoint)
    elsewhere = tmp_path / "elsewhere.py"
    (checkpoint / SOURCE).rename(elsewhere)
    with pytest.raises(UserError, match=r"expected net\.py, which defines the network, found none"):
        pack(checkpoint)
    for source in (f"{elsewhere}:{NET}", "resnet:1x8"):
        edit(checkpoint, source="", net=source)  # a card alone names no code
        with pytest.raises(UserError):
            load(checkpoint, GAME)
    assert not marker.exists()


def test_a_run_of_another_user_does_not_execute_its_network(made: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made / "run", tmp_path / "runs" / "theirs"))
    (folder / "seal.json").unlink()
    file = Path(re.findall(r'^net = "(.*?\.py)', (folder / "config.toml").read_text(), re.M)[0])
    marker = tmp_path / "EXECUTED"
    file.write_text(f"import pathlib\npathlib.Path({str(marker)!r}).touch()\n" + EXAMPLE.read_text())
    text = (folder / "config.toml").read_text()
    hash_of_file = hashlib.sha256(file.read_bytes()).hexdigest()
    (folder / "config.toml").write_text(re.sub(r'net_sha256 = ".*"', f'net_sha256 = "{hash_of_file}"', text))
    try:
        done = command("train tic_tac_toe --run theirs --games 24 --workers 0", tmp_path)
    finally:
        file.unlink()
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    assert "expected --trust" in done.stderr and "the network in" in done.stderr
    assert not marker.exists()


def test_a_network_from_a_file_is_not_released(made: Path) -> None:
    with pytest.raises(UserError, match=r"expected a network of the folder nets/, got one from a file, attention\.py"):
        release(latest(made / "run"), GAME, "attention")


BAD = {
    "": "expected a function 'net(game, …) -> Net' in this file, found none",
    "def net(game): return 3": "expected net(game, …) to return a Net, got int",
    "def net(game): return 1 / 0": "line 1: can't be loaded\nZeroDivisionError: division by zero",
    "def net(game) return 3": "line 1: not Python",
    "import no_such_module": "No module named 'no_such_module'",
    """
from torch import nn
from nets import Net
class Wrong(Net):
    def __init__(self, game):
        super().__init__(game)
        self.policy, self.value = nn.Linear(18, 3), nn.Linear(18, self.outcome.size)
    def features(self, observations):
        return observations.flatten(1)
def net(game): return Wrong(game)
""": "expected policy and value of shapes [[2, 9], [2, 3]] for two positions, got [[2, 3], [2, 3]]",
}


@pytest.mark.parametrize("source", BAD, ids=lambda source: BAD[source][:40])
def test_a_file_that_is_no_network_is_refused_with_its_place(source: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(source)
    with pytest.raises(UserError, match=r"bad\.py") as refused:
        make_net(f"{tmp_path / 'bad.py'}", GAME)
    assert BAD[source] in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for text in (f"{tmp_path / 'none.py'}", f"{tmp_path}/"):
        with pytest.raises(UserError, match="expected a file with a network, found"):
            tiny(f"net={text}")
        with pytest.raises(UserError, match="expected a file with a network, found"):
            make_net(text, GAME)
