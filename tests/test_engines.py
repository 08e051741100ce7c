"""External engines: what they receive, how their answers are read, and how they forfeit."""

import copy
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import arena.engines.engine
from arena.players import Forfeit, make_player
from base import subprocesses
from base.errors import UserError
from base.options import split
from base.seeds import below, generator
from games import load

FAKE = Path(__file__).parent / "data" / "fake_engine.py"
CHESS, GO = load("chess"), load("go:size=5,komi=0.5")


def fake(protocol, mode, log, *moves, options=""):
    return f'{protocol}:"{sys.executable} -S {FAKE} {protocol} {mode} {log} {" ".join(moves)}"{options}'


def uci(mode, log, *moves, options=",ms=50,grace=2000"):
    return make_player(fake("uci", mode, log, *moves, options=options), CHESS)


def gtp(mode, log, *moves, options=""):
    return make_player(fake("gtp", mode, log, *moves, options=options), GO)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "heard.txt"


def heard(log, *ignored):
    return [line for line in log.read_text().splitlines() if line.split()[0] not in ignored]


def is_alive(pid):
    """Running: neither gone nor a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


def processes_of(word):
    return [
        line for line in subprocess.check_output(["ps", "-ww", "-eo", "args"], text=True).splitlines() if word in line
    ]


def wait_for(law, seconds=10):
    end = time.monotonic() + seconds
    while not law() and time.monotonic() < end:
        time.sleep(0.02)
    return law()


# ── UCI ──


def test_an_engine_gets_the_game_from_its_start(log):
    player, state = uci("good", log, "e2e4", "g1f3"), CHESS.initial()
    player.new_game()
    for move in (None, "e7e5", None):
        action = player.choose(state).action if move is None else CHESS.id_of(move)
        player.advance(action)
        state = CHESS.result(state, action)
    assert CHESS.text(state).startswith("rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/")
    assert heard(log) == [
        *("uci", "ucinewgame", "isready", "ucinewgame", "isready"),
        *("position startpos", "go movetime 50", "position startpos moves e2e4 e7e5", "go movetime 50"),
    ]


def test_a_game_from_another_position_is_sent_as_fen_and_moves(log):
    fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 5 40"
    player, state = uci("good", log, "e2e4", "e1d2"), CHESS.parse(fen)
    player.new_game()
    for move in (None, "e8e7"):
        action = player.choose(state).action if move is None else CHESS.id_of(move)
        player.advance(action)
        state = CHESS.result(state, action)
    player.choose(state)
    expected = [f"position fen {fen}", f"position fen {fen} moves e2e4 e8e7"]
    assert heard(log, "uci", "ucinewgame", "isready", "go") == expected
    player.new_game()
    player.advance(CHESS.id_of("e1d2"))  # not a move of the usual start: it will be seen where the game is
    state = CHESS.result(CHESS.parse(fen), CHESS.id_of("e1d2"))
    with pytest.raises(Forfeit):  # the fake has run out of moves
        player.choose(state)
    assert heard(log)[-2] == "position fen 4k3/8/8/8/8/8/3KP3/8 b - - 6 40"


def test_the_choice_holds_the_engines_search(log):
    choice = uci("good", log, "e2e4").choose(CHESS.initial())
    assert CHESS.name_of(choice.action) == "e2e4" and choice.value == pytest.approx(math.tanh(0.25))
    assert [CHESS.name_of(action) for action in choice.pv] == ["e2e4", "b8c6"]  # e1e8 is no move there
    assert (choice.depth, choice.nodes, choice.proven) == (4, 44, False)
    values = [(CHESS.name_of(each.action), each.value) for each in choice.actions]
    assert values == [("e2e4", choice.value), ("a2a3", -1.0)]


def test_an_engines_own_options_are_set(log):
    player = uci("good", log, "e2e4", options=",nodes=7,depth=2,Skill_Level=3,ponder=on,Style=Risky Play,clear_hash=1")
    assert player.text.endswith(',nodes=7,depth=2,grace=2000,Skill_Level=3,ponder=on,Style="Risky Play",clear_hash=1')
    assert make_player(player.text, CHESS).text == player.text
    player.choose(CHESS.initial())
    assert heard(log)[1:5] == [
        "setoption name Skill Level value 3",
        "setoption name Ponder value true",
        "setoption name Style value Risky Play",
        "setoption name Clear Hash",
    ]
    assert heard(log)[-1] == "go nodes 7 depth 2"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (",ms=5,Skil_Level=3", r"uci: '.*' has no option 'Skil_Level'; did you mean 'Skill_Level'\?"),
        (",ms=5,Skill_Level=21", "uci: Skill_Level: expected 0 to 20, got '21'"),
        (",ms=5,Ponder=perhaps", "uci: Ponder: expected on or off, got 'perhaps'"),
        (",ms=5,Style=Mad", "uci: Style: expected one of Solid, Risky Play, got 'Mad'"),
        (",ms=0", "uci: ms: expected 1 to"),
        ("", "uci: expected a limit: ms, nodes or depth"),
        (",grace=5", "uci: expected a limit: ms, nodes or depth"),
    ],
)
def test_an_option_that_the_engine_refuses_is_one_line(options, complaint, log):
    with pytest.raises(UserError, match=complaint) as refusal:
        uci("good", log, options=options)
    assert "\n" not in str(refusal.value) and not processes_of(str(log))


@pytest.mark.parametrize(
    ("text", "game", "complaint"),
    [
        ("uci:no-such-engine,ms=5", "chess", "uci: expected a program that can be run, found none called 'no-such-engine'"),
        ('uci:"",ms=5', "chess", "uci: expected a command, got nothing"),
        ("uci:\"'a\",ms=5", "chess", "uci: expected a command, got \"'a\": No closing quotation"),
        ("uci:false,ms=5", "chess", "uci: 'false' left with exit code 1 as it was started"),
        ("uci:stockfish,ms=5", "othello", "uci: expected the game of chess, got othello:size=8"),
        ("gtp:gnugo", "chess", "gtp: expected the game of go, got chess"),
        ("gtp:gnugo,level=1", "go", "gtp: unknown option 'level'"),
        ("gtp:false", "go", "gtp: 'false' left with exit code 1"),
        ("uci:cat,ms=5", "chess", "uci: 'cat' echoes its input: expected a program that speaks UCI"),
        ("gtp:cat", "go", "gtp: 'cat' echoes its input: expected a program that speaks GTP"),
    ],
)  # fmt: skip
def test_an_engine_that_does_not_start_is_one_line(text, game, complaint):
    with pytest.raises(UserError, match=complaint) as refusal:
        make_player(text, load(game))
    assert "\n" not in str(refusal.value)


def test_the_last_line_on_stderr_is_in_the_error(log):
    with pytest.raises(UserError, match=r"left with exit code 1 \(no cheese at all\) as it was started"):
        uci("broken", log)


def test_a_program_without_output_is_not_an_engine(log, monkeypatch):
    monkeypatch.setattr(arena.engines.engine, "STARTING", 0.3)
    monkeypatch.setattr("arena.engines.uci.HELLO", 0.3)
    with pytest.raises(UserError, match="no answer in time as it was started"):
        uci("mute", log)


# ── misbehaviour ──


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("crash", r"left with exit code 3 \(out of cheese\)"),
        ("illegal", "illegal move 'e2e5'"),
        ("deep", "a number of 5000 digits"),
        ("certain", "a number of 5000 digits"),
        ("silent", "no move within 250 ms"),
        ("chatty", "no move within 250 ms"),
        ("stubborn", "no move within 250 ms"),
        ("endless", "no move within 250 ms|wrote a line of more than 1,048,576 bytes"),
    ],
)
def test_misbehaviour_forfeits_and_leaves_no_process(mode, reason, log):
    player = uci(mode, log, "e2e4", options=",ms=50,grace=200")
    pid = player.thinker.companion.pid
    began = time.monotonic()
    with pytest.raises(Forfeit, match=f"^({reason})$") as forfeit:
        player.choose(CHESS.initial())
    assert forfeit.value.reason == str(forfeit.value) and time.monotonic() - began < 5
    assert not is_alive(pid) and wait_for(lambda: not processes_of(str(log)))


def test_an_engine_that_does_not_read_its_input_exceeds_the_limit(log):
    """A game longer than a pipe holds is handed over in parts; where none is read, time runs out."""
    companion = subprocesses.Companion(f"{sys.executable} -S {FAKE} uci deaf {log}")
    with pytest.raises(subprocesses.Silent, match="it does not read"):
        companion.send("x" * 300_000, time.monotonic() + 0.2)
    companion.close()
    with pytest.raises(subprocesses.Ended):
        companion.send("x", time.monotonic() + 0.2)


@pytest.mark.parametrize("mode", ["good", "slow", "garbage", "noisy"])
def test_harmless_oddities_are_tolerated(mode, log):
    choice = uci(mode, log, "e2e4", options=",ms=50,grace=5000").choose(CHESS.initial())
    assert CHESS.name_of(choice.action) == "e2e4" and choice.seconds >= (0.3 if mode == "slow" else 0)


def test_after_a_forfeit_the_next_game_has_a_fresh_engine(log):
    player = uci("once", log, "e2e4")
    for _ in range(2):
        player.new_game()
        state = CHESS.result(CHESS.initial(), player.choose(CHESS.initial()).action)
        with pytest.raises(Forfeit, match="left with exit code 3"):
            player.choose(CHESS.result(state, CHESS.id_of("e7e5")))
    assert len([line for line in heard(log) if line == "uci"]) == 2


def test_an_engine_that_died_between_moves_forfeits_or_is_replaced(log):
    player = uci("good", log, "e2e4")
    os.kill(player.thinker.companion.pid, signal.SIGKILL)
    with pytest.raises(Forfeit, match="was killed by signal 9"):
        player.choose(CHESS.initial())
    player.new_game()
    os.kill(player.thinker.companion.pid, signal.SIGKILL) if player.thinker.companion else None
    player.new_game()
    assert CHESS.name_of(player.choose(CHESS.initial()).action) == "e2e4"


def test_a_command_may_be_a_script():
    assert split("gtp:./go.py") == ("gtp", [(None, "./go.py")])
    assert split("uci:engine.py,ms=5") == ("uci", [(None, "engine.py"), ("ms", "5")])
    for file in ("./a:b.py", "/games/x:y/nim.py", "nim.py", "C:/nim.py"):
        assert split(f"{file}:most=9") == (file, [("most", "9")])


def test_a_program_that_closes_its_output_has_ended():
    companion = subprocesses.Companion("sh -c 'exec >&-; sleep 60'")
    with companion, pytest.raises(subprocesses.Ended, match="closed its output"):
        companion.receive(time.monotonic() + 5)
    assert not is_alive(companion.pid)


def test_a_forfeit_can_be_pickled():
    other = copy.copy(Forfeit("illegal move 'e2e5'"))
    assert type(other) is Forfeit and other.reason == "illegal move 'e2e5'"


# ── no process stays ──


def test_a_deleted_player_ends_its_engine(log):
    player = uci("good", log)
    pid = player.thinker.companion.pid
    assert is_alive(pid)
    del player
    assert not is_alive(pid)


@pytest.mark.parametrize("how", ["sys.exit()", "os.kill(os.getpid(), signal.SIGKILL)", "1 / 0", "os._exit(0)"])
def test_however_the_parent_ends_the_engine_and_its_children_end_with_it(how, log):
    script = f"""
