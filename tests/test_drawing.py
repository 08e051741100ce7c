"""Searched trees as drawings: what is in them, what is left out, and that no edge meets a text."""

import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from arena.__main__ import main
from arena.drawing import dot, searched_tree, svg, thinned
from arena.drawing.svg import LETTER, SMALL
from arena.players import make_player
from base.errors import UserError
from games import load


def drawing_of(game, player, moves=""):
    game = load(game)
    return searched_tree(make_player(player, game), game.play(moves))


def shown(node):
    """Values by the path."""
    found = {"": node.text}
    for child in node.children:
        found |= {f"{child.action} {path}".strip(): text for path, text in shown(child).items()}
    return found


def test_alpha_beta_cuts_the_textbooks_two_leaves_and_values_are_the_files_payoffs():
    choice, drawing = drawing_of("tree:two_ply.json", "alphabeta:depth=2,bare=on")
    assert choice.value == 3 / 16
    texts = shown(drawing.root)
    assert texts[""] == "3" and texts["a1 b2"] == "12" and texts["a2"] == "≤2"
    cut = [leaf.action for child in drawing.root.children for leaf in child.children if leaf.kind == "cut"]
    assert cut == ["c2", "c3"]
    assert [child.notes for child in drawing.root.children] == [["[-∞, ∞]"], ["[3, ∞]"], ["[3, ∞]"]]


def test_the_root_of_three_players_shows_the_textbooks_vector():
    choice, drawing = drawing_of("tree:three_players.json", "maxn:depth=3")
    texts = shown(drawing.root)
    assert texts[""] == texts["a1"] == texts["a1 b1 c1"] == "(1, 2, 6)" and texts["a2 e2"] == "(5, 4, 5)"
    assert drawing.root.notes == ["player 0"]
    assert [each.utilities for each in choice.actions] == [(1 / 8, 2 / 8, 6 / 8), (1 / 8, 5 / 8, 2 / 8)]


def test_chance_nodes_have_means_and_probabilities():
    _, drawing = drawing_of("tree:chance.json", "expectiminimax:depth=2,pruning=off")
    texts = shown(drawing.root)
    assert texts[""] == texts["a1"] == "2.1" and texts["a2"] == "1.3" and texts["a2 q1 .1"] == "4"


def test_star1_cuts_are_drawn_with_bounds_that_hold():
    _, drawing = drawing_of("tree:chance.json", "expectiminimax:depth=2")
    texts = shown(drawing.root)
    assert texts["a2"] == "≤1.3" and texts["a2 q1 .1"] == ""


@pytest.mark.parametrize("player", ["minimax:depth=3", "alphabeta:depth=3,bare=on", "expectiminimax:depth=3"])
@pytest.mark.parametrize("moves", ["", "b2"])
def test_values_are_of_max_whoever_moves_first(player, moves):
    choice, drawing = drawing_of("tic_tac_toe", player, moves)
    sign = 1 if moves == "" else -1
    assert float(drawing.root.text) == pytest.approx(sign * choice.value, abs=6e-4)
    _, reference = drawing_of("tic_tac_toe", "minimax:depth=3", moves)
    exact = shown(reference.root)
    for path, text in shown(drawing.root).items():
        if text[:1] == "≤":
            assert float(exact[path]) <= float(text[1:]) + 1e-3
        elif text[:1] == "≥":
            assert float(exact[path]) >= float(text[1:]) - 1e-3


def test_visits_are_numbered_in_the_order_of_the_recursion():
    _, drawing = drawing_of("tree:two_ply.json", "minimax:depth=2")
    assert [node.order for node in drawing.root.walk()] == list(range(1, 14))
    _, drawing = drawing_of("tree:two_ply.json", "alphabeta:depth=2,bare=on")
    assert [node.order for node in drawing.root.walk() if node.order is not None] == list(range(1, 12))


def test_uct_shows_wins_and_visits_of_whoever_moved_and_the_bound_that_it_maximizes():
    choice, drawing = drawing_of("connect_four", "uct:sims=300,seed=2")
    root = drawing.root
    visits = {child.action: int(child.text.split("/")[1]) for child in root.children}
    assert sum(visits.values()) == 299  # the first simulation is the root's own
    for each in choice.actions:
        (child,) = (child for child in root.children if child.action == load("connect_four").names[each.action])
        assert float(child.text.split("/")[0]) == pytest.approx((each.value + 1) / 2 * each.visits, abs=1e-3)
        bound = (each.value + 1) / 2 + 2**0.5 * (math.log(300) / each.visits) ** 0.5
        assert child.notes == [f"UCB1 {bound:.3f}"]
    wins = sum(float(child.text.split("/")[0]) for child in root.children)
    assert float(root.text.split("/")[0]) == pytest.approx(300 - wins, abs=1)


def test_a_network_shows_priors_and_what_puct_maximizes():
    choice, drawing = drawing_of("connect_four", "net:small,sims=40")
    assert all(re.fullmatch(r"P \d\.\d\d", child.notes[0]) for child in drawing.root.children)
    assert any("PUCT" in note for child in drawing.root.children for note in child.notes)
    assert f"/{choice.actions[0].visits}" in next(child.text for child in drawing.root.children if child.is_best)


