"""Everybody on one scale: Elo by maximum likelihood from who played whom. Pure functions of counts.

    played = Played(["random", "uct", "solver"], pairs=[(0, 1), (1, 2)], counts=[[...9], [...9]])
    ratings = rate(played, anchor=0)                 # ratings.elo, .low, .high; the anchor has 0
    gains(played, anchor=0, candidates=[(0, 2)])     # what one more block between two would tell

**The model** is Bradley and Terry's (1952) with the first move worth γ as in Davidson and Beaver (1977): where a has the first seat
against b, its expected points are 1 / (1 + 10^(-(elo_a - elo_b + γ) / 400)), a draw being half a win and half a loss. So a
difference is the logistic Elo that a match between the two would show, however much is drawn, and the likelihood, of fractional
results, is concave.

Davidson's model (1970), in which draws have a parameter of their own, was tried first. One parameter for all pairs measures decided
games: in tic-tac-toe, where perfect players always draw, the solver stood 1,870 Elo above the random player, against whom it makes
93 % of the points, which is 450. Rao and Kupper's (1967) has one of the same kind. How often players draw is left to the bootstrap.

**The prior.** Every player has PRIOR virtual draws, shared out over those it met as its true games are. So a clean sweep is worth
something finite; more games wash it out.

**Intervals** come from the weighted likelihood bootstrap (Newton and Raftery 1994): blocks, not games, are what is independent; each
gets a random weight from the exponential distribution, a few hundred times, and so does either half of a pair's virtual draws. Unlike
drawing blocks with replacement this leaves an interval where all blocks of a pair are equal.

A block is one opening from both sides. It has nine results, 3 · first + second: what a made of the game in which it moved first, and of
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
"""Elo: how far a player may well be from the others before it has played. For the choice of games alone."""
FIRST, SECOND = np.repeat([1.0, 0.5, 0.0], 3), np.tile([1.0, 0.5, 0.0], 3)
"""a's points in the two games, for each result of a block."""
_LEAP, _STEPS, _NEAR = 3.0, 200, 1e-8  # of Newton's method, in natural units
_PART = 50  # replicates that are fitted at once


@dataclass(frozen=True)
class Played:
    """Who met whom, and what came of it."""

    players: Sequence[str]
    pairs: Sequence[tuple[int, int]]
    """(a, b): numbers of players; each pair once, in one order."""
    counts: Any
    """[pairs, 9]: how often a block ended so."""

    def table(self) -> Array:
        """[pairs, 9]"""
        return np.asarray(self.counts, float).reshape(len(self.pairs), KINDS)

    def components(self) -> list[list[int]]:
        """Groups of players that results connect, the numbers ascending. Between two groups nothing can be said."""
        group = list(range(len(self.players)))
        for (a, b), blocks in zip(self.pairs, self.table().sum(axis=1), strict=True):
            if blocks:
                group = [group[a] if each == group[b] else each for each in group]
        return [[i for i, each in enumerate(group) if each == name] for name in dict.fromkeys(group)]


@dataclass(frozen=True)
class Ratings:
    """Elo against the anchor, NaN for players whom no chain of results connects with it."""

    players: Sequence[str]
    anchor: int
    elo: Array
    low: Array
    high: Array
    games: Array
    """Of each player."""
    advantage: tuple[float, float, float]
    """What the first move is worth in Elo, and its interval."""
    draws: float
    """The share of games that were drawn."""
    unconnected: list[list[int]]
    """The groups that the anchor is not in."""

    def interval_of(self, player: int | None = None) -> float:
        """Half a player's interval, or the widest of all; infinite for who is not connected."""
        halves = np.where(np.isnan(self.elo), np.inf, (self.high - self.low) / 2)
        return float(halves.max() if player is None else halves[player])


def rate(played: Played, anchor: int, *, replicates: int = REPLICATES, seed: int = 0) -> Ratings:
    """The ratings, with intervals of 95 %."""
    players = len(played.players)
    elo, low, high = (np.full(players, np.nan) for _ in range(3))
    elo[anchor] = low[anchor] = high[anchor] = 0.0
    groups = played.components()
    games = np.zeros(players)
    for pair, blocks in zip(played.pairs, played.table().sum(axis=1), strict=True):
        games[list(pair)] += 2 * blocks
    model = _Model(played, anchor)
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
        played.players,
        anchor,
        elo,
        low,
        high,
        games,
        (float(found[-1] * UNIT), float(bottom[-1]), float(top[-1])),
        float(drawn.sum() / max(1.0, 2 * model.counts.sum())),
        [group for group in groups if anchor not in group],
    )


def gains(played: Played, anchor: int, candidates: Sequence[tuple[int, int]], under_way: Sequence[int] = ()) -> Array:
    """[candidates]: by how much one more block between two players is expected to lower the sum of all variances (Elo²).

    Variances about the mean of all players, so that it does not matter who is the anchor. From the Fisher information of all blocks,
    those of the candidates that are `under_way` (how many, for each) included. Players that have not played yet stand where the
    others are in the mean, give or take UNKNOWN.
    """
    model = _Model(played, anchor, everybody=True)
    rows = model.rows(model.counts, model.virtual)
    vague = np.full(model.size, (UNIT / UNKNOWN) ** 2)
    found = model.fit(rows, ridge=vague)
    has_played = np.abs(model.design).sum(axis=0)[:-1] > 0
    found[:-1][~has_played] = np.append(found[:-1][has_played], 0.0).mean()  # the anchor's 0 among them
    blocks = np.stack([model.block(found, a, b) for a, b in candidates])
    before = model.information(found, rows.sum(axis=-1), model.design) + np.diag(vague)
    if len(under_way):
        before = before + np.tensordot(np.asarray(under_way, float), blocks, axes=1)
    return np.asarray((_spread(before) - _spread(before + blocks)) * UNIT**2)


def _spread(information: Array) -> Array:
    """[...]: the sum of all players' variances about their mean; the anchor is one of them, without error."""
    strengths = np.linalg.inv(information)[..., :-1, :-1]
    return np.asarray(np.trace(strengths, axis1=-2, axis2=-1) - strengths.sum(axis=(-2, -1)) / information.shape[-1])


class _Model:
    """The likelihood, in natural units. Parameters: every free player's strength θ, and γ.

    A pair has two rows, a's games in the first seat and a's games in the second, seen by a: x = θ_a - θ_b ± γ.
    """

    def __init__(self, played: Played, anchor: int, everybody: bool = False) -> None:
        table = played.table()
        group = next(group for group in played.components() if anchor in group)
        inside = set(range(len(played.players))) if everybody else set(group)
        self.free = [i for i in sorted(inside) if i != anchor]
        self.size = len(self.free) + 1
        self._place = {player: place for place, player in enumerate(self.free)}
        kept = [m for m, (a, _) in enumerate(played.pairs) if a in inside and table[m].sum()]
        self.counts = table[kept]
        """[pairs, 9]"""
        games = 2 * self.counts.sum(axis=1)
        pairs = [played.pairs[m] for m in kept]
        of_player = np.zeros(len(played.players))
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
        """[..., size]: the greatest likelihood, by Newton's method with steps of a limited length. It is concave: there is one.

        `ridge` is the precision with which parameters are taken to be 0 beforehand.
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
    """The score of who is x stronger, in natural units."""
    return np.asarray(0.5 + 0.5 * np.tanh(x / 2))
