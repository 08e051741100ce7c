"""Everybody on one scale: Elo by maximum likelihood from who played whom. Pure functions of counts.

    played = Played(["random", "uct", "solver"], pairs=[(0, 1), (1, 2)], counts=[[...9], [...9]])
    ratings = rate(played, anchor=0)                 # ratings.elo, .low, .high; the anchor has 0
    gains(played, anchor=0, candidates=[(0, 2)])     # what one more block between two would tell

**The model** is Bradley and Terry's (1952) with draws as Davidson (1970) has them and the first move's worth γ as Davidson and Beaver
(1977). With strength α = 10^(elo/400), where a has the first seat against b,

    win : draw : loss of a  =  √(α_a 10^(γ/400) / α_b)  :  ν  :  √(α_b / (α_a 10^(γ/400)))

Why Davidson and not Rao and Kupper: it is an exponential family, so that the likelihood is concave, ratings depend on a player's
results through its points alone with a draw as half a win, as everywhere in the arena, and wins are to losses as 10^(d/400) to one
at any share of draws. Where nothing is drawn, d is the logistic Elo of a match; where much is drawn it is more, for it speaks of
decided games.

**The prior.** Every player has PRIOR virtual games, shared out over those it met as its true ones are, that ended even: half of them
drawn, the rest won once by either side, from both seats. So a clean sweep is worth something finite; more games wash it out.

**Intervals** come from the weighted likelihood bootstrap (Newton and Raftery 1994): blocks, not games, are what is independent; each
gets a random weight from the exponential distribution, a few hundred times, and so do a pair's virtual wins, draws and losses. Unlike
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
"""Virtual games of a player."""
UNIT = 400 / np.log(10)
"""Elo per natural unit."""
REPLICATES = 500
LEVEL = 0.95
UNKNOWN = 1000.0
"""Elo: how far a player may well be from the others before it has played. For the choice of games alone."""
_EVEN = np.array([0.25, 0.5, 0.25])
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
    """The share of draws between equals."""
    unconnected: list[list[int]]
    """The groups that the anchor is not in."""

    def interval_of(self, player: int | None = None) -> float:
        """Half a player's interval, or the widest of all; infinite for who is not connected."""
        halves = (self.high - self.low) / 2
        half = halves[player] if player is not None else np.max(np.nan_to_num(halves, nan=np.inf))
        return float(np.nan_to_num(half, nan=np.inf))


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
    elo[model.free], low[model.free], high[model.free] = found[:-2] * UNIT, bottom[:-2], top[:-2]
    nu = float(np.exp(found[-1]))
    return Ratings(
        played.players,
        anchor,
        elo,
        low,
        high,
        games,
        (float(found[-2] * UNIT), float(bottom[-2]), float(top[-2])),
        nu / (2 + nu),
        [group for group in groups if anchor not in group],
    )


def gains(played: Played, anchor: int, candidates: Sequence[tuple[int, int]], under_way: Sequence[int] = ()) -> Array:
    """[candidates]: by how much one more block between two players is expected to lower the sum of all players' variances (Elo²).

    From the Fisher information of all blocks, those of the candidates that are `under_way` (how many, for each) included. Players that
    have not played yet stand where the others are in the mean, give or take UNKNOWN.
    """
    model = _Model(played, anchor, everybody=True)
    rows = model.rows(model.counts, model.virtual)
    vague = np.full(model.size, (UNIT / UNKNOWN) ** 2)
    found = model.fit(rows, ridge=vague)
    has_played = np.abs(model.design).sum(axis=0)[:-1] > 0
    found[:-2][~has_played] = np.append(found[:-2][has_played], 0.0).mean()  # the anchor's 0 among them
    blocks = np.stack([model.block(found, a, b) for a, b in candidates])
    before = model.information(model.shares(found, model.design), rows.sum(axis=-1), model.design) + np.diag(vague)
    if len(under_way):
        before = before + np.tensordot(np.asarray(under_way, float), blocks, axes=1)
    now = np.trace(np.linalg.inv(before)[:-2, :-2])
    after = np.trace(np.linalg.inv(before + blocks)[:, :-2, :-2], axis1=1, axis2=2)
    return np.asarray((now - after) * UNIT**2)


def chances(elo: float, advantage: float, draws: float) -> Array:
    """[win, draw, loss] of the first to move, who is so much stronger; `advantage` and `draws` as in Ratings."""
    nu = 2 * draws / (1 - draws)
    half = (elo + advantage) / UNIT / 2
    weights = np.array([np.exp(half), nu, np.exp(-half)])
    return np.asarray(weights / weights.sum())


