"""Is a game small enough for the exact solver? Decided by trial, equally on every machine.

    require(game, LATE)        # its late positions are solved: enough for a sample of positions
    require(game, MIDDLE)      # and those of its middle: enough to play whole games

GAMES random games are played, and of each the position a given share of the way through is solved within a limit of nodes. If half of
them are solved, the game is small enough. Late positions separate chess and go from othello in seconds; othello's middle is too hard.
"""

from __future__ import annotations

from typing import NamedTuple

from base.errors import UserError
from base.seeds import below, generator
from classical.solver import Solver, Unsolved
from games import CHANCE, Game
from games.types import GameState

GAMES = 8


class Trial(NamedTuple):
    """Which positions, and the limits for each."""

    where: str
    share: float
    nodes: int
    induced: int
    """The limit for backward induction, which is slow and counts every reachable position."""


LATE = Trial("four fifths", 0.8, 5_000, 5_000)
MIDDLE = Trial("half the way", 0.5, 100_000, 20_000)


def fits(game: Game, *trials: Trial) -> bool:
    """Whether the game is small enough."""
    try:
        require(game, *trials)
    except UserError:
        return False
    return True


def require(game: Game, *trials: Trial) -> None:
    """Refuse a game that is too large."""
    for trial in trials:
        _require(game, trial)


def _require(game: Game, trial: Trial) -> None:
    wanted = GAMES // 2
    solved = 0
    for number in range(GAMES):
        solved += is_solved(game, trial, number)
        if solved == wanted:
            return
        if solved + GAMES - 1 - number < wanted:
            raise UserError(
                f"expected a game small enough for the exact solver, which solves the positions {trial.where} through most random "
                f"games within {trial.nodes:,} nodes each; got {game.name}, where it solved {solved} of {number + 1}"
            )


def is_solved(game: Game, trial: Trial, number: int) -> bool:
    solver = Solver(game, megabytes=1, nodes=trial.nodes, positions=trial.induced)
    path = decisions(game, number)
    try:
        solver.value(path[int(trial.share * len(path))])
    except (Unsolved, UserError):
        return False
    return True


def decisions(game: Game, number: int) -> list[GameState]:
    """The positions of a random game in which a player is to move."""
    state, rng = game.initial(), generator(number, "is it solvable")
    found = []
    while legal := game.legal_actions(state):
        if game.to_move(state) != CHANCE:
            found.append(state)
        state = game.result(state, legal[below(rng, len(legal))])
    return found
