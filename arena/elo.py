"""Score and Elo with their intervals, likelihood of superiority, and sequential tests. Pure functions of counts.

Games come in blocks (two players: a pair, one opening from both sides). Games of one opening are not independent; blocks are. So the
result of a match is the number of blocks for each value of a block. Pairs have five values, the pentanomial: 0, 1/4, 1/2, 3/4, 1.

    counts = count([1.0, 0.5, 0.75], PAIRS)          # [..., K]: number of blocks by value; leading axes are separate matches
    mean(counts, PAIRS), interval(counts, PAIRS)     # 0.75 and its 95 % interval
    elo_of(0.75)                                     # 190.8
    superiority(counts, PAIRS, 0.5)                  # the likelihood that the true score is above 1/2
    Sprt(elo0=0, elo1=50).verdict(counts)            # "H0", "H1", or None: undecided

**The likelihood.** L(μ) is the greatest likelihood of the counts under any distribution over the values with mean μ, including values
that did not occur. With a Lagrange multiplier λ it is the product of p_k ^ N_k, p_k = N_k / (n (1 + λ (x_k - μ))) (Owen, "Empirical
Likelihood", 2001). W(μ) = 2 log(L(mean) / L(μ)) is about the square of a standard normal number; read as the square of Student's t with
n - 1 degrees of freedom, the interval where W is below its quantile covers 93.5 to 97 % from 20 blocks on, whatever the difference in
strength and the share of draws, and more where nearly all of few blocks are equal. A clean sweep has an interval, too.

Elo here is logistic: score = 1 / (1 + 10 ^ (-elo / 400)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from base.errors import UserError

Array = np.ndarray[Any, np.dtype[np.float64]]

PAIRS: Array = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
LEVEL = 0.95
_STEPS = 50  # of the bisection for λ, whose range can be wide
_FINE = 30  # of the bisection for the ends of an interval: to a billionth


def count(results: Sequence[float], values: Array) -> Array:
    """How often each of `values` (ascending) occurs."""
    places = np.abs(np.asarray(results, float)[:, None] - values).argmin(axis=1) if len(results) else []
    return np.bincount(places, minlength=len(values)).astype(float)


def mean(counts: Array, values: Array) -> Array:
    """[...]: the mean value of a block."""
    return np.asarray(counts @ values / counts.sum(axis=-1))


def likelihood_ratio(counts: Array, values: Array, means: Any) -> Array:
    """[...]: W = 2 log(L(mean) / L(means)); `means` lie between the least and the greatest value."""
    counts, means = np.asarray(counts, float), np.asarray(means, float)
    apart = values - means[..., None]
    tiny = 1e-12 * (values[-1] - values[0])
    low = -1 / np.maximum(values[-1] - means, tiny) + np.zeros(counts.shape[:-1])
    high = 1 / np.maximum(means - values[0], tiny) + np.zeros(counts.shape[:-1])
    is_seen = counts > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(
            _STEPS
        ):  # the slope falls with λ; where it has no root, λ is at an end: unseen values get a share
            middle = (low + high) / 2
            slope = np.where(is_seen, counts * apart / (1 + middle[..., None] * apart), 0).sum(axis=-1)
            low, high = np.where(slope > 0, middle, low), np.where(slope > 0, high, middle)
        factors = 1 + ((low + high) / 2)[..., None] * apart
        return np.asarray(2 * np.where(is_seen, counts * np.log(factors), 0).sum(axis=-1))


def interval(counts: Array, values: Array, level: float = LEVEL) -> tuple[Array, Array]:
    """[...], [...]: the ends of the confidence interval of the mean; without blocks, the whole range."""
    counts = np.asarray(counts, float)
    n = counts.sum(axis=-1)
    centre = np.where(n > 0, counts @ values / np.maximum(n, 1), (values[0] + values[-1]) / 2)
    most = _square_of_t(NormalDist().inv_cdf((1 + level) / 2), n - 1)
    ends = []
    for edge in (values[0], values[-1]):
        inside, outside = centre, np.full_like(centre, edge)
        for _ in range(_FINE):
            middle = (inside + outside) / 2
            is_in = likelihood_ratio(counts, values, middle) <= most
            inside, outside = np.where(is_in, middle, inside), np.where(is_in, outside, middle)
        ends.append(np.where(n > 0, outside, edge))
    return ends[0], ends[1]


def superiority(counts: Array, values: Array, than: float) -> float:
    """The likelihood that the true mean is above `than`; one match."""
    n = float(counts.sum())
    if n == 0:
        return 0.5
    ratio = float(likelihood_ratio(counts, values, than))
    z = math.sqrt(_square_of_normal(max(ratio, 0.0), n - 1))
    return NormalDist().cdf(math.copysign(z, float(mean(counts, values)) - than))


def _square_of_t(z: float, freedom: Any) -> Array:
    """The square of the Student's t quantile of a normal quantile z (Wallace 1959; error below 1 % from 3 degrees of freedom on)."""
    freedom = np.maximum(freedom, 1.0)
    return np.asarray(freedom * np.expm1((z * (8 * freedom + 3) / (8 * freedom + 1)) ** 2 / freedom))


def _square_of_normal(square_of_t: float, freedom: float) -> float:
    """The inverse."""
    freedom = max(freedom, 1.0)
    return ((8 * freedom + 1) / (8 * freedom + 3)) ** 2 * freedom * math.log1p(square_of_t / freedom)


# ── Elo ──


def elo_of(score: float) -> float | None:
    """The Elo difference of a score; None for 0 and 1, where it is unbounded."""
    return 400 * math.log10(score / (1 - score)) if 0 < score < 1 else None


def score_of(elo: float) -> float:
    """The inverse."""
    return 1 / (1 + 10 ** (-elo / 400))


@dataclass(frozen=True)
class Sprt:
    """A sequential probability ratio test (Wald 1945) of H1: elo1 against H0: elo0, after every pair.

    The ratio is log(L(score of elo1) / L(score of elo0)) with the maximum likelihoods above: the generalised test, which estimates
    the distribution of the five results from the match itself.
    """

    elo0: float = 0.0
    """H0: A is stronger by this Elo."""
    elo1: float = 50.0
    """H1: A is stronger by this Elo."""
    alpha: float = 0.05
    """Probability of accepting H1 where H0 is true."""
    beta: float = 0.05
    """Probability of accepting H0 where H1 is true."""

    def __post_init__(self) -> None:
        if not self.elo0 < self.elo1:
            raise UserError(f"sprt: expected elo0 below elo1, got {self.elo0:g} and {self.elo1:g}")
        for name in ("alpha", "beta"):
            if not 0 < getattr(self, name) < 0.5:
                raise UserError(f"sprt: expected {name} between 0 and 0.5, got {getattr(self, name):g}")

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """H0 is accepted at or below the first, H1 at or above the second."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def ratio(self, counts: Array) -> Array:
        """[...]: the log-likelihood ratio of the pairs so far."""
        weights = [likelihood_ratio(counts, PAIRS, score_of(elo)) for elo in (self.elo0, self.elo1)]
        return np.asarray((weights[0] - weights[1]) / 2)

    def verdict(self, counts: Array) -> str | None:
        """The accepted hypothesis, or None."""
        ratio, (low, high) = float(self.ratio(counts)), self.bounds
        return "H0" if ratio <= low else "H1" if ratio >= high else None
