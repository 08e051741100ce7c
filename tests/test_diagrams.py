"""Diagrams show each position of each game whole, and their drawings are well-formed, whatever draws them."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from base.errors import UserError
from base.seeds import below, generator
from games import CHANCE, Diagram, Game, Rules, load, variants
from games.__main__ import main
from games.drawing import Circle, Text, drawn, places, svg
from games.drawing.shapes import Path as Outline
from games.drawing.surfaces import grid_of
from games.engine.diagram import PIECES, SHAPES, SURFACES, derived
from monitor.pictures import pixels, position
from monitor.samples import samples

GAMES = [*variants(), "docs/pop_three.py"]


def walk(game: Game, seed: int, plies: int = 120) -> list[Any]:
    state, rng, found = game.initial(), generator(seed, "diagrams"), [game.initial()]
    while not game.is_terminal(state) and len(found) < plies:
        legal = game.legal_actions(state)
        state = game.result(state, legal[below(rng, len(legal))])
        found.append(state)
    return found


def cells_of(game: Game, text: str) -> list[str]:
    return [each for row in game.diagram(game.parse(text)).cells for each in row if each not in ("", ".")]


@pytest.mark.parametrize("name", GAMES)
def test_every_position_has_a_drawing_that_is_well_formed_and_within_its_picture(name: str) -> None:
    game = load(name)
    for state in walk(game, 1)[::7]:
        diagram = game.diagram(state)
        drawing = drawn(diagram, {(0, 0): 0.5}, has_note=True)
        for shape in drawing.shapes:
            points = (
                [point for line in shape.lines for point in line]
                if isinstance(shape, Outline)
                else [(shape.x, shape.y)]
            )
            reach = shape.radius if isinstance(shape, Circle) else 0.0
            for x, y in points:
                assert x - reach >= -0.01 and x + reach <= drawing.width + 0.01, shape
                assert y - reach >= -0.01 and y + reach <= drawing.height + 0.01, shape
        root = ElementTree.fromstring(svg(drawing, game.text(state), is_file=True))
        assert root.find("{http://www.w3.org/2000/svg}title").text == game.text(state)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", [name for name in GAMES if not name.startswith("tree")])  # an arrow shows the node
def test_positions_that_read_differently_look_different(name: str) -> None:
    """By the board as text, without counters behind it; the dice and the note, which may name the mover, count."""
    game = load(name)
    found: dict[str, str] = {}
    for state in walk(game, 2, 60):
        diagram = game.diagram(state)
        look, board = str((diagram.cells, diagram.note, diagram.dice)), game.text(state).split()[0]
        assert found.setdefault(look, board) == board


@pytest.mark.parametrize(
    "name", ["connect_four", "tic_tac_toe", "othello:size=6", "go:size=5,komi=0.5", "dots_and_boxes"]
)
def test_places_of_actions_are_different_empty_cells(name: str) -> None:
    game = load(name)
    for state in samples(game, 3):
        diagram = game.diagram(state)
        actions = [action for action in game.legal_actions(state) if game.name_of(action) != "pass"]
        where = places(game, state, actions)
        if name == "dots_and_boxes":  # without the boxes that a line takes
            where = [[(row, column) for row, column in cells if row % 2 == 0 or column % 2 == 0] for cells in where]
        arrived = [cell for [cell] in where]
        assert all(diagram.is_empty(*cell) for cell in arrived)
        assert len(set(arrived)) == len(actions)


def test_places_are_where_the_names_say() -> None:
    game = load("tic_tac_toe")
    state = game.play("a1 b2")
    diagram, actions = game.diagram(state), game.legal_actions(state)
    for action, [(row, column)] in zip(actions, places(game, state, actions), strict=True):
        assert game.name_of(action) == diagram.top[column] + diagram.left[row]


@pytest.mark.parametrize(
    ("name", "moves", "action", "cell"),
    [
        ("chess", "e2e4 d7d5", "e4d5", (3, 3)),  # takes what stands there
        ("checkers", "11-15 22-18", "15x22", (5, 2)),
    ],
)
def test_place_of_a_capture_is_where_the_piece_arrives(
    name: str, moves: str, action: str, cell: tuple[int, int]
) -> None:
    game = load(name)
    state = game.play(moves)
    assert places(game, state, [game.action(state, action)]) == [[cell]]


def test_place_of_a_hit_is_the_point_and_not_the_bar() -> None:
    game, hits = load("backgammon"), 0
    for state in walk(game, 6):
        if game.to_move(state) == CHANCE or game.is_terminal(state):
            continue
        for action in game.legal_actions(state):
            after = game.result(state, action)
            if after.points[1 - state.mover, 25] > state.points[1 - state.mover, 25]:
                [[(row, column)]] = places(game, state, [action])
                assert column != 6 and game.diagram(after).cells[row][column] == "XO"[state.mover]
                hits += 1
    assert hits > 5


def test_checkers_men_and_kings_stand_on_dark_squares_and_differ() -> None:
    game = load("checkers")
    diagram = game.diagram(game.parse("B:W21,K22:B1,K2"))
    found = {(r, c): diagram.symbol(r, c) for r in range(8) for c in range(8) if not diagram.is_empty(r, c)}
    assert {cell: (each.colour, each.shape) for cell, each in found.items() if each} == {
        (0, 1): ("black", "disc"),
        (0, 3): ("black", "crowned disc"),
        (5, 0): ("white", "disc"),
        (5, 2): ("white", "crowned disc"),
    }
    assert all((row + column) % 2 for row, column in found)
    shapes = drawn(diagram).shapes
    assert len([each for each in shapes if isinstance(each, Circle)]) == 4
    men = drawn(game.diagram(game.parse("B:W21,22:B1,2"))).shapes
    assert len(shapes) == len(men) + 2  # the crowns


def test_backgammon_has_every_checker_and_the_dice_that_are_left() -> None:
    game = load("backgammon")
    for state in walk(game, 5, 400):
        diagram = game.diagram(state)
        counts = dict.fromkeys("XO", 0)
        for column in range(14):
            for half in (range(5), range(10, 5, -1)):
                pile = [diagram.cells[row][column] for row in half if diagram.cells[row][column]]
                if pile:
                    counts[pile[0][0]] += int(pile[-1][1:] or len(pile))
        assert counts == {"X": 15, "O": 15}
        dice = game.text(state).rpartition(":")[2]
        assert "".join(map(str, diagram.dice)) == ("" if dice in ("first", "-") else dice)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_dots_and_boxes_has_every_line_and_each_box_in_its_owners_colour(players: int) -> None:
    game = load(f"dots_and_boxes:rows=2,cols=3,players={players}")
    for ply, state in enumerate(walk(game, players)):
        diagram = game.diagram(state)
        words = [each for row in diagram.cells for each in row]
        assert words.count("-") == ply
        assert [words.count(2 * mark) for mark in "ABCD"[:players]] == state.boxes.tolist()
    colours = [diagram.symbols[mark] for mark in "ABCD"]
    assert len(set(colours)) == 4


def test_chess_pieces_are_told_apart_by_colour_and_shape() -> None:
    game = load("chess")
    diagram = game.diagram(game.initial())
    back = [diagram.symbol(0, column) for column in range(8)]
    assert [each.shape for each in back if each] == [
        *("rook", "knight", "bishop", "queen", "king", "bishop", "knight", "rook"),
    ]
    assert {each.colour for each in back if each} == {"black"}
    outlines = {piece: str(drawn(Diagram(["x"], {"x": f"white {piece}"})).shapes) for piece in PIECES}
    assert len(set(outlines.values())) == len(PIECES)


# ── derived ──


def rules(**changes: Any) -> Rules:
    """A board of 2×3 that nothing happens on."""
    given: dict[str, Any] = {
        "State": np.dtype([("stones", np.int8, (2, 6)), ("mover", np.int8)]),
        "initial": lambda state: None,
        "to_move": lambda state: 0,
        "legal_actions": lambda state, actions: 0,
        "result": lambda state, action: None,
        "is_terminal": lambda state: True,
        "utility": lambda state, player: 0.0,
        "players": 2,
        "actions": 1,
        "max_plies": 1,
        "board": (2, 3),
        "owned": ["stones"],
        "seats": ["mover"],
    }
    return Rules(**{**given, **changes})


def blank(found: Rules) -> Any:
    return np.zeros(1, found.State)[0]


def test_fields_that_fill_the_board_are_laid_out_by_player_and_the_others_are_the_note() -> None:
    found = rules()
    state = blank(found)
    state.stones[0, 1], state.stones[1, 5] = 1, 3
    diagram = derived(found)(state)
    assert [list(row) for row in diagram.cells] == [["", "A", ""], ["", "", "B3"]]
    assert diagram.symbol(1, 2) == ("white", "disc", "3") and diagram.note == "mover: 0"


def test_fields_of_players_numbers_and_of_other_numbers_are_laid_out() -> None:
    State = np.dtype([("owner", np.int8, 6), ("height", np.int8, (2, 3)), ("mover", np.int8)])
    found = rules(State=State, owned=[], seats=["owner", "mover"])
    state = blank(found)
    state.owner[:] = -1
    state.owner[0], state.height[1, 1] = 1, 7
    diagram = derived(found)(state)
    assert [list(row) for row in diagram.cells] == [["B", "", ""], ["", "7", ""]]
    assert diagram.symbol(1, 1) == ("", "", "7")


def test_game_without_a_board_is_a_table_of_its_fields() -> None:
    game = load("nim")
    diagram = game.diagram(game.initial())
    assert diagram.surface == "table"
    assert diagram.cells == [["heaps", "3", "5", "7"], ["mover", "0"]]
    [cells] = places(game, game.initial(), [game.action(game.initial(), "b-1")])
    assert (0, 2) in cells


@pytest.mark.parametrize("name", ["chess", "connect_four", "go:size=5", "othello", "tic_tac_toe", "docs/pop_three.py"])
def test_grid_is_found_in_what_a_game_draws(name: str) -> None:
    game = load(name)
    for state in walk(game, 3, 30):
        own, found = game.diagram(state), derived(game.rules)(state)
        assert ["".join(row) for row in found.cells] == ["".join(row) for row in own.cells]
        assert not found.left or list(found.left) == list(own.left)


def test_what_a_game_draws_without_a_grid_is_shown_letter_by_letter() -> None:
    game = load("dots_and_boxes:rows=2,cols=2")
    diagram = derived(game.rules)(game.initial())
    assert diagram.surface == "text" and "".join(diagram.cells[1]).split() == ["1", "o", "o", "o"]
    tree = load("tree:two_ply.json")
    letters = ["".join(row).strip() for row in tree.diagram(tree.initial()).cells]
    assert "-> root: player 0" in letters and max(map(len, letters)) <= 72


# ── what is refused ──


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"surface": "square"}, "expected a surface \\(squares, .*\\), got 'square'; did you mean 'squares'\\?"),
        (
            {"symbols": {"x": "pink disc"}},
            "expected a colour \\(black, .*\\) and a shape \\(disc, .*\\) for 'x', got 'pink disc'",
        ),
        ({"cells": []}, "expected 1 to 400 rows and 1 to 400 columns, got 0 and 0"),
        ({"cells": ["x", "xo"]}, "expected rows of one length, got \\[1, 2\\]"),
        ({"surface": "points"}, "points: expected 11 rows and 14 columns, got 1 and 2"),
        ({"top": "abc"}, "top: expected 2 names, got 3"),
        ({"dice": [7]}, "expected dice from 1 to 6, got \\[7\\]"),
    ],
)
def test_diagram_that_cannot_be_drawn_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Diagram(**{"cells": ["xo"], **arguments})


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda state: Diagram([]), "still: diagram: expected 1 to 400 rows"),
        (lambda state: 1 // 0, "diagram of still fails: ZeroDivisionError"),
        (lambda state: "x", "diagram of still: expected a Diagram, got 'x'"),
    ],
)
def test_diagram_function_that_fails_is_named(function: Any, message: str) -> None:
    found = rules(diagram=function)
    with pytest.raises(UserError, match=message):
        Game(found, "still", "still", {}).diagram(blank(found))


# ── what draws them ──


@pytest.mark.parametrize("surface", [each for each in SURFACES if each not in ("points", "table", "text")])
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_stay_within_their_cells(surface: str, shape: str) -> None:
    diagram = Diagram(["...", ".x.", "..."], {"x": f"red {shape}"}, surface)
    plain = Diagram(["...", "...", "..."], {}, surface)
    x, y, width, height = grid_of(diagram).box(1, 1)
    for each in set(drawn(diagram).shapes) - set(drawn(plain).shapes):
        points = [point for line in each.lines for point in line] if isinstance(each, Outline) else [(each.x, each.y)]
        assert all(x + 0.09 <= px <= x + width + 0.11 and y + 0.09 <= py <= y + height + 0.11 for px, py in points)


@pytest.mark.parametrize(
    ("cells", "count", "lines"),
    [
        (["xxx", "oo.", "..."], 3, [((0, 0), (0, 2))]),
        (["x.o", ".xo", "..x"], 3, [((0, 0), (2, 2))]),
        (["x.o", "xo.", "o.x"], 3, [((0, 2), (2, 0))]),
        (["xxxx", "o.ox", "oo.x", "...x"], 4, [((0, 0), (0, 3)), ((0, 3), (3, 3))]),
        (["xxxxx"], 4, [((0, 0), (0, 4))]),
        (["xx..x", "....."], 3, []),
        (["xxx"], 0, []),
    ],
)
def test_a_line_is_drawn_through_equal_symbols_in_a_row(cells: list[str], count: int, lines: list[Any]) -> None:
    diagram = Diagram(cells, {"x": "red disc", "o": "blue disc"}, in_a_row=count)
    assert diagram.lines == lines
    plain = Diagram(cells, diagram.symbols)
    extra = [each for each in drawn(diagram).shapes if each not in drawn(plain).shapes]
    assert [len(each.lines) for each in extra if isinstance(each, Outline)] == ([len(lines)] if lines else [])


def test_a_king_in_check_is_marked() -> None:
    game = load("chess")
    assert game.diagram(game.play("e2e4 f7f5 d1h5")).marked == [(0, 4)]
    assert game.diagram(game.play("e2e4 f7f5")).marked == []
    extra = set(drawn(Diagram(["..", ".x"], marked=[(1, 1)])).shapes) - set(drawn(Diagram(["..", ".x"])).shapes)
    assert [type(each).__name__ for each in extra] == ["Circle"]


def test_svg_has_every_text_of_the_drawing_escaped() -> None:
    diagram = Diagram(["<&"], top=["a", "b"], note="<b>")
    text = svg(drawn(diagram, has_note=True), "<title>")
    assert "<b>" not in text and [
        each.text for each in ElementTree.fromstring(text).iter() if each.tag.endswith("text")
    ] == [
        *("<", "&", "a", "b", "<b>"),
    ]


@pytest.mark.parametrize("name", [*(name for name in GAMES if "=" not in name), "tree:two_ply.json"])
def test_picture_of_a_position_has_its_marks_in_colour(name: str) -> None:
    game = load(name)
    state = next(each for each in samples(game, 2) if game.to_move(each) != CHANCE)
    action = game.legal_actions(state)[0]
    shares = {"policy": {action: 1.0}, "visits": {action: 1.0}}
    picture = pixels(position(game, state, shares, "title")).astype(int)
    blue = (picture[..., 2] - picture[..., 0] > 60).sum()
    orange = (picture[..., 0] - picture[..., 2] > 100).sum()
    assert blue > 500 and orange > 500


def test_show_writes_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "board.svg"
    assert main(["show", "checkers", "--moves", "11-15", "--svg", str(file)]) == 0
    assert re.match("<svg xmlns", file.read_text()) and "white to move" in file.read_text()
    texts = [each for each in drawn(load("chess").diagram(load("chess").initial())).shapes if isinstance(each, Text)]
    assert [each.text for each in texts] == list("87654321abcdefgh")
