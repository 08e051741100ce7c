"""Endgame tables inside alpha-beta: what they know is neither searched nor doubted, and counters come first."""

import time
from typing import Any

import numpy as np
import pytest

from base.errors import UserError
from classical.alphabeta import AlphaBeta, AlphaBetaSettings
from classical.alphabeta.player import Search
from classical.scores import UNIT, WIN
from classical.tables import DRAW, load_tables, plies_of, store, value_of
from games import Game, load

CHESS, CHECKERS = load("chess"), load("checkers")


def player(game: Game, **settings: Any) -> AlphaBeta:
    return AlphaBeta(game, AlphaBetaSettings(**({"tables": True, "tt_mb": 1} | settings)))


def searched(player: AlphaBeta, state: Any) -> Search:
    search = Search(player, player._workspace, state)
    search.run(time.perf_counter())
    return search


def score_of_code(code: int) -> int:
    return value_of(code) * (WIN - plies_of(code))


def some_positions(game: Game, name: str, n: int, seed: int = 1) -> Any:
    """n positions of an endgame class with their codes, a third of them drawn where there are so many."""
    tables, rng = load_tables(game), np.random.default_rng(seed)
    first = 0
    for each, size in game.rules.endgames:
        if each == name:
            break
        first += size
    codes = tables.array[first : first + size]
    drawn, decided = np.flatnonzero(codes == DRAW), np.flatnonzero(codes >= 2)
    chosen = [*rng.choice(decided, n - n // 3), *rng.choice(drawn, n // 3)]
    for index in chosen:
        state = tables.position(first + int(index))
        assert state is not None
        yield state, int(codes[index])


@pytest.mark.parametrize("name", ["KQK", "KRK", "KPK"])
def test_an_endgame_has_the_value_of_the_tables_within_its_first_moves(name: str) -> None:
    knowing = player(CHESS, depth=30)
    for state, code in some_positions(CHESS, name, 200):
        search = searched(knowing, state)
        choice = search.choice(0.0)
        assert search.score == score_of_code(code), CHESS.text(state)
        assert choice.proven and choice.depth == 1
        assert choice.nodes <= 1 + len(choice.actions)


@pytest.mark.parametrize("name", ["K v K", "KK v K", "M v KK", "KM v M"])
def test_turns_of_several_jumps_are_looked_up_where_they_end(name: str) -> None:
    knowing = player(CHECKERS, depth=30)
    for state, code in some_positions(CHECKERS, name, 60):
        assert searched(knowing, state).score == score_of_code(code), CHECKERS.text(state)


def test_the_rook_mates_as_fast_as_in_the_table_against_the_best_defence() -> None:
    state, knowing = CHESS.parse("8/8/8/8/8/2k5/1R6/K7 w - - 0 1"), player(CHESS, nodes=5000)
    for left in range(31, 0, -1):
        assert abs(searched(knowing, state).score) == WIN - left
        state = CHESS.result(state, knowing.choose(state).action)
    assert CHESS.utility(state) == (1.0, -1.0)


def test_bishop_and_knight_mate_in_33_moves_against_the_best_defence() -> None:
    state, knowing = CHESS.parse("8/8/7N/8/8/8/8/K1k1B3 w - - 0 1"), player(CHESS, nodes=5000, endgames="KBNK")
    for left in range(65, 0, -1):
        assert abs(searched(knowing, state).score) == WIN - left
        state = CHESS.result(state, knowing.choose(state).action)
    assert CHESS.utility(state) == (1.0, -1.0)


def test_a_class_that_is_not_there_is_searched() -> None:
    state = CHESS.parse("8/8/7N/8/8/8/8/K1k1B3 w - - 0 1")
    search = searched(player(CHESS, depth=2), state)
    assert not search.choice(0.0).proven
    without = searched(player(CHESS, depth=2, tables=False), state)
    assert search.choice(0.0).counters["path_ends"] == without.choice(0.0).counters["path_ends"]
    with pytest.raises(UserError, match="alphabeta: endgames: expected tables=on with KBNK"):
        player(CHESS, depth=2, tables=False, endgames="KBNK")
    assert AlphaBetaSettings(depth=2, tables=True, endgames="KBNK", exact=True).resolved().endgames is None


def test_where_search_alone_is_deep_enough_it_agrees() -> None:
    """Queen or rook against king and pawn: no table has them, but what they lead to."""
    rng, hits, won = np.random.default_rng(3), 0, 0
    knowing = player(CHESS, depth=5, checks=False)
    alone = player(CHESS, depth=5, checks=False, tables=False)
    for state in four_men(rng, 60):
        knowing.new_game()
        alone.new_game()
        with_tables, without = searched(knowing, state), searched(alone, state)
        hits += int(with_tables.choice(0.0).counters["endgame_hits"])
        if abs(without.score) > UNIT:  # a mate within five plies is one for both
            won += 1
            assert with_tables.score == without.score, CHESS.text(state)
    assert hits > 100 and won > 3


def four_men(rng: np.random.Generator, n: int) -> Any:
    found = 0
    while found < n:
        squares = rng.choice(64, 4, replace=False)
        board = ["."] * 64
        for square, piece in zip(squares, "K" + str(rng.choice(list("QR"))) + "kp", strict=True):
            board[square] = piece
        ranks = ["".join(board[8 * rank : 8 * rank + 8]) for rank in range(8)]
        text = "/".join("".join(str(len(run)) if run[0] == "." else run for run in runs(rank)) for rank in ranks)
        try:
            state = CHESS.parse(f"{text} w - - 0 1")
        except UserError:
            continue
        if not CHESS.is_terminal(state):
            found += 1
            yield state


def runs(rank: str) -> list[str]:
    found = [rank[0]]
    for piece in rank[1:]:
        if piece == "." == found[-1][0]:
            found[-1] += piece
        else:
            found.append(piece)
    return found


def test_a_capture_into_the_tables_is_found_far_beyond_the_depth() -> None:
    """The queen takes the rook and mates much later; EVAL alone is no proof."""
    state = CHESS.parse("8/8/k7/3r4/8/8/8/3Q3K w - - 0 1")
    assert not player(CHESS, depth=2, tables=False).choose(state).proven
    choice = player(CHESS, depth=2).choose(state)
    assert CHESS.name_of(choice.action) == "d1d5" and choice.value == 1.0 and choice.proven


# ── counters ──


def test_a_counter_that_runs_out_before_the_mate_makes_it_a_draw() -> None:
    """Mate in three plies: with 97 counted it comes in time, with 98 it does not."""
    text = next(CHESS.text(state) for state, code in some_positions(CHESS, "KQK", 4000, seed=5) if code == 3 + 2 * 3)
    board = text.rsplit(" ", 2)[0]
    in_time = searched(player(CHESS, depth=4), CHESS.parse(f"{board} 97 80"))
    assert in_time.score == WIN - 3 and in_time.choice(0.0).proven
    late = searched(player(CHESS, depth=4), CHESS.parse(f"{board} 98 80"))
    assert late.score == 0
    exact = searched(player(CHESS, depth=4, exact=True), CHESS.parse(f"{board} 98 80"))
    assert exact.score == 0 and exact.choice(0.0).proven


def test_a_pawn_move_that_starts_the_counter_anew_is_found() -> None:
    """Won in more plies than are left, so that the probe finds nothing; but a pawn move resets the counter to a hundred."""
    tables, knowing, found = load_tables(CHESS), player(CHESS, depth=2), 0
    for state, code in some_positions(CHESS, "KPK", 600, seed=2):
        if value_of(code) < 0 or plies_of(code) <= 20:
            continue
        late = CHESS.parse(CHESS.text(state).rsplit(" ", 2)[0] + " 85 80")
        pushed = [CHESS.result(late, action) for action in CHESS.legal_actions(late)]
        wins = [tables.code(after) for after in pushed if int(after.clock) == 0 and value_of(tables.code(after)) < 0]
        if wins:
            found += 1
            assert tables.game.to_move(late) is not None
            assert searched(knowing, late).score == WIN - 1 - min(map(plies_of, wins))
    assert found > 5


# ── the switch ──


def test_exact_searches_use_no_tables() -> None:
    state = CHESS.parse("8/8/8/8/8/2k5/1R6/K7 w - - 0 1")
    choice = player(CHESS, depth=3, exact=True).choose(state)
    assert choice.counters["endgame_hits"] == 0 and not choice.proven


def test_a_tiny_game_is_looked_up_whole_and_its_building_is_announced(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(store, "cache_folder", lambda *parts: tmp_path)
    game = load("nim")
    for said in (1, 0):
        choice = player(game, depth=20).choose(game.initial())
        assert choice.proven and choice.depth == 1 and choice.nodes <= 1 + len(choice.actions)
        assert capsys.readouterr().err.count("building the tables of nim:most=7") == said


def test_games_without_tables_are_refused() -> None:
    game = load("tests/data/random_tree.py:players=2")
    with pytest.raises(UserError, match="expected utilities -1, 0 and 1 for a table"):
        player(game, depth=3)
