"""From clicks to moves: every legal action of every game is reached by clicks or a button, and clicks mean one thing."""

import re

import pytest

from arena.openings import random_action
from arena.page.board import choices, from_behind, picture
from arena.page.clicks import last_move, moves
from base.seeds import generator
from games import CHANCE, load
from games.drawing import places
from games.engine.registry import variants

MOST = 10  # positions of a game that are looked at


def positions(game, seed=0, most=MOST):
    """Of a random game, spread over its plies."""
    rng, state, found = generator(seed, "clicks"), game.initial(), []
    while not game.is_terminal(state):
        found.append(state)
        state = game.result(state, random_action(game, state, rng))
    return found[:: max(1, len(found) // most)]


def listed(game, state):
    found, _ = moves(game, state, game.legal_actions(state))
    return found


@pytest.mark.parametrize("name", [name for name in variants() if name != "go:size=19"])
def test_every_legal_action_has_clicks_or_a_button_and_no_path_begins_another(name):
    game = load(name)
    for state in positions(game):
        found = listed(game, state)
        assert [move.action for move in found] == game.legal_actions(state)
        paths = {path for move in found for path in move.paths}
        assert all(1 <= len(path) <= 2 for path in paths)
        assert not [path for path in paths for other in paths if path != other and other[: len(path)] == path]
        places = set(choices(game, state, game.legal_actions(state))["places"])
        assert {f"{row},{column}" for path in paths for row, column in path} == places


# Games in which every move of a player has a place of its own, and the names that are buttons all the same
PLACED = {
    "tic_tac_toe": "",
    "connect_four": "",
    "othello": "pass",
    "othello:size=6": "pass",
    "go": "pass",
    "go:size=5,komi=0.5": "pass",
    "chess": "",
    "checkers": "",
    "dots_and_boxes": "",
    "dots_and_boxes:players=3": "",
    "backgammon": "pass|end",
}


@pytest.mark.parametrize(("name", "buttons"), PLACED.items())
def test_in_board_games_a_path_means_one_action(name, buttons):
    game = load(name)
    for seed in range(3):
        for state in positions(game, seed):
            if game.to_move(state) == CHANCE:
                continue
            users = {}
            for move in listed(game, state):
                assert move.paths or re.fullmatch(buttons, game.names[move.action]), game.names[move.action]
                for path in move.paths:
                    users.setdefault(path, []).append(game.names[move.action])
            shared = {path: names for path, names in users.items() if len(names) > 1}
            assert not shared or (name == "chess" and all(len(each) == 5 for one in shared.values() for each in one))


def square(name):
    return 8 - int(name[1]), ord(name[0]) - ord("a")


CHESS = {
    "the start": "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "castling on both sides": "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
    "black castles": "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1",
    "en passant": "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1",
    "promotion, by taking too": "1n2k3/P7/8/8/8/8/8/4K3 w - - 0 1",
    "one piece moves": "7k/8/8/8/8/8/8/K7 w - - 0 1",
    "one move": "7k/8/8/8/8/8/5q2/7K w - - 0 1",
}


@pytest.mark.parametrize("text", CHESS.values(), ids=CHESS)
def test_chess_is_clicked_from_the_square_of_the_name_to_the_other(text):
    game = load("chess")
    state = game.parse(text)
    for move in listed(game, state):
        name = game.names[move.action]
        assert (square(name[:2]), square(name[2:4])) in move.paths


def test_chess_promotions_share_a_path_and_differ_by_their_names():
    game = load("chess")
    found = listed(game, game.parse(CHESS["promotion, by taking too"]))
    path = (square("a7"), square("a8"))
    assert sorted(game.names[move.action] for move in found if path in move.paths) == [
        "a7a8b",
        "a7a8n",
        "a7a8q",
        "a7a8r",
    ]


def test_castling_is_the_kings_move_and_the_rooks_path_stays_the_rooks():
    game = load("chess")
    found = listed(game, game.parse(CHESS["castling on both sides"]))
    by_path = {path: game.names[move.action] for move in found for path in move.paths}
    assert by_path[square("e1"), square("g1")] == "e1g1" and by_path[square("h1"), square("f1")] == "h1f1"


def test_go_is_clicked_at_the_crossing_of_the_name_also_where_stones_are_taken():
    game = load("go:size=5,komi=0.5")
    state = game.play("b1 a1 b2 e5 a3 e4")
    for move in listed(game, state):
        name = game.names[move.action]
        if name != "pass":
            assert move.paths == [((5 - int(name[1]), "abcde".index(name[0].lower())),)]


def test_connect_four_is_clicked_anywhere_in_the_column():
    game = load("connect_four")
    state = game.play("4 4 3")
    found = choices(game, state, game.legal_actions(state))
    assert [move["paths"] for move in found["moves"]] == [[[f"0,{column}"]] for column in range(7)]
    assert found["places"]["0,3"] == [f"{row},3" for row in range(6)]


def test_a_line_that_completes_a_box_shows_and_is_clicked_on_the_line():
    game = load("dots_and_boxes:rows=2,cols=2")
    state = game.play("a1b1 a1a2 b1b2")
    last = game.action(state, "a2b2")
    (move,) = (each for each in listed(game, state) if each.action == last)
    assert (move.cells, move.paths) == (((2, 1),), [((2, 1),)])
    assert places(game, state, [last]) == [[(2, 1)]]
    assert last_move(game.diagram(state), game.diagram(game.result(state, last))) == [(2, 1)]


def test_backgammon_is_clicked_from_point_to_point_and_dice_are_buttons():
    game = load("backgammon")
    state = game.initial()
    assert all(not move.paths for move in listed(game, state))
    state = game.play("31") if game.id_of("31") is not None else game.result(state, game.legal_actions(state)[0])
    found = listed(game, state)
    assert found and all(
        len(path) == 2 and {cell[0] for cell in path} <= {0, 10} for move in found for path in move.paths
    )


def test_a_number_of_things_taken_from_a_heap_is_a_choice_among_the_heaps_moves():
    game = load("nim")
    found = listed(game, game.initial())
    assert len({path for move in found for path in move.paths}) == 3
    assert all(move.paths for move in found)


def test_the_last_move_is_marked_where_it_came_from_and_went():
    game = load("chess")
    before = game.initial()
    after = game.play("e2e4")
    assert set(last_move(game.diagram(before), game.diagram(after))) == {square("e2"), square("e4")}


def test_a_board_from_behind_has_the_same_cells_in_other_places():
    game = load("chess")
    diagram = game.diagram(game.play("e2e4"))
    front, behind = picture(diagram), picture(diagram, turned=True)
    assert front["cells"].keys() == behind["cells"].keys()
    assert behind["cells"] != front["cells"]
    assert from_behind(from_behind(diagram)) == diagram
    assert picture(from_behind(diagram))["cells"]["3,3"] == behind["cells"]["4,4"]