class _Model:
    """The likelihood, in natural units. Parameters: every free player's strength, γ, log ν.

    A pair has two rows, a's games in the first seat and a's games in the second, seen by a: x = θ_a - θ_b ± γ.
    """

    def __init__(self, played: Played, anchor: int, everybody: bool = False) -> None:
        table = played.table()
        group = next(group for group in played.components() if anchor in group)
        inside = set(range(len(played.players))) if everybody else set(group)
        self.free = [i for i in sorted(inside) if i != anchor]
        self.size = len(self.free) + 2
        self._place = {player: place for place, player in enumerate(self.free)}
        kept = [m for m, (a, _) in enumerate(played.pairs) if a in inside and table[m].sum()]
        self.counts = table[kept]
        games = 2 * self.counts.sum(axis=1)
        pairs = [played.pairs[m] for m in kept]
        of_player = np.zeros(len(played.players))
        for pair, n in zip(pairs, games, strict=True):
            of_player[list(pair)] += n
        shares = [n * (1 / of_player[a] + 1 / of_player[b]) / 2 for (a, b), n in zip(pairs, games, strict=True)]
        self.virtual = PRIOR * np.array(shares).reshape(-1, 1) * _EVEN
        """[pairs, 3]: virtual games that a won, drew, lost."""
        self.design = np.zeros((2 * len(pairs), self.size - 1))
        for m, (a, b) in enumerate(pairs):
            self.design[2 * m : 2 * m + 2] = self.sides(a, b)

    def sides(self, a: int, b: int) -> Array:
        """[2, size - 1]: x from the parameters, where a moves first and where it does not."""
        found = np.zeros((2, self.size - 1))
        for player, sign in ((a, 1.0), (b, -1.0)):
            if player in self._place:
                found[:, self._place[player]] += sign
        found[:, -1] = 1.0, -1.0
        return found

    def rows(self, counts: Array, virtual: Array) -> Array:
        """[..., 2 pairs, 3]: a's wins, draws and losses in either seat, the virtual games' included."""
        results = counts.reshape(*counts.shape[:-1], 3, 3)
        both = np.stack([results.sum(axis=-1), results.sum(axis=-2)], axis=-2)
        both = both + virtual[..., None, :] / 2
        return np.asarray(both.reshape(*both.shape[:-3], -1, 3))

    def shares(self, found: Array, design: Array) -> Array:
        """[..., rows, 3]: win, draw, loss."""
        x = found[..., :-1] @ design.T
        logs = np.stack([x / 2, np.broadcast_to(found[..., -1:], x.shape), -x / 2], axis=-1)
        weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

    def block(self, found: Array, a: int, b: int) -> Array:
        """[size, size]: the expected information of one block."""
        sides = self.sides(a, b)
        return self.information(self.shares(found, sides), np.ones(2), sides)

    def information(self, shares: Array, games: Array, design: Array) -> Array:
        """[..., size, size]: minus the second derivative of the log-likelihood."""
        win, draw, loss = (shares[..., k] for k in range(3))
        by_x = games * (win + loss - (win - loss) ** 2) / 4
        mixed = -games * (win - loss) / 2 * draw
        found = np.empty((*games.shape[:-1], self.size, self.size))
        found[..., :-1, :-1] = (design.T * by_x[..., None, :]) @ design
        found[..., :-1, -1] = found[..., -1, :-1] = mixed @ design
        found[..., -1, -1] = (games * draw * (1 - draw)).sum(axis=-1)
        return found

    def fit(self, rows: Array, start: Array | None = None, ridge: Any = _NEAR) -> Array:
        """[..., size]: the greatest likelihood, by Newton's method with steps of a limited length. It is concave: there is one.

        `ridge` is the precision with which parameters are taken to be 0 beforehand.
        """
        shape = (*rows.shape[:-2], self.size)
        found: Array = np.zeros(shape) if start is None else np.broadcast_to(start, shape)
        games, ridge = rows.sum(axis=-1), np.broadcast_to(ridge, self.size)
        for _ in range(_STEPS):
            shares = self.shares(found, self.design)
            missing = (rows[..., 0] - rows[..., 2] - games * (shares[..., 0] - shares[..., 2])) / 2
            drawn = (rows[..., 1] - games * shares[..., 1]).sum(axis=-1)
            slope = np.concatenate([missing @ self.design, drawn[..., None]], axis=-1) - ridge * found
            curvature = self.information(shares, games, self.design) + np.diag(ridge)
            step = np.linalg.solve(curvature, slope[..., None])[..., 0]
            longest = np.abs(step).max(axis=-1, keepdims=True)
            found = found + step * np.minimum(1.0, _LEAP / np.maximum(longest, _LEAP))
            if longest.max(initial=0.0) < _NEAR:
                break
        return found
