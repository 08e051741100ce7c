"""The measurements themselves: they run, find their peers, and do without them."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import command

from arena.match import Match
from base.errors import UserError
from benchmarks import (
    ablation,
    arena,
    depths,
    endgames,
    equilibrium,
    mctx_peer,
    memory,
    never_loses,
    rollouts,
    search,
    selfplay,
    solver,
)
from benchmarks import games as benchmark
from benchmarks.tables import Options, header, line, random_position
from classical.alphabeta import AlphaBetaSettings
from classical.solver import Solver
from classical.tables import load_tables
from games import Game, builtin_games, load
from selfplay.settings import SelfPlaySettings

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
    ended = command(["benchmarks.games", *arguments], ROOT)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert message in ended.stderr


# ── benchmarks.search ──


def test_tree_search_is_measured_beside_its_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspiel")
    game, options = load("tic_tac_toe"), Options(simulations=200, each=20)
    (row,) = rollouts.rows(game, options)
    assert row["ratio"] == pytest.approx(row["rollouts"] / row["OpenSpiel"])
    assert min(row["trees"], row["steps"], *row["bytes"]) > 0
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    (alone,) = rollouts.rows(game, options)
    assert (alone["OpenSpiel"], alone["ratio"]) == (None, None)
    assert line(rollouts.TABLE, alone).split().count("-") == 2


def test_equilibria_are_measured_beside_their_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspiel")
    monkeypatch.setattr(equilibrium, "NODES", 5_000)
    game, options = load("kuhn_poker"), Options(simulations=200)
    (row,) = equilibrium.rows(game, options)
    assert row["ratio"] == pytest.approx(row["CFR+"] / row["OpenSpiel"])
    assert row["faster"] == pytest.approx(row["ISMCTS"] / row["theirs"])
    assert row["chips"] == pytest.approx([0.0012, 0.0012], abs=1e-4)
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    (alone,) = equilibrium.rows(game, options)
    assert (len(alone["chips"]), "ratio" in alone) == (1, False)


def test_exact_play_is_measured_from_an_empty_table() -> None:
    row = solver.measure(Solver(load("connect_four"), megabytes=1), 30, positions=3, seed=1)
    assert (row["ply"], row["positions"]) == (30, 3)
    assert 0 < row["value s"] <= row["slowest"] and row["value s"] <= row["all moves s"] and row["nodes"] >= 1


def test_random_positions_are_unfinished_and_the_same_for_one_seed() -> None:
    game = load("connect_four")
    states = [random_position(game, 20, seed) for seed in (3, 3, 4)]
    assert all(state.plies == 20 and not game.is_terminal(state) for state in states)
    assert states[0] == states[1] != states[2]


@pytest.fixture(scope="module")
def ladder() -> list[dict[str, Any]]:
    return list(ablation.rows(load("connect_four"), Options(positions=2, depth=5, nodes=12_000, mb=1)))


def test_the_steps_of_the_ablation_lead_from_minimax_to_the_default_search() -> None:
    chess = load("chess")
    steps = list(ablation.steps(chess))
    assert [step.name for step in steps[:2]] == [ablation.MINIMAX, ablation.BARE]
    assert ablation.settings(steps[1], depth=3) == AlphaBetaSettings.plain(depth=3, exact=True)
    last = [step for step in steps if step.kind == "selective"][-1]
    assert ablation.settings(last, depth=3) == AlphaBetaSettings(depth=3)


def test_figures_beyond_the_limit_of_nodes_are_extrapolated_and_marked(ladder: list[dict[str, Any]]) -> None:
    minimax, bare = ladder[:2]
    assert minimax["depth"] == 4 and "nodes" in minimax["extrapolated"]
    assert minimax["by depth"][1] == pytest.approx(1 + 7 + 49, abs=3)
    assert "~" in line(ablation.TABLE, minimax)
    assert bare["depth"] == 5 and bare["extrapolated"] == [] and "~" not in line(ablation.TABLE, bare)
    assert minimax["nodes"] > 2 * bare["nodes"] > 3 * ladder[-1]["nodes"]
    assert bare["of bare"] == bare["seen"] == 1


def test_enhancements_that_a_game_lacks_are_not_listed(ladder: list[dict[str, Any]]) -> None:
    names = [row["step"] for row in ladder]
    assert "+ tt" in names and "+ checks" not in names and "+ null" not in names


def test_a_uniform_trees_nodes_are_extrapolated_exactly() -> None:
    """Perfectly ordered: b^⌈m/2⌉ + b^⌊m/2⌋ - 1 leaves, all but for the -1."""
    leaves = [7.0 ** ((m + 1) // 2) + 7.0 ** (m // 2) for m in range(1, 9)]
    assert ablation.extrapolated(leaves[:5], 8) == pytest.approx(leaves[7])
    assert ablation.extrapolated(leaves, 4) == leaves[3]
    assert ablation.extrapolated(leaves[:2], 8) is None


def test_an_exact_enhancement_that_changes_a_value_ends_the_run() -> None:
    game, known = load("connect_four"), [[0.25, 0.5]]
    step = ablation.Step("+ tt", "exact", {})
    ablation.compare(game, step, known, [[0.25, 0.5], [0.0, 0.0]])
    assert len(known) == 2
    with pytest.raises(AssertionError, match=r"depth 2, \+ tt"):
        ablation.compare(game, step, known, [[0.25, 0.5], [0.0, 0.125]])


def test_each_depth_plays_the_one_below_from_both_sides() -> None:
    rows = list(depths.rows(load("tic_tac_toe"), Options(depth=3, pairs=2, workers=0)))
    assert [row["depths"] for row in rows] == ["2 / 1", "3 / 2"]
    for row in rows:
        assert row["won"] + row["drawn"] + row["lost"] == row["games"] == 4
        assert len(line(depths.TABLE, row)) == len(header(depths.TABLE))
    if None not in (rows[0]["Elo"].value, rows[1]["Elo"].value):
        assert rows[1]["sum"] == pytest.approx(rows[0]["Elo"].value + rows[1]["Elo"].value)


def test_games_are_measured_in_the_tables_that_take_them(capsys: pytest.CaptureFixture[str]) -> None:
    found: list[str] = []
    tables = {name: replace(table, rows=seen(found, name), on_one_core=False) for name, table in search.TABLES.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "TABLES", tables)
        assert search.main(["backgammon", "connect_four"]) == 0
        text = capsys.readouterr().out
        assert search.main(["nim", "--table", "rollouts", "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)["tables"]["rollouts"]
    connect_four = ["ablation", "solver", "rollouts", "depths"]
    assert sorted(found) == sorted([*connect_four, "rollouts", "rollouts"])  # first-move has to be asked for
    assert all(f"\n{name}:" in text for name in connect_four)
    assert rows == [{"game": load("nim").name, "seed": 1}]


def seen(found: list[str], name: str) -> Callable[[Game, Options], Iterator[dict[str, Any]]]:
    def rows(game: Game, options: Options) -> Iterator[dict[str, Any]]:
        found.append(name)
        yield {"seed": options.seed}

    return rows


def test_games_that_no_table_takes_are_a_mistake() -> None:
    with pytest.raises(UserError, match="expected games of the tables ablation, solver, got backgammon"):
        search.main(["backgammon", "--table", "ablation", "solver"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--table", "speed"], "invalid choice: 'speed'"),
        (["--depth", "0"], "expected a whole number from 1 to 40, got '0'"),
    ],
)
def test_a_wrong_option_is_a_mistake(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        search.main(arguments)
    assert message in capsys.readouterr().err


# ── the arena ──


def test_a_perfect_player_keeps_the_values_of_openings_and_a_random_one_does_not() -> None:
    game = load("tic_tac_toe")
    perfect = never_loses.outcomes(Match(game, "solver:mb=1", "random", 1, "plies=2"), 8, 0)
    assert sum(perfect.values()) == 16 and not any(result < worth for worth, result in perfect)
    faulty = never_loses.outcomes(Match(game, "random", "solver:mb=1", 1, "plies=2"), 8, 0)
    assert any(result < worth for worth, result in faulty)
    drawn = never_loses.text(Counter({(0, 1): 1, (0, -1): 3})).splitlines()[2]
    assert drawn.split() == ["drawn", "4", "1", "0", "3", "25.0%"]


def test_a_result_below_the_openings_value_is_an_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    rest = ["--against", "solver:mb=1", "--games", "12", "--openings", "plies=2", "--workers", "0", "--json"]
    assert never_loses.main(["tic_tac_toe", "--player", "random", *rest]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["given away"] > 0 and sum(row["games"] for row in found["rows"]) == 12
    with pytest.raises(UserError, match="expected a game of two players and zero sum, got dots_and_boxes"):
        never_loses.main(["dots_and_boxes:players=3"])


def test_the_loop_of_the_arena_is_timed_over_the_same_games() -> None:
    match, openings = arena.drawn(load("tic_tac_toe"), ("random", "random:seed=1"), 6)
    cost, players = arena.measure(match, openings, 1)
    assert cost.moves == sum(len(player.choices) for player in players) > 0 and cost.overhead > 0
    again = arena.play(match, openings, [arena.ReplayedPlayer(each) for each in players])
    assert again.games == 6 and sum(again.moves) == cost.moves


# ── self-play and memory ──


def test_self_play_does_without_its_peer_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(mctx_peer, "missing", lambda: ["mctx", "pgx"])
    selfplay.show_peer("resnet:5x64", SelfPlaySettings(), 1.0, 7000.0)
    monkeypatch.setattr(mctx_peer, "missing", list)
    selfplay.show_peer("mlp:3x128", SelfPlaySettings(), 1.0, 7000.0)
    assert capsys.readouterr().out.splitlines() == [
        "  mctx+pgx  not installed: mctx, pgx",
        "  mctx+pgx  not of mlp:3x128, only of resnet:BLOCKSxCHANNELS",
    ]


@pytest.mark.skipif(bool(mctx_peer.missing()), reason="mctx and pgx are not installed")
def test_self_play_is_measured_beside_its_peer(capsys: Any) -> None:
    selfplay.show_peer("resnet:1x8", SelfPlaySettings(slots=2, simulations=4), 0.2, 1e6)
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[3] for row in rows] == ["2", "8"] and all(row.endswith("×") for row in rows)


def test_memory_that_grows_with_a_full_window_is_noticed(capsys: Any) -> None:
    games = np.arange(1.0, 41.0) * 64
    window = np.minimum(games, 640.0)
    for climb, code in ((0.0, 0), (0.5, 1)):  # megabytes an iteration, once it is full
        resident = 300 + window / 64 + climb * np.maximum(0, np.arange(40) - 9)
        assert memory.report(np.stack([games, resident, window, window / 100], 1), most=5.0) == code
        said = capsys.readouterr().out
        assert "640 310.0 640 6.40 full" in " ".join(said.split())
        assert f"over 31 iterations: {climb * 30:+.1f} MB" in said
    with pytest.raises(UserError, match="expected 12 iterations with a full window, got 10"):
        memory.report(np.stack([games, games, games, games], 1)[:10] * [1, 1, 0, 1] + [0, 0, 5, 0], 5.0)
    with pytest.raises(UserError, match="on a system that reports the memory of a process"):
        memory.report(np.full((20, 4), np.nan), 5.0)


def test_the_table_of_endgames_finds_what_is_published_and_no_value_that_does_not_follow() -> None:
    rows = {row["class"]: row for row in endgames.rows(load("checkers"), Options())}
    assert len(rows) == 16 and rows["K v MM"]["longest"] == 61
    assert all(row["wrong"] == 0 and row["MB"] > 0 for row in rows.values())
    assert all(abs(row["won"] + row["drawn"] + row["lost"] - 1) < 1e-9 for row in rows.values())
    longest = {section.name: section.longest for section in load_tables(load("chess")).sections()}
    published = endgames.PUBLISHED["chess"]
    assert {name: longest[name] for name in ("KRK", "KQK", "KPK")}.items() <= published.items()
    assert line(endgames.TABLE, rows["K v MM"]).split()[:3] == ["K", "v", "MM"]
    assert not endgames.TABLE.takes(load("connect_four"))
