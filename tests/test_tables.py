"""Endgame tables and complete tables: against minimax, against published counts, against every defence."""

import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest

from base.errors import UserError
from base.seeds import below, generator
from classical.tables import (
    DRAW,
    NONE,
    empty_table,
    has_endgames,
    load_tables,
    loss_in,
    plies_of,
    prober,
    store,
    value_of,
    win_in,
)
from classical.tables.__main__ import main
from classical.tables.check import inconsistencies, inconsistent
from classical.tables.codes import words
from classical.tables.complete import build_complete
from classical.tables.endgames import build_class, spans
from classical.tables.tables import Tables, rank
from games import load
from games.engine.game import Game
from games.engine.rules import Rules

CHECKERS, CHESS = load("checkers"), load("chess")


@functools.cache
def tables_of(name):
    return load_tables(load(name))


def build_endgames(game):
    table = np.zeros(sum(size for _, size in game.rules.endgames), np.uint16)
    for name, (first, last) in spans(game).items():
        table[first:last] = build_class(game, table, name)
    return table


def probed(tables, state):
    return int(tables.game.kernel(prober)(tables.array, state))


def draw(rng, choices):
    with np.errstate(over="ignore"):
        return choices[below(rng, len(choices))]


def decided_positions(tables, n, seed, name=None):
    """n random endgames that are won or lost, with their codes; of one class if it is named."""
    first, last = spans(tables.game)[name] if name else (0, len(tables.array))
    rng, indices = generator(seed, "decided"), np.flatnonzero(tables.array[first:last] >= 2)
    for _ in range(n):
        index = first + int(draw(rng, indices))
        yield tables.position(index), int(tables.array[index])


# ── values ──


def minimax(game, state, known):
    """The code of a position by the definition, plain recursion."""
    word = game.key(state)
    if word not in known:
        mover, codes = game.to_move(state), []
        for action in game.legal_actions(state):
            after = game.result(state, action)
            if game.is_terminal(after):
                value, plies = game.utility(after)[mover], 0
            else:
                code = minimax(game, after, known)
                value, plies = value_of(code), plies_of(code)
                value = value if game.to_move(after) == mover else -value
            codes.append(DRAW if value == 0 else win_in(plies + 1) if value > 0 else loss_in(plies + 1))
        known[word] = max(codes, key=rank)
    return known[word]


@pytest.mark.parametrize(
    ("name", "positions"), [("tic_tac_toe", 5478 - 958), ("nim", None), ("dots_and_boxes:rows=1,cols=2", None)]
)
def test_every_value_of_a_complete_table_is_that_of_minimax(name, positions):
    """5478 positions of tic-tac-toe, 958 of them finished. In dots and boxes a player moves twice in a row."""
    tables, known = tables_of(name), {}
    minimax(tables.game, tables.game.initial(), known)
    used = tables.array[tables.array["code"] != NONE]
    assert {int(entry["key"]): int(entry["code"]) for entry in used} == known
    assert positions is None or len(used) == positions


def test_the_first_mover_of_tic_tac_toe_draws_and_punishes_a_mistake():
    game, tables = load("tic_tac_toe"), tables_of("tic_tac_toe")
    assert words(tables.code(game.initial())) == "drawn"
    assert words(tables.code(game.play("a1 b1"))) == "won in 5"
    assert words(tables.code(game.play("a1 b1 b2"))) == "lost in 4"
    over = game.play("a1 b1 a2 b2 a3")
    assert tables.code(over) == NONE and tables.choose(over) is None


@pytest.mark.parametrize("name", ["checkers", "chess"])
def test_every_value_follows_from_its_successors(name):
    count, wrong = inconsistencies(tables_of(name))
    assert wrong == -1
    assert count > 250_000


def test_a_wrong_value_does_not_follow_from_its_successors():
    tables = Tables(CHECKERS, np.array(tables_of("checkers").array))
    index = int(np.flatnonzero(tables.array == win_in(9))[0])
    for code in (win_in(11), DRAW, loss_in(8), NONE):
        tables.array[index] = code
        assert inconsistencies(tables)[1] >= 0


def slow_value(game, state, plies):
    """What the mover can force within so many plies: 1, -1, or 0 for neither; counters left alone, for none gets far."""
    mover, values = game.to_move(state), []
    for action in game.legal_actions(state):
        after = game.result(state, action)
        if game.is_terminal(after):
            values.append(int(game.utility(after)[mover]))
        elif plies > 1:
            value = slow_value(game, after, plies - 1)
            values.append(value if game.to_move(after) == mover else -value)
        else:
            values.append(0)
    return max(values)


