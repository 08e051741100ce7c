"""Our players as engines for other people's programs: UCI, GTP, UGI."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from arena.analysis import Analyst
from arena.analyze import Server
from arena.players import kinds, make_player, options_of
from arena.protocols.clock import Clock
from arena.protocols.declared import declared
from arena.protocols.gtp import handicap_points
from arena.protocols.scores import centipawns, win_draw_loss
from base.subprocesses import Companion
from games import load
from games.choice import Choice, Limits

ROOT = Path(__file__).parents[1]
PATIENCE = 60.0  # seconds: kernels may have to be compiled
SOON = 5.0  # seconds: the law is milliseconds, on a machine that does nothing else
COMMAND = f"{sys.executable} -m arena engine"


class Controller:
    """The program on the other end."""

    def __init__(self, arguments: str) -> None:
        self.engine = Companion(f"{COMMAND} {arguments}")

    def send(self, *lines: str) -> None:
        for line in lines:
            self.engine.send(line, time.monotonic() + PATIENCE)

    def until(self, start: str, seconds: float = PATIENCE) -> list[str]:
        """The lines up to the one that begins like this."""
        found = []
        deadline = time.monotonic() + seconds
        while not found or not found[-1].startswith(start):
            found.append(self.engine.receive(deadline))
        return found

    def ask(self, *lines: str, until: str) -> list[str]:
        self.send(*lines)
        return self.until(until)

    def gtp(self, line: str) -> str:
        """The answer to a command, without its last, empty line."""
        self.send(line)
        found = [self.engine.receive(time.monotonic() + PATIENCE)]
        while found[-1]:
            found.append(self.engine.receive(time.monotonic() + PATIENCE))
        return "\n".join(found[:-1])


@pytest.fixture(scope="module")
def chess():
    controller = Controller("chess alphabeta:depth=3")
    yield controller
    controller.engine.close()


@pytest.fixture(scope="module")
def noughts():
    controller = Controller("tic_tac_toe uct:sims=200")
    yield controller
    controller.engine.close()


@pytest.fixture(scope="module")
def go():
    controller = Controller("go:size=5,komi=0.5 random")
    yield controller
    controller.engine.close()


# ── UCI ──


def test_uciok_comes_before_anything_heavy_is_loaded():
    program = """if True:
        import os, sys, time
        class Slow:
            def find_spec(self, name, path, target=None):
                if name in ("numpy", "numba", "torch"):
                    time.sleep(60)
                    os._exit(3)
        sys.meta_path.insert(0, Slow())
        from arena.__main__ import main
        main(["engine", "chess", "alphabeta:depth=3"])
    """
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("uci\n")
    process.stdin.flush()
    lines = []
    while not lines or lines[-1] != "uciok":
        lines.append(process.stdout.readline().strip())
        assert lines[-1]
    process.communicate("quit\n", timeout=60)
    assert process.returncode == 0
    assert lines[0] == "id name zermelo alphabeta:depth=3"
    assert "option name MultiPV type spin default 1 min 1 max 256" in lines
    assert "option name tt type check default true" in lines
    assert "option name depth type string default 3" in lines


@pytest.mark.parametrize("kind", ["alphabeta", "uct", "net", "minimax", "solver", "random", "gtp", "syzygy", "uci"])
def test_declared_options_are_those_of_the_player(kind):
    assert kind in kinds()
    known = options_of(kind)
    named = {name for name in known.parameters if name not in known.unnamed}
    assert declared(kind).keys() | {"book"} == named
    for each in declared(kind).values():
        assert each.is_switch == (known.words()[each.name].split(",")[0] == "on or off"), each


def test_a_search_ends_at_its_limit_and_names_its_line(chess):
    lines = chess.ask("ucinewgame", "position startpos moves e2e4 e7e5", "go depth 2", until="bestmove")
    best = lines[-1].split()[1]
    assert f" pv {best}" in lines[-2]
    assert lines[-2].startswith("info depth 2 score cp ")


def test_ready_during_an_endless_search_and_stopped_soon(chess):
    chess.send("position startpos", "go infinite")
    chess.until("info depth 3")
    chess.send("isready")
    assert "bestmove" not in " ".join(chess.until("readyok", SOON))
    chess.send("stop")
    assert chess.until("bestmove", SOON)


@pytest.mark.parametrize(
    ("fen", "score"),
    [("k7/1Q6/1K6/8/8/8/8/8 b - - 0 1", "mate 0"), ("k7/2Q5/1K6/8/8/8/8/8 b - - 0 1", "cp 0")],
)
def test_finished_position_has_no_move_and_an_endless_search_of_it_waits_for_stop(chess, fen, score):
    assert chess.ask(f"position fen {fen}", "go movetime 50", until="bestmove") == [
        f"info depth 0 score {score}",
        "bestmove (none)",
    ]
    assert chess.ask("go infinite", "isready", until="readyok") == ["readyok"]
    assert chess.ask("stop", until="bestmove")[-1] == "bestmove (none)"


def test_lines_are_numbered_and_win_draw_loss_sums_to_a_thousand(chess):
    chess.send("setoption name MultiPV value 3", "setoption name UCI_ShowWDL value true", "position startpos")
    lines = chess.ask("go depth 2", until="bestmove")[-4:-1]
    chess.send("setoption name MultiPV value 1", "setoption name UCI_ShowWDL value false")
    assert [line.split()[3:5] for line in lines] == [["multipv", "1"], ["multipv", "2"], ["multipv", "3"]]
    firsts = {line.split(" pv ")[1].split()[0] for line in lines}
    assert len(firsts) == 3
    for line in lines:
        assert sum(map(int, line.split(" wdl ")[1].split()[:3])) == 1000


def test_mate_is_announced_in_moves(chess):
    lines = chess.ask("position fen 7k/8/5K2/6Q1/8/8/8/8 w - - 0 1", "go depth 3", until="bestmove")
    assert "score mate 1 " in lines[-2]
    assert lines[-1].startswith("bestmove g5g7")


def test_only_the_given_moves_are_searched(chess):
    chess.send("position startpos")
    assert chess.ask("go depth 3 searchmoves a2a3", until="bestmove")[-1].startswith("bestmove a2a3")
    assert not chess.ask("go depth 3", until="bestmove")[-1].startswith("bestmove a2a3")


def test_pondering_ends_in_a_move_after_ponderhit_alone(chess):
    chess.send("position startpos moves e2e4", "go ponder wtime 200 btime 200")
    chess.until("info depth 2")
    chess.send("isready")
    assert "bestmove" not in " ".join(chess.until("readyok", SOON))
    assert chess.ask("ponderhit", until="bestmove")


def test_play_continues_after_a_draw_that_nobody_claimed(chess):
    there_and_back = "g1f3 g8f6 f3g1 f6g8 " * 3
    lines = chess.ask(f"position startpos moves {there_and_back}e2e4", "go depth 2", until="bestmove")
    assert "none" not in lines[-1]
    lines = chess.ask("position fen 7k/8/8/8/8/8/8/K5R1 w - - 100 90", "go depth 2", until="bestmove")
    assert "none" not in lines[-1]


def test_an_option_changes_the_player_and_a_wrong_one_changes_nothing(chess):
    chess.send("setoption name depth value 2", "position startpos")
    assert chess.ask("go", until="bestmove")[-2].startswith("info depth 2 ")
    lines = chess.ask("setoption name depth value many", "isready", until="readyok")
    assert lines[0].startswith("info string error: alphabeta: depth: expected")
    assert chess.ask("go", until="bestmove")[-2].startswith("info depth 2 ")
    lines = chess.ask("setoption name dept value 2", "isready", until="readyok")
    assert lines[0] == "info string error: alphabeta has no option 'dept'; did you mean 'depth'?"
    chess.send("setoption name Player value alphabeta:depth=3")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("position fen 8/8", "position of chess"),
        ("position startpos moves e2e5", "illegal action 'e2e5'"),
        ("position", "expected startpos or fen"),
        ("position fen", "expected startpos or fen"),
        ("position moves e2e4", "expected startpos or fen"),
        ("banana", "unknown command 'banana'"),
        ("setoption name MultiPV value 0", "MultiPV: expected a whole number"),
        ("setoption name MultiPV value " + "9" * 5000, "MultiPV: expected a whole number"),
        ("setoption", "has no option"),
    ],
)
def test_what_is_wrong_is_one_line_and_leaves_the_position_alone(chess, line, words):
    chess.send("position fen 7k/8/5K2/6Q1/8/8/8/8 w - - 0 1")
    lines = chess.ask(line, "isready", until="readyok")
    assert len(lines) == 2
    assert lines[0].startswith("info string error: ")
    assert words in lines[0]
    answer = chess.ask("go depth 3", until="bestmove")[-1]
    assert answer.startswith("bestmove (none)" if line.startswith("position") else "bestmove g5g7")


def test_a_wrong_player_is_one_line_with_exit_code_2():
    process = subprocess.Popen(  # its input stays open until it has ended
        [sys.executable, "-m", "arena", "engine", "chess", "alphabet"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.wait(PATIENCE) == 2
    out, err = process.communicate()
    assert out.startswith("info string error: unknown player 'alphabet'")
    assert err.startswith("python -m arena: error: unknown player 'alphabet'")
    assert len(err.splitlines()) == 1


SPOKEN = (
    "uci isready position startpos fen moves e2e4 e7e5 e2e5 g1f3 go depth 1 2 nodes 50 movetime 5 infinite stop ponder ponderhit"
    " searchmoves wtime btime winc -1 0 99999999999999999999 setoption name value MultiPV UCI_ShowWDL true depth tt x \x00 ♞ 0000"
    " ucinewgame mate movestogo 7k/8/5K2/6Q1/8/8/8/8 w - KQkq debug on"
)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("othello random --protocol uci", "uci: expected the game of chess, got othello"),
        ("chess random --protocol gtp", "gtp: expected the game of go, got chess"),
        ("backgammon random", "ugi: expected a game of two players without dice, got backgammon"),
    ],
)
def test_a_game_that_the_protocol_does_not_have_is_one_line(arguments, words):
    process = subprocess.Popen(
        [*COMMAND.split(), *arguments.split()], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.wait(PATIENCE) == 2
    assert words in process.communicate()[1]


WORDS = st.sampled_from(SPOKEN.split(" "))
LINES = st.lists(st.lists(WORDS, max_size=8).map(" ".join), min_size=1, max_size=12)


@given(lines=LINES)
@hypothesis_settings(max_examples=20)
def test_garbage_never_ends_uci(chess, lines):
    chess.send(*lines, "stop", "isready", "farewell")
    assert "readyok" in chess.until("info string error: unknown command 'farewell'")


def test_a_reader_that_hangs_loses_no_answer():
    count = 20_000  # more than a pipe holds
    process = subprocess.Popen(
        [sys.executable, "-m", "arena", "engine", "tic_tac_toe", "random"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stdin is not None
    with process:
        process.stdin.write(b"isready\n" * count + b"position startpos\ngo\n")
        process.stdin.flush()
        lines = [process.stdout.readline() for _ in range(count)]
        assert set(lines) == {b"readyok\n"}
        while not (line := process.stdout.readline()).startswith(b"bestmove"):
            assert line.startswith(b"info")
        process.stdin.close()
        assert process.wait(PATIENCE) == 0


def test_a_reader_that_is_gone_ends_nothing_but_the_end_of_input_does():
    process = subprocess.Popen(
        [sys.executable, "-m", "arena", "engine", "tic_tac_toe", "random"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stdin is not None and process.stderr is not None
    process.stdin.write(b"isready\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"readyok\n"
    process.stdout.close()
    process.stdin.write(b"isready\n" * 100)
    process.stdin.flush()
    time.sleep(0.2)
    assert process.poll() is None
    process.stdin.close()
    assert process.wait(60) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_our_own_arena_plays_it():
    game = load("chess")
    player = make_player(f'uci:"{COMMAND} chess alphabeta:depth=2",nodes=2000', game)
    player.new_game()
    state = game.initial()
    for _ in range(4):
        choice = player.choose(state)
        assert choice.depth >= 1
        state = game.result(state, choice.action)
        player.advance(choice.action)
    player.thinker.stop()


def test_no_move_of_another_position_follows_a_position_that_was_refused(chess):
    chess.ask("ucinewgame", "isready", until="readyok")
    for refused in ("position fen 8/8/8/8/8/8/8/KQk5 w - - 0 1", "position startpos moves e2e5", "position nowhere"):
        assert (
            chess.ask("position startpos moves e2e4", refused, "go depth 2", until="bestmove")[-1] == "bestmove (none)"
        )
    found = chess.ask("position startpos moves e2e4", "go depth abc", until="bestmove")  # at once, not without a limit
    assert found[-1] != "bestmove (none)" and any("info string error" in line for line in found)


def test_python_chess_plays_it_by_the_clock():
    """1 + 0.01 s where an answer takes 20 ms at most, and as much more as it takes longer. One game of three is enough: other programs
    may take the processor at the wrong moment."""
    import chess
    import chess.engine

    def slowness(engine):
        times = []
        for _ in range(10):
            began = time.perf_counter()
            engine.play(chess.Board(), chess.engine.Limit(nodes=1))
            times.append(time.perf_counter() - began)
        return max(1.0, max(times) / 0.02)

    def losers(engine):
        """The seats whose time ran out."""
        scale = slowness(engine)
        board, left, more = chess.Board(), [scale, scale], 0.01 * scale
        for ply in range(60):
            limit = chess.engine.Limit(white_clock=left[0], black_clock=left[1], white_inc=more, black_inc=more)
            began = time.perf_counter()
            board.push(engine.play(board, limit).move)
            left[ply % 2] += more - (time.perf_counter() - began)
            if left[ply % 2] < 0:
                return [ply % 2]
        return []

    command = [*COMMAND.split(), "chess", "alphabeta:depth=20"]
    with chess.engine.SimpleEngine.popen_uci(command, timeout=PATIENCE) as engine:
        engine.ping()
        assert any(losers(engine) == [] for _ in range(3))
        info = engine.analyse(chess.Board(), chess.engine.Limit(nodes=2000), multipv=2)
        assert len(info) == 2


# ── time and scores ──


@given(st.floats(0.001, 1e4), st.floats(0, 60), st.none() | st.integers(1, 80), st.floats(0, 1))
@hypothesis_settings(max_examples=200)
def test_a_plan_leaves_the_reserve(left, increment, moves, lag):
    clock = Clock()
    clock.lag = lag
    assert 0 <= clock.budget(left, increment, moves) <= left - min(clock.overhead + 8 * lag, left / 2)


@pytest.mark.parametrize("lag", [0.001, 0.005, 0.009])
@pytest.mark.parametrize("moves", [None, 40])
@pytest.mark.parametrize(("left", "increment"), [(1.0, 0.01), (60.0, 0.6), (0.1, 0.01)])
def test_no_game_is_lost_on_time_where_answers_take_less_than_the_increment(left, increment, moves, lag):
    clock, whole = Clock(), left
    for move in range(400):
        togo = None if moves is None else moves - move % moves
        planned = clock.budget(left, increment, togo)
        left -= planned + lag
        assert left > 0
        clock.took(planned, planned + lag)
        left += increment + (whole if togo == 1 else 0)


@given(st.floats(-0.999, 0.999), st.floats(0.01, 1))
def test_centipawns_grow_with_the_value(value, unit):
    assert centipawns(-value, unit) == -centipawns(value, unit)
    assert centipawns(value, unit) <= centipawns(min(value + 0.001, 1.0), unit)


@given(st.floats(-1, 1), st.booleans())
def test_wins_less_losses_are_the_value(value, draws):
    won, drawn, lost = win_draw_loss(value, draws)
    assert won + drawn + lost == 1000
    assert abs((won - lost) / 1000 - value) < 0.003
    assert drawn == 0 or draws


# ── UGI ──


def test_ugi_transcript(noughts):
    assert noughts.ask("ugi", until="ugiok")[0] == "id name zermelo uct:sims=200"
    names = load("tic_tac_toe").names
    first, second = names[4], names[0]
    for line, answer in [
        ("isready", "readyok"),
        (f"position startpos moves {first}", None),
        ("query p1turn", "response false"),
        ("query gameover", "response false"),
        ("query result", "response none"),
        (f"position startpos moves {names[4]} {second} {names[2]} {names[1]} {names[6]}", None),
        ("query gameover", "response true"),
        ("query result", "response p1win"),
        ("go nodes 10", "bestmove (none)"),
        ("query answer", "info string error: query: expected one of gameover, p1turn, result, got 'answer'"),
        (f"position startpos moves {first} {first}", f"info string error: illegal action '{first}'"),
    ]:
        noughts.send(line)
        if answer is not None:
            assert noughts.until("")[-1].startswith(answer)


def test_ugi_takes_clocks_and_positions_of_the_game(noughts):
    game = load("tic_tac_toe")
    text = game.text(game.play(game.names[0]))
    noughts.send("uginewgame", f"position fen {text} moves {game.names[4]}")
    best = noughts.ask("go p1time 500 p2time 500 p1inc 0 p2inc 0", until="bestmove")[-1].split()[1]
    assert game.id_of(best) is not None
    assert best not in (game.names[0], game.names[4])


@given(lines=LINES.map(lambda lines: [line.replace("uci", "ugi").replace("e2e4", "b2") for line in lines]))
@hypothesis_settings(max_examples=10)
def test_garbage_never_ends_ugi(noughts, lines):
    noughts.send(*lines, "stop", "isready", "farewell")
    assert "readyok" in noughts.until("info string error: unknown command 'farewell'")


# ── GTP ──


def test_gtp_transcript(go):
    for line, answer in [
        ("name", "= zermelo"),
        ("7 protocol_version", "=7 2"),
        ("known_command genmove # a comment", "= true"),
        ("known_command castle", "= false"),
        ("castle", "? unknown command"),
        ("12 boardsize 5", "=12"),
        ("komi 0.5", "="),
        ("clear_board", "="),
        ("play b c3", "="),
        ("play w C3", "? illegal move"),
        ("play w Z9", "? syntax error: invalid coordinate"),
        ("play b", "? syntax error: expected play COLOUR MOVE"),
        ("play b c4", "="),
        ("final_score", "= B+24.5"),
        ("final_status_list alive", "= C3\nC4"),
        ("undo", "="),
        ("final_status_list alive", "= C3"),
        ("undo", "="),
        ("final_score", "= W+0.5"),
        ("undo", "? cannot undo"),
        ("set_free_handicap a1 b2", "="),
        ("final_status_list alive", "= A1\nB2"),
        ("set_free_handicap a1 b2", "? board not empty"),
        ("clear_board", "="),
        ("set_free_handicap a1 a1", "? bad vertex list: expected each point once"),
        ("fixed_handicap 2", "? invalid number of stones"),
        ("place_free_handicap 2", "? invalid number of stones"),
        ("fixed_handicap x", "? syntax error: fixed_handicap: expected a number"),
        ("boardsize 99", "? unacceptable size"),
        ("komi black", "? syntax error: komi: expected a number"),
        ("time_settings 1 2", "? syntax error: expected time_settings SECONDS SECONDS STONES"),
        ("time_settings 0 1 1", "="),
        ("loadsgf nowhere.sgf", "? cannot load file: No such file or directory"),
    ]:
        assert go.gtp(line) == answer, line


@pytest.mark.parametrize(
    ("size", "count", "points"),
    [
        (19, 3, "D4 Q16 D16"),
        (19, 9, "D4 Q16 D16 Q4 D10 Q10 K4 K16 K10"),
        (19, 7, "D4 Q16 D16 Q4 D10 Q10 K10"),
        (13, 5, "D4 K10 D10 K4 G7"),
        (9, 6, "C3 G7 C7 G3 C5 G5"),
        (8, 4, "C3 F6 C6 F3"),
        (7, 4, "C3 E5 C5 E3"),
    ],
)
def test_fixed_handicap_is_on_the_points_of_the_protocol(size, count, points):
    names = load(f"go:size={size}").names
    assert " ".join(names[point] for point in handicap_points(size)[count]) == points
    assert max(handicap_points(size)) == (9 if size % 2 and size > 7 else 4) and max(handicap_points(6)) == 0


def test_gtp_plays_moves_that_its_board_then_has(go):
    go.gtp("clear_board")
    word = go.gtp("3 genmove b").removeprefix("=3 ")
    assert go.gtp(f"play w {word}") == "? illegal move" or word == "pass"
    assert go.gtp("genmove w").startswith("= ")
    assert [go.gtp("undo") for _ in range(3)] == ["=", "=", "? cannot undo"]


@pytest.mark.parametrize("line", ["", "name", "4 play b a1", "nonsense", "lz-analyze 10"])
def test_analysis_ends_with_any_line_and_is_answered_first(go, line):
    go.gtp("clear_board")
    go.send("5 lz-analyze b 10")
    assert go.until("=5") == ["=5"]
    go.send(line, "6 protocol_version")
    found = go.until("=6")
    assert "" in found
    assert go.until("") == [""]


def test_analysis_names_moves_with_visits_and_lines(tmp_path):
    controller = Controller("go:size=5,komi=0.5 uct:sims=50,rollout_plies=1")
    controller.send("kata-analyze b interval 5 maxmoves 2 avoid b a1 1")
    lines = controller.until("info")
    controller.send("lz-genmove_analyze b 5")
    lines += controller.until("play")
    controller.send("quit")
    infos = [line for line in lines if line.startswith("info")]
    first = infos[0].split()
    assert [first[i] for i in (0, 1, 3, 5, 7)] == ["info", "move", "visits", "utility", "winrate"]
    assert infos[0].count("info move") <= 2
    assert " move A1 " not in infos[0]
    assert " pv " in infos[0]
    game = load("go:size=5,komi=0.5")
    assert game.id_of(lines[-1].removeprefix("play ")) is not None
    controller.engine.close()


def test_komi_keeps_the_game_and_boardsize_begins_another(tmp_path):
    controller = Controller("go:size=5,komi=0.5 random")
    assert controller.gtp("play b c3") == "="
    assert controller.gtp("2 komi 30") == "=2"
    assert controller.gtp("final_status_list alive") == "= C3"
    assert controller.gtp("final_score") == "= W+5"
    assert controller.gtp("boardsize 6") == "="
    assert controller.gtp("final_status_list alive") == "="
    file = tmp_path / "game.sgf"
    file.write_text("(;GM[1]SZ[6]KM[30];B[cc];W[dd])")
    assert controller.gtp(f"loadsgf {file}") == "="
    assert controller.gtp("final_status_list alive") == "= D3\nC4"
    assert controller.gtp(f"loadsgf {file} 2") == "="
    assert controller.gtp("final_status_list alive") == "= C4"
    assert controller.gtp("quit") == "="
    controller.engine.close()


GO_SPOKEN = (
    "1 22 name play genmove b w white c3 d4 pass resign undo komi boardsize 5 99 x showboard lz-analyze kata-analyze interval 10"
    " allow avoid time_left time_settings -1 0 final_score clear_board set_free_handicap loadsgf # \x00 known_command stop"
)
GO_WORDS = st.sampled_from(GO_SPOKEN.split(" "))


@given(lines=st.lists(st.lists(GO_WORDS, max_size=6).map(" ".join), min_size=1, max_size=10))
@hypothesis_settings(max_examples=20)
def test_garbage_never_ends_gtp(go, lines):
    go.send(*[line for line in lines if "komi" not in line and "boardsize" not in line], "777777 name")
    assert go.until("=777777 zermelo")
    assert go.until("") == [""]
    go.gtp("time_settings 0 1 0")
    go.gtp("clear_board")


# ── JSON lines ──


def analyses(tmp_path, *queries, arguments="tic_tac_toe uct:sims=100 --workers 2"):
    given = "\n".join(each if isinstance(each, str) else json.dumps(each) for each in queries)
    done = subprocess.run(
        [sys.executable, "-m", "arena", "analyze", *arguments.split()],
        cwd=ROOT, input=given, capture_output=True, text=True, timeout=PATIENCE, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_each_turn_of_each_query_has_one_last_answer(tmp_path):
    names = load("tic_tac_toe").names
    found = analyses(
        tmp_path,
        {"id": "a", "moves": [names[4], ["O", names[0]]], "analyzeTurns": [0, 1, 2]},
        {
            "id": "b",
            "moves": names[4],
            "maxTime": 0.3,
            "reportDuringSearchEvery": 0.05,
            "allowMoves": [names[0], names[1]],
        },
        {"id": "c", "maxVisits": 7, "priority": 5},
        {"id": "d", "moves": " ".join(names[i] for i in (0, 3, 1, 4, 2))},
    )
    last = {(each["id"], each["turnNumber"]): each for each in found if not each.get("isDuringSearch")}
    assert last.keys() == {("a", 0), ("a", 1), ("a", 2), ("b", 1), ("c", 0), ("d", 5)}
    assert len(last) == sum(not each.get("isDuringSearch") for each in found)
    assert {each["move"] for each in last["b", 1]["moveInfos"]} == {names[0], names[1]}
    assert last["c", 0]["rootInfo"]["visits"] == 7
    assert last["a", 1]["rootInfo"]["currentPlayer"] == 1
    best = last["a", 0]["moveInfos"][0]
    assert best["pv"][0] == best["move"] == last["a", 0]["bestMove"]
    assert "finished game" in last["d", 5]["error"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("nonsense", "expected JSON"),
        ("[1]", "expected an object"),
        ({"moves": []}, "id: expected a text"),
        ({"id": "x", "moves": ["z9"]}, "moves: ply 0: unknown action 'z9'"),
        ({"id": "x", "moves": 3}, "moves: expected a text"),
        ({"id": "x", "analyzeTurns": [1]}, "analyzeTurns: expected at most 0"),
        ({"id": "x", "maxVisits": 0}, "maxVisits: expected a whole number"),
        ({"id": "x", "maxTime": -1}, "maxTime: expected seconds"),
        ({"id": "x", "priorities": [1, 2]}, "priorities: expected"),
        ({"id": "x", "position": "???"}, "position of tic_tac_toe"),
        ({"id": "x", "avoidMoves": 7}, "avoidMoves: expected a list"),
        ({"id": "x", "action": "dance"}, "action: expected terminate"),
    ],
)
def test_a_query_that_cannot_be_understood_is_one_line(query, words, server, capsys):
    server.take(query if isinstance(query, str) else json.dumps(query))
    found = json.loads(capsys.readouterr().out)
    assert words in found["error"]
    assert isinstance(query, str) or found.get("id") == query.get("id")


@pytest.fixture(scope="module")
def server():
    server = Server(load("tic_tac_toe"), "random", 1)
    yield server
    server.close()


def test_a_terminated_search_answers_with_what_it_has(capsys):
    server = Server(load("tic_tac_toe"), "uct:sims=10,solve=off", 1)
    server.take('{"id": "long", "maxTime": 1000}')
    server.take('{"id": "later", "maxTime": 1000}')
    time.sleep(0.2)
    server.take('{"id": "x", "action": "terminate", "terminateId": "long"}')
    server.take('{"id": "y", "action": "terminate_all"}')
    server.close()
    found = {each["id"]: each for each in map(json.loads, capsys.readouterr().out.splitlines())}
    assert found["long"]["rootInfo"]["visits"] > 0
    assert found["later"].get("noResults") or found["later"]["rootInfo"]
    assert found.keys() == {"long", "later", "x", "y"}


# ── searches in the background ──


@pytest.mark.parametrize(
    "text",
    [
        "alphabeta:depth=3",
        "uct:sims=100",
        "net:tic_tac_toe/best,sims=20",
        "net:tic_tac_toe/best,sims=20,method=gumbel",
    ],
)
def test_an_endless_search_reports_and_ends_when_it_is_stopped(text):
    game = load("tic_tac_toe")
    analyst = Analyst(make_player(text, game))
    analyst.prepare()
    reports: list[Choice] = []
    results: list[Choice | Exception] = []
    start = game.initial()
    limits = Limits(is_endless=True, lines=2, every=0.01)
    analysis = analyst.search(start, start, (), limits, reports.append, results.append)
    time.sleep(0.2)
    analysis.stop()
    analysis.wait()
    assert isinstance(results[0], Choice), results
    assert reports or results[0].proven
    assert results[0].pv[0] == results[0].action
    best = next(each for each in results[0].actions if each.action == results[0].action)
    assert best.pv[:1] == (best.action,)


def test_without_other_limits_a_watched_search_is_the_players_own():
    game = load("tic_tac_toe")
    for text in ("alphabeta:depth=4", "uct:sims=300,seed=3", "net:tic_tac_toe/best,sims=40,method=gumbel"):
        alone = make_player(text, game).choose(game.initial())
        results: list[Choice | Exception] = []
        start = game.initial()
        Analyst(make_player(text, game)).search(start, start, (), Limits(), lambda _: None, results.append).wait()
        found = results[0]
        assert isinstance(found, Choice)
        assert (found.action, found.value, found.nodes) == (alone.action, alone.value, alone.nodes)


@pytest.mark.parametrize("text", ["alphabeta:depth=3", "uct:sims=100", "net:tic_tac_toe/best,sims=50"])
def test_some_actions_alone_are_searched_and_nothing_of_it_remains(text):
    game = load("tic_tac_toe")
    analyst = Analyst(make_player(text, game))
    start, results = game.initial(), []
    analyst.search(start, start, (), Limits(actions=(1, 3)), lambda _: None, results.append).wait()
    assert {each.action for each in results[0].actions} == {1, 3}
    analyst.search(start, start, (), Limits(), lambda _: None, results.append).wait()
    assert len(results[1].actions) == 9


def test_what_was_searched_below_the_moves_played_is_kept():
    game = load("tic_tac_toe")
    analyst = Analyst(make_player("uct:sims=500,solve=off", game))
    start, results = game.initial(), []
    analyst.search(start, start, (), Limits(), lambda _: None, results.append).wait()
    first = results[0].action
    after = game.result(start, first)
    second = game.legal_actions(after)[0]
    state = game.result(after, second)
    analyst.search(state, start, (first, second), Limits(), lambda _: None, results.append).wait()
    assert results[1].counters["visits kept"] > 0
    analyst.search(after, start, (first,), Limits(), lambda _: None, results.append).wait()
    assert results[2].counters["visits kept"] == 0
