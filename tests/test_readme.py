"""What the README says, the program does."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from games import load

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)
EXAMPLE = next(code for language, code in BLOCKS if language == "python" and "def game(" in code)


def test_the_example_is_the_game_in_the_folder_and_short():
    assert (ROOT / "games" / "nim.py").read_text() == EXAMPLE
    assert len([line for line in EXAMPLE.splitlines() if line.strip()]) <= 60


def test_the_example_plays_outside_the_repository_as_inside(tmp_path):
    (tmp_path / "nim.py").write_text(EXAMPLE)
    outside, inside = load(str(tmp_path / "nim.py")), load("nim")
    assert (
        [outside.perft(depth) for depth in range(5)]
        == [inside.perft(depth) for depth in range(5)]
        == [1, 15, 176, 1588, 10986]
    )


def test_the_python_of_the_readme_runs(capsys):
    (code,) = (code for language, code in BLOCKS if language == "python" and "def game(" not in code)
    exec(compile(code, "README.md", "exec"), {})
    assert "discs:" in capsys.readouterr().out


COMMANDS = [
    line
    for language, code in BLOCKS
    if not language
    for line in code.splitlines()
    if re.search(r"python -m (games|arena)", line)
    and "net:" not in line  # test_loop.py has a run to play with
    and "eval=runs/" not in line  # test_eval_only.py fits weights and plays with them
    and "rate" not in line  # test_ladder.py rates; here all standard rungs would have to play first
]


@pytest.mark.parametrize("line", COMMANDS)
def test_the_commands_of_the_readme_run(line, tmp_path):
    (tmp_path / "nim.py").write_text(EXAMPLE)
    words = re.sub(r"--games \d+", "--games 4", line.split("#")[0].strip())
    given, _, words = words.partition("|") if "|" in words else ("", "", words)
    command = [sys.executable, *shlex.split(words)[1:]]
    text = shlex.split(given)[1] if given else ""
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=tmp_path, env=environment())
    assert done.returncode == 0, done.stderr
    assert done.stdout


def environment():
    import os

    return os.environ | {"PYTHONPATH": str(ROOT)}


def test_the_table_of_folders_is_the_one_the_arrows_test_keeps():
    from test_arrows import LAYERS

    rows = re.findall(r"^\| `(\w+)/` \| (\d) \|", README, re.MULTILINE)
    assert {name: int(number) for name, number in rows} == LAYERS
