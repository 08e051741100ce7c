"""A person at the terminal: `python -m arena play`."""

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from arena.__main__ import main
from arena.players import Forfeit, RandomMover, make_player
from arena.terminal import Left, TerminalGame
from base.errors import UserError
from games import Game, load
from games.record import read_records


def seated(game, seats, lines, start=None, **options):
    """A game played with what a person types; the table, and all that was shown."""
    shown, typed = [], iter(lines)

    def ask(prompt):
        line = next(typed, None)
        if line is None:
            raise EOFError
        shown.append(prompt + line)
        return line

    game = load(game) if isinstance(game, str) else game
    table = TerminalGame(game, seats, start, ask=ask, show=shown.append, **options)
    with contextlib.suppress(EOFError, Left):
        table.play()
    return table, "\n".join(shown)


def test_a_game_is_played_to_its_end_and_its_record_read_back(tmp_path):
    table, shown = seated(
        "tic_tac_toe", ["human", "solver:mb=1"], [*load("tic_tac_toe").names * 3]
    )  # illegal ones are refused
    assert table.outcome == table.game.utility(table.state) == (-1, 1)
    assert "you lose: player 0 -1, player 1 +1" in shown and "is not a legal move here" in shown
    for name in ("game.log", "game.txt"):
        table.save(tmp_path / name)
        (record,) = read_records(tmp_path / name, table.game)
        assert record.moves.tolist() == table.moves and record.outcome == (-1, 1)
    (record,) = read_records(tmp_path / "game.log", table.game)
    assert record.players[0] == "human" and record.players[1].startswith("solver:")


def test_undo_leaves_the_game_as_it_was():
    lines = ["4", "m", "undo", "4", "3", "undo", "undo", "undo", "4"]
    for opponent in ("uct:sims=50,seed=3", "alphabeta:depth=3", "random:seed=2"):
        table, shown = seated("connect_four", ["human", opponent], lines, seed=8)
        once, _ = seated("connect_four", ["human", opponent], ["4"], seed=8)
        assert table.moves == once.moves and len(table.states) == len(table.moves) + 1
        assert table.state.tobytes() == once.state.tobytes()
        assert "undo: there is no move of yours to take back" in shown


def test_two_people_take_back_one_move_at_a_time():
    table, _ = seated("tic_tac_toe", ["human", "human"], ["a1", "b2", "undo", "c3"])
    assert [table.game.names[action] for action in table.moves] == ["a1", "c3"]


def test_values_are_from_the_persons_point_of_view():
    start = load("tic_tac_toe").play("b2 b1 a1 c3")  # either player, to move, wins by two threats
    _, shown = seated("tic_tac_toe", ["solver:mb=1", "human"], [], start=start)
    assert "player 0 (solver:mb=1) plays" in shown and "(-1.000 for you, proven)" in shown
    _, shown = seated("tic_tac_toe", ["human", "solver:mb=1"], ["?"], start=start)
    assert "suggests" in shown and "+1.000 for you, proven" in shown and "values for you (1 wins, -1 loses)" in shown
    _, shown = seated("tic_tac_toe", ["solver:mb=1", "solver:mb=1"], [], start=start)
    assert "(-1.000 for player 1, proven)" in shown and "player 0 (solver:mb=1) wins" in shown


def test_the_default_player_of_hints():
    _, shown = seated("tic_tac_toe", ["human", "random"], ["?"], hint="alphabeta:depth=2")
    assert "alphabeta:depth=2 suggests" in shown
    assert seated("tic_tac_toe", ["human", "random"], [])[0].hint_text == "alphabeta:ms=1000"
    assert seated("tic_tac_toe", ["human", "uct:sims=20"], [])[0].hint_text == "uct:sims=20"
    assert seated("dots_and_boxes:rows=1,cols=2,players=3", ["human"] * 3, [])[0].hint_text == "uct:ms=1000"