@pytest.mark.parametrize("game", ["dots_and_boxes:players=3", "tree:chance.json", "connect_four", "backgammon"])
@pytest.mark.parametrize("sims", [7, 100, 400])
def test_the_move_that_uct_plays_is_drawn_and_alone_marked(game, sims):
    for seed in range(3):
        choice, drawing = drawing_of(game, f"uct:sims={sims},seed={seed}", "31" if game == "backgammon" else "")
        (best,) = (child for child in thinned(drawing.root, 1, 2).children if child.is_best)
        assert best.action == load(game).names[choice.action]


def test_what_uct_has_proven_is_drawn_with_its_exact_value():
    choice, drawing = drawing_of("tree:two_ply.json", "uct:sims=200")
    assert choice.proven and drawing.root.text.startswith("3/")
    assert [child.text.partition("/")[0] for child in drawing.root.children] == ["3", "2", "2"]
    assert all("proven" in child.notes for child in drawing.root.children)
    _, drawing = drawing_of("tic_tac_toe", "uct:sims=500", "a1 b1 a2 b2")
    notes = {child.action: child.notes for child in drawing.root.children}
    assert "proven win" in notes["a3"] and not any("proven draw" in each for each in notes.values())


def test_what_is_left_out_is_counted():
    _, drawing = drawing_of("tic_tac_toe", "minimax:depth=3")
    root = thinned(drawing.root, 2, 3)
    assert root.count == 1 + 3 + 9 and root.left_out == 6
    assert all(child.left_out == 5 for child in root.children)
    assert any(child.is_best for child in root.children)
    assert max(each.worth for each in drawing.root.children) == max(each.worth for each in root.children)


def boxes_and_lines(text):
    """Of an SVG: [x0, y0, x1, y1] of each text, and the ends of each line."""
    texts, lines = [], []
    for each in ElementTree.fromstring(text).iter():
        tag = each.tag.rpartition("}")[2]
        if tag == "text" and each.text:
            is_small = each.get("font-size") == "9"
            x, y = float(each.get("x")), float(each.get("y"))
            width = len(each.text) * (SMALL if is_small else LETTER)
            left = x if is_small else x - width / 2
            texts.append((left, y - (7 if is_small else 9), left + width, y + 2))
        elif tag == "line":
            lines.append(tuple(float(each.get(name)) for name in ("x1", "y1", "x2", "y2")))
    return texts, lines


def crosses(box, line):
    x0, y0, x1, y1 = line
    return any(
        box[0] < x0 + (x1 - x0) * t / 200 < box[2] and box[1] < y0 + (y1 - y0) * t / 200 < box[3] for t in range(201)
    )


@pytest.mark.parametrize(
    ("game", "player", "depth", "top"),
    [
        ("tree:two_ply.json", "alphabeta:depth=2,bare=on", None, None),
        ("tree:three_players.json", "maxn:depth=3", None, None),
        ("tree:chance.json", "expectiminimax:depth=2", None, None),
        ("tree:cooperation.json", "uct:sims=40", None, None),
        ("tic_tac_toe", "minimax:depth=2", None, None),
        ("connect_four", "uct:sims=500", 3, 3),
        ("connect_four", "alphabeta:depth=4", 3, 4),
    ],
)
def test_no_edge_meets_a_text_and_no_text_another(game, player, depth, top):
    _, drawing = drawing_of(game, player)
    drawing.root = thinned(drawing.root, depth, top)
    for has_order in (False, True):
        texts, lines = boxes_and_lines(svg(drawing, has_order))
        assert len(lines) >= drawing.root.count - 1
        for i, box in enumerate(texts):
            assert not any(crosses(box, line) for line in lines)
            assert not any(
                box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
                for other in texts[i + 1 :]
            )


def test_dot_has_every_node_and_edge():
    _, drawing = drawing_of("tree:two_ply.json", "alphabeta:depth=2,bare=on")
    text = dot(drawing)
    assert text.count("->") == 12 and text.count("style=dashed") == 4 and text.count("invtriangle") == 3
    assert r'label="≤2\n[3, ∞]"' in text


def test_the_legend_names_moves_that_are_not_drawn(tmp_path: Path):
    words = ["explain", "connect_four", "--player", "uct:sims=300", "--tree", str(tmp_path / "x.svg"), "--depth", "1"]
    for more in (["--top", "3"], []):
        assert main([*words, *more]) == 0
        assert "not drawn" in (tmp_path / "x.svg").read_text()
    assert main(["explain", "tree:two_ply.json", "--player", "minimax:depth=2", "--tree", str(tmp_path / "y.svg")]) == 0
    assert "not drawn" not in (tmp_path / "y.svg").read_text()


def test_the_command_refuses_what_it_cannot_draw_in_one_line(tmp_path: Path):
    def refused(*words: str) -> str:
        with pytest.raises(UserError) as error:
            main(["explain", "tic_tac_toe", *words])
        assert not list(tmp_path.iterdir())
        return str(error.value)

    there = str(tmp_path / "x.svg")
    assert "expected a player of kind alphabeta, minimax" in refused("--player", "random", "--tree", there)
    assert "got 586; --depth and --top" in refused("--player", "minimax:depth=3", "--tree", there)
    assert "named .svg or .dot" in refused("--player", "minimax:depth=1", "--tree", str(tmp_path / "x.png"))
    assert "order: expected a search by recursion" in refused("--player", "uct:sims=9", "--tree", there, "--order")
    assert "top: expected 1 or more" in refused("--player", "minimax:depth=1", "--tree", there, "--top", "0")
