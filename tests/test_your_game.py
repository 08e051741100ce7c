"""The games and the commands of docs/your_game.md work as they are shown."""

import shutil

import pytest
from documents import ROOT, commands, games_of, run

from games import CHANCE, load
from games.engine.doctor import examine

PAGE = "docs/your_game.md"
NIM, *OTHERS = games_of(PAGE)


def test_nim_on_the_page_is_the_game_in_the_folder_and_short():
    assert (ROOT / "games" / "nim.py").read_text() == NIM
    assert len([line for line in NIM.splitlines() if line.strip()]) <= 60


@pytest.mark.parametrize("code", [NIM, *OTHERS], ids=lambda code: code[3:10].partition(":")[0])
def test_the_games_of_the_page_hold_to_the_laws(code, tmp_path):
    path = tmp_path / "my_game.py"
    path.write_text(code)
    assert [str(finding) for finding in examine(load(str(path)), count=100, seconds=0.2)] == []


def test_pig_has_dice_and_coins_three_players_with_a_general_sum(tmp_path):
    found = []
    for code in OTHERS:
        (tmp_path / "my_game.py").write_text(code)
        found.append(load(str(tmp_path / "my_game.py")))
    pig, coins = found
    assert pig.to_move(pig.play("roll")) == CHANCE
    assert pig.text(pig.play("roll 6 roll 3 hold")).startswith("scores=9,0 turn=0 mover=1")
    assert pig.text(pig.play("roll 6 roll 1")).startswith("scores=0,0 turn=0 mover=1")
    assert coins.utility(coins.play("3 3 3 2 1")) == (5 / 12, -1.0, 3 / 12)


@pytest.mark.parametrize("line", commands(PAGE))
def test_the_commands_of_the_page_run(line, tmp_path):
    (tmp_path / "nim.py").write_text(NIM)
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "pop_three.py", tmp_path / "docs")
    done = run(line, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout
