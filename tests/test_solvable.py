"""Which games are small enough for the exact solver, and how the others are refused."""

import pytest

from arena.openings import Opening
from arena.players import Forfeit, make_player
from arena.referee import play_game
from arena.solved_positions import draw_positions
from base.errors import UserError
from classical.solvable import GAMES, LATE, MIDDLE, Trial, decisions, require
from games import CHANCE, load


@pytest.mark.parametrize("name", ["connect_four", "tic_tac_toe", "nim", "dots_and_boxes", "tree:two_ply.json"])
def test_small_games_are_taken(name):
    require(load(name), LATE)
    require(load(name), MIDDLE)


def test_a_game_with_easy_late_positions_gives_a_sample_but_no_player():
    othello = load("othello")
    require(othello, LATE)
    with pytest.raises(
        UserError, match=r"half the way .* within 100,000 nodes each; got othello:size=8, where it solved \d"
    ) as refusal:
        make_player("solver:mb=1", othello)
    assert "\n" not in str(refusal.value)


def test_chess_is_refused_at_once_by_the_player_and_by_the_sample():
    chess = load("chess")
    for ask in (lambda: make_player("solver:mb=1", chess), lambda: draw_positions(chess, 5).positions):
        with pytest.raises(
            UserError, match=r"expected a game small enough for the exact solver.*got chess, where it solved"
        ):
            ask()


def test_a_game_of_dice_is_judged_by_backward_induction():
    with pytest.raises(UserError, match="got backgammon:start=standard, where it solved 0 of 5"):
        require(load("backgammon"), Trial("nearly all the way", 0.9, 50, 50))


def test_half_of_the_games_decide():
    game = load("nim")
    lengths = [len(decisions(game, number)) for number in range(GAMES)]
    assert all(game.to_move(state) not in (None, CHANCE) for state in decisions(game, 0)) and len(set(lengths)) > 1
    with pytest.raises(UserError, match=rf"solved 0 of {GAMES // 2 + 1}$"):
        require(game, Trial("nowhere", 0.0, 1, 1))


def test_with_a_limit_of_its_own_the_solver_plays_any_position_within_it():
    chess = load("chess")
    player = make_player("solver:mb=1,nodes=20000", chess)
    assert player.text == "solver:mb=1,distance=off,nodes=20000"
    mate = chess.parse("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1")
    assert chess.name_of(player.choose(mate).action) == "a1a8"
    with pytest.raises(Forfeit, match=r"solver: not solved after 20001 nodes, .*; nodes=N sets the limit"):
        player.choose(chess.initial())


def test_a_position_not_solved_within_the_limit_forfeits_the_game():
    game = load("connect_four")
    players = [make_player("solver:mb=1,nodes=100", game), make_player("random", game)]
    record = play_game(game, players, Opening(), 1)
    assert record.outcome[0] == -1 and "player 0 forfeits: solver: not solved after" in record.ending
