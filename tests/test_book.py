"""Opening books: what goes in comes out, weighted by results, and nothing that is not of the game."""

import json
import re
from collections import Counter

import numpy as np
import pytest
from commands import command

from base.errors import UserError
from base.framed_log import LogWriter
from base.seeds import below, generator
from classical.book import PRIOR, Book, build_book, main, weight
from games import load
from games.record import make_record, record_of_names

TIC, FOUR = load("tic_tac_toe"), load("connect_four")
WON = "b2 a1 a2 b1 c2"  # by the first player, through the middle row
LOST = "a1 b2 b1 c1 a2 a3"  # by the first player
LINES = [WON, WON, "b2 a1 c2 b1 a2", LOST]  # the third is the first with two moves exchanged


def records(lines=LINES, game=TIC):
    return [record_of_names(game, line) for line in lines]


def named(book, state):
    return {book.game.name_of(action): (games, score) for action, games, score in book.moves(state)}


def random_records(game, n, seed=1):
    found = []
    for number in range(n):
        rng, state, moves = generator(seed, "book", number), game.initial(), []
        with np.errstate(over="ignore"):
            while legal := game.legal_actions(state):
                moves.append(legal[below(rng, len(legal))])
                state = game.result(state, moves[-1])
        found.append(make_record(game, moves, seed=number))
    return found


def test_results_count_for_the_player_of_the_move():
    book = build_book(TIC, records(), plies=12, min_games=1)
    assert named(book, TIC.initial()) == {"b2": (3, 3 / (3 + PRIOR)), "a1": (1, -1 / (1 + PRIOR))}
    assert named(book, TIC.play("b2")) == {"a1": (3, -3 / (3 + PRIOR))}
    assert named(book, TIC.play("a1")) == {"b2": (1, 1 / (1 + PRIOR))}


def test_one_position_is_one_entry_whatever_the_way_to_it():
    book = build_book(TIC, records([WON, "a2 a1 b2 b1 c2"]), min_games=2)
    assert named(book, TIC.play("b2 a1 a2 b1"))["c2"][0] == named(book, TIC.play("a2 a1 b2 b1"))["c2"][0] == 2
    assert named(book, TIC.initial()) == {}  # either first move was made once


def test_rare_moves_and_late_plies_are_left_out():
    book = build_book(TIC, records(), plies=2, min_games=2)
    assert named(book, TIC.initial()).keys() == {"b2"} and named(book, TIC.play("b2")).keys() == {"a1"}
    assert named(book, TIC.play("b2 a1")) == {}
    assert len(book) == 2 and book.games == 4


def test_games_without_an_outcome_are_left_out_of_a_book():
    book = build_book(TIC, records(["b2 a1", WON]), min_games=1)
    assert book.games == 1 and named(book, TIC.initial())["b2"][0] == 1


def test_a_move_made_twice_in_a_position_of_one_game_counts_once():
    chess = load("chess")
    shuffle = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8"
    book = build_book(chess, records([shuffle], chess), min_games=1)
    assert named(book, chess.initial()) == {"g1f3": (1, 0.0)}


def test_choices_are_drawn_in_proportion_to_weight():
    book, rng = build_book(TIC, records(), min_games=1), generator(3, "book")
    counts = Counter(book.choose(TIC.initial(), rng) for _ in range(4000))
    weights = {action: weight(games, score) for action, games, score in book.moves(TIC.initial())}
    for action, share in weights.items():
        assert abs(counts[action] / 4000 - share / sum(weights.values())) < 0.03
    assert set(counts) == set(weights)


def test_a_position_outside_the_book_has_no_choice():
    book = build_book(TIC, records(), min_games=1)
    assert book.choose(TIC.play("c3"), generator(0, "x")) is None
    assert book.choose(TIC.play(WON), generator(0, "x")) is None  # finished


def test_moves_illegal_by_history_are_not_proposed():
    """Superko: the same stones and mover, but retaking would repeat a board."""
    go = load("go:size=3")
    fresh = next(record for record in random_records(go, 200, seed=2) if len(record) > 12)
    book = build_book(go, [fresh], plies=len(fresh), min_games=1)
    for state, ply in fresh.replay(go):
        if ply < len(fresh):
            assert int(fresh.moves[ply]) in {action for action, _, _ in book.moves(state)}
    state = fresh.positions(go)[0]
    book.entries[go.key(state)] = {go.id_of("pass"): (5, 5.0), 10_000: (5, 5.0)}
    assert [action for action, _, _ in book.moves(state)] == [go.id_of("pass")]


@pytest.mark.parametrize(
    "name", ["tic_tac_toe", "connect_four", "backgammon", "dots_and_boxes:rows=2,cols=2,players=3"]
)
def test_a_book_comes_back_from_its_file(name, tmp_path):
    game = load(name)
    book = build_book(game, random_records(game, 20), plies=6, min_games=1)
    book.save(tmp_path / "a.book")
    again = Book.load(tmp_path / "a.book", game)
    assert again.entries == book.entries
    assert (again.games, again.plies, again.min_games) == (20, 6, 1)
    again.save(tmp_path / "b.book")
    assert (tmp_path / "a.book").read_bytes() == (tmp_path / "b.book").read_bytes()


def test_the_order_of_games_makes_no_difference(tmp_path):
    for name, given in (("a", LINES), ("b", LINES[::-1])):
        build_book(TIC, records(given), min_games=1).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "tic.book"
    build_book(TIC, records(), min_games=1).save(path)
    return path