@pytest.mark.parametrize("game", [CHECKERS, CHESS], ids=lambda game: game.name)
def test_short_distances_are_those_of_a_plain_search(game):
    tables, seen = tables_of(game.name), Counter()
    for state, code in decided_positions(tables, 3000, seed=3):
        plies = plies_of(code)
        if plies <= (3 if game is CHESS else 5) and seen[plies] < 12:
            seen[plies] += 1
            assert slow_value(game, state, plies) == value_of(code)
            assert plies < 2 or slow_value(game, state, plies - 1) == 0
    assert len(seen) >= 3


def test_the_longest_mates_are_the_known_ones():
    """In moves 16 for KRK, 10 for KQK, 28 for KPK."""
    longest = {section.name: section.longest for section in tables_of("chess").sections()}
    assert longest == {"KNK": 0, "KBK": 0, "KRK": 31, "KQK": 19, "KPK": 55}


def test_rook_endings_are_as_many_by_depth_as_published():
    """Black to move, white's king in the triangle a1-d1-d4, mirror images left out: Bain and Hoff (1994), the krkopt data set."""
    published = [27, 78, 246, 81, 198, 471, 592, 683, 1433, 1712, 1985, 2854, 3597, 4194, 4553, 2166, 390]
    game, tables, moves, drawn = CHESS, tables_of("chess"), Counter(), 0
    first, last = spans(game)["KRK"]
    for index in range((first + last) // 2, last):
        state = tables.position(index)
        if state is None:
            continue
        assert state.mover == 1
        if game.is_terminal(state):
            if game.utility(state)[0] == 1:
                moves[0] += 1
            else:
                drawn += 1
        elif (code := int(tables.array[index])) == DRAW:
            drawn += 1
        else:
            assert value_of(code) == -1
            moves[plies_of(code) // 2] += 1
    assert [moves[n] for n in range(17)] == published
    assert drawn == 2796


# ── play ──


def assert_wins_in_time(tables, state, code, defend):
    """The winning side plays by the table, the other by `defend`; the distance never grows."""
    game = tables.game
    winner = game.to_move(state) if value_of(code) > 0 else 1 - game.to_move(state)
    for left in range(plies_of(code), 0, -1):
        assert not game.is_terminal(state)
        found = tables.code(state)
        assert plies_of(found) <= left
        assert value_of(found) == (1 if game.to_move(state) == winner else -1)
        state = game.result(state, tables.choose(state).action if game.to_move(state) == winner else defend(state))
        if game.is_terminal(state):
            break
    assert game.is_terminal(state)
    assert game.utility(state)[winner] == 1


@pytest.mark.parametrize("game", [CHECKERS, CHESS], ids=lambda game: game.name)
def test_a_won_position_is_won_in_time_against_any_defence(game):
    tables, rng = tables_of(game.name), generator(5, "defence")
    for state, code in decided_positions(tables, 40, seed=4):
        assert_wins_in_time(tables, state, code, lambda state: draw(rng, game.legal_actions(state)))


@pytest.mark.parametrize("game", [CHECKERS, CHESS], ids=lambda game: game.name)
def test_the_best_defence_lasts_as_long_as_stated(game):
    tables = tables_of(game.name)
    for state, code in decided_positions(tables, 40, seed=6):
        line = tables.line(state)
        assert len(line) == plies_of(code)
        for action in line:
            state = game.result(state, action)
        assert game.is_terminal(state)


def test_a_choice_is_proven_and_ranks_every_action():
    tables = tables_of("chess")
    state = CHESS.parse("8/8/8/8/8/k7/8/K6Q b - - 0 1")
    assert probed(tables, state) == tables.code(state)
    state = CHESS.parse("7k/8/5K2/8/8/8/8/6Q1 w - - 0 1")
    choice = tables.choose(state)
    assert choice.proven and choice.value == 1.0 and choice.depth == 1 == len(choice.pv)
    assert CHESS.name_of(choice.action) == "g1g7"
    assert [candidate.value for candidate in choice.actions] == sorted(
        (candidate.value for candidate in choice.actions), reverse=True
    )
    assert {candidate.action for candidate in choice.actions} == set(CHESS.legal_actions(state))


# ── four pieces ──

FOUR = ("KBBK", "KBNK", "KQKR")


@functools.cache
def four():
    return load_tables(CHESS, endgames=FOUR)


def test_the_longest_mates_with_four_pieces_are_the_known_ones():
    """In moves 19 for KBBK, 33 for KBNK, 35 for KQKR."""
    longest = {section.name: section.longest for section in four().sections()}
    assert [longest[name] for name in FOUR] == [37, 65, 69]


@pytest.mark.parametrize("name", ["KBBK", "KQKR"])
def test_every_value_with_four_pieces_follows_from_its_successors(name):
    count, wrong = inconsistent(CHESS, four().array, name)
    assert wrong == -1
    assert count == {"KBBK": 745_825, "KQKR": 2_465_442}[name]


@pytest.mark.parametrize("name", FOUR)
def test_short_mates_with_four_pieces_are_those_of_a_plain_search(name):
    rng, (first, last) = generator(3, name), spans(CHESS)[name]
    for code in (win_in(1), loss_in(2), win_in(3)):
        indices = first + np.flatnonzero(four().array[first:last] == code)
        for _ in range(5):
            state, plies = four().position(int(draw(rng, indices))), plies_of(code)
            assert slow_value(CHESS, state, plies) == value_of(code)
            assert plies < 2 or slow_value(CHESS, state, plies - 1) == 0
    indices = first + np.flatnonzero(four().array[first:last] > win_in(3))
    for _ in range(5):
        assert slow_value(CHESS, four().position(int(draw(rng, indices))), 3) == 0


@pytest.mark.parametrize("name", FOUR)
def test_with_four_pieces_the_best_defence_lasts_as_long_as_stated_and_no_other_longer(name):
    rng = generator(5, name)
    for state, code in decided_positions(four(), 4, 6, name):
        assert len(four().line(state)) == plies_of(code)
        assert_wins_in_time(four(), state, code, lambda state: draw(rng, CHESS.legal_actions(state)))


def test_classes_on_request_have_codes_only_where_they_are_named():
    state = CHESS.parse("8/8/8/8/3k4/8/8/KBN5 w - - 0 1")
    assert words(four().code(state)) == "won in 59"
    assert tables_of("chess").code(state) == NONE
    assert len(tables_of("chess").array) == len(four().array)  # one kernel for both
    some = load_tables(CHESS, endgames=["KBNK", "KQK"])  # one of them is always there
    assert some.endgames == ("KBNK",) and len(some.paths) == 2
    assert some.classes() == ["KNK", "KBK", "KRK", "KQK", "KPK", "KBNK"]
    with pytest.raises(UserError, match="expected one of KBBK, KBNK, KQKR, got 'KBNKP'; did you mean 'KBNK'"):
        load_tables(CHESS, endgames=["KBNKP"])
    with pytest.raises(UserError, match="expected none, for there are none on request, got 'KBNK'"):
        load_tables(CHECKERS, endgames=["KBNK"])


@pytest.mark.parametrize("name", ["KRK", "KPK"])
def test_moves_taken_back_give_the_codes_that_stored_moves_give(name):
    rules, table, (first, last) = CHESS.rules, tables_of("chess").array, spans(CHESS)[name]
    fields = {each: getattr(rules, each) for each in Rules.__dataclass_fields__ if each != "derived"}
    game = Game(Rules(**(fields | {"endgame_predecessors": None})), "chess", "chess", {})
    assert np.array_equal(build_class(game, table, name), table[first:last])


def test_a_class_whose_captures_lead_to_one_without_codes_is_refused():
    with pytest.raises(UserError, match=r"class KQKR: .* leads to a class that is not built yet"):
        build_class(CHESS, np.zeros(len(four().array), np.uint16), "KQKR")


def test_a_mate_in_33_moves_comes_before_the_fifty_moves_are_over():
    longest = "8/8/7N/8/8/8/8/K1k1B3 w - - {} 1"
    assert words(probed(four(), CHESS.parse(longest.format(35)))) == "won in 65"
    assert probed(four(), CHESS.parse(longest.format(36))) == NONE


# ── turns, captures, stalemates ──


def test_each_jump_of_a_turn_counts_as_a_ply():
    tables = tables_of("checkers")
    state = CHECKERS.parse("B:W6,14:B1")
    assert words(tables.code(state)) == "won in 2"
    middle = CHECKERS.play("1x10", state)
    assert CHECKERS.to_move(middle) == 0 and probed(tables, middle) == NONE
    assert words(tables.code(middle)) == "won in 1"
    assert CHECKERS.is_terminal(CHECKERS.play("1x10 10x17", state))


def test_positions_outside_have_no_code():
    checkers, chess = tables_of("checkers"), tables_of("chess")
    for tables in (checkers, chess):
        assert tables.code(tables.game.initial()) == NONE
        assert tables.choose(tables.game.initial()) is None
    assert chess.code(CHESS.parse("8/8/8/3k4/8/8/8/QQ2K3 w - - 0 1")) == NONE  # no class of two queens
    castling = CHESS.parse("4k3/8/8/8/8/8/8/4K2R w K - 0 1")
    assert probed(chess, castling) == NONE  # a position that may castle is another one


def test_stalemate_and_the_loss_of_the_last_piece_are_draws():
    tables = tables_of("chess")
    assert words(tables.code(CHESS.parse("7k/5Q2/8/8/8/8/8/K7 w - - 0 1"))).startswith("won")
    assert tables.code(CHESS.parse("7k/5Q2/8/8/8/8/8/K7 b - - 0 1")) == NONE  # stalemate: finished
    assert words(tables.code(CHESS.parse("8/8/8/8/8/1k6/2Q5/K7 b - - 0 1"))) == "drawn"  # takes the queen
    assert words(tables.code(CHESS.parse("k7/P7/8/1K6/8/8/8/8 w - - 0 1"))) == "drawn"  # the pawn of the wrong corner
    judged = dict(tables.judged(CHESS.parse("k7/P7/8/1K6/8/8/8/8 w - - 0 1")))
    assert judged[CHESS.id_of("b5b6")] == DRAW  # stalemates


def test_an_unused_index_has_no_code():
    for game in (CHECKERS, CHESS):
        tables, rng = tables_of(game.name), generator(8, "indices")
        refused = 0
        for _ in range(2000):
            index = int(draw(rng, range(len(tables.array))))
            if tables.position(index) is None:
                refused += 1
                assert tables.array[index] == NONE
        assert refused > 50


# ── counters and repetitions ──


def test_a_win_is_not_returned_where_the_counter_runs_out_first():
    chess, checkers = tables_of("chess"), tables_of("checkers")
    longest = "8/8/8/8/8/2k5/1R6/K7 w - - {} 1"  # won in 31
    assert words(probed(chess, CHESS.parse(longest.format(69)))) == "won in 31"
    assert probed(chess, CHESS.parse(longest.format(70))) == NONE
    longest = "W:WK29,K30:BK1 {}"  # won in 33
    assert words(probed(checkers, CHECKERS.parse(longest.format(47)))) == "won in 33"
    assert probed(checkers, CHECKERS.parse(longest.format(48))) == NONE


def test_the_last_ply_before_the_counter_may_win():
    mate = CHESS.parse("7k/8/5K2/8/8/8/8/6Q1 w - - 99 80")
    assert words(probed(tables_of("chess"), mate)) == "won in 1"
    assert CHESS.utility(CHESS.play("g1g7", mate)) == (1.0, -1.0)


def test_a_draw_is_returned_at_any_counter():
    drawn = CHESS.parse("8/8/8/8/8/1k6/2Q5/K7 b - - 90 80")
    assert words(probed(tables_of("chess"), drawn)) == "drawn"


@pytest.mark.parametrize(
    ("game", "start", "shuffle"),
    [
        (CHESS, "8/8/8/4k3/8/8/1R6/K7 w - - 0 1", "b2b3 e5e4 b3b2 e4e5"),
        (CHECKERS, "W:WK29,K30:BK1", "29-25 1-6 25-29 6-1"),
    ],
    ids=["chess", "checkers"],
)
def test_a_win_is_not_returned_where_a_position_has_occurred_twice(game, start, shuffle):
    tables, state = tables_of(game.name), game.parse(start)
    *but_last, last = shuffle.split()
    assert probed(tables, state) != NONE
    state = game.play(" ".join(but_last), state)
    assert probed(tables, state) != NONE  # nothing has stood twice yet
    state = game.play(last, state)
    assert probed(tables, state) == NONE


def test_a_win_longer_than_the_counter_is_found_where_a_capture_resets_it():
    tables = tables_of("checkers")
    state = CHECKERS.parse("B:W6,14:BK1 79")
    assert probed(tables, state) == NONE
    assert words(tables.code(state)) == "won in 2"


# ── games that are refused ──


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("backgammon", "two players, zero-sum and without chance"),
        ("dots_and_boxes:players=3", "two players, zero-sum and without chance"),
        ("tree:two_ply.json", "expected utilities -1, 0 and 1"),
        ("connect_four", "at most 1,000,000 positions"),
        ("go:size=2", "two paths to one of them allow different actions"),
    ],
)
def test_games_that_no_table_fits_are_refused(name, complaint):
    with pytest.raises(UserError, match=complaint):
        build_complete(load(name))


