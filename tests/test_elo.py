"""What results are worth: simulated matches whose truth is known."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.elo import PAIRS, Sprt, count, elo_of, interval, likelihood_ratio, mean, score_of, superiority
from base.errors import UserError

MATCHES = 2000


def pairs(wins, draws):
    """Shares of the five results of a pair of independent games."""
    game = np.array([1 - wins - draws, draws, wins])
    return np.convolve(game, game)


KINDS = {
    "even": pairs(0.35, 0.30),
    "without draws": pairs(0.5, 0),
    "drawish": pairs(0.05, 0.90),
    "drawish, one side better": pairs(0.10, 0.89),
    "lopsided": pairs(0.80, 0.10),
    "more lopsided": pairs(0.90, 0.04),
    "decided by the openings": np.array([0.03, 0.07, 0.80, 0.07, 0.03]),
    "decided by the openings, one side better": np.array([0.01, 0.05, 0.70, 0.20, 0.04]),
    "positively dependent": np.array([0.40, 0.05, 0.10, 0.05, 0.40]),
}


@pytest.mark.parametrize("blocks", [50, 200])
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover_the_truth_in_93_to_97_percent_of_matches(kind, blocks):
    shares = KINDS[kind]
    counts = np.random.default_rng(blocks).multinomial(blocks, shares / shares.sum(), MATCHES)
    low, high = interval(counts, PAIRS)
    truth = shares @ PAIRS / shares.sum()
    covered = np.mean((low <= truth) & (truth <= high))
    assert 0.93 <= covered <= 0.97, covered
    assert np.all(low <= mean(counts, PAIRS)) and np.all(mean(counts, PAIRS) <= high)


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_of_few_pairs_are_conservative(kind):
    shares = KINDS[kind]
    counts = np.random.default_rng(1).multinomial(12, shares / shares.sum(), MATCHES)
    low, high = interval(counts, PAIRS)
    truth = shares @ PAIRS / shares.sum()
    assert np.mean((low <= truth) & (truth <= high)) >= 0.925


def test_intervals_of_utilities_cover_the_truth_of_three_players():
    """Block means of any size, as n players and backgammon have them."""
    rng = np.random.default_rng(5)
    values = np.linspace(-1, 1, 13)
    shares = rng.dirichlet(np.ones(13))
    low, high = interval(rng.multinomial(60, shares, MATCHES), values)
    assert 0.93 <= np.mean((low <= shares @ values) & (shares @ values <= high)) <= 0.97


def test_the_likelihood_of_two_results_is_the_binomial_one():
    """Wins and losses alone: the greatest likelihood with mean μ is μ^w (1 - μ)^l."""
    counts = np.array([3.0, 0, 0, 0, 9.0])
    for truth in (0.2, 0.5, 0.9):
        expected = 2 * (9 * math.log(0.75 / truth) + 3 * math.log(0.25 / (1 - truth)))
        assert likelihood_ratio(counts, PAIRS, truth) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=100, deadline=None)
@given(
    counts=st.lists(st.integers(0, 40), min_size=5, max_size=5).filter(any),
    truth=st.floats(0.02, 0.98),
    shares=st.lists(st.floats(0.001, 1), min_size=5, max_size=5),
)
def test_no_distribution_of_that_mean_is_likelier(counts, truth, shares):
    """Any distribution, moved to the mean by a share of a win or a loss, explains the results no better than L(μ) says."""
    counts, some = np.array(counts, float), np.array(shares) / sum(shares)
    n, centre, seen = counts.sum(), some @ PAIRS, counts > 0
    edge = np.eye(5)[4 if centre < truth else 0]
    share = (truth - centre) / (edge @ PAIRS - centre)
    shifted = (1 - share) * some + share * edge
    assert shifted @ PAIRS == pytest.approx(truth) and shifted.sum() == pytest.approx(1)
    best = (counts[seen] * np.log(counts[seen] / n)).sum()
    ratio = 2 * (best - (counts[seen] * np.log(shifted[seen])).sum())
    assert likelihood_ratio(counts, PAIRS, truth) <= ratio + 1e-6


def test_a_clean_sweep_has_an_interval_that_shrinks():
    lows = [float(interval(count([1.0] * n, PAIRS), PAIRS)[0]) for n in (2, 10, 100, 1000)]
    assert lows == sorted(lows) and 0 <= lows[0] < 0.5 < lows[1] < 0.9 and lows[3] > 0.995
    assert float(interval(count([1.0] * 10, PAIRS), PAIRS)[1]) == 1.0
    assert elo_of(1.0) is None and elo_of(0.0) is None


def test_a_mirrored_match_has_mirrored_results():
    counts = np.array([3.0, 5, 20, 9, 4])
    (low, high), (other_low, other_high) = interval(counts, PAIRS), interval(counts[::-1], PAIRS)
    assert low == pytest.approx(1 - other_high) and high == pytest.approx(1 - other_low)
    assert superiority(counts, PAIRS, 0.5) == pytest.approx(1 - superiority(counts[::-1], PAIRS, 0.5))
    assert superiority(count([0.5] * 9, PAIRS), PAIRS, 0.5) == 0.5 == superiority(count([], PAIRS), PAIRS, 0.5)


def test_superiority_is_sure_to_975_where_the_interval_begins():
    for counts in ([3.0, 5, 20, 9, 4], [0, 0, 30, 1, 9], [0, 2, 0, 0, 19]):
        low, _ = interval(np.array(counts, float), PAIRS)
        assert superiority(np.array(counts, float), PAIRS, float(low)) == pytest.approx(0.975, abs=1e-6)


@pytest.mark.parametrize("elo", [-800.0, -3.5, 0.0, 100.0, 1200.0])
def test_elo_and_score_are_inverse(elo):
    assert elo_of(score_of(elo)) == pytest.approx(elo)


def test_elo_has_its_known_numbers():
    assert (
        elo_of(0.5) == 0 and elo_of(0.75) == pytest.approx(190.85, abs=0.01) and score_of(400) == pytest.approx(10 / 11)
    )


@pytest.mark.parametrize(
    ("elo", "draws", "accepts"),
    [(0.0, 0.3, "H1"), (50.0, 0.3, "H0"), (0.0, 0.7, "H1"), (50.0, 0.7, "H0"), (0.0, 0.0, "H1")],
)
def test_sprt_keeps_its_error_rates(elo, draws, accepts):
    """Many tests side by side, each until it is decided; under either truth the wrong hypothesis wins in at most 5 % of them."""
    test = Sprt(elo0=0, elo1=50)
    rng, low_high, tests = np.random.default_rng(int(elo + 10 * draws)), test.bounds, 1000
    shares = pairs(score_of(elo) - draws / 2, draws)
    counts, verdicts = np.zeros((tests, 5)), np.zeros(tests, int)
    lengths = np.zeros(tests)
    while np.any(verdicts == 0):
        going = np.flatnonzero(verdicts == 0)
        counts[going] += rng.multinomial(1, shares, len(going))
        lengths[going] += 1
        ratios = test.ratio(counts[going])
        verdicts[going] = np.where(ratios >= low_high[1], 1, np.where(ratios <= low_high[0], -1, 0))
        assert lengths.max() < 3000
    wrong = np.mean(verdicts == (1 if accepts == "H1" else -1))
    assert 0.01 < wrong <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / tests), wrong
    assert lengths.mean() < 250


def test_an_impossible_sprt_is_one_line():
    with pytest.raises(UserError, match="sprt: expected elo0 below elo1, got 5 and 5"):
        Sprt(elo0=5, elo1=5)
    with pytest.raises(UserError, match=r"sprt: expected alpha between 0 and 0\.5, got 0"):
        Sprt(alpha=0)
    with pytest.raises(UserError, match=r"sprt: expected beta between 0 and 0\.5, got 0\.7"):
        Sprt(beta=0.7)
