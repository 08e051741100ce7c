"""What the README says, the program does."""

import re

import pytest
from documents import ROOT, blocks, commands, games_of, run

from games import load

(EXAMPLE,) = games_of("README.md")


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
    (code,) = (code for language, code in blocks("README.md") if language == "python" and "def game(" not in code)
    exec(compile(code, "README.md", "exec"), {})
    assert "discs:" in capsys.readouterr().out


COMMANDS = [
    line
    for line in commands("README.md")
    if re.search(r"python -m (games|arena)", line)
    and "net:" not in line  # test_loop.py has a run to play with
    and "eval=runs/" not in line  # test_eval_only.py fits weights and plays with them
    and "rate" not in line  # test_ladder.py rates; here all reference players would have to play first
]


@pytest.mark.parametrize("line", COMMANDS)
def test_the_commands_of_the_readme_run(line, tmp_path):
    (tmp_path / "nim.py").write_text(EXAMPLE)
    done = run(line, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_table_of_folders_is_the_one_the_arrows_test_keeps():
    from test_arrows import LAYERS

    rows = re.findall(r"^\| `(\w+)/` \| (\d) \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert {name: int(number) for name, number in rows} == LAYERS