def test_endgame_classes_are_needed():
    assert not has_endgames(load("nim").rules) and has_endgames(CHECKERS.rules)
    with pytest.raises(UserError, match="expected rules with endgame classes"):
        build_class(load("nim"), np.zeros(0, np.uint16), "KRK")
    with pytest.raises(UserError, match="a complete table is checked by minimax"):
        inconsistencies(tables_of("nim"))


TOTAL = sum(size for _, size in CHECKERS.rules.endgames)
INDEX, POSITION = CHECKERS.rules.endgame_index, CHECKERS.rules.endgame_position


def last_first(state):
    index = INDEX(state)
    return TOTAL - 1 - index if index >= 0 else -1


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (
            {
                "endgames": CHECKERS.rules.endgames[::-1],
                "endgame_index": last_first,
                "endgame_position": lambda state, index: POSITION(state, TOTAL - 1 - index),
            },
            "leads to a later class",
        ),
        ({"endgame_index": lambda state: -1}, "leads to a position of the other player in no class"),
        ({"is_terminal": lambda state: state.pieces[state.mover] == 0}, "has no action and is not finished"),
    ],
    ids=["order", "index", "end"],
)
def test_rules_that_break_the_contract_are_refused(changes, complaint):
    fields = {name: getattr(CHECKERS.rules, name) for name in Rules.__dataclass_fields__ if name != "derived"}
    with pytest.raises(UserError, match=rf"class .*\(index \d+\) {complaint}"):
        build_endgames(Game(Rules(**(fields | changes)), "disorderly", "disorderly", {}))


