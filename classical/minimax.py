"""Minimax, twice: as the textbooks write it, and compiled to a fixed depth. Two players, zero sum, no dice.

    minimax_search(game, state)                         # to the end of the game: (utility, move, nodes)
    Minimax(game, depth=4).choose(state)                # compiled, EVAL where depth is used up

The first is MINIMAX-SEARCH with MAX-VALUE and MIN-VALUE (Russell and Norvig, "Artificial Intelligence: A Modern Approach"; the idea is
von Neumann's, 1928), over the pure functions of a `Game`. The second is the same in compiled code, and the reference for alpha-beta:
whatever is exact there has these scores (`classical.scores`) for every action at the root.

Depth counts actions, and no cut-off falls inside a turn: where it is used up and whoever moved last moves again, the search goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from base.errors import UserError
from classical.eval import evaluator
from classical.fixed_depth import (
    EVALS,
    NOBODY,
    NODES,
    TOO_DEEP,
    FixedDepth,
    extend_line,
    refuse_all_but_zero_sum,
    refuse_chance,
)
from classical.scores import UNIT, score_of
from games import Game, Rules


class Answer(NamedTuple):
    """What MINIMAX-SEARCH returns, and how many positions it looked at, the root counted."""

    utility: float
    """Of the player to move at the root, in [-1, 1], if both play best."""
    move: int
    """The first action that reaches it."""
    nodes: int


def minimax_search(game: Game, state: Any) -> Answer:
    """The whole game tree, in plain Python: for small games, and for reading."""
    refuse_all_but_zero_sum(game, "minimax")
    refuse_chance(game, "minimax")
    player = game.to_move(state)
    if player is None:
        raise UserError(f"minimax: expected an unfinished game of {game.name}")
    nodes = 0

    def value(state: Any) -> tuple[float, int | None]:
        nonlocal nodes
        nodes += 1
        if game.is_terminal(state):
            return game.utility(state)[player], None
        return max_value(state) if game.to_move(state) == player else min_value(state)

    def max_value(state: Any) -> tuple[float, int | None]:
        best, move = -math.inf, None
        for action in game.legal_actions(state):
            utility, _ = value(game.result(state, action))
            if utility > best:
                best, move = utility, action
        return best, move

    def min_value(state: Any) -> tuple[float, int | None]:
        best, move = math.inf, None
        for action in game.legal_actions(state):
            utility, _ = value(game.result(state, action))
            if utility < best:
                best, move = utility, action
        return best, move

    utility, move = value(state)
    assert move is not None
    return Answer(utility, move, nodes)


def minimax(rules: Rules) -> Callable[..., int]:
    """Scores of all actions at states[0], in the eyes of who is to move there.

    minimax(states [levels], actions [levels, max_legal], lines [levels, length+1], depth, weights, values, scores [max_legal],
    counters) -> n: how many actions there are, in actions[0]. lines[0] is left holding best play, up to a -1.
    """
    is_terminal, utility, to_move, legal_actions, result, evaluate = (
        rules.is_terminal,
        rules.utility,
        rules.to_move,
        rules.legal_actions,
        rules.result,
        evaluator(rules),
    )

    def value(
        states: Any, actions: Any, lines: Any, ply: Any, depth: Any, before: Any, player: Any,
        weights: Any, values: Any, scores: Any, counters: Any,
    ) -> Any:  # fmt: skip
        """In the eyes of `player`, who is MAX; `before` moved last."""
        counters[NODES] += 1
        lines[ply, 0] = -1
        state = states[ply]
        if is_terminal(state):
            return score_of(utility(state, player), ply)
        mover = np.int64(to_move(state))
        if depth == 0 and mover != before:
            counters[EVALS] += 1
            return np.int64(round(UNIT * evaluate(state, player, weights, values)))
        if ply + 1 == len(states):
            counters[TOO_DEEP] = 1
            return np.int64(0)
        n = legal_actions(state, actions[ply])
        best, left = np.int64(0), max(depth - 1, 0)
        for i in range(n):
            states[ply + 1] = states[ply]
            result(states[ply + 1], actions[ply, i])
            below = value(states, actions, lines, ply + 1, left, mover, player, weights, values, scores, counters)
            if ply == 0:
                scores[i] = below
            if i == 0 or (below > best if mover == player else below < best):
                best = below
                extend_line(lines, ply, actions[ply, i])
        return best

    def minimax(
        states: Any, actions: Any, lines: Any, depth: int, weights: Any, values: Any, scores: Any, counters: Any
    ) -> int:
        player = np.int64(to_move(states[0]))
        ply, left, nobody = np.int64(0), np.int64(depth), np.int64(NOBODY)
        value(states, actions, lines, ply, left, nobody, player, weights, values, scores, counters)
        return legal_actions(states[0], actions[0])

    return minimax


class Minimax(FixedDepth):
    """Minimax to a fixed depth: every action at the root with its exact depth-limited value. No pruning."""

    name = "minimax"
    kernel = staticmethod(minimax)

    def refuse(self, game: Game) -> None:
        refuse_all_but_zero_sum(game, self.name)
        refuse_chance(game, self.name)
