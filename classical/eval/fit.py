"""Weights of the linear EVAL fitted to the outcomes of games, with standard errors.

EVAL = tanh(θ·f) is the expected utility, so (1 + EVAL) / 2 = σ(2 θ·f): the fit to outcomes is a logistic regression, with a draw as
half a win. Features are antisymmetric, so there is no intercept. Newton's method in float64; the same games give the same bits.

Each game has weight 1, shared by its positions, however long it is: a drawn game of 300 moves does not outweigh ten won ones. For the
same reason the positions of a game are not independent, and standard errors are clustered by game (the sandwich estimator of Liang and
Zeger 1986). Games of equal moves count as one.

A small ridge keeps weights finite where games are few or one-sided: a normal prior, with a standard deviation of 1 / sqrt(RIDGE) logits
around 0, on the effect of a feature at its usual size. Its weight is less than that of one game.

Fitting an evaluation to outcomes by a logistic curve: Buro 1995, "Statistical feature combination for the evaluation of game positions"
(othello); Österlund 2014, "Texel's tuning method" (chess).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from base.errors import UserError
from classical.eval.rows import Rows
from classical.eval.weights import INSIDE, LARGEST, Eval, default_eval
from games import Game
from games.types import Array

RIDGE = 0.1
STEPS = 100  # of Newton's method, which needs fewer than ten for moderate weights
CLOSE = 1e-10  # the decrement at which it stops
SMALL = 8192, 200_000
"""Sizes that BLAS multiplies on one thread, matrix by vector and matrix by matrix: so the bits do not depend on the number of threads,
and no thread waits for another on a busy machine."""


@dataclass(frozen=True)
class Fit:
    """θ = unit · weights, of all features; 0 for those that were left out or never seen."""

    theta: Array
    """float64 [F]"""
    covariance: Array
    """float64 [F, F], clustered by game"""
    chosen: Array
    """bool [F]: the feature was in the fit"""
    seen: Array
    """bool [F]: it was in the fit, and not always 0"""
    games: int
    """Number of different games."""
    positions: int

    @property
    def errors(self) -> Array:
        return np.asarray(np.sqrt(np.diag(self.covariance)))


def fit_rows(rows: Rows, only: Sequence[int] | None = None, ridge: float = RIDGE) -> Fit:
    """θ fitted to the outcomes of these rows; with `only`, of some features alone, by number."""
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
    within, seen = np.zeros(width, bool), np.zeros(width, bool)
    within[chosen], seen[chosen] = True, problem.is_seen
    return Fit(theta, covariance, within, seen, problem.games, len(rows))


def expected(theta: Array, rows: Rows) -> Array:
    """EVAL of each row, from its viewer's point of view."""
    return np.asarray(INSIDE * np.tanh(np.einsum("ij,j->i", rows.features, theta)))


def eval_of(game: Game, fit: Fit, source: str) -> Eval:
    """The fit as an Eval, in the game's own unit. If the game names its material, the first of it has weight 1 and the unit is its
    fitted value; otherwise, or if that is not clearly above 0, the unit is unchanged. A feature that never occurred keeps the weight
    set by hand."""
    names, hand = tuple(game.rules.feature_names), default_eval(game)
    theta, unit, turn = fit.theta.copy(), hand.unit, np.eye(len(names))
    note = f"fitted to {fit.positions:,} quiet positions of {source}"
    first = names.index(game.rules.material[0]) if game.rules.material else 0
    if game.rules.material and theta[first] > 2 * fit.errors[first]:
        unit = float(theta[first])
        turn[:, first] -= theta / unit  # the error of a ratio, by the delta method
        note += f"; the unit, {names[first]}, is {unit:.3f} ± {fit.errors[first]:.3f}"
    errors = np.sqrt(np.maximum(0.0, np.diag(turn @ fit.covariance @ turn.T))) / unit
    unknown = fit.chosen & ~fit.seen
    theta[unknown] = hand.array(game)[unknown]
    weights = np.clip(theta, -LARGEST, LARGEST) / unit
    by_name, errors_of = (dict(zip(names, each.tolist(), strict=True)) for each in (weights, errors))
    return Eval(game.name, game.version, by_name, unit, note, errors_of, fit.games)


class _Problem:
    """Logistic regression on standardized features: β·x = 2 θ·f, x = f / scale."""

    def __init__(self, rows: Rows, chosen: Array, ridge: float) -> None:
        self.features = rows.features[:, chosen]
        self.won = (1 + rows.outcomes.astype(np.float64)) / 2
        _, self.game = np.unique(rows.games, return_inverse=True)
        count = np.bincount(self.game)
        self.games = len(count)
        self.weight = 1 / count[self.game]
        squares, nonzero = np.zeros(len(chosen)), np.zeros(len(chosen))
        self.scale = np.ones(len(chosen))  # root mean square of a feature where it is not 0
        for block, x in self._blocks():
            squares += self.weight[block] @ (x * x)
            nonzero += self.weight[block] @ (x != 0)
        self.is_seen = nonzero > 0
        self.scale[self.is_seen] = np.sqrt(squares[self.is_seen] / nonzero[self.is_seen])
        self.ridge = ridge

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        """Slices of rows, standardized."""
        width = len(self.scale)
        size = max(16, min(SMALL[0] // width, SMALL[1] // width**2))
        for start in range(0, len(self.features), size):
            block = slice(start, start + size)
            yield block, self.features[block] / self.scale

    def solve(self) -> Array:
        """β, by Newton's method; steps that would increase the loss are halved."""
        beta = np.zeros(len(self.scale))
        loss, gradient, hessian = self._derivatives(beta)
        for _ in range(STEPS):
            step = np.linalg.solve(hessian, gradient)
            decrement = float(gradient @ step)
            if decrement <= CLOSE * self.games:
                break
            size, found = 1.0, self._derivatives(beta - step)
            while found[0] > loss - 1e-4 * size * decrement and size > 1e-8:
                size /= 2
                found = self._derivatives(beta - size * step)
            beta = beta - size * step
            loss, gradient, hessian = found
        return beta

    def covariance(self, beta: Array) -> Array:
        """H⁻¹ (Σ over games of g gᵀ) H⁻¹, with g the sum of a game's gradients."""
        scores = np.zeros((len(beta), self.games))
        for block, x in self._blocks():
            wrong = self.weight[block] * (_sigmoid(x @ beta) - self.won[block])
            for i in range(len(beta)):
                np.add.at(scores[i], self.game[block], wrong * x[:, i])
        bread = np.linalg.inv(self._derivatives(beta)[2])
        few = self.games / max(self.games - 1, 1)
        return np.asarray(bread @ (few * np.einsum("ig,jg->ij", scores, scores)) @ bread)

    def _derivatives(self, beta: Array) -> tuple[float, Array, Array]:
        """The loss, its gradient and its Hessian."""
        loss, gradient, hessian = self.ridge * float(beta @ beta) / 2, self.ridge * beta, self.ridge * np.eye(len(beta))
        for block, x in self._blocks():
            z, weight, won = x @ beta, self.weight[block], self.won[block]
            p = _sigmoid(z)
            loss += float(weight @ (np.logaddexp(0, z) - won * z))
            gradient = gradient + (weight * (p - won)) @ x
            hessian = hessian + (x * (weight * p * (1 - p))[:, None]).T @ x
        return loss, gradient, hessian


def _sigmoid(z: Array) -> Array:
    return np.asarray((1 + np.tanh(z / 2)) / 2)