def test_a_book_of_another_game_or_version_is_refused(saved):
    with pytest.raises(
        UserError, match=r"tic.book: expected a book of connect_four \(version 1\), got one of tic_tac_toe"
    ):
        Book.load(saved, FOUR)
    header, *rest = saved.read_text().splitlines()
    saved.write_text("\n".join([json.dumps(json.loads(header) | {"version": 9}), *rest]))
    with pytest.raises(
        UserError, match=r"expected a book of tic_tac_toe \(version 1\), got one of tic_tac_toe \(version 9\)"
    ):
        Book.load(saved, TIC)


def test_a_book_of_other_keys_is_refused(saved):
    header, *rest = saved.read_text().splitlines()
    saved.write_text("\n".join([json.dumps(json.loads(header) | {"start": "0" * 16}), *rest]))
    with pytest.raises(
        UserError, match=r"expected a book in which the first position has the key .*, got 0000000000000000"
    ):
        Book.load(saved, TIC)


@pytest.mark.parametrize(
    ("number", "line", "complaint"),
    [
        (0, "", "tic.book:1: expected the header of an opening book, got nothing"),
        (0, "a1 b2 c3", "tic.book:1: expected the header of an opening book, got a1 b2 c3"),
        (0, '{"zermelo": "book", "format": 2}', "tic.book:1: expected a book of format 1, got 2"),
        (2, "{", "tic.book:3: expected a position as in"),
        (2, '{"key": "12", "moves": {"a1": [1, 1]}}', "tic.book:3: expected a position as in"),
        (2, '{"key": "0000000000000000", "moves": {"a1": [1, 1]}}', "tic.book:3: expected keys in ascending order"),
        (2, '{"key": "ffffffffffffffff", "moves": {"a4": [1, 1]}}', "names of actions of tic_tac_toe, got 'a4'"),
        (2, '{"key": "ffffffffffffffff", "moves": {"a1": [1, 2]}}', r"a number of games and a sum .*, got \[1, 2\]"),
        (2, '{"key": "ffffffffffffffff", "moves": {"a1": [0, 0]}}', r"a number of games and a sum .*, got \[0, 0\]"),
        (2, '{"key": "ffffffffffffffff", "moves": {"a1": [1, NaN]}}', "a position as in"),
    ],
)
def test_a_malformed_line_is_named(saved, number, line, complaint):
    lines = saved.read_text().splitlines()
    lines[number] = line
    saved.write_text("\n".join(lines))
    with pytest.raises(UserError, match=complaint):
        Book.load(saved, TIC)


def test_plies_and_games_must_be_positive():
    with pytest.raises(UserError, match="plies: expected at least 1, got 0"):
        build_book(TIC, [], plies=0)
    with pytest.raises(UserError, match="min_games: expected at least 1, got -1"):
        build_book(TIC, [], min_games=-1)


def test_the_command_builds_from_logs_and_texts_and_shows(tmp_path, capsys):
    with LogWriter(tmp_path / "games.log") as log:
        for record in records():
            log.append(record.to_bytes())
    (tmp_path / "more.txt").write_text("\n".join([*LINES, "b2 a1"]))
    out = tmp_path / "out.book"
    files = [str(tmp_path / "games.log"), str(tmp_path / "more.txt")]
    assert main(["build", "tic_tac_toe", *files, "--out", str(out), "--min-games", "4"]) == 0
    said = capsys.readouterr().out
    assert "from 8 games" in said and "4 different" in said and "1 unfinished ones left out" in said
    assert main(["show", "tic_tac_toe", str(out), "--plies", "2"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[1:] == ["b2  100%  6 games  +0.75", "  a1  100%  6 games  -0.75"]


def test_a_book_with_dice_is_shown_through_the_dice(tmp_path):
    game = load("backgammon")
    book = build_book(game, random_records(game, 5), plies=4, min_games=1)
    lines = list(book.tree(3))
    assert lines[0].startswith("(") and any("games" in line for line in lines)


def test_the_command_refuses_in_one_line(tmp_path):
    (tmp_path / "games.txt").write_text("b2 a1\nb2 zz\n")
    words = ["build", "tic_tac_toe", str(tmp_path / "games.txt"), "--out", str(tmp_path / "x.book")]
    done = command(["classical.book", *words])
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "games.txt:2: ply 1: expected the name of an action of tic_tac_toe, got 'zz'" in done.stderr
    assert not (tmp_path / "x.book").exists()


@pytest.mark.parametrize(
    ("games", "expected"),
    [
        (
            [WON, LOST],
            "no move was played in 2 games or more \\(--min-games 2\\); --min-games 1 keeps every move of 2 games",
        ),
        (["b2 a1"], "none of 1 games has an outcome"),
    ],
)
def test_an_empty_book_names_what_emptied_it(games, expected, tmp_path, capsys):
    (tmp_path / "games.txt").write_text("\n".join(games) + "\n")
    words = ["build", "tic_tac_toe", str(tmp_path / "games.txt"), "--out", str(tmp_path / "x.book")]
    assert main(words) == 0
    assert re.search(expected, capsys.readouterr().err)
    if len(games) > 1:
        assert main([*words, "--min-games", "1"]) == 0
        assert "empty" not in capsys.readouterr().err