def test_an_empty_table_has_no_codes():
    for name in ("checkers", "tic_tac_toe"):
        game = load(name)
        assert game.kernel(prober)(empty_table(game.rules), game.initial()) == NONE


def sounding(rules):
    """sound(states [2], actions, rng, table, codes [most]) -> plies: a random game inside a kernel, every position looked up."""
    probe, is_terminal, random_action, result = prober(rules), rules.is_terminal, rules.random_action, rules.result

    def sound(states, actions, rng, table, codes):
        states[1] = states[0]
        for ply in range(len(codes)):
            if is_terminal(states[1]):
                return ply
            codes[ply] = probe(table, states[1])
            result(states[1], random_action(states[1], actions, rng))
        return len(codes)

    return sound


@pytest.mark.parametrize("name", ["checkers", "chess", "tic_tac_toe"])
def test_kernels_and_python_find_the_same_codes(name):
    tables, game, found = tables_of(name), load(name), 0
    actions = np.zeros(game.rules.max_legal, np.int32)
    for seed in range(20):
        rng, codes = generator(seed, "sound"), np.zeros(300, np.int64)
        start = game.initial() if name == "tic_tac_toe" else next(decided_positions(tables, 1, seed))[0]
        plies = game.kernel(sounding)(game.scratch(start, 2), actions, rng, tables.array, codes)
        rng, state = generator(seed, "sound"), start
        with np.errstate(over="ignore"):
            for ply in range(plies):
                assert codes[ply] == probed(tables, state)
                found += codes[ply] != NONE
                state = game.result(state, int(game.rules.random_action(state, actions, rng)))
    assert found > 100


