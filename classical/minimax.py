"""Minimax, twice: as the textbooks write it, and compiled to a fixed depth. Two players, zero sum, no dice.

    minimax_search(game, state)                         # to the end of the game: (utility, move, nodes)
    Minimax(game, depth=4).choose(state)                # compiled, EVAL where depth is used up

The first is MINIMAX-SEARCH with MAX-VALUE and MIN-VALUE (Russell and Norvig, "Artificial Intelligence: A Modern Approach"; the idea is
von Neumann's, 1928), over the pure functions of a `Game`. The second is the same in compiled code, and the reference for alpha-beta:
an exact search has these scores (`classical.scores`) for every action at the root.

Depth counts actions. A turn of several actions is never cut: where the depth is used up and the same player moves again, the search
continues until the turn ends.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from base.errors import UserError
from classical import fixed_depth
from classical.eval import evaluator
from classical.fixed_depth import (
    EVALS,
    NO_MOVER,
    NODES,
    TOO_DEEP,
    FixedDepth,
    Workspace,
    close_edge,
    extend_line,
    log_score,
    open_edge,
    refuse_all_but_zero_sum,
    refuse_chance,
)
from classical.scores import UNIT, score_of
from classical.types import Kernel, Score
from games import Game, Rules
from games.types import GameState, Integer


class Answer(NamedTuple):
    """What MINIMAX-SEARCH returns, and how many positions it visited, the root included."""

    utility: float
    """Of the player to move at the root, in [-1, 1], if both play best."""
    move: int
    """The first action that reaches it."""
    nodes: int


def minimax_search(game: Game, state: GameState) -> Answer:
    """The whole game tree, in plain Python: for small games, and for reading."""
    refuse_all_but_zero_sum(game, "minimax")
    refuse_chance(game, "minimax")
    player = game.to_move(state)
    if player is None:
        raise UserError(f"minimax: expected an unfinished game of {game.name}")
    nodes = 0

    def value(state: GameState) -> tuple[float, int | None]:
        nonlocal nodes
        nodes += 1
        if game.is_terminal(state):
            return game.utility(state)[player], None
        return max_value(state) if game.to_move(state) == player else min_value(state)

    def max_value(state: GameState) -> tuple[float, int | None]:
        best, move = -math.inf, None
        for action in game.legal_actions(state):
            utility, _ = value(game.result(state, action))
            if utility > best:
                best, move = utility, action
        return best, move

    def min_value(state: GameState) -> tuple[float, int | None]:
        best, move = math.inf, None
        for action in game.legal_actions(state):
            utility, _ = value(game.result(state, action))
            if utility < best:
                best, move = utility, action
        return best, move

    utility, move = value(state)
    assert move is not None
    return Answer(utility, move, nodes)


def minimax(rules: Rules) -> Kernel:
    """minimax(ws, depth) -> n: ws.scores of the n actions at the root, and ws.lines[0], best play."""
    is_terminal, utility, to_move, legal_actions = rules.is_terminal, rules.utility, rules.to_move, rules.legal_actions
    evaluate, play = evaluator(rules), fixed_depth.play(rules)

    def value(ws: Workspace, ply: Integer, depth: Integer, before: Integer, player: Integer) -> Score:
        """From the point of view of `player`, who is MAX; `before` moved last."""
        ws.counters[NODES] += 1
        ws.lines[ply, 0] = -1
        state = ws.states[ply]
        if is_terminal(state):
            return score_of(utility(state, player), ply)
        mover = np.int64(to_move(state))
        if depth == 0 and mover != before:
            ws.counters[EVALS] += 1
            return np.int64(round(UNIT * evaluate(state, player, ws.weights, ws.values)))
        if ply + 1 == len(ws.states):
            ws.counters[TOO_DEEP] = 1
            return np.int64(0)
        n = legal_actions(state, ws.actions[ply])
        best, left = np.int64(0), max(depth - 1, 0)
        for i in range(n):
            play(ws, ply, i)
            edge = open_edge(ws, ws.actions[ply, i], -np.inf, np.inf)
            below = value(ws, ply + 1, left, mover, player)
            log_score(ws, edge, player, below)
            close_edge(ws, edge)
            if ply == 0:
                ws.scores[i] = below
            if i == 0 or (below > best if mover == player else below < best):
                best = below
                extend_line(ws.lines, ply, ws.actions[ply, i])
        return best

    def minimax(ws: Workspace, depth: int) -> int:
        value(ws, np.int64(0), np.int64(depth), np.int64(NO_MOVER), np.int64(to_move(ws.states[0])))
        return legal_actions(ws.states[0], ws.actions[0])

    return minimax


class Minimax(FixedDepth):
    """Minimax to a fixed depth: every action at the root with its exact depth-limited value. No pruning."""

    name = "minimax"
    kernel = staticmethod(minimax)

    def refuse(self, game: Game) -> None:
        refuse_all_but_zero_sum(game, self.name)
        refuse_chance(game, self.name)
