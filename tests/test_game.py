"""A game as Python sees it: every refusal in one line; what is derived from the fields of the dtype."""

import numpy as np
import pytest

from base.errors import UserError
from games import Rules, load
from games.engine.defaults import seen

NIM = load("nim")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            lambda: NIM.result(NIM.initial(), 3),
            "expected a legal action of nim:most=7, got a-4 .legal are a-1 a-2 a-3 b-1",
        ),
        (lambda: NIM.result(NIM.initial(), 99), "expected a legal action of nim:most=7, got 99 .legal are"),
        (lambda: NIM.result(NIM.play("a-3 b-5 c-7"), 0), "got a-1 .the game is over"),
        (lambda: NIM.utility(NIM.initial()), "expected a finished game of nim:most=7, got an unfinished one"),
        (lambda: NIM.chance(NIM.initial(), 0), "expected a position of nim:most=7 where chance is to move"),
        (lambda: NIM.observe(NIM.initial(), 2), "player: expected 0 to 1, got 2$"),
        (lambda: NIM.features(NIM.play("a-3 b-5 c-7")), "player: expected 0 to 1, got none where no player is to move"),
        (
            lambda: load("tree:two_ply.json").features(load("tree:two_ply.json").initial()),
            "two_ply.json has no features",
        ),
        (lambda: NIM.random_games(0, seed=1), "count: expected at least 1, got 0"),
        (lambda: NIM.play("a-1 a2"), "ply 1: unknown action 'a2' in nim:most=7: legal are .*; did you mean 'a-2'.$"),
        (lambda: NIM.play("a-1 a-9"), r"ply 1: unknown action 'a-9' in nim:most=7: legal are .* \(14 in all\)$"),
    ],
)
def test_a_call_without_a_result_is_an_error_with_the_reason(call, expected):
    with pytest.raises(UserError, match=expected):
        call()


def test_a_position_that_the_caller_holds_never_changes():
    state = NIM.initial()
    held = state.copy()
    NIM.result(state, 0), NIM.observe(state), NIM.features(state), NIM.key(state), NIM.perft(3, state), NIM.text(state)
    assert state == held


# Four players each take one of four cells; a cell holds its owner's number.
FOUR = """
import numpy as np
from games import Rules

def game() -> Rules:
    State = np.dtype([("cells", np.int8, 4), ("scores", np.int8, 4), ("temper", np.float32), ("mover", np.int8)])
    def initial(state):
        state.cells[:] = -1
    def to_move(state):
        return state.mover
    def legal_actions(state, actions):
        n = 0
        for cell in range(4):
            if state.cells[cell] < 0:
                actions[n] = cell
                n += 1
        return n
    def result(state, action):
        state.cells[action] = state.mover
        state.scores[state.mover] = action
        state.temper -= 0.25 + action
        state.mover = (state.mover + 1) % 4
    def is_terminal(state):
        return state.cells.min() >= 0
    def utility(state, player):
        return state.scores[player] / 3
    return Rules(State, initial, to_move, legal_actions, result, is_terminal, utility, players=4, actions=4, max_plies=4,
                 zero_sum=False, values=(), board=(2, 2), owned=["scores"], seats=["cells", "mover"])
"""


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    path = tmp_path_factory.mktemp("four") / "four.py"
    path.write_text(FOUR)
    return load(str(path))


def test_derived_planes_count_every_seat_from_the_viewer(four):
    state = four.play("3 2")
    assert four.rules.observation == (1 + 4 + 1 + 1, 2, 2)
    for viewer in range(4):
        planes = four.observe(state, viewer)
        assert planes[0].tolist() == [[-1, -1], [(1 - viewer) % 4, (0 - viewer) % 4]]
        scores = [[3, 2, 0, 0][(viewer + seat) % 4] for seat in range(4)]
        assert planes[1:5, 0, 0].tolist() == planes[1:5, 1, 1].tolist() == scores
        assert planes[6].tolist() == [[(2 - viewer) % 4] * 2] * 2


def test_derived_keys_see_fractions_and_signs(four):
    keys = set()
    for temper in (0.0, 0.25, -0.25, 0.5, 1.0, -1.0, 1.25, 1e30):
        state = four.initial()
        state.temper = temper
        keys |= {four.key(state), four.rules.key(state)}
    assert len(keys) == 8  # and compiled as interpreted
    zero = four.initial()
    zero.temper = np.float32(-0.0)
    assert four.key(zero) == four.key(four.initial())


def position_of(fields, **settings):
    """Rules of a position with these fields; nothing is played."""

    def of(state):
        return 0

    def of_two(state, other):
        return 0

    given = {"players": 2, "actions": 1, "max_plies": 1} | settings
    return Rules(np.dtype(fields), of, of, of_two, of_two, of, of_two, **given)


@pytest.mark.parametrize(
    ("fields", "settings", "observation", "words"),
    [
        ([("cells", "i1", (3, 4)), ("mover", "i1")], {}, (2, 3, 4), "boards: cells; the same in each cell: mover"),
        ([("cells", "i1", (2, 3, 4))], {}, (2, 3, 4), "boards: cells"),
        ([("cells", "i1", (3, 4)), ("marks", "i1", 12)], {}, (2, 3, 4), "boards: cells, marks"),
        ([("hands", "i1", (2, 5)), ("cells", "i1", (3, 4))], {"owned": ["hands"]}, (11, 3, 4), "boards: cells"),
        ([("scores", "i1", (2, 2))], {"owned": ["scores"]}, (4, 1, 1), "4 numbers without a board: scores"),
        ([("past", "i1", (9, 9)), ("cells", "i1", (3, 4))], {"history": ["past"]}, (1, 3, 4), "boards: cells"),
        ([("cells", "i1", (3, 4))], {"board": (2, 6)}, (1, 2, 6), "boards: cells"),
    ],
)
def test_a_field_of_two_dimensions_is_a_board(fields, settings, observation, words):
    rules = position_of(fields, **settings)
    assert rules.observation == observation
    assert words in seen(rules)
    state = np.zeros(1, rules.State)[0]
    first = rules.State.names[-1]
    state[first] = np.arange(state[first].size).reshape(state[first].shape) if state[first].shape else 1
    planes = np.zeros(rules.observation, np.float32)
    rules.observe(state, 0, planes)
    assert planes.any()
    if observation[1:] == (3, 4) and first == "cells":
        assert np.array_equal(planes[-1], state.cells.reshape(-1, 3, 4)[-1])  # as it is, row by row


def test_a_field_of_two_dimensions_is_drawn_as_a_grid():
    rules = position_of([("cells", "i1", (2, 3)), ("mover", "i1")])
    state = np.zeros(1, rules.State)[0]
    state.cells[1, 2] = 7
    assert rules.render(state) == "cells:\n 0  0  0\n 0  0  7\nmover: 0"
