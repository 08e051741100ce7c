"""Moves as people type them."""

import json

import pytest

from arena.choose import answer, state_of
from arena.players import make_player
from base.errors import UserError
from games import load
from games.formats.words import action_of, played


@pytest.fixture(scope="module")
def chess():
    return load("chess")


def test_names_and_san_with_or_without_numbers_lead_to_the_same_position(chess):
    ways = "e2e4 e7e5 g1f3 b8c6 f1b5", "e4 e5 Nf3 Nc6 Bb5", "1. e4 e5 2. Nf3 Nc6 3. Bb5", "1.e4 e5 2.Nf3 Nc6 3.Bb5"
    assert len({chess.text(played(chess, way)) for way in ways}) == 1
    assert chess.names[action_of(chess, played(chess, "e4 e5 Nf3 Nf6 Bc4 Bc5"), "O-O")] == "e1g1"


@pytest.mark.parametrize("text", ["e4 Ke7", "1. e4 e9", "e4 e5 Nf6", "e2e5"])
def test_what_is_no_legal_move_is_named_with_its_ply(text, chess):
    with pytest.raises(UserError, match=r"^ply \d: "):
        played(chess, text)


def test_other_games_read_names_alone():
    game = load("connect_four")
    assert game.text(played(game, "4 4 3")) == game.text(game.play("4 4 3"))
    with pytest.raises(UserError, match=r"ply 0: .*e4"):
        played(game, "e4")


def test_a_line_may_have_a_position_and_moves_from_there(chess):
    fen = "8/8/8/8/8/3QK3/8/4k3 w - - 0 1"
    state = state_of(chess, f"position:{fen} moves Qd7 Kf1")
    assert chess.text(state) == "8/3Q4/8/8/8/4K3/8/5k2 w - - 2 2"
    assert chess.text(state_of(chess, f"position:{fen}")) == fen
    found = json.loads(answer(chess, make_player("alphabeta:depth=3", chess), f"position:{fen} moves Qd7 Kf1"))
    assert found["value"] == 1 and found["action"] in {"d7g4", "d7h3"}
