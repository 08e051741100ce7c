"""`python -m games …`, as a person and as a program call it."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from commands import command
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import UserError
from games import load
from games.__main__ import main
from games.engine.tracing import Tracer


def run(*words, given=""):
    return command(["games", *words], given=given)


def test_list_names_every_game_with_its_options(capsys):
    assert main(["list", "--json"]) == 0
    listed = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert listed["othello"]["options"] == {"size": "one of 6, 8, default 8"}
    assert all(row["about"] for row in listed.values())
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in listed)


def test_show_draws_the_position_and_the_player_to_move(capsys):
    main(["show", "tic_tac_toe", "--moves", "a1 b2"])
    shown = capsys.readouterr().out
    assert "1 X . ." in shown and "2 . O ." in shown and "to move: player 0" in shown and "legal (7)" in shown
    main(["show", "tic_tac_toe", "--moves", "a1 b2 a2 b1 a3"])
    assert "over: player 0 wins (utilities 1, -1)" in capsys.readouterr().out
    main(["show", "tree:chance.json", "--moves", "a1"])
    assert "to move: chance" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("game", "moves", "expected"),
    [
        ("tree:cooperation.json", "cooperate share", "over: payoffs 1000, 1000"),
        ("dots_and_boxes:rows=1,cols=2,players=3", "a1b1 a1a2 a2b2 b1b2 b2c2 b1c1 c1c2", "over: players "),
        ("nim", "a-3 b-5 c-7", "over: player 0 wins (utilities 1, -1)"),
    ],
)
def test_show_names_a_winner_only_in_zero_sum_games(game, moves, expected, capsys):
    assert main(["show", game, "--moves", moves]) == 0
    assert expected in capsys.readouterr().out


def test_show_takes_moves_as_books_write_them_and_draws_svg_alone(tmp_path, capsys):
    assert main(["show", "chess", "--moves", "1. e4 e5 2. Nf3", "--svg", str(tmp_path / "board.svg")]) == 0
    assert "position: rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 1 2" in capsys.readouterr().out
    with pytest.raises(UserError, match=r"--svg: expected a file named \.svg, got '.*board\.png'"):
        main(["show", "chess", "--svg", str(tmp_path / "board.png")])
    assert [path.name for path in tmp_path.iterdir()] == ["board.svg"]


def test_perft_ends_with_one_line_of_json(capsys):
    main(["perft", "othello", "--depth", "5", "--divide", "--json"])
    *rows, last = capsys.readouterr().out.splitlines()
    answer = json.loads(last)
    assert (answer["game"], answer["depth"], answer["nodes"]) == ("othello:size=8", 5, 1396)
    assert list(answer) == ["game", "depth", "nodes", "seconds"]
    assert sum(int(row.split(": ")[1]) for row in rows) == 1396


def test_trace_answers_line_by_line_and_continues_after_an_error():
    lines = ["a1 b2 c3", "", "a1 a1", "a1 z9", "a1 b1 a2 b2 a3", "a1 b1 a2 b2 a3 c3"]
    done = run("trace", "tic_tac_toe", given="\n".join(lines))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1 and len(answers) == len(lines)
    assert answers[0]["to_move"] == [0, 1, 0, 1] and len(answers[0]["legal"]) == 4
    assert answers[1] == {
        "to_move": [0],
        "legal": [sorted(load("tic_tac_toe").names)],
        "terminal": False,
        "utilities": None,
    }
    assert answers[2]["ply"] == 1 and "illegal action 'a1'" in answers[2]["error"]
    assert answers[3]["ply"] == 1 and "unknown action 'z9'" in answers[3]["error"]
    assert answers[4]["terminal"] and answers[4]["utilities"] == [1.0, -1.0]
    assert answers[4]["to_move"][-1] is None and answers[4]["legal"][-1] == []
    assert answers[5] == {"error": "the game is over before 'c3'", "ply": 5}
    assert run("trace", "tic_tac_toe", given="a1\n").returncode == 0


def test_trace_names_chance_where_chance_moves():
    answer = Tracer(load("tree:chance.json")).trace("a1 p9 b1")
    assert answer["to_move"] == [0, "chance", 1, None]
    assert answer["legal"][1] == ["p1", "p9"] and answer["utilities"] == [0.5, -0.5]


def test_trace_streams():
    """Each answer is out before the next line is read."""
    command = [sys.executable, "-m", "games", "trace", "connect_four"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        for _ in range(3):
            process.stdin.write("4 4\n")
            assert json.loads(process.stdout.readline())["to_move"] == [0, 1, 0]
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_a_line_of_ten_megabytes_is_one_error_and_the_rest_continues():
    done = run("trace", "tic_tac_toe", given="a1\n" + "a1" * 5_000_000 + "\nb2\n")
    first, long, last = map(json.loads, done.stdout.splitlines())
    assert (first["to_move"], last["to_move"]) == ([0, 1], [0, 1]) and done.returncode == 1
    assert long["error"].startswith("line: expected at most 1048576 bytes") and len(long["error"]) < 150


def test_a_closed_standard_output_is_no_success():
    command = f"{sys.executable} -m games list >&-"
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "python -m games: error: standard output: expected an open file, but it is closed\n"


def test_ctrl_c_during_the_imports_leaves_no_traceback(tmp_path):
    (tmp_path / "numba.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
    command, env = [sys.executable, "-m", "games", "list"], os.environ | {"PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode in (-signal.SIGINT, 130) and err == ""


GAMES = {name: Tracer(load(name)) for name in ("tic_tac_toe", "connect_four", "nim", "tree:three_players.json")}


@settings(max_examples=300)
@given(name=st.sampled_from(sorted(GAMES)), data=st.data())
def test_trace_agrees_with_the_game_played_by_hand(name, data):
    tracer = GAMES[name]
    game = tracer.game
    words = data.draw(st.lists(st.sampled_from([*game.names, "?", "pass", "é"]), max_size=9))
    answer = tracer.trace(" ".join(words))
    state, movers, legal = game.initial(), [], []
    for ply in range(len(words) + 1):
        movers.append(game.to_move(state))
        legal.append(sorted(game.names[action] for action in game.legal_actions(state)))
        if ply == len(words):
            over = game.is_terminal(state)
            utilities = list(game.utility(state)) if over else None
            assert answer == {"to_move": movers, "legal": legal, "terminal": over, "utilities": utilities}
        elif words[ply] not in legal[-1]:
            assert answer["ply"] == ply and words[ply] in answer["error"]
            return
        else:
            state = game.result(state, game.action(state, words[ply]))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["show", "otello"], "did you mean 'othello'?"),
        (["show", "othello:size=7"], "size: expected one of 6, 8, got '7'"),
        (["show", "othello", "--moves", "d3 d3"], "ply 1: illegal action 'd3' in othello:size=8: legal are c3 c5 e3"),
        (["show", "connect_four", "--position", "x"], "position of connect_four: expected six rows"),
        (["show", "nim", "--position", "heaps=99,1,1 mover=0"], "position of nim:most=7: the game can't be played on"),
        (
            ["perft", "tic_tac_toe", "--depth", "99999999999"],
            "depth: expected one that 512 MB of scratch space suffice for",
        ),
        (["perft", "othello", "--depth", "-1"], "depth: expected 0 or more, got -1"),
        (["perft", "othello", "--depth", "many"], "argument --depth: invalid int value: 'many'"),
        (["perft", "othello"], "the following arguments are required: --depth"),
        (["pertf", "othello"], "did you mean 'perft'?"),
        ([], "the following arguments are required: COMMAND"),
        (["doctor", "nim", "--games", "0"], "games: expected at least 1, got 0"),
        (["trace", "./nowhere.py"], "found no such file"),
        (["show", "./games"], "expected a file with a game's rules, found a folder"),
        (["show", "nim", "--position", "x" * 100_000], "x…'"),
        (["show", "chess", "--position", "x" * 100_001], "expected at most 100000 characters, got 100001"),
        (["show", "nim", "--moves", "y" * 100_000], "yy…' in nim"),
        (["show", "z" * 100_000], "zz…'"),
        (["show", "o" * 5000 + "/x.py"], "oo…"),
        (["show", "othello:size=" + "7" * 5000], "77…'"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(words, expected):
    done = run(*words)
    assert done.returncode == 2 and expected in done.stderr and "Traceback" not in done.stderr
    assert len([line for line in done.stderr.splitlines() if not line.startswith("compiling")]) == 1
    assert len(done.stderr) < 600


def test_ctrl_c_ends_a_long_count_at_once():
    assert run("perft", "connect_four", "--depth", "2").returncode == 0  # compiles
    command = [sys.executable, "-m", "games", "perft", "connect_four", "--depth", "30"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(2)  # started, and counting
    assert process.poll() is None
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130 and time.monotonic() - start < 5
    assert out == b"" and b"Traceback" not in err


def test_help_starts_fast_without_torch():
    command = [sys.executable, "-X", "importtime", "-m", "games", "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "perft" in done.stdout
    assert " torch" not in done.stderr
