"""Rules of a file are tried out, interpreted, before anything compiled of theirs runs: once per content, and quickly."""

import pytest
from commands import command

from base.errors import UserError
from base.files import cache_folder
from games import load

SOUND = '''
import numpy as np
from games import Rules

def game():
    """Two players fill a row of cells in turn; the player who fills the last one wins."""
    State = np.dtype([("cells", np.int8, 5), ("mover", np.int8), ("plies", np.int8)])
    def initial(state):
        pass
    def to_move(state):
        return state.mover
    def legal_actions(state, actions):
        n = 0
        for cell in range(5):
            if state.cells[cell] == 0:
                actions[n] = cell
                n += 1
        return n
    def result(state, action):
        state.cells[action] = 1
        state.plies += 1
        state.mover = 1 - state.mover
    def is_terminal(state):
        return state.plies == 5
    def utility(state, player):
        return 1.0 if player == 0 else -1.0
    return Rules(State, initial, to_move, legal_actions, result, is_terminal, utility, players=2, actions=5, max_plies=5)
'''

LOOP = "        while state.plies == 3:\n            pass\n"

# by name: text of the file, the text that replaces it, the error
HARMFUL = {
    "a write beyond the array": (
        "state.cells[action] = 1",
        "state.cells[action + 3] = 1",
        r"result \(my_game.py, line 20\): IndexError: index \d is out of bounds for axis 0 with size 5 \(after '",
    ),
    "more actions than there is room for": (
        "if state.cells[cell] == 0:",
        "for _ in range(2):",
        r"legal_actions \(my_game.py, line 16\): IndexError: index 5 is out of bounds",
    ),
    "an action without a number": (
        "actions[n] = cell",
        "actions[n] = cell + 1",
        "legal_actions: action 5; expected 0 to 4",
    ),
    "a wrong count": (
        "return n\n",
        "return n + 7\n",
        "legal_actions: 12 actions; expected 0 to max_legal = 5",
    ),
    "an impossible player": ("state.mover = 1 - state.mover", "state.mover = 2", "to_move: player 2; expected 0 to 1"),
    "nothing to play": (
        "if state.cells[cell] == 0:",
        "if cell < 3 and state.cells[cell] == 0:",
        "no legal action where is_terminal",
    ),
    "no end": (
        "return state.plies == 5",
        "return state.plies == 6 or state.mover > 1",
        "no end after max_plies = 5|no legal",
    ),
    "a count that is forgotten": ("return n\n", "pass\n", "legal_actions: the answer is None; expected a whole number"),
    "a count in words": ("return n\n", "return 'n'\n", "legal_actions: the answer is 'n'; expected a whole number"),
    "half a player": (
        "return state.mover\n",
        "return state.mover / 2\n",
        "to_move: the answer is .*; expected a whole number",
    ),
    "an end that is forgotten": (
        "return state.plies == 5",
        "state.plies == 5",
        "is_terminal: the answer is None; expected a number",
    ),
    "a worth that is forgotten": (
        "return 1.0 if player == 0 else -1.0",
        "1.0 if player == 0 else -1.0",
        "utility: the answer is None; expected a number",
    ),
    "a number that does not fit": (
        "state.mover = 1 - state.mover",
        "state.mover = 1000",
        "line 22.: OverflowError: Python int",
    ),
    "a loop in is_terminal": (
        "return state.plies == 5\n",
        f"{LOOP[8:]}        return state.plies == 5\n",
        "it does not end",
    ),
}


def saved(folder, text):
    path = folder / "my_game.py"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("harm", HARMFUL)
def test_rules_unsafe_to_compile_are_refused_in_one_line(harm, tmp_path, monkeypatch):
    monkeypatch.setattr("games.engine.trial.PATIENCE", 0.5)
    old, new, error = HARMFUL[harm]
    assert old in SOUND
    game = load(saved(tmp_path, SOUND.replace(old, new, 1)))
    for _ in range(2):  # each time, not only the first
        with pytest.raises(
            UserError, match=rf"^my_game.py: .*({error}).*; python -m games doctor .* shows more$"
        ) as caught:
            game.perft(2)
    assert "\n" not in str(caught.value)


def test_a_loop_that_never_ends_is_found_by_the_doctor_with_its_line(tmp_path):
    path = saved(
        tmp_path, SOUND.replace("        state.cells[action] = 1\n", LOOP + "        state.cells[action] = 1\n")
    )
    done = command(["games", "doctor", path, "--games", "20"])
    assert done.returncode == 1 and done.stdout.endswith("one law is broken\n")
    assert "look at: result (my_game.py, line 2" in done.stdout and "loop that never ends" in done.stdout


def test_what_passed_is_stored_by_its_content_and_what_changed_is_tried_again(tmp_path, monkeypatch):
    monkeypatch.setenv("ZERMELO_CACHE", str(tmp_path / "cache"))
    tried = []
    monkeypatch.setattr("games.engine.trial.walk", lambda rules, *_, **__: tried.append(rules))
    load(saved(tmp_path, SOUND)).perft(1)
    assert tried and len(list(cache_folder("tried").iterdir())) == 1
    tried.clear()
    load(saved(tmp_path, "# The same.\n" + SOUND)).perft(1)
    assert not tried
    load(saved(tmp_path, SOUND.replace("max_plies=5", "max_plies=6"))).perft(1)
    assert tried and len(list(cache_folder("tried").iterdir())) == 2


def test_other_mistakes_are_left_to_the_compiler_which_reports_their_line(tmp_path):
    game = load(saved(tmp_path, SOUND.replace("state.cells[action] = 1", "state.cell[action] = 1")))
    with pytest.raises(UserError, match=r"my_game.py, line 20: can't be compiled\nno field 'cell' in a record of"):
        game.result(game.initial(), 0)


def test_no_cache_stops_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("games.engine.trial.cache_folder", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    assert load(saved(tmp_path, SOUND)).perft(2) == 20


def test_the_games_of_the_folder_are_not_tried(monkeypatch):
    monkeypatch.setattr("games.engine.game.try_out", lambda game: pytest.fail("tried"))
    assert load("tic_tac_toe").perft(1) == 9


@pytest.mark.parametrize("mover", ["77", "-5"])
def test_a_finished_position_with_an_impossible_player_is_no_position(mover, tmp_path):
    for game, start in ((load("nim"), "heaps=0,0,0"), (load(saved(tmp_path, SOUND)), "cells=1,1,1,1,1 plies=5")):
        names = game.rules.State.names
        given = dict(word.split("=") for word in start.split()) | {"mover": mover}
        text = " ".join(f"{name}={given[name]}" for name in names)
        with pytest.raises(UserError, match="the game can't be played on from"):
            game.parse(text)
        assert game.is_terminal(game.parse(text.replace(mover, "1")))
