"""Expectiminimax: minimax where dice are rolled. Two players, zero sum. Pruned by alpha-beta and star1, which change no value.

    Expectiminimax(game, depth=2).choose(state)
    Expectiminimax(game, depth=2, pruning=False).choose(state)      # the textbook's: the same answer, from more positions

The value of a chance node is the mean over its outcomes (Michie, 1966). Star1 (Ballard, "The *-Minimax Search Procedure for Trees
Containing Chance Nodes", 1983) gives chance nodes a window too: after some outcomes of sum S, with probability R still to come, the
mean is between S - R·U and S + R·U, because no utility is above U in size. So outcome i, of probability p, matters only between

    (alpha - S - R·U) / p   and   (beta - S + R·U) / p,        R without p

and once it falls outside, the other outcomes are skipped. Sums of probabilities are rounded; the windows are wider by more than the
rounding error. So a value is either computed from the same numbers in the same order as without pruning, or it cannot change the
result.

Depth counts actions but not chance events. A turn of several actions is never cut; where the depth is used up and dice are rolled
next, EVAL is applied to the position before the roll.
"""

from __future__ import annotations

import numpy as np

from classical import fixed_depth
from classical.eval import Eval, evaluator
from classical.fixed_depth import (
    CHANCE_CUTS,
    CUTS,
    EVALS,
    NO_MOVER,
    NODES,
    TOO_DEEP,
    FixedDepth,
    Workspace,
    close_edge,
    extend_line,
    log_pruned,
    log_score,
    open_edge,
    refuse_all_but_zero_sum,
)
from classical.scores import UNIT, WIN, scorer
from classical.types import Kernel, Score
from games import CHANCE, Game, Rules
from games.choice import Bound
from games.types import Integer

MARGIN = 1e-3  # of a score: a billionth of a utility, a million times what rounding can do


def expectiminimax(rules: Rules) -> Kernel:
    """expectiminimax(ws, depth, prune) -> n: ws.scores of the n actions at the root, and ws.lines[0], best play to the next roll.

    With `prune`, the score of an action that is not better than an earlier one is an upper bound.
    """
    is_terminal, utility, to_move, legal_actions = rules.is_terminal, rules.utility, rules.to_move, rules.legal_actions
    chance = rules.chance or (lambda state, action: 0.0)
    score, evaluate, play = scorer(rules), evaluator(rules), fixed_depth.play(rules)
    most = float(UNIT if rules.chance is not None else WIN)  # no score is above it in size

    def value(
        ws: Workspace,
        prune: bool,
        ply: Integer,
        depth: Integer,
        before: Integer,
        player: Integer,
        alpha: Score,
        beta: Score,
    ) -> Score:
        """From the point of view of `player`, who is MAX; `before` moved last. Exact between alpha and beta, else a bound."""
        ws.counters[NODES] += 1
        ws.lines[ply, 0] = -1
        state = ws.states[ply]
        if is_terminal(state):
            return np.float64(score(utility(state, player), ply))
        mover = np.int64(to_move(state))
        if depth == 0 and mover != before:
            ws.counters[EVALS] += 1
            return np.float64(round(UNIT * evaluate(state, player, ws.weights, ws.values)))
        if ply + 1 == len(ws.states):
            ws.counters[TOO_DEEP] = 1
            return np.float64(0.0)
        n = legal_actions(state, ws.actions[ply])

        if mover == CHANCE:
            total, rest = np.float64(0.0), np.float64(1.0)  # the rest of the probability
            for i in range(n):
                probability = chance(ws.states[ply], ws.actions[ply, i])
                rest -= probability
                low, high = -np.inf, np.inf
                if prune:
                    low = (alpha - MARGIN - total - rest * most) / probability
                    high = (beta + MARGIN - total + rest * most) / probability
                play(ws, ply, i)
                edge = open_edge(ws, ws.actions[ply, i], low, high)
                below = value(ws, prune, ply + 1, depth, mover, player, low, high)
                log_score(ws, edge, player, below)
                close_edge(ws, edge)
                total += probability * below
                if prune and (below <= low or below >= high):
                    ws.counters[CHANCE_CUTS] += i + 1 < n
                    log_pruned(ws, ply, i, n, low, high)
                    return total + rest * most if below <= low else total - rest * most
            return total

        best, left = np.float64(0.0), max(depth - 1, 0)
        for i in range(n):
            play(ws, ply, i)
            edge = open_edge(ws, ws.actions[ply, i], alpha, beta)
            below = value(ws, prune, ply + 1, left, mover, player, alpha, beta)
            log_score(ws, edge, player, below)
            close_edge(ws, edge)
            if ply == 0:
                ws.scores[i] = below
            if i == 0 or (below > best if mover == player else below < best):
                best = below
                extend_line(ws.lines, ply, ws.actions[ply, i])
            if prune and mover == player:
                alpha = max(alpha, best)
            elif prune:
                beta = min(beta, best)
            if alpha >= beta:
                ws.counters[CUTS] += i + 1 < n
                log_pruned(ws, ply, i, n, alpha, beta)
                return best
        return best

    def expectiminimax(ws: Workspace, depth: int, prune: bool) -> int:
        player = np.int64(to_move(ws.states[0]))
        value(ws, prune, np.int64(0), np.int64(depth), np.int64(NO_MOVER), player, -np.inf, np.inf)
        return legal_actions(ws.states[0], ws.actions[0])

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

    def run(self, ws: Workspace) -> int:
        return int(self.game.kernel(expectiminimax)(ws, self.depth, self.pruning))

    def bounds(self, scores: list[float]) -> list[Bound]:
        """With pruning, an action that is not better than one before it is only known not to be."""
        best, found = -np.inf, list[Bound]()
        for score in scores:
            found.append("exact" if score > best or not self.pruning else "upper")
            best = max(best, score)
        return found

    def named(self, counters: list[int]) -> dict[str, int]:
        return super().named(counters) | {"alpha-beta cuts": counters[CUTS], "star1 cuts": counters[CHANCE_CUTS]}
