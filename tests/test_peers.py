"""Rules against OpenSpiel's: random games played on both sides at once.

At every ply both must name the same mover and the same legal moves, and at the end the same outcome. One line of PEERS adds a game.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from games import Game, load

pyspiel = pytest.importorskip("pyspiel")

GAMES = 500


@dataclass(frozen=True)
class Peer:
    """OpenSpiel's version of a game of ours."""

    spec: str
    """What OpenSpiel loads it by."""
    word: Callable[[Any, str], str | int]
    """word(state, name): what our action is called in OpenSpiel's `state`, by text or by id."""
    epilogue: Sequence[str] = ()
    """A deliberate difference: where OpenSpiel's game is over, ours may go on, with exactly these actions."""


def mark(state: Any) -> str:
    return "xo"[state.current_player()]


def square(name: str) -> tuple[int, int]:
    """Row and column, from 0: b1 is 0, 1."""
    return int(name[1:]) - 1, "abcdefgh".index(name[0])


PEERS = {
    "tic_tac_toe": Peer("tic_tac_toe", lambda state, name: f"{mark(state)}({square(name)[0]},{square(name)[1]})"),
    "connect_four": Peer("connect_four", lambda state, name: f"{mark(state)}{int(name) - 1}"),
    # Here a position without moves for both sides is left by two passes, so that every end is reached by actions;
    # OpenSpiel stops at once. A pass while the opponent can move is an action on both sides.
    "othello": Peer("othello", lambda state, name: name, epilogue=("pass", "pass")),
    "nim": Peer(
        "nim(pile_sizes=3;5;7,is_misere=false)",
        lambda state, name: f"pile:{'abc'.index(name[0]) + 1}, take:{name[2:]};",
    ),
}


def compare(game: Game, peer: Peer, seed: int) -> list[str]:
    """One random game on both sides; what was played here after OpenSpiel had stopped."""
    rng = np.random.default_rng(seed)
    ours, theirs = game.initial(), pyspiel.load_game(peer.spec).new_initial_state()
    played: list[str] = []
    while not theirs.is_terminal():
        ids = {key: action for action in theirs.legal_actions() for key in (action, theirs.action_to_string(action))}
        here = {ids.get(peer.word(theirs, game.names[action])): action for action in game.legal_actions(ours)}
        where = f"seed {seed}, after {' '.join(played) or 'the start'}"
        assert here.keys() == set(theirs.legal_actions()), where
        assert len(here) == len(game.legal_actions(ours)), where
        assert game.to_move(ours) == theirs.current_player(), where
        choice = theirs.legal_actions()[int(rng.integers(len(here)))]
        played.append(game.names[here[choice]])
        ours = game.result(ours, here[choice])
        theirs.apply_action(choice)
    rest = [] if game.is_terminal(ours) else list(peer.epilogue)
    for name in rest:
        assert [game.names[action] for action in game.legal_actions(ours)] == [name], played
        ours = game.play(name, ours)
    assert game.is_terminal(ours), played
    assert list(game.utility(ours)) == theirs.returns(), played
    return rest


@pytest.mark.parametrize("name", PEERS)
def test_moves_movers_and_outcomes_are_openspiels(name: str) -> None:
    game, peer = load(name), PEERS[name]
    rests = {tuple(compare(game, peer, seed)) for seed in range(GAMES)}
    assert rests == {(), tuple(peer.epilogue)}  # a difference that is written down does occur


def test_othello_ends_here_by_two_passes_and_there_at_once() -> None:
    game, theirs = load("othello"), pyspiel.load_game("othello").new_initial_state()
    moves = "e6 f4 e3 f6 g5 d6 e7 f5 c5"  # nine plies that leave white without a disc
    for name in moves.split():
        theirs.apply_action({theirs.action_to_string(action): action for action in theirs.legal_actions()}[name])
    ours = game.play(moves)
    assert theirs.is_terminal()
    assert not game.is_terminal(ours)
    assert [game.names[action] for action in game.legal_actions(ours)] == ["pass"]
    ours = game.play("pass pass", ours)
    assert game.is_terminal(ours)
    assert list(game.utility(ours)) == theirs.returns() == [1, -1]
