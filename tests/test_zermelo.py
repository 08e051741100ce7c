"""`import zermelo`: every name is there and explained, the page's code and the examples run, the command is the entry points."""

import os
import pydoc
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from commands import command
from documents import ROOT, blocks

import zermelo


def run(*words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *words], cwd=cwd, env=environment, capture_output=True, text=True)


def test_help_explains_every_name() -> None:
    contents = zermelo.__doc__ or ""
    for name in zermelo.__all__:
        assert getattr(zermelo, name).__doc__, name
        assert name in contents or name == "Evaluation", name
    assert "load_player(text" in pydoc.plain(pydoc.render_doc(zermelo))
    with pytest.raises(AttributeError, match="no attribute 'load'"):
        _ = zermelo.load


def test_nothing_loads_torch_but_training(tmp_path: Path) -> None:
    script = """
import sys, zermelo
assert "numba" not in sys.modules
game = zermelo.load_game("tic_tac_toe")
zermelo.load_net("tic_tac_toe/best", game).evaluate(game.initial())
zermelo.play_match(game, "random", "uct:sims=5", games=4, workers=0)
assert "torch" not in sys.modules
"""
    done = run("-c", script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    names: dict[str, Any] = {}
    for language, code in blocks("docs/python.md"):
        assert language == "python"
        exec(code, names)
    assert names["games"].tolist() == [64, 128, 192]  # the callback ended it
    assert names["run"].games == 64 and type(names["player"].thinker).__name__ == "TreePlayer"


def test_policy_and_value_are_those_of_the_raw_player() -> None:
    game = zermelo.load_game("connect_four")
    state = game.play("4 4 3")
    found = zermelo.load_net("connect_four/small", game).evaluate(state)
    choice = zermelo.load_player("net:connect_four/small,sims=0", game).choose(state)
    assert next(iter(found.policy)) == choice.action
    assert found.value == choice.value == found.utilities[1]
    assert sum(found.policy.values()) == pytest.approx(1)
    assert set(found.policy) == set(game.legal_actions(state))
    assert sum(found.utilities) == pytest.approx(0, abs=1e-6)


def test_a_match_is_that_of_the_command(tmp_path: Path) -> None:
    game = zermelo.load_game("tic_tac_toe")
    tally = zermelo.play_match(game, "uct:sims=20", "random", games=5, workers=0)
    match = ("arena", "match", "tic_tac_toe", "uct:sims=20", "random", "--games", "6", "--workers", "0")
    assert tally.games == 6
    assert command(("zermelo", *match), tmp_path).stdout.splitlines()[2:5] == tally.text().splitlines()[2:5]
    with pytest.raises(zermelo.UserError, match="games: expected at least 1, got 0"):
        zermelo.play_match(game, "random", "random", games=0)


def test_a_script_needs_no_guard_for_its_workers(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import zermelo\n"
        "tally = zermelo.play_match(zermelo.load_game('tic_tac_toe'), 'random', 'random', games=4, workers=1)\n"
        "print('played', tally.games)\n"
    )
    done = run("script.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "played 4\n"), done.stderr


def test_the_command_names_itself_and_what_it_knows(tmp_path: Path) -> None:
    shown = command(("zermelo", "--help"), tmp_path)
    assert shown.returncode == 0
    assert "train" in shown.stdout
    wrong = command(("zermelo", "tran"), tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("python -m zermelo: error: expected one of games, train,")
    assert wrong.stderr.endswith("got 'tran'; did you mean 'train'?\n")
    below = command(("zermelo", "arena", "match", "nogame", "a", "b"), tmp_path)
    assert below.returncode == 2
    assert below.stderr.startswith("python -m zermelo arena: error: unknown game 'nogame'")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {"zermelo": "zermelo.__main__:script"}


@pytest.mark.parametrize(
    ("script", "words", "expected"),
    [
        (
            "ablation.py",
            "--values 4 8 --seeds 2 --games 32 --workers 0 --set games=16 net=mlp:1x8 learning.batch=8 window.constant=40",
            "ablation.png",
        ),
        (
            "analysis.py",
            "connect_four 4,4,4,4,4,2,3,3,5,6 --net connect_four/small --player alphabeta:depth=12",
            "<- gives away",
        ),
    ],
)
def test_examples_run(script: str, words: str, expected: str, tmp_path: Path) -> None:
    done = run(str(ROOT / "examples" / script), *(word.replace(",", " ") for word in words.split()), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout
    assert not expected.endswith(".png") or (tmp_path / expected).stat().st_size > 10_000
    wrong = run(
        str(ROOT / "examples" / script), *("nogame 4 --net x" if "anal" in script else "--game x").split(), cwd=tmp_path
    )
    assert wrong.returncode == 1
    assert len(wrong.stderr.splitlines()) == 1
