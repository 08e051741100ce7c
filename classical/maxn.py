"""Max^n: minimax for any number of players, zero sum or not, with dice or without. Every player maximizes its own utility.

    MaxN(game, depth=3).choose(state)
    MaxN(game, depth=3).utilities(state)      # what best play gives to each player

A position has a vector of values, one per player: where a player moves, the vector of the action that is best for the mover (the
first of equal ones); where chance moves, the mean. For two players and zero sum that is minimax. From Luckhardt and Irani, "An
Algorithmic Solution of N-Person Games" (1986).

At the horizon, EVAL is computed for each player. EVALs of more than two players need not sum to zero; where the game's utilities do,
their mean is subtracted, and all are scaled down together where one would leave the range of EVAL. Depth counts actions but not chance
events, and a turn of several actions is never cut.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from classical import fixed_depth
from classical.eval import INSIDE, evaluator
from classical.fixed_depth import (
    EVALS,
    NO_MOVER,
    NODES,
    TOO_DEEP,
    FixedDepth,
    Workspace,
    close_edge,
    extend_line,
    open_edge,
)
from classical.scores import UNIT, scorer, utility_of
from classical.types import Kernel
from games import CHANCE, Game, Rules
from games.types import GameState, Integer, Utilities


def evaluate_all(rules: Rules) -> Callable[[Workspace, GameState, Utilities], None]:
    """evaluate_all(ws, state, vector [players]) writes every player's EVAL, as a score."""
    evaluate, players = evaluator(rules), rules.players
    is_centred = rules.zero_sum and players > 2

    def evaluate_all(ws: Workspace, state: GameState, vector: Utilities) -> None:
        mean, largest = 0.0, INSIDE
        for player in range(players):
            vector[player] = evaluate(state, player, ws.weights, ws.values)
            mean += vector[player] / players
        if is_centred:
            for player in range(players):
                vector[player] -= mean
                largest = max(largest, abs(vector[player]))
        for player in range(players):
            vector[player] = float(round(UNIT * INSIDE * vector[player] / largest))

    return evaluate_all


def maxn(rules: Rules) -> Kernel:
    """maxn(ws, depth) -> n: ws.scores of the n actions at the root; ws.vectors[0], every player's score; ws.lines[0], best play."""
    is_terminal, utility, to_move, legal_actions = rules.is_terminal, rules.utility, rules.to_move, rules.legal_actions
    chance = rules.chance or (lambda state, action: 0.0)
    score, evaluate, play, players = scorer(rules), evaluate_all(rules), fixed_depth.play(rules), rules.players

    def value(ws: Workspace, ply: Integer, depth: Integer, before: Integer) -> Integer:
        """Writes the position's vector into ws.vectors[ply]; `before` moved last."""
        ws.counters[NODES] += 1
        ws.lines[ply, 0] = -1
        state, vector = ws.states[ply], ws.vectors[ply]
        if is_terminal(state):
            for player in range(players):
                vector[player] = score(utility(state, player), ply)
            return np.int64(0)
        mover = np.int64(to_move(state))
        if depth == 0 and (mover != before or players == 1):
            ws.counters[EVALS] += 1
            evaluate(ws, state, vector)
            return np.int64(0)
        if ply + 1 == len(ws.states):
            ws.counters[TOO_DEEP] = 1
            return np.int64(0)
        n = legal_actions(state, ws.actions[ply])
        vector[:] = 0.0
        left = depth if mover == CHANCE else max(depth - 1, 0)
        for i in range(n):
            play(ws, ply, i)
            edge = open_edge(ws, ws.actions[ply, i], -np.inf, np.inf)
            value(ws, ply + 1, left, mover)
            below = ws.vectors[ply + 1]
            for player in range(players):
                if edge >= 0:
                    ws.log[edge].scores[player] = below[player]
                if ply == 0:
                    ws.root_vectors[i, player] = below[player]
            close_edge(ws, edge)
            if ply == 0:
                ws.scores[i] = below[mover]
            if mover == CHANCE:
                probability = chance(ws.states[ply], ws.actions[ply, i])
                for player in range(players):
                    vector[player] += probability * below[player]
            elif i == 0 or below[mover] > vector[mover]:
                vector[:] = below
                extend_line(ws.lines, ply, ws.actions[ply, i])
        return np.int64(0)

    def maxn(ws: Workspace, depth: int) -> int:
        value(ws, np.int64(0), np.int64(depth), np.int64(NO_MOVER))
        return legal_actions(ws.states[0], ws.actions[0])

    return maxn


class MaxN(FixedDepth):
    """Max^n to a fixed depth: every action at the root with its exact depth-limited value for who moves there."""

    name = "maxn"
    has_vectors = True
    kernel = staticmethod(maxn)

    def refuse(self, game: Game) -> None:
        """Max^n is defined for every game."""

    def utilities(self, state: GameState) -> tuple[float, ...]:
        """What the search expects for each player, in [-1, 1], if all play best."""
        return tuple(map(utility_of, self.searched(state).vector))
