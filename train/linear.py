"""The linear EVAL that learns: weights fitted to how games ended, with the errors of the weights.

    fit = fit_rows(rows)                            # of train/positions.py
    fit.theta, fit.errors                           # [F]: unit · weight, and standard errors
    weights = eval_of(game, fit, "self-play")       # classical's EVAL, to be saved and played with

EVAL = tanh(θ·f) is the utility expected, so (1 + EVAL) / 2 = σ(2 θ·f): fitting it to how games ended is logistic regression, a draw
being half a win. Features are antisymmetric and so there is no intercept. Newton's method, in float64; the same games give the same bits.

Each game counts the same, its positions share its weight: a game has one outcome, however long it took, and a drawn shuffle of 300 moves
shall not outvote ten won games. For the same reason positions of a game are no independent witnesses, and the standard errors are
clustered by game (sandwich of Liang and Zeger 1986). Games equal move for move are one cluster.

A small ridge keeps weights finite where few games, or one-sided ones, would not: as if nature drew the effect of a feature of its usual
size from a normal distribution of 1 / sqrt(RIDGE) logits around 0. That is worth less than one game.

Fitting a chess evaluation to outcomes by a logistic curve: Buro 1995, "Statistical feature combination for the evaluation of game
positions" (Othello); Österlund's "Texel's tuning method" (2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from base.errors import UserError
from classical.evaluation import INSIDE, LARGEST, Eval
from games import Game
from train.positions import Rows, sizes

Array = np.ndarray[Any, Any]

RIDGE = 0.1
STEPS = 100  # of Newton: it takes fewer than ten where weights are moderate
CLOSE = 1e-10  # the decrement at which it is done
BLOCK = 1 << 15  # rows at a time, in float64


@dataclass(frozen=True)
class Fit:
    """θ = unit · weights, of all features; those left out of the fit are 0."""

    theta: Array
    """float64 [F]"""
    covariance: Array
    """float64 [F, F], clustered by game"""
    seen: Array
    """bool [F]: the feature was in the fit, and not always 0"""
    games: int
    """Different ones."""
    positions: int

    @property
    def errors(self) -> Array:
        return np.sqrt(np.diag(self.covariance))


def fit_rows(rows: Rows, only: Sequence[int] | None = None, ridge: float = RIDGE) -> Fit:
    """θ by the outcomes of these rows; `only` some of the features, by number."""
    width = rows.features.shape[1]
    chosen = np.arange(width) if only is None else np.asarray(only, np.int64)
    if not len(rows) or not len(chosen):
        raise UserError("EVAL: expected quiet positions of finished games to fit it to, there are none")
    problem = _Problem(rows, chosen, ridge)
    beta = problem.solve()
    scale = 2 * problem.scale
    theta, covariance = np.zeros(width), np.zeros((width, width))
    theta[chosen] = beta / scale
    covariance[np.ix_(chosen, chosen)] = problem.covariance(beta) / np.outer(scale, scale)
    seen = np.zeros(width, bool)
    seen[chosen] = problem.is_seen
    return Fit(theta, covariance, seen, problem.games, len(rows))


def expected(theta: Array, rows: Rows) -> Array:
    """EVAL of each row, in its viewer's eyes."""
    return INSIDE * np.tanh(rows.features.astype(np.float64) @ theta)


def eval_of(game: Game, fit: Fit, source: str) -> Eval:
    """As classical search takes it, in the game's own unit: where the game names its material, the first of it counts 1 and the unit
    is what it was found to be worth; elsewhere, or where that is not clearly above 0, the unit stays."""
    rules, names = game.rules, tuple(game.rules.feature_names)
    unit, weights, errors = float(rules.weight_unit), fit.theta, fit.errors
    note = f"fitted to {fit.positions:,} quiet positions of {source}"
    first = names.index(rules.material[0]) if rules.material else -1
    if first >= 0 and fit.theta[first] > 2 * fit.errors[first]:
        unit = float(fit.theta[first])
        ratio = fit.theta / unit
        turn = np.eye(len(names))
        turn[:, first] -= ratio  # by the delta method: errors of the ratio θ / θ_first
        errors = np.sqrt(np.maximum(0.0, np.diag(turn @ fit.covariance @ turn.T)))
        note += f"; {names[first]} are the unit, {unit:.3f} ± {fit.errors[first]:.3f}"
    weights = np.clip(weights, -LARGEST, LARGEST) / unit
    errors = errors if first >= 0 and unit == fit.theta[first] else errors / unit
    by_name = dict(zip(names, weights.tolist(), strict=True))
    return Eval(
        game.name, game.version, by_name, unit, note, dict(zip(names, errors.tolist(), strict=True)), fit.games
    )


