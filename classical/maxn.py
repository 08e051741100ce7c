"""Max^n: minimax for any number of players, zero sum or not, with dice or without. Every player maximizes its own utility.

    MaxN(game, depth=3).choose(state)
    MaxN(game, depth=3).utilities(state)      # what best play gives to each player

A position has a vector of values, one per player; where somebody moves, it is the vector of the action that is best for the mover, of
equal ones the first; where chance moves, it is the mean. For two players and zero sum that is minimax. From Luckhardt and Irani, "An
Algorithmic Solution of N-Person Games" (1986).

Where depth is used up, EVAL speaks for each player. EVALs of more than two players need not sum to zero; where the game does, their
mean is subtracted, and should one then leave the range of EVAL, all are shrunk together until it is in. Depth counts actions, chance
is free, and no cut-off falls inside a turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from classical.eval import INSIDE, evaluator
from classical.fixed_depth import EVALS, NOBODY, NODES, TOO_DEEP, FixedDepth, extend_line
from classical.scores import UNIT, scorer, utility_of
from games import CHANCE, Game, Rules


def evaluate_all(rules: Rules) -> Callable[..., None]:
    """A helper for kernels: evaluate_all(state, weights, values, vector [players]) writes every player's EVAL, as a score."""
    evaluate, players = evaluator(rules), rules.players
    is_centred = rules.zero_sum and players > 2

    def evaluate_all(state: Any, weights: Any, values: Any, vector: Any) -> None:
        mean, largest = 0.0, INSIDE
        for player in range(players):
            vector[player] = evaluate(state, player, weights, values)
            mean += vector[player] / players
        if is_centred:
            for player in range(players):
                vector[player] -= mean
                largest = max(largest, abs(vector[player]))
        for player in range(players):
            vector[player] = float(round(UNIT * INSIDE * vector[player] / largest))

    return evaluate_all


def maxn(rules: Rules) -> Callable[..., int]:
    """Scores of all actions at states[0], in the eyes of who is to move there, and the vector of the best.

    maxn(states [levels], actions [levels, max_legal], lines [levels, length+1], depth, vectors [levels, players], weights, values,
    scores [max_legal], counters) -> n: how many actions there are, in actions[0]. vectors[0] is left holding what best play gives to
    each player, lines[0] best play itself, up to a -1.
    """
    is_terminal, utility, to_move, legal_actions, result = (
        rules.is_terminal,
        rules.utility,
        rules.to_move,
        rules.legal_actions,
        rules.result,
    )
    chance = rules.chance or (lambda state, action: 0.0)
    score, evaluate, players = scorer(rules), evaluate_all(rules), rules.players

    def value(
        states: Any, actions: Any, lines: Any, ply: Any, depth: Any, before: Any, vectors: Any,
        weights: Any, values: Any, scores: Any, counters: Any,
    ) -> Any:  # fmt: skip
        """Writes the position's vector into vectors[ply]; `before` moved last."""
        counters[NODES] += 1
        lines[ply, 0] = -1
        state, vector = states[ply], vectors[ply]
        if is_terminal(state):
            for player in range(players):
                vector[player] = score(utility(state, player), ply)
            return np.int64(0)
        mover = np.int64(to_move(state))
        if depth == 0 and (mover != before or players == 1):
            counters[EVALS] += 1
            evaluate(state, weights, values, vector)
            return np.int64(0)
        if ply + 1 == len(states):
            counters[TOO_DEEP] = 1
            return np.int64(0)
        n = legal_actions(state, actions[ply])
        vector[:] = 0.0
        left = depth if mover == CHANCE else max(depth - 1, 0)
        for i in range(n):
            states[ply + 1] = states[ply]
            result(states[ply + 1], actions[ply, i])
            value(states, actions, lines, ply + 1, left, mover, vectors, weights, values, scores, counters)
            below = vectors[ply + 1]
            if ply == 0:
                scores[i] = below[mover]
            if mover == CHANCE:
                probability = chance(states[ply], actions[ply, i])
                for player in range(players):
                    vector[player] += probability * below[player]
            elif i == 0 or below[mover] > vector[mover]:
                vector[:] = below
                extend_line(lines, ply, actions[ply, i])
        return np.int64(0)

    def maxn(
        states: Any, actions: Any, lines: Any, depth: int, vectors: Any,
        weights: Any, values: Any, scores: Any, counters: Any,
    ) -> int:  # fmt: skip
        ply, left, nobody = np.int64(0), np.int64(depth), np.int64(NOBODY)
        value(states, actions, lines, ply, left, nobody, vectors, weights, values, scores, counters)
        return legal_actions(states[0], actions[0])

    return maxn


class MaxN(FixedDepth):
    """Max^n to a fixed depth: every action at the root with its exact depth-limited value for who moves there."""

    name = "maxn"
    kernel = staticmethod(maxn)

    def refuse(self, game: Game) -> None:
        """There is no game without players who want something."""

    def settings(self, levels: int) -> tuple[Any, ...]:
        return (np.zeros((levels, self.game.players)),)

    def utilities(self, state: Any) -> tuple[float, ...]:
        """What the search expects for each player, in [-1, 1], if all play best."""
        (vectors,) = self.searched(state).settings
        return tuple(map(utility_of, vectors[0]))
