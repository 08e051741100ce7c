"""No game is longer than max_plies: whoever plays stops there, with the utilities that the rules give."""

from dataclasses import replace
from typing import Any

import pytest

from arena.openings import Opening
from arena.players import make_player
from arena.referee import play_game
from arena.terminal import TerminalGame
from base.errors import UserError
from base.seeds import generator
from games import Game, load
from games.engine import laws
from games.engine.doctor import examine
from games.record import GameRecord, make_record
from mcts.search import Search
from mcts.ucb1 import UCB1

ENDLESS = '''
"""Step left or right from the middle of a line; two steps to either side win. Whoever only turns round plays for ever."""

import numpy as np

from games import Rules


def game() -> Rules:
    State = np.dtype([("at", np.int8), ("mover", np.int8)])

    def initial(state):
        pass

    def to_move(state):
        return state.mover

    def legal_actions(state, actions):
        actions[0], actions[1] = (0, 1) if state.at >= 0 else (1, 0)
        return 2

    def result(state, action):
        state.at += 2 * action - 1
        state.mover = 1 - state.mover

    def is_terminal(state):
        return abs(int(state.at)) == 2

    def utility(state, player):
        return (1.0 if player == state.mover else -1.0) if abs(int(state.at)) == 2 else STOPPED

    return Rules(State, initial, to_move, legal_actions, result, is_terminal, utility, players=2, actions=2, max_plies=41)
'''


@pytest.fixture
def endless(tmp_path: Any) -> Game:
    path = tmp_path / "endless.py"
    path.write_text(ENDLESS.replace("STOPPED", "0.0"))
    return load(str(path))


def test_the_doctor_plays_as_nobody_at_random_does(tmp_path: Any) -> None:
    path = tmp_path / "endless.py"
    for stopped, is_sound in (("0.0", True), ("0.5", False), ("2.0 * (1 - 2 * player)", False)):
        path.write_text(ENDLESS.replace("STOPPED", stopped))
        law = laws.stopped_games_have_utilities
        found = [finding for finding in examine(load(str(path)), count=5, seconds=0.5) if finding.law == law.sentence]
        assert is_sound == (not found)
        if found:
            assert "utility" in found[0].function and len(found[0].actions.split()) == 41


@pytest.mark.filterwarnings("ignore:endless.py has no features")
def test_a_match_stops_at_max_plies(endless: Game) -> None:
    turning = [make_player("minimax:depth=1", endless) for _ in range(2)]
    record = play_game(endless, turning, Opening(()), seed=1)
    assert (len(record), record.ending, record.outcome) == (41, "max_plies", (0.0, 0.0))
    assert record == GameRecord.from_bytes(record.to_bytes(), endless)
    record.positions(endless)


def test_a_record_that_was_stopped_elsewhere_or_is_too_long_is_refused(endless: Game) -> None:
    there_and_back = [1, 0] * 20
    for moves, outcome in ((there_and_back, (0.0, 0.0)), ([*there_and_back, 1], (1.0, -1.0))):
        with pytest.raises(UserError, match=r"expected 41 plies and the outcome \(0.0, 0.0\), got"):
            make_record(endless, moves, outcome=outcome, ending="max_plies").positions(endless)
    with pytest.raises(UserError, match=r"expected at most 41 plies \(max_plies\), got 42"):
        make_record(endless, [*there_and_back, 1, 0])


def test_random_games_and_searches_stop_at_max_plies(endless: Game) -> None:
    assert endless.random_games(200, 1)[1] < 41
    stays = replace(endless.rules, is_terminal=lambda state: False)
    never = Game(stays, "never", "never", {})
    assert never.random_games(10, 1)[1] == 41
    short = Game(replace(stays, max_plies=3), "short", "short", {})
    search = Search(short, UCB1(rollout=1.0), slots=1, nodes=4096)
    search.begin(0, short.initial(), generator(1))
    search.run(2000)
    root = search.tree.root()
    assert root.proven and search.tree.slots[0].depth == 3  # its whole tree, stopped everywhere with 0


@pytest.mark.filterwarnings("ignore:endless.py has no features")
def test_play_at_the_terminal_stops_at_max_plies(endless: Game) -> None:
    shown: list[str] = []
    play = TerminalGame(endless, ["minimax:depth=1"] * 2, ask=lambda prompt: "", show=shown.append)
    play.play()
    assert len(play.moves) == 41 and "max_plies" in shown[-1]