# ── files ──


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "cache_folder", lambda *parts: tmp_path)
    return tmp_path


def refuse_to_build(name, positions):
    raise AssertionError("it is there already")


def test_a_table_is_built_once_and_then_mapped(cache):
    game, built = load("nim"), []
    tables = load_tables(game, lambda name, positions: built.append(positions))
    assert sum(built) > 0 and tables.path.is_file()
    again = load_tables(game, refuse_to_build)
    assert np.array_equal(again.array, tables.array)
    before = tables.path.read_bytes()
    again.array[:] = 0  # its own pages, not the file
    assert tables.path.read_bytes() == before
    with pytest.raises(AssertionError, match="there already"):
        load_tables(game, refuse_to_build, rebuild=True)


def test_damage_anywhere_in_the_file_is_repaired(cache):
    game = load("nim")
    tables = load_tables(game)
    wanted, whole = np.array(tables.array), tables.path.read_bytes()
    rng = generator(9, "damage")
    places = [0, 17, 20, 40, len(whole) - 1, *(int(draw(rng, range(len(whole)))) for _ in range(20))]
    for damaged in [whole[:-1], whole[:100], whole[:10], b"", *(flipped(whole, place) for place in places)]:
        tables.path.write_bytes(damaged)
        found = load_tables(game).array
        assert np.array_equal(found, wanted)


