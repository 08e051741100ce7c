"""Ratings of many players on one Elo scale, by maximum likelihood from the games between them. Pure functions of counts.

    table = CrossTable(["random", "uct", "solver"], pairs=[(0, 1), (1, 2)], counts=[[...9], [...9]])
    ratings = rate(table, anchor=0)                 # ratings.elo, .low, .high; the anchor has 0
    gains(table, anchor=0, candidates=[(0, 2)])      # how much one more block would reduce uncertainty

**The model** is Bradley and Terry's (1952) with the first move worth γ as in Davidson and Beaver (1977): where a has the first seat
against b, its expected points are 1 / (1 + 10^(-(elo_a - elo_b + γ) / 400)), a draw being half a win and half a loss. So a
difference is the logistic Elo of a match between the two, whatever the share of draws, and the likelihood, of fractional results, is
concave.

Davidson's model (1970) has a separate parameter for draws. With one such parameter for all pairs, ratings measure decided games only:
in tic-tac-toe, where perfect players always draw, the solver was rated 1,870 Elo above the random player, against whom it makes 93 % of
the points, which is 450. Rao and Kupper's model (1967) has a parameter of the same kind. Here the bootstrap accounts for draws.

**The prior.** Every player has PRIOR virtual draws, distributed over its opponents like its games. So the rating after a clean sweep is
finite; the effect vanishes with more games.

**Intervals** come from the weighted likelihood bootstrap (Newton and Raftery 1994). Blocks are independent, games are not; so each
block gets a random weight from the exponential distribution, a few hundred times, and so does either half of a pair's virtual draws.
Unlike resampling blocks with replacement, this gives an interval even where all blocks of a pair are equal.

A block is one opening from both sides. It has nine results, 3 · first + second: a's result in the game in which it moves first, and in
the other one (0 won, 1 drew, 2 lost).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]

KINDS = 9
PRIOR = 1.0
"""Virtual draws of a player."""
UNIT = 400 / np.log(10)
"""Elo per natural unit."""
REPLICATES = 500
LEVEL = 0.95
UNKNOWN = 1000.0
"""Elo: the standard deviation of a new player's rating. Used only to choose the next games."""
FIRST, SECOND = np.repeat([1.0, 0.5, 0.0], 3), np.tile([1.0, 0.5, 0.0], 3)
"""a's points in the two games, for each result of a block."""
_LEAP, _STEPS, _NEAR = 3.0, 200, 1e-8  # of Newton's method, in natural units
_PART = 50  # replicates fitted at once


@dataclass(frozen=True)
class CrossTable:
    """The results of all pairs."""

    players: Sequence[str]
    pairs: Sequence[tuple[int, int]]
    """(a, b): indices of players; each pair once, in one order."""
    counts: Any
    """[pairs, 9]: number of blocks by result."""

    def table(self) -> Array:
        """[pairs, 9]"""
        return np.asarray(self.counts, float).reshape(len(self.pairs), KINDS)

    def components(self) -> list[list[int]]:
        """Groups of players that results connect, indices ascending. Ratings of different groups cannot be compared."""
        group = list(range(len(self.players)))
        for (a, b), blocks in zip(self.pairs, self.table().sum(axis=1), strict=True):
            if blocks:
                group = [group[a] if each == group[b] else each for each in group]
        return [[i for i, each in enumerate(group) if each == name] for name in dict.fromkeys(group)]


@dataclass(frozen=True)
class Ratings:
    """Elo relative to the anchor, NaN for players that no chain of results connects with it."""

    players: Sequence[str]
    anchor: int
    elo: Array
    low: Array
    high: Array
    games: Array
    """Of each player."""
    advantage: tuple[float, float, float]
    """The value of the first move in Elo, and its interval."""
    draws: float
    """The share of games that were drawn."""
    unconnected: list[list[int]]
    """The groups that the anchor is not in."""

    def interval_of(self, player: int | None = None) -> float:
        """Half the interval of a player, or the widest one; infinite where a player is not connected."""
        halves = np.where(np.isnan(self.elo), np.inf, (self.high - self.low) / 2)
        return float(halves.max() if player is None else halves[player])