import os, signal, sys, time
from base.subprocesses import Companion
companion = Companion({f"{sys.executable} -S {FAKE} uci stubborn {log}"!r})
companion.send("go", time.monotonic() + 5)
while os.popen("ps -ww -eo args").read().count("time.sleep(600) {log}") == 0:
    time.sleep(0.02)
print(companion.pid, flush=True)
{how}
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    pid = int(done.stdout)
    assert wait_for(lambda: not is_alive(pid) and not processes_of(str(log)))


def test_workers_leave_no_engine_behind(log):
    words = [
        sys.executable,
        "-m",
        "arena",
        "choose",
        "chess",
        "--player",
        fake("uci", "good", log, "e2e4", options=",ms=50"),
    ]
    done = subprocess.run([*words, "--workers", "2"], input="\n\ne2e5\n", capture_output=True, text=True, timeout=60)
    assert done.stdout.count('"action": "e2e4"') >= 1 and "Traceback" not in done.stderr
    assert wait_for(lambda: not processes_of(str(log)))


def test_a_crash_outside_a_game_is_one_line(log):
    words = [sys.executable, "-m", "arena", "explain", "chess", "--player", fake("uci", "crash", log, options=",ms=50")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (
        done.returncode == 2 and done.stderr.count("\n") == 1 and "left with exit code 3 (out of cheese)" in done.stderr
    )


# ── GTP ──


def test_a_go_program_gets_every_move(log):
    player, state = gtp("good", log, "C3", "PASS", "d4", options=",ms=2500"), GO.initial()
    player.new_game()
    for move in (None, "B2", None, "pass"):
        choice = player.choose(state) if move is None else None
        action = choice.action if choice else GO.id_of(move)
        player.advance(action)
        state = GO.result(state, action)
    assert GO.text(state) == "...../...../..x../.o.../..... x 2"
    assert heard(log) == [
        *("name", "boardsize 5", "clear_board", "komi 0.5", "time_settings 0 2 1"),
        *("clear_board", "genmove black", "play white B2", "genmove black"),
    ]
    player.new_game()
    player.advance(GO.id_of("A1"))
    player.choose(GO.play("A1"))
    assert heard(log)[9:] == ["clear_board", "play black A1", "genmove white"]


def test_a_move_that_another_player_chose_is_sent(log):
    """A book's move was never asked of the program, and a choice need not be played."""
    player = gtp("good", log, "C3", "D4")
    player.choose(GO.initial())
    player.advance(GO.id_of("B2"))
    player.choose(GO.play("B2"))
    assert heard(log)[4:] == ["clear_board", "genmove black", "clear_board", "play black B2", "genmove white"]


def test_a_position_is_set_up_stone_by_stone(log):
    player = gtp("good", log, "C3", "E5")
    state = GO.parse("x..../o..../...../...../....x o 1")
    action = player.choose(state).action
    player.advance(action)
    state = GO.play("D4", GO.result(state, action))
    player.advance(GO.id_of("D4"))
    player.choose(state)
    setup = ["clear_board", "play black E1", "play white A4", "play black A5", "play black pass"]
    assert heard(log)[4:] == [*setup, "genmove white", "play black D4", "genmove white"]


def test_a_program_that_refuses_the_board_is_one_line(log):
    with pytest.raises(UserError, match=r"gtp: '.*' refuses 'boardsize 5': unacceptable size$"):
        gtp("small", log)
    assert not processes_of(str(log))


def test_a_position_that_superko_binds_is_refused(log):
    with pytest.raises(UserError, match="gtp: expected a position in which superko forbids no move") as refusal:
        gtp("good", log, "C3").choose(GO.parse(".xo../x.xo./.xo../...../..... o 0 B4"))
    assert not isinstance(refusal.value, Forfeit)


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("resign", "resigned"),
        ("illegal", "illegal move 'z9'"),
        ("refuse", "the engine refuses 'play black C3': illegal move"),
        ("crash", "left with exit code 3 (out of cheese)"),
        ("silent", "no move within 300 ms"),
    ],
)
def test_misbehaviour_forfeits_in_go_too(mode, reason, log):
    player = gtp(mode, log, "C3", options=",ms=100,grace=200")
    player.advance(GO.id_of("C3"))
    player.advance(GO.id_of("B2"))
    with pytest.raises(Forfeit) as forfeit:
        player.choose(GO.play("C3 B2"))
    assert forfeit.value.reason == reason


