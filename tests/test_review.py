"""Going through a game that somebody played: values, mistakes, the better line."""

import json
import re
from pathlib import Path

import pytest

from arena.__main__ import main
from arena.players import make_player
from arena.review import bar, nth_game, reviewed, text
from arena.seats import seat_names
from base.errors import UserError
from games import load
from games.record import make_record


def review_of(name, words, player, **options):
    game = load(name)
    record = make_record(game, [game.id_of(word) for word in words.split()])
    return reviewed(game, record, make_player(player, game), **options)


def test_exact_play_is_without_mistakes():
    found = review_of("tic_tac_toe", "b2 a1 a2 c2 b1 b3 a3 c1 c3", "alphabeta:depth=9")
    assert found.mistakes() == []
    assert {ply.utilities for ply in found.plies} == {(0.0, 0.0)}


def test_a_move_loses_what_the_position_was_worth_and_the_solver_agrees():
    found = review_of("tic_tac_toe", "b2 b1 a1 c3 b3", "alphabeta:depth=9")
    for ply in found.plies:
        if ply.gives_away is not None:
            assert ply.loss == pytest.approx(ply.gives_away, abs=1e-5)
    assert found.plies[1].loss == pytest.approx(1.0, abs=1e-5)  # an edge beside the centre loses
    worst = found.mistakes()[0]
    assert found.plies[worst].loss == max(ply.loss for ply in found.plies)
    assert found.plies[1].line[0] != found.plies[1].action


def test_the_end_of_a_game_has_its_result():
    found = review_of("tic_tac_toe", "a1 b1 a2 b2 a3", "random", nodes=0)
    assert found.plies[-1].utilities == (1.0, -1.0)
    assert found.plies[-1].action is None
    assert all(ply.exact is None for ply in found.plies)


def test_dice_are_no_mistakes():
    game = load("backgammon")
    state, moves = game.initial(), []
    for _ in range(6):
        moves.append(game.legal_actions(state)[0])
        state = game.result(state, moves[-1])
    found = reviewed(game, make_record(game, moves), make_player("random", game), 0)
    assert all(ply.loss == 0 for ply in found.plies if ply.mover == -1)


def test_text_pgn_and_san_are_read(tmp_path):
    game = load("chess")
    text, pgn = tmp_path / "games.txt", tmp_path / "games.pgn"
    text.write_text("1. e4 e5\n\n1. f3 e5 2. g4 Qh4# 0-1\n")
    pgn.write_text("1. f3 e5 2. g4 Qh4# 0-1\n")
    assert nth_game(text, game, 2).move_names(game) == nth_game(pgn, game, 1).move_names(game) == "f2f3 e7e5 g2g4 d8h4"
    with pytest.raises(UserError, match=r"expected a game number 3 with moves, found none"):
        nth_game(text, game, 3)
    text.write_text("1. e4 e6 2. Qxd7\n")
    with pytest.raises(UserError, match=r"games.txt:1: ply 2"):
        nth_game(text, game, 1)


def test_text_json_and_page_show_the_same_mistakes(tmp_path, capsys):
    file, html = tmp_path / "game.txt", tmp_path / "game.html"
    file.write_text("b2 b1 a1 c3 b3\n")
    arguments = ["review", "tic_tac_toe", str(file), "alphabeta:depth=9"]
    assert main([*arguments, "--html", str(html)]) == 0
    text = capsys.readouterr().out
    assert main([*arguments, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert len(data["plies"]) == 6
    shown = [int(number) - 1 for number in re.findall(r"^  ply (\d+): player", text, re.MULTILINE)]
    assert shown == data["mistakes"][:5]
    written = Path(html).read_text()
    assert written.count("<figure>") == 2 * len(shown)
    assert written.count('class="mistake"') == len(data["mistakes"])
    assert all(f"ply {number + 1}:" in written for number in shown)


def test_a_game_of_chess_is_reviewed_in_the_words_of_books():
    found = review_of("chess", "f2f3 e7e5 g2g4 d8h4", "alphabeta:depth=3", nodes=0)
    said = text(found, 5)
    assert "values for White" in said and " Qh4#" in said and "White played g4, which loses" in said
    assert seat_names(load("backgammon")) == [
        "Black",
        "White",
    ]  # although moves put hit checkers of the other on the bar
    assert seat_names(load("go")) == ["Black", "White"] and seat_names(load("kuhn_poker")) == ["player 0", "player 1"]


def test_wrong_numbers_are_refused():
    for option, least in (("number", 1), ("most", 0), ("solver", 0)):
        with pytest.raises(UserError, match=f"{option}: expected {least} or more, got -1"):
            main(["review", "tic_tac_toe", "none", "random", f"--{option}", "-1"])


def test_bars_begin_in_the_middle():
    assert bar(0.0).strip() == "│"
    assert bar(1.0).strip() == "│" + "█" * 20
    assert bar(-0.5).strip() == "█" * 10 + "│"
