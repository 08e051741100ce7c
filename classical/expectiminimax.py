"""Expectiminimax: minimax where dice are rolled. Two players, zero sum. Pruned by alpha-beta and star1, which change no value.

    Expectiminimax(game, depth=2).choose(state)
    Expectiminimax(game, depth=2, pruning=False).choose(state)      # the textbook's: the same answer, from more positions

Where chance moves, a position is worth the mean over the outcomes (Michie, 1966). Star1 (Ballard, "The *-Minimax Search Procedure for
Trees Containing Chance Nodes", 1983) gives these positions a window too: after some outcomes of sum S with probability R still to
come, the whole is between S - R·U and S + R·U, for no utility is above U in size. So outcome i, of probability p, matters only between

    (alpha - S - R·U) / p   and   (beta - S + R·U) / p,        R without p

and once it falls outside, the rest need not be looked at. Sums of probabilities are rounded; the windows are wider by more than that,
so that a value is either computed from the same numbers in the same order as without pruning, or certainly of no consequence.

Depth counts actions, chance is free. No cut-off falls inside a turn; where depth is used up and dice are to be rolled next, EVAL judges
the position before the roll.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from classical.eval import Eval, evaluator
from classical.fixed_depth import (
    CHANCE_CUTS,
    CUTS,
    EVALS,
    NOBODY,
    NODES,
    TOO_DEEP,
    FixedDepth,
    extend_line,
    refuse_all_but_zero_sum,
)
from classical.scores import UNIT, WIN, scorer
from games import CHANCE, Game, Rules
from games.choice import Bound

MARGIN = 1e-3  # of a score: a billionth of a utility, a million times what rounding can do


def expectiminimax(rules: Rules) -> Callable[..., int]:
    """Scores of all actions at states[0], in the eyes of who is to move there.

    expectiminimax(states [levels], actions [levels, max_legal], lines [levels, length+1], depth, prune, weights, values,
    scores [max_legal], counters) -> n: how many actions there are, in actions[0]. With `prune` the scores of those that are not better
    than an earlier one are upper bounds. lines[0] is left holding best play to the next roll, up to a -1.
    """
    is_terminal, utility, to_move, legal_actions, result = (
        rules.is_terminal,
        rules.utility,
        rules.to_move,
        rules.legal_actions,
        rules.result,
    )
    chance = rules.chance or (lambda state, action: 0.0)
    score, evaluate = scorer(rules), evaluator(rules)
    most = float(UNIT if rules.chance is not None else WIN)  # no score is above it in size

    def value(
        states: Any, actions: Any, lines: Any, ply: Any, depth: Any, before: Any, player: Any, alpha: Any, beta: Any,
        prune: Any, weights: Any, values: Any, scores: Any, counters: Any,
    ) -> Any:  # fmt: skip
        """In the eyes of `player`, who is MAX; `before` moved last. Exact between alpha and beta, else a bound on that side."""
        counters[NODES] += 1
        lines[ply, 0] = -1
        state = states[ply]
        if is_terminal(state):
            return np.float64(score(utility(state, player), ply))
        mover = np.int64(to_move(state))
        if depth == 0 and mover != before:
            counters[EVALS] += 1
            return np.float64(round(UNIT * evaluate(state, player, weights, values)))
        if ply + 1 == len(states):
            counters[TOO_DEEP] = 1
            return np.float64(0.0)
        n = legal_actions(state, actions[ply])

        if mover == CHANCE:
            total, rest = np.float64(0.0), np.float64(1.0)  # the rest of the probability
            for i in range(n):
                probability = chance(states[ply], actions[ply, i])
                rest -= probability
                low, high = -np.inf, np.inf
                if prune:
                    low = (alpha - MARGIN - total - rest * most) / probability
                    high = (beta + MARGIN - total + rest * most) / probability
                states[ply + 1] = states[ply]
                result(states[ply + 1], actions[ply, i])
                below = value(
                    states, actions, lines, ply + 1, depth, mover, player, low, high,
                    prune, weights, values, scores, counters,
                )  # fmt: skip
                total += probability * below
                if prune and (below <= low or below >= high):
                    counters[CHANCE_CUTS] += i + 1 < n
                    return total + rest * most if below <= low else total - rest * most
            return total

        best, left = np.float64(0.0), max(depth - 1, 0)
        for i in range(n):
            states[ply + 1] = states[ply]
            result(states[ply + 1], actions[ply, i])
            below = value(
                states, actions, lines, ply + 1, left, mover, player, alpha, beta,
                prune, weights, values, scores, counters,
            )  # fmt: skip
            if ply == 0:
                scores[i] = below
            if i == 0 or (below > best if mover == player else below < best):
                best = below
                extend_line(lines, ply, actions[ply, i])
            if prune and mover == player:
                alpha = max(alpha, best)
            elif prune:
                beta = min(beta, best)
            if alpha >= beta:
                counters[CUTS] += i + 1 < n
                return best
        return best

    def expectiminimax(
        states: Any, actions: Any, lines: Any, depth: int, prune: bool,
        weights: Any, values: Any, scores: Any, counters: Any,
    ) -> int:  # fmt: skip
        player = np.int64(to_move(states[0]))
        ply, left, nobody = np.int64(0), np.int64(depth), np.int64(NOBODY)
        alpha, beta = -np.inf, np.inf
        value(states, actions, lines, ply, left, nobody, player, alpha, beta, prune, weights, values, scores, counters)
        return legal_actions(states[0], actions[0])

    return expectiminimax


class Expectiminimax(FixedDepth):
    """Expectiminimax to a fixed depth. `pruning` saves work and changes neither the move nor its value."""

    name = "expectiminimax"
    kernel = staticmethod(expectiminimax)

    def __init__(self, game: Game, depth: int, weights: Eval | None = None, pruning: bool = True) -> None:
        super().__init__(game, depth, weights)
        self.pruning = pruning

    def refuse(self, game: Game) -> None:
        refuse_all_but_zero_sum(game, self.name)

    def settings(self, levels: int) -> tuple[Any, ...]:
        return (self.pruning,)

    def bounds(self, scores: list[float]) -> list[Bound]:
        """With pruning, an action that is not better than one before it is only known not to be."""
        best, found = -np.inf, list[Bound]()
        for score in scores:
            found.append("exact" if score > best or not self.pruning else "upper")
            best = max(best, score)
        return found

    def named(self, counters: list[int]) -> dict[str, int]:
        return super().named(counters) | {"alpha-beta cuts": counters[CUTS], "star1 cuts": counters[CHANCE_CUTS]}