# ── the real ones ──


def engine(name):
    path = shutil.which(name) or shutil.which(name, path=subprocesses.MORE_FOLDERS)
    return pytest.mark.skipif(path is None, reason=f"{name} is not installed (Debian: apt install {name})")


def played_against_random(game, player, seed, most, state=None):
    """The engine moves first. Every move that it chooses is legal, or `result` would raise."""
    rng, state = generator(seed, "engine"), game.initial() if state is None else state
    player.new_game()
    with np.errstate(over="ignore"):
        for ply in range(most):
            if game.is_terminal(state):
                break
            legal = game.legal_actions(state)
            action = player.choose(state).action if ply % 2 == 0 else legal[below(rng, len(legal))]
            player.advance(action)
            state = game.result(state, action)
    return state


@engine("stockfish")
def test_stockfish_beats_a_random_mover_from_anywhere():
    player = make_player("uci:stockfish,nodes=2000", CHESS)
    assert player.thinker.name.startswith("Stockfish")
    for start in (None, "4k3/pppppppp/8/8/8/8/8/QR2K2R w K - 0 1"):
        state = played_against_random(CHESS, player, 1, 300, None if start is None else CHESS.parse(start))
        assert CHESS.utility(state) == (1, -1)


@engine("stockfish")
def test_stockfish_sees_mate_as_certain_and_a_queen_as_nearly_so():
    player = make_player("uci:stockfish,depth=8,MultiPV=3", CHESS)
    choice = player.choose(CHESS.parse("7k/8/5K2/8/8/8/8/6Q1 w - - 0 1"))
    assert CHESS.name_of(choice.action) == "g1g7" and choice.value == 1 and len(choice.actions) == 3
    choice = player.choose(CHESS.parse("3qk3/8/8/8/8/8/8/4K3 w - - 0 1"))
    assert choice.value < -0.9 and choice.actions[0].value == choice.value
    assert split(player.text)[1][0] == (None, "stockfish")


@engine("stockfish")
def test_stockfish_plays_below_its_strength():
    player = make_player("uci:stockfish,ms=20,UCI_LimitStrength=true,UCI_Elo=1350", CHESS)
    for seed in range(3):
        played_against_random(CHESS, player, seed, 12)


@engine("gnugo")
def test_gnugo_beats_a_random_mover():
    rules = "--chinese-rules --positional-superko --forbid-suicide --capture-all-dead"
    game = load("go:size=7,komi=0.5")
    player = make_player(f'gtp:"gnugo --mode gtp --level 1 {rules}"', game)
    for start in (None, ".x...../......./..o..../......./...o.../......./..x.... x 0"):
        state = played_against_random(game, player, 2, 200, None if start is None else game.parse(start))
        assert game.utility(state) == (1, -1)
