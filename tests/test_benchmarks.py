"""The measurements themselves: they run, find their peers, and do without them."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import games as benchmark
from benchmarks import mcts as tree_search
from benchmarks import solver as solver_benchmark
from classical.solver import Solver
from games import builtin_games, load

ROOT = Path(__file__).parents[1]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "starts", lambda game: (2.0, 1.0))
    monkeypatch.setattr(benchmark, "SAMPLE", 10)


@pytest.mark.parametrize("name", [name for name in builtin_games() if name in benchmark.PEERS])
def test_a_game_of_the_table_has_its_peer(name: str) -> None:
    pytest.importorskip("pyspiel")
    peer = benchmark.open_spiel(load(name))
    assert peer is not None
    peer.play(10)
    assert peer.mean_plies() > 1


@pytest.mark.parametrize("name", ["othello:size=6", "dots_and_boxes:players=3", "backgammon:start=hyper"])
def test_other_settings_than_the_peers_have_no_peer(name: str) -> None:
    assert benchmark.open_spiel(load(name)) is None


@pytest.mark.usefixtures("quick")
def test_both_sides_are_measured() -> None:
    pytest.importorskip("pyspiel")
    row = benchmark.measure(load("tic_tac_toe"), 0.01)
    assert row.peer == "tic_tac_toe"
    assert row.peer_games_per_second is not None
    assert min(row.games_per_second, row.peer_games_per_second, row.perft_per_second) > 0
    assert (row.bytes, row.perft_peer) == (load("tic_tac_toe").rules.State.itemsize, None)
    assert 2 <= row.perft_depth <= 9


def test_the_perft_beside_chess_counts_right() -> None:
    pytest.importorskip("chess")
    beside = benchmark.perft_peer("chess")
    assert beside is not None
    assert [beside[1](depth) for depth in (1, 2, 3)] == [20, 400, 8902]
    assert benchmark.perft_peer("othello:size=8") is None


@pytest.mark.usefixtures("quick")
def test_without_openspiel_its_column_is_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    cells = benchmark.line(benchmark.measure(load("tic_tac_toe"), 0.01), 12).split("  ")
    assert [cell.strip() for cell in cells].count("-") == 4  # games/s, its ratio, perft, its ratio
    assert "7.6 / -" in " ".join(cells)


def test_columns_stand_under_their_names() -> None:
    row = benchmark.Row("chess", 880, 334.5, 26_400.0, "chess", 334.1, 930.0, 5, 1.8e8, "python-chess", 1.1e6, 6.7, 0.3)
    assert len(benchmark.header(20)) == len(benchmark.line(row, 20))
    assert "26.4 k        930    28×" in benchmark.line(row, 20)


@pytest.mark.parametrize(("number", "shown"), [(None, "-"), (3.21, "3.21"), (999.7, "1.00 k"), (1_378_676, "1.38 M")])
def test_three_digits_are_shown(number: float | None, shown: str) -> None:
    assert benchmark.short(number) == shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["otello"], "did you mean 'othello'?"), (["--seconds", "nan"], "expected seconds from 0.001 to 3600, got 'nan'")],
)
def test_a_mistake_is_one_line(arguments: list[str], message: str) -> None:
    command = [sys.executable, "-m", "benchmarks.games", *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert message in ended.stderr


def test_tree_search_is_measured_beside_its_peer() -> None:
    pytest.importorskip("pyspiel")
    cells = tree_search.row(load("tic_tac_toe"), 200, 20)
    assert len(cells) == 6
    assert cells[2].endswith("×")
    assert tree_search.row(load("othello:size=6"), 50, 5)[1:3] == ["-", "-"]


def test_exact_play_is_measured_from_an_empty_table() -> None:
    game = load("connect_four")
    row = solver_benchmark.measure(Solver(game, megabytes=1), 30, positions=3, seed=1)
    assert (row.ply, row.positions) == (30, 3)
    assert 0 < row.seconds <= row.slowest and row.seconds <= row.all_moves and row.nodes >= 1
    header = "".join(f"{title:>{room}}" for title, room in solver_benchmark.COLUMNS.items())
    assert len(solver_benchmark.line(row)) == len(header)
    state = solver_benchmark.random_position(game, 12, 3)
    assert state.plies == 12 and not game.is_terminal(state)