def test_a_hint_changes_nothing_in_the_game():
    seats = ["human", "uct:sims=60,seed=5"]
    plain, _ = seated("connect_four", seats, ["4", "4", "3"])
    hinted, shown = seated("connect_four", seats, ["?", "4", "?", "?", "4", "m", "3"])
    assert hinted.moves == plain.moves and shown.count("suggests") == 3


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("d33", "'d33' is no move and no command; did you mean 'd3'?"),
        ("a1", "'a1' is not a legal move here; m shows the moves, help the commands"),
        ("resing", "'resing' is no move and no command; did you mean 'resign'?"),
        ("save", "save: expected a file, as in: save game.log"),
        ("undo", "undo: there is no move of yours to take back"),
        ("\x1b[A", r"'\x1b[A' is no move and no command"),
        ("d3 c5", "'c5' and the moves after it were not played: the turn is over"),
        ("save my game.txt", "saved in my game.txt"),
    ],
)
def test_a_line_that_is_no_move_is_explained_and_read_again(line, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table, shown = seated("othello", ["human", "human"], [line, "", "help", "board"])
    assert expected in shown and "resign" in shown and table.ending == ""


def test_a_move_takes_precedence_over_a_command_of_its_name():
    plain = load("tic_tac_toe")
    rules = replace(plain.rules, names=["m", "undo", *plain.names[2:]])
    game = Game(rules, "odd", "odd", {})
    table, shown = seated(game, ["human", "human"], ["m", ":m", "undo", ":undo"])
    assert table.moves == [0] and " undo" in shown.split("> :m\n")[1].splitlines()[0]
    assert "taken back: undo" in shown


def test_several_actions_of_one_turn_in_a_line():
    game = load("dots_and_boxes:rows=1,cols=2")
    start = game.play(" ".join(game.names[action] for action in game.legal_actions(game.initial())[:5]))
    legal = [game.names[action] for action in game.legal_actions(start)]
    table, shown = seated(game, ["human", "human"], [" ".join(legal)], start=start)
    assert table.outcome is not None or "the turn is over" in shown


def test_dice_are_the_same_after_undo_and_can_be_rolled_by_hand():
    seats = ["human", "random:seed=1"]
    first, _ = seated("backgammon", seats, [], seed=4)
    move = first.game.names[first.game.legal_actions(first.state)[0]]
    again, _ = seated("backgammon", seats, [move, "undo"], seed=4)
    assert again.state.tobytes() == first.state.tobytes()
    asked, shown = seated("backgammon", seats, ["?", "resign", "77", "31"], ask_dice=True)
    assert "?: expected a player's turn" in shown and "resign: expected a player's turn" in shown
    assert "'77' is no move" in shown and asked.game.names[asked.moves[0]] == "31"


def test_three_people_and_spectators():
    name = "dots_and_boxes:rows=1,cols=2,players=3"
    table, shown = seated(name, ["random:seed=1", "human", "random:seed=2"], ["resign"])
    assert table.outcome == (0.25, -0.5, 0.25) and "(player 1 resigns)" in shown
    table, shown = seated(name, ["random:seed=1"] * 3, [])
    assert table.outcome == table.game.utility(table.state) and "you" not in shown


def test_a_player_that_forfeits_loses_with_the_reason(monkeypatch, tmp_path):
    def silent(self, state):
        raise Forfeit("it says nothing")

    monkeypatch.setattr(RandomMover, "choose", silent)
    table, shown = seated("tic_tac_toe", ["human", "random"], ["b2"])
    assert table.outcome == (1, -1) and "you win (player 1 forfeits: it says nothing)" in shown
    table.save(tmp_path / "x.log")
    (record,) = read_records(tmp_path / "x.log", table.game)
    assert record.ending == "player 1 forfeits: it says nothing" and record.outcome == (1, -1)


def test_saving_refuses_files_that_would_lose_something(tmp_path):
    game = load("tic_tac_toe")
    (tmp_path / "old.txt").write_text("mine")
    start = game.play("a1 b2")
    _, shown = seated(
        game,
        ["human", "human"],
        [f"save {tmp_path}/{name}" for name in ("old.txt", "new.txt", "new.log", "new.log")],
        start,
    )
    assert "old.txt: expected a new file, but it exists" in shown and shown.count("\nsaved in") == 2
    assert "new.txt: expected a name ending in .log" in shown and (tmp_path / "old.txt").read_text() == "mine"
    (record,) = read_records(tmp_path / "new.log", game)
    assert record.first_position(game).tobytes() == start.tobytes() and record.outcome is None


def test_human_plays_only_at_the_terminal():
    with pytest.raises(UserError, match="human: expected a program, got a person, who plays in: python -m arena play"):
        make_player("human", load("tic_tac_toe"))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["human"], "play: expected 2 players for tic_tac_toe, got 1"),
        (["human", "humen"], "unknown player 'humen'.*did you mean 'human'"),
        (["human:age=3", "random"], "human: expected no options, got 'human:age=3'"),
        (["human", "random", "--hint", "alphabeta"], "alphabeta: expected a limit"),
        (["human", "random", "--position", "x"], "position of tic_tac_toe"),
        (["human", "random", "--moves", "a1 a1"], "ply 1: illegal action 'a1'"),
        (
            ["human", "random", "--moves", "a1 b1 a2 b2 a3"],
            "expected an unfinished game of tic_tac_toe, got a finished one",
        ),
        (["human", "random", "--seed", "-1"], "seed: expected 0 or more, got -1"),
        (["human", "random", "--save", "/dev/null"], "/dev/null: expected a new file, but it exists"),
    ],
)
def test_a_mistake_is_one_line(words, expected):
    with pytest.raises(UserError, match=expected) as caught:
        main(["play", "tic_tac_toe", *words])
    assert "\n" not in str(caught.value)


def test_at_the_end_of_input_nothing_is_saved(tmp_path):
    words = [sys.executable, "-m", "arena", "play", "tic_tac_toe", "human", "random", "--save", str(tmp_path / "x.log")]
    done = subprocess.run(words, input=b"b2\n\xff\xfe\n", capture_output=True)
    assert done.returncode == 0 and not done.stderr and not list(tmp_path.iterdir())
    assert b"> b2\n" in done.stdout and done.stdout.endswith(b"bye; the game is not finished, and not saved\n")


def test_ctrl_c_leaves_a_game_at_a_terminal():
    process, terminal = pty.fork()
    if process == 0:
        os.execv(sys.executable, [sys.executable, "-m", "arena", "play", "tic_tac_toe", "human", "random"])
    shown, asked = b"", b"(player 0)> "
    deadline = time.monotonic() + 120
    try:
        while time.monotonic() < deadline:
            if select.select([terminal], [], [], 1.0)[0]:
                try:
                    shown += os.read(terminal, 4096)
                except OSError:  # the other end is closed
                    break
                if shown.count(asked) == 1 and shown.endswith(asked):
                    os.write(terminal, b"b2\n")
            elif shown.count(asked) > 1:  # again, should it have come just before readline listened
                os.write(terminal, b"\x03")
    finally:
        with contextlib.suppress(ProcessLookupError):
            if time.monotonic() >= deadline:
                os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 130 and b"bye; the game is not finished" in shown
    assert b"Traceback" not in shown
