"""Which games are small enough for the exact solver; in others it answers for the positions that it can solve."""

import pytest

from arena.drawn_positions import draw_positions
from arena.openings import Opening, random_action
from arena.players import SOLVER_NODES, SOLVER_NODES_LATE, Forfeit, make_player
from arena.referee import play_game
from base.errors import UserError
from base.seeds import generator
from classical.solvable import GAMES, LATE, MIDDLE, Trial, decisions, require
from games import CHANCE, load


@pytest.mark.parametrize("name", ["connect_four", "tic_tac_toe", "nim", "dots_and_boxes", "tree:two_ply.json"])
def test_small_games_are_taken(name):
    require(load(name), LATE)
    require(load(name), MIDDLE)


def test_a_game_with_easy_late_positions_is_played_position_by_position():
    othello = load("othello")
    require(othello, LATE)
    with pytest.raises(
        UserError, match=r"half the way .* within 100,000 nodes each; got othello:size=8, where it solved \d"
    ) as refusal:
        require(othello, LATE, MIDDLE)
    assert "\n" not in str(refusal.value)
    assert make_player("solver:mb=1", othello).thinker._limit == SOLVER_NODES_LATE
    assert make_player("solver:mb=1", load("connect_four")).thinker._limit == SOLVER_NODES


def endgames(game, empties, count):
    """Positions of random games with so many empty squares and a move to choose."""
    found = []
    for number in range(10 * count):
        if len(found) == count:
            return found
        state, rng = game.initial(), generator(number, "endgames", empties)
        while not game.is_terminal(state) and game.text(state).split()[0].count(".") > empties:
            state = game.result(state, random_action(game, state, rng))
        if not game.is_terminal(state) and game.text(state).split()[0].count(".") == empties:
            found.append(state)
    raise AssertionError(f"{len(found)} of {count}")


def test_the_solver_answers_for_endgames_of_othello_within_few_nodes():
    game = load("othello")
    solver, minimax = make_player("solver:nodes=100000", game), make_player("minimax:depth=14", game)
    positions = [(empties, state) for empties in range(6, 11) for state in endgames(game, empties, 31)]
    assert len(positions) == 155
    for empties, state in positions:
        choice = solver.choose(state)
        if empties == 6:
            assert choice.value == minimax.choose(state).value  # to the end of the game, by another search


def test_accuracy_in_othello_is_measured_by_its_solver():
    othello = load("othello")
    sample = draw_positions(othello, 5, first_stage=4)
    assert len(sample.positions) == 5 and all(each.value in (-1, 0, 1) and each.keep for each in sample.positions)


def test_chess_is_refused_at_once_by_the_sample_and_forfeited_by_the_player():
    chess = load("chess")
    with pytest.raises(
        UserError, match=r"expected a game small enough for the exact solver.*got chess, where it solved"
    ):
        draw_positions(chess, 5)
    player = make_player("solver:mb=1", chess)
    mate = chess.parse("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1")
    assert chess.name_of(player.choose(mate).action) == "a1a8"


def test_a_game_of_dice_that_is_too_large_has_no_solver():
    with pytest.raises(UserError, match="got backgammon:start=standard, where it solved"):
        make_player("solver:mb=1", load("backgammon"))


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