def rate(table: CrossTable, anchor: int, *, replicates: int = REPLICATES, seed: int = 0) -> Ratings:
    """The ratings, with intervals of 95 %."""
    players = len(table.players)
    elo, low, high = (np.full(players, np.nan) for _ in range(3))
    elo[anchor] = low[anchor] = high[anchor] = 0.0
    groups = table.components()
    games = np.zeros(players)
    for pair, blocks in zip(table.pairs, table.table().sum(axis=1), strict=True):
        games[list(pair)] += 2 * blocks
    model = _Model(table, anchor)
    found = model.fit(model.rows(model.counts, model.virtual))
    rng = np.random.default_rng(seed)
    weights = rng.standard_gamma(np.broadcast_to(model.counts, (replicates, *model.counts.shape)))
    virtual = model.virtual * rng.standard_exponential((replicates, *model.virtual.shape))
    rows = model.rows(weights, virtual)
    spread = np.concatenate([model.fit(rows[at : at + _PART], found) for at in range(0, replicates, _PART)])
    ends = np.quantile(spread, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    bottom, top = np.minimum(ends[0], found) * UNIT, np.maximum(ends[1], found) * UNIT
    elo[model.free], low[model.free], high[model.free] = found[:-1] * UNIT, bottom[:-1], top[:-1]
    drawn = model.counts @ ((FIRST == 0.5) * 1.0 + (SECOND == 0.5))
    return Ratings(
        table.players,
        anchor,
        elo,
        low,
        high,
        games,
        (float(found[-1] * UNIT), float(bottom[-1]), float(top[-1])),
        float(drawn.sum() / max(1.0, 2 * model.counts.sum())),
        [group for group in groups if anchor not in group],
    )


def gains(
    table: CrossTable, anchor: int, candidates: Sequence[tuple[int, int]], under_way: Sequence[int] = ()
) -> Array:
    """[candidates]: the expected reduction of the sum of all variances (Elo²) by one more block between two players.

    Variances are about the mean of all players, so the choice of anchor does not matter. From the Fisher information of all blocks,
    including the blocks in play (`under_way`, for each candidate). New players are taken to have the mean rating, ± UNKNOWN.
    """
    model = _Model(table, anchor, everybody=True)
    rows = model.rows(model.counts, model.virtual)
    vague = np.full(model.size, (UNIT / UNKNOWN) ** 2)
    found = model.fit(rows, ridge=vague)
    has_played = np.abs(model.design).sum(axis=0)[:-1] > 0
    found[:-1][~has_played] = np.append(found[:-1][has_played], 0.0).mean()  # with the anchor's 0
    blocks = np.stack([model.block(found, a, b) for a, b in candidates])
    before = model.information(found, rows.sum(axis=-1), model.design) + np.diag(vague)
    if len(under_way):
        before = before + np.tensordot(np.asarray(under_way, float), blocks, axes=1)
    return np.asarray((_spread(before) - _spread(before + blocks)) * UNIT**2)


def _spread(information: Array) -> Array:
    """[...]: the sum of all players' variances about their mean; the anchor's own is 0."""
    strengths = np.linalg.inv(information)[..., :-1, :-1]
    return np.asarray(np.trace(strengths, axis1=-2, axis2=-1) - strengths.sum(axis=(-2, -1)) / information.shape[-1])


class _Model:
    """The likelihood, in natural units. Parameters: every free player's strength θ, and γ.

    A pair has two rows, a's games in the first seat and in the second, from a's point of view: x = θ_a - θ_b ± γ.
    """

    def __init__(self, cross_table: CrossTable, anchor: int, everybody: bool = False) -> None:
        table = cross_table.table()
        group = next(group for group in cross_table.components() if anchor in group)
        inside = set(range(len(cross_table.players))) if everybody else set(group)
        self.free = [i for i in sorted(inside) if i != anchor]
        self.size = len(self.free) + 1
        self._place = {player: place for place, player in enumerate(self.free)}
        kept = [m for m, (a, _) in enumerate(cross_table.pairs) if a in inside and table[m].sum()]
        self.counts = table[kept]
        """[pairs, 9]"""
        games = 2 * self.counts.sum(axis=1)
        pairs = [cross_table.pairs[m] for m in kept]
        of_player = np.zeros(len(cross_table.players))
        for pair, n in zip(pairs, games, strict=True):
            of_player[list(pair)] += n
        shares = [n * (1 / of_player[a] + 1 / of_player[b]) / 2 for (a, b), n in zip(pairs, games, strict=True)]
        self.virtual = PRIOR / 2 * np.array(shares).reshape(-1, 1).repeat(2, axis=1)
        """[pairs, 2]: points of a and of b from virtual draws."""
        self.design = np.zeros((2 * len(pairs), self.size))
        """[rows, size]: x from the parameters."""
        for m, (a, b) in enumerate(pairs):
            self.design[2 * m : 2 * m + 2] = self.sides(a, b)

    def sides(self, a: int, b: int) -> Array:
        """[2, size]: the rows of a pair."""
        found = np.zeros((2, self.size))
        for player, sign in ((a, 1.0), (b, -1.0)):
            if player in self._place:
                found[:, self._place[player]] += sign
        found[:, -1] = 1.0, -1.0
        return found

    def rows(self, counts: Array, virtual: Array) -> Array:
        """[..., rows, 2]: points of a and of b, from [..., pairs, 9] blocks and [..., pairs, 2] virtual points."""
        points = [np.stack([counts @ worth, counts @ (1 - worth)], axis=-1) for worth in (FIRST, SECOND)]
        both = np.stack(points, axis=-2) + virtual[..., None, :] / 2
        return np.asarray(both.reshape(*both.shape[:-3], -1, 2))

    def block(self, found: Array, a: int, b: int) -> Array:
        """[size, size]: the information of one block."""
        return self.information(found, np.ones(2), self.sides(a, b))

    def information(self, found: Array, games: Array, design: Array) -> Array:
        """[..., size, size]: minus the second derivative of the log-likelihood."""
        score = _expected(found @ design.T)
        return np.asarray((design.T * (games * score * (1 - score))[..., None, :]) @ design)

    def fit(self, rows: Array, start: Array | None = None, ridge: Any = _NEAR) -> Array:
        """[..., size]: the maximum of the concave likelihood, by Newton's method with steps of limited length.

        `ridge` is the precision of a normal prior with mean 0.
        """
        shape = (*rows.shape[:-2], self.size)
        found: Array = np.zeros(shape) if start is None else np.broadcast_to(start, shape)
        games, ridge = rows.sum(axis=-1), np.broadcast_to(ridge, self.size)
        for _ in range(_STEPS):
            missing = rows[..., 0] - games * _expected(found @ self.design.T)
            slope = missing @ self.design - ridge * found
            curvature = self.information(found, games, self.design) + np.diag(ridge)
            step = np.linalg.solve(curvature, slope[..., None])[..., 0]
            longest = np.abs(step).max(axis=-1, keepdims=True)
            found = found + step * np.minimum(1.0, _LEAP / np.maximum(longest, _LEAP))
            if longest.max(initial=0.0) < _NEAR:
                break
        return found


def _expected(x: Array) -> Array:
    """The expected score at a difference x, in natural units."""
    return np.asarray(0.5 + 0.5 * np.tanh(x / 2))
