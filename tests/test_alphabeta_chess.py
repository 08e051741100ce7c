"""Alpha-beta at chess: mates against a solver by brute force, checks beyond the horizon, and the positions of the benchmarks."""

from pathlib import Path
from typing import Any

import pytest
from mate_solver import can_mate, keys

from arena.players import make_player
from base.errors import UserError
from base.files import read_json
from benchmarks import enhancements, positions
from benchmarks.tables import random_position
from classical.alphabeta import AlphaBeta, AlphaBetaSettings
from classical.alphabeta.player import Search
from classical.alphabeta.workspace import INFINITY
from classical.scores import WIN
from games import load

GAME = load("chess")
MATES = [(one["moves"], one["fen"]) for one in read_json(Path(__file__).parent / "data" / "chess_mates.json")["mates"]]


def searched(state: Any, **settings: Any) -> Search:
    player = AlphaBeta(GAME, AlphaBetaSettings(**({"tt_mb": 1} | settings)))
    search = Search(player, player._workspace, state)
    search.run(0.0)
    return search


@pytest.mark.parametrize(("moves", "fen"), MATES)
def test_a_mate_is_found_as_fast_as_by_brute_force(moves: int, fen: str) -> None:
    state = GAME.parse(fen)
    assert can_mate(GAME, state, moves) and not can_mate(GAME, state, moves - 1)
    search = searched(state, nodes=100_000)
    choice = search.choice(0.0)
    assert (search.score, choice.proven) == (WIN - (2 * moves - 1), True)
    assert GAME.names[choice.action] in keys(GAME, state, moves)


def test_every_mate_found_in_random_positions_exists() -> None:
    """What it claims within three moves is there, and what is there within two it claims."""
    claimed = 0
    for number in range(150):
        state = random_position(GAME, 30, number)
        search = searched(state, depth=4)
        plies = WIN - search.score
        if plies <= 5:
            claimed += 1
            assert can_mate(GAME, state, (plies + 1) // 2), GAME.text(state)
        else:
            assert not can_mate(GAME, state, 2), GAME.text(state)
    assert claimed > 0


def test_a_position_in_check_allows_no_stand_pat() -> None:
    # The queen takes a pawn, and the knight's check forks her: a stand-pat in check would keep both.
    #
    #   8  . . . . . . k .
    #   7  . . . . . p p p
    #   6  . . . . . . . .
    #   5  . . . . n . . .
    #   4  . . . p . . . .
    #   3  . . . . . . P .
    #   2  P . . . . P . P
    #   1  . . . Q . . K .
    state = GAME.parse("6k1/5ppp/8/4n3/3p4/6P1/P4P1P/3Q2K1 w - - 0 1")
    blind, seeing = (searched(state, depth=1, checks=on).choice(0.0) for on in (False, True))
    assert GAME.name_of(blind.action) == "d1d4"
    assert GAME.name_of(seeing.action) != "d1d4" and seeing.value < blind.value


def test_a_player_whose_only_moves_are_checks_that_capture_nothing_may_stand_pat() -> None:
    """Quiescence searches such checks in its first ply alone: behind it they count as quiet moves. A score beyond all others would
    have the windows of the root widened for ever."""
    player = AlphaBeta(GAME, AlphaBetaSettings(tt_mb=1, depth=1))
    fen = "8/1bp5/p3k3/4Pn2/1pp2P2/8/r3BK2/3r4 b - - 0 45"
    for state in [GAME.parse(fen), *(random_position(GAME, 20 + seed, seed) for seed in range(100))]:
        search = Search(player, player._workspace, state)
        score = search.root(search.workspaces, search.table, player.endgames, 1, -INFINITY, INFINITY)
        assert abs(int(score)) <= WIN, GAME.text(state)


def test_a_check_at_the_horizon_is_answered_before_eval_is_used() -> None:
    with_checks, without = (searched(GAME.initial(), depth=6, checks=on).choice(0.0) for on in (True, False))
    assert with_checks.counters["check_extensions"] > without.counters["check_extensions"] == 0


# ── the benchmarks ──


def test_the_positions_of_bratko_and_kopec_are_legal_chess() -> None:
    chess = pytest.importorskip("chess")
    found = positions.checked(read_json(positions.BRATKO_KOPEC), "")
    assert len(found) == 24
    for one in found:
        board = chess.Board(one["fen"])
        assert board.is_valid() and all(chess.Move.from_uci(name) in board.legal_moves for name in one["best"])


def test_a_solved_position_is_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    mate = '{"id": "mate", "fen": "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", "best": ["a1a6"]}'
    wrong = '{"id": "wrong", "fen": "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", "best": ["a1b1"]}'
    path.write_text(f'{{"positions": [{mate}, {wrong}]}}')
    assert positions.main(["--file", str(path), "--player", "alphabeta:depth=4,tt_mb=1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "solved 1 of 2"
    path.write_text('{"positions": [{"id": 1}]}')
    with pytest.raises(UserError, match="expected an object with 'positions', each with id, fen and best"):
        positions.main(["--file", str(path)])


def test_every_enhancement_is_a_switch_and_a_search_without_difference_is_even() -> None:
    for enhancement, switches in enhancements.ENHANCEMENTS.items():
        for switch in switches if enhancements.concerns(GAME, enhancement) else ():
            make_player(f"alphabeta:nodes=10,tt_mb=1,{switch}", GAME)
    game = load("connect_four")
    first, again = (enhancements.play(game, "lmr", "nodes=300", 8, 0).as_json() for _ in range(2))
    assert first["games"] == 8 and first["score"] == again["score"]
    even = enhancements.play(game, "checks", "nodes=300", 8, 0)  # connect four has no checks
    assert even.score().value == 0.5
    assert enhancements.concerns(GAME, "checks") and not enhancements.concerns(game, "null")