def flipped(data, place):
    return data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]


def test_tables_of_other_rules_are_other_files(cache):
    small, large = load_tables(load("nim:most=3")), load_tables(load("nim:most=4"))
    assert small.path != large.path and small.path.is_file() and large.path.is_file()
    old = [small.path.with_name(f"{small.path.stem[:-32]}{i:032x}.table") for i in range(5)]
    for i, path in enumerate(old):
        path.write_bytes(b"of an older version")
        os.utime(path, (i, i))
    load_tables(load("nim:most=3"), rebuild=True)
    assert [path.exists() for path in old] == [False, False, True, True, True]  # the latest are kept
    assert large.path.is_file()


KILLED = """
import os, signal, sys
from pathlib import Path
from classical.tables import load_tables, store
from games import load
store.cache_folder = lambda *parts: Path(sys.argv[1])
where = sys.argv[2]
if where == "writing":
    write = os.fsync
    os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
load_tables(load("nim"), lambda name, positions: where == "building" and os.kill(os.getpid(), signal.SIGKILL))
"""


@pytest.mark.parametrize("where", ["building", "writing"])
def test_a_killed_builder_leaves_no_partial_file(cache, where):
    done = subprocess.run([sys.executable, "-c", KILLED, str(cache), where], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not list(cache.glob("*.table"))
    tables = load_tables(load("nim"))
    assert tables.path.is_file()
    assert not list(cache.glob("*.tmp")) and not list(cache.glob(".*.tmp"))


TOGETHER = """
import sys
from pathlib import Path
from classical.tables import load_tables, store
from games import load
store.cache_folder = lambda *parts: Path(sys.argv[1])
built = []
tables = load_tables(load("nim"), lambda name, positions: built.append(positions))
print(bool(built), tables.code(load("nim").initial()))
"""


def test_of_two_builders_one_builds_and_the_other_waits(cache):
    path = load_tables(load("nim")).path
    path.unlink()
    command = [sys.executable, "-c", TOGETHER, str(cache)]
    with store.file_lock(path.with_name(f".{path.stem}.lock")):
        both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        time.sleep(2)  # both get as far as the lock
    answers = [process.communicate()[0].split() for process in both]
    assert sorted(answer[0] for answer in answers) == ["False", "True"]
    assert answers[0][1] == answers[1][1]


# ── the command ──


def test_the_command_builds_checks_and_reports(capsys):
    assert main(["checkers", "--check"]) == 0
    shown = capsys.readouterr().out
    assert "K v MM" in shown and "61 plies" in shown and "all follow from their successors" in shown
    assert main(["tic_tac_toe", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    (complete,) = report["classes"]
    assert complete["won"] + complete["drawn"] + complete["lost"] == complete["size"] == 4520
    with pytest.raises(UserError, match="at most 1,000,000 positions"):
        main(["connect_four"])


def test_the_command_prints_the_value_of_a_position_and_of_its_moves(capsys):
    assert main(["chess", "KBNK", "--position", "8/8/8/8/8/1K6/2N5/1k1B4 w - - 0 1"]) == 0
    first, best, *_ = capsys.readouterr().out.splitlines()
    state = CHESS.parse("8/8/8/8/8/1K6/2N5/1k1B4 w - - 0 1")
    assert first == f"8/8/8/8/8/1K6/2N5/1k1B4 w - - 0 1: {words(four().code(state))}"
    assert best.split(maxsplit=1)[1] == words(four().code(state))
    assert main(["chess", "--position", "8/8/8/8/8/2K5/8/k2R4 b - - 0 1", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["moves"]) == {"a1a2"}
    with pytest.raises(UserError, match="expected a position of chess with a move to choose, got a finished game"):
        main(["chess", "--position", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"])


def test_codes_and_words():
    assert [words(code) for code in (NONE, DRAW, loss_in(0), win_in(1), loss_in(4))] == [
        "not in the table",
        "drawn",
        "lost in 0",
        "won in 1",
        "lost in 4",
    ]
    order = [loss_in(2), loss_in(8), NONE, DRAW, win_in(9), win_in(1)]
    assert sorted(order, key=rank) == order