class _Problem:
    """Logistic regression on standardized features: β·x = 2 θ·f, x = f / scale."""

    def __init__(self, rows: Rows, chosen: Array, ridge: float) -> None:
        self.features, self.chosen = rows.features, chosen
        self.won = (1 + rows.outcomes.astype(np.float64)) / 2
        _, self.game = np.unique(rows.games, return_inverse=True)
        count = sizes(self.game)
        self.games = len(count)
        self.weight = 1 / count[self.game]
        squares, nonzero = np.zeros(len(chosen)), np.zeros(len(chosen))
        for block, x in self._blocks(np.ones(len(chosen))):
            squares += self.weight[block] @ (x * x)
            nonzero += self.weight[block] @ (x != 0)
        self.is_seen = nonzero > 0
        self.scale = np.where(self.is_seen, np.sqrt(squares / np.where(self.is_seen, nonzero, 1)), 1.0)
        """The usual size of a feature where it is not 0."""
        self.ridge = np.full(len(chosen), ridge)

    def _blocks(self, scale: Array) -> Any:
        for start in range(0, len(self.features), BLOCK):
            block = slice(start, start + BLOCK)
            yield block, self.features[block][:, self.chosen].astype(np.float64) / scale

    def solve(self) -> Array:
        """β, by Newton's steps, halved where they would lead uphill."""
        beta = np.zeros(len(self.chosen))
        loss, gradient, hessian = self._derivatives(beta)
        for _ in range(STEPS):
            step = np.linalg.solve(hessian, gradient)
            decrement = float(gradient @ step)
            if decrement <= CLOSE * self.games:
                break
            size = 1.0
            while self._loss(beta - size * step) > loss - 1e-4 * size * decrement and size > 1e-8:
                size /= 2
            beta = beta - size * step
            loss, gradient, hessian = self._derivatives(beta)
        return beta

    def covariance(self, beta: Array) -> Array:
        """H⁻¹ (Σ over games of g gᵀ) H⁻¹, g being the sum of a game's gradients."""
        scores = np.zeros((self.games, len(beta)))
        for block, x in self._blocks(self.scale):
            wrong = self.weight[block] * (_sigmoid(x @ beta) - self.won[block])
            np.add.at(scores, self.game[block], wrong[:, None] * x)
        bread = np.linalg.inv(self._derivatives(beta)[2])
        few = self.games / max(self.games - 1, 1)
        return np.asarray(bread @ (few * scores.T @ scores) @ bread)

    def _loss(self, beta: Array) -> float:
        found = float(self.ridge @ (beta * beta)) / 2
        for block, x in self._blocks(self.scale):
            z = x @ beta
            found += float(self.weight[block] @ (np.logaddexp(0, z) - self.won[block] * z))
        return found

    def _derivatives(self, beta: Array) -> tuple[float, Array, Array]:
        gradient, hessian = self.ridge * beta, np.diag(self.ridge)
        for block, x in self._blocks(self.scale):
            p = _sigmoid(x @ beta)
            gradient = gradient + x.T @ (self.weight[block] * (p - self.won[block]))
            hessian = hessian + (x * (self.weight[block] * p * (1 - p))[:, None]).T @ x
        return self._loss(beta), gradient, hessian


def _sigmoid(z: Array) -> Array:
    return np.asarray((1 + np.tanh(z / 2)) / 2)
