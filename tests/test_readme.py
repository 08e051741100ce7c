"""The commands and the Python of the README run as they are shown, and its tables are true.

Commands that install or open a page (make, pip, tensorboard) are not run here. A run of eight games stands for the one of ten minutes.
"""

import itertools
import re
from pathlib import Path

import pytest
from documents import ROOT, blocks, commands, games_of, run

from arena.players import make_player
from base.errors import UserError
from games import Game, builtin_games, load
from mcts.player import TreePlayer

PAGE = "README.md"
(STICKS,) = games_of(PAGE)
COMMANDS = [
    line
    for line in commands(PAGE)
    if not re.search("-m (pip|pytest)", line)
    and "arena serve" not in line  # which ends by a signal: tests/test_page.py
    and "arena rate" not in line  # tests/test_ladder.py rates; here all reference players would have to play first
]
BEGIN = next(line for line in COMMANDS if "--run first" in line)
FIT = next(line for line in COMMANDS if "--eval-only" in line)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the game of the page and the run `first`, to which EVAL has been fitted."""
    path: Path = tmp_path_factory.mktemp("readme")
    (path / "sticks.py").write_text(STICKS)
    for line in (BEGIN, FIT):
        done = run(line, path)
        assert done.returncode == 0, done.stderr
        assert done.stdout
    return path


def test_the_game_of_the_page_is_short_and_has_its_rules(tmp_path):
    (tmp_path / "sticks.py").write_text(STICKS)
    game = load(str(tmp_path / "sticks.py"))
    assert [game.perft(depth) for depth in range(4)] == [1, 3, 9, 27]
    assert len([line for line in STICKS.splitlines() if line.strip()]) <= 30


def test_the_python_of_the_page_runs(folder, monkeypatch, capsys):
    (code,) = (code for language, code in blocks(PAGE) if language == "python" and "def game(" not in code)
    monkeypatch.chdir(folder)
    exec(compile(code, PAGE, "exec"), {})
    shown = capsys.readouterr().out
    assert "centre column" in shown
    assert len(re.findall(r"^[1-7](?: [1-7]){6,} \(", shown, re.MULTILINE)) == 8


@pytest.mark.parametrize("line", [line for line in COMMANDS if line not in {BEGIN, FIT}])
def test_the_commands_of_the_page_run(line, folder):
    done = run(line, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout


PLAYERS = ("minimax:depth=2", "alphabeta:depth=2", "expectiminimax:depth=2", "maxn:depth=2", "uct:sims=2")
ROWS = [
    (game, [mark.strip() for mark in marks.split("|")])
    for games, marks in re.findall(
        r"^\| (`[a-z_]+[`:,].*?) \|((?:[ ✓]*\|){4}.*)\|$", (ROOT / PAGE).read_text(), re.MULTILINE
    )
    for game in re.findall(r"`(.+?)`", games)
]


@pytest.mark.parametrize(("game", "marks"), ROWS, ids=[game for game, _ in ROWS])
def test_the_table_of_games_and_players_is_true(game, marks, monkeypatch):
    monkeypatch.setattr(
        Game, "kernel", lambda self, factory, checked=False: lambda *arguments: 0
    )  # nothing is compiled, so nothing is prepared
    monkeypatch.setattr(TreePlayer, "prepare", lambda self: None)
    for player, mark in zip(PLAYERS, [marks[0], *marks[:4]], strict=True):  # minimax and alphabeta share a column
        if mark == "✓":
            make_player(player, load(game))
        else:
            with pytest.raises(
                UserError, match=r"expected (two players|a game without chance|a game in which players see everything)"
            ):
                make_player(player, load(game))


def test_the_table_of_games_has_every_game():
    assert {game.partition(":")[0] for game, _ in ROWS} == set(builtin_games())


def test_the_table_of_folders_is_that_of_the_test_of_imports():
    from test_arrows import LAYERS

    rows = re.findall(r"^\| `(\w+)/` \| (\d) \|", (ROOT / PAGE).read_text(), re.MULTILINE)
    assert {name: int(number) for name, number in rows} == LAYERS
    assert all(int(above) <= int(below) for (_, above), (_, below) in itertools.pairwise(rows))
