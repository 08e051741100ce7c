"""Elo by maximum likelihood: known truth is found again, and the laws that any scale has to keep."""

import numpy as np
import pytest

from arena.elo import elo_of, score_of
from arena.ladder.rating import KINDS, UNIT, Array, CrossTable, gains, rate

WIN, DRAW, LOSS = 0, 1, 2
SWEEP, EVEN = 3 * WIN + WIN, 3 * DRAW + DRAW


def blocks(**kinds: int) -> list[float]:
    """Counts of one pair: `blocks(win_loss=3)` is three blocks that the first mover won twice."""
    found, number = [0.0] * KINDS, {"win": WIN, "draw": DRAW, "loss": LOSS}
    for name, times in kinds.items():
        first, second = name.split("_")
        found[3 * number[first] + number[second]] += times
    return found


def chances(elo: float, advantage: float, draws: float) -> Array:
    """[win, draw, loss] of the first to move, who is so much stronger; of the most draws that its score allows there is this share."""
    score = score_of(elo + advantage)
    drawn = draws * 2 * min(score, 1 - score)
    return np.array([score - drawn / 2, drawn, 1 - score - drawn / 2])


def simulated(elo: Array, n: int, rng: np.random.Generator, advantage: float = 40, draws: float = 0.4) -> CrossTable:
    """Everybody has met everybody, n blocks each, games with many draws."""
    pairs = [(a, b) for a in range(len(elo)) for b in range(a)]
    counts = np.zeros((len(pairs), KINDS))
    for m, (a, b) in enumerate(pairs):
        first = rng.choice(3, n, p=chances(elo[a] - elo[b], advantage, draws))
        second = 2 - rng.choice(3, n, p=chances(elo[b] - elo[a], advantage, draws))
        np.add.at(counts[m], 3 * first + second, 1)
    return CrossTable([f"player {i}" for i in range(len(elo))], pairs, counts)


def test_intervals_cover_known_ratings_as_often_as_stated() -> None:
    truth = np.array([0.0, 120.0, 260.0, 310.0, 500.0])
    rng = np.random.default_rng(1)
    inside = []
    for trial in range(150):
        found = rate(simulated(truth, 30, rng), 0, replicates=200, seed=trial)
        inside += list((found.low[1:] <= truth[1:]) & (truth[1:] <= found.high[1:]))
        inside.append(found.advantage[1] <= 40 <= found.advantage[2])
    assert 0.92 < np.mean(inside) < 0.975


def test_many_games_give_the_true_ratings() -> None:
    truth = np.array([0.0, -150.0, 210.0])
    found = rate(simulated(truth, 40_000, np.random.default_rng(2)), 0, replicates=20)
    assert found.elo == pytest.approx(truth, abs=5)
    assert found.advantage[0] == pytest.approx(40, abs=3)


def test_two_players_differ_by_the_logistic_elo_of_their_score() -> None:
    decided = blocks(win_win=600, win_loss=100, loss_win=100, loss_loss=200)
    drawish = blocks(win_draw=400, draw_win=400, draw_draw=200)
    for counts, score in ((decided, 0.7), (drawish, 0.7)):
        found = rate(CrossTable("ab", [(1, 0)], [counts]), 0, replicates=1)
        assert found.elo[1] == pytest.approx(elo_of(score), abs=0.5)


def test_draws_count_as_half_a_win() -> None:
    """Equal scores, but one of steady draws and one of wins and losses: the steady one is known better."""
    steady = rate(CrossTable("ab", [(1, 0)], [blocks(win_draw=20, draw_win=20, draw_draw=60)]), 0)
    wild = rate(CrossTable("ab", [(1, 0)], [blocks(win_win=60, loss_loss=40)]), 0)
    assert steady.elo[1] == pytest.approx(wild.elo[1], abs=1e-6)
    assert 3 * steady.interval_of() < wild.interval_of()


def test_the_fit_has_no_slope_left() -> None:
    """Everybody's points, its virtual draw's included, are the expected ones: what maximum likelihood is here."""
    played = simulated(np.array([0.0, 300.0, 350.0, 800.0]), 12, np.random.default_rng(3))
    found = rate(played, 0, replicates=1)
    missing, first = np.zeros(4), 0.0
    for (a, b), row in zip(played.pairs, played.table(), strict=True):
        results = row.reshape(3, 3)
        for outcomes, seat in ((results.sum(axis=1), 1), (results.sum(axis=0), -1)):
            expected = score_of(found.elo[a] - found.elo[b] + seat * found.advantage[0])
            games = outcomes.sum() + 1 / 6  # a virtual draw a player, three opponents, two seats
            more = outcomes[0] + outcomes[1] / 2 + 1 / 12 - games * expected
            missing[[a, b]] += more * np.array([1, -1])
            first += more * seat
    assert missing == pytest.approx(np.zeros(4), abs=1e-6)
    assert first == pytest.approx(0, abs=1e-6)


def test_another_anchor_shifts_all_ratings_alike() -> None:
    played = simulated(np.array([0.0, 100.0, 450.0]), 25, np.random.default_rng(4))
    by_first, by_last = rate(played, 0), rate(played, 2)
    assert by_first.elo - by_last.elo == pytest.approx(np.full(3, by_first.elo[2]), abs=1e-5)
    assert by_last.elo[2] == by_last.low[2] == by_last.high[2] == 0


def test_symmetric_results_give_equal_ratings() -> None:
    row = blocks(win_loss=4, loss_win=1, draw_draw=2, win_win=3, loss_loss=3)
    found = rate(CrossTable("abc", [(0, 1), (1, 2), (0, 2)], [row] * 3), 0)
    assert found.elo == pytest.approx(np.zeros(3), abs=1e-6)
    assert found.advantage[0] > 0


def test_the_order_of_a_pair_does_not_matter() -> None:
    one = rate(CrossTable("ab", [(0, 1)], [blocks(win_draw=5, loss_win=2)]), 0, replicates=5)
    other = rate(CrossTable("ab", [(1, 0)], [blocks(draw_loss=5, loss_win=2)]), 0, replicates=5)  # the same games, by b
    assert one.elo == pytest.approx(other.elo, abs=1e-6)
    assert one.advantage[0] == pytest.approx(other.advantage[0], abs=1e-6)


@pytest.mark.parametrize("kind", ["win_win", "loss_loss", "draw_draw", "win_loss", "loss_win"])
def test_a_clean_sweep_has_a_finite_rating(kind: str) -> None:
    found = rate(CrossTable("ab", [(0, 1)], [blocks(**{kind: 50})]), 1)
    numbers = [found.elo[0], found.low[0], found.high[0], *found.advantage, found.draws]
    assert np.isfinite(numbers).all()
    assert found.low[0] <= found.elo[0] <= found.high[0]
    assert found.high[0] - found.low[0] > 1


def test_a_longer_sweep_is_worth_more() -> None:
    found = [rate(CrossTable("ab", [(0, 1)], [blocks(win_win=n)]), 1).elo[0] for n in (5, 10, 100)]
    assert 300 < found[0] < found[1] < found[2]


def test_more_games_narrow_the_interval() -> None:
    truth, rng = np.array([0.0, 200.0]), np.random.default_rng(5)
    widths = [rate(simulated(truth, n, rng), 0).interval_of() for n in (20, 80, 320)]
    assert widths[0] > 1.5 * widths[1] > 2.25 * widths[2]


def test_players_that_no_results_connect_with_the_anchor_have_no_rating() -> None:
    played = CrossTable("abcde", [(0, 1), (2, 3), (1, 4)], [blocks(win_loss=3), blocks(win_win=3), [0.0] * KINDS])
    assert played.components() == [[0, 1], [2, 3], [4]]
    found = rate(played, 0)
    assert found.unconnected == [[2, 3], [4]]
    assert np.isnan(found.elo[2:]).all() and np.isfinite(found.elo[:2]).all()
    assert found.interval_of() == np.inf


def test_a_ladder_without_games() -> None:
    found = rate(CrossTable("ab", [], []), 0)
    assert found.elo[0] == 0 and np.isnan(found.elo[1]) and found.games.tolist() == [0, 0]


def test_the_gain_is_greatest_for_the_most_uncertain_pair() -> None:
    played = CrossTable("abc", [(0, 1)], [blocks(win_loss=20, draw_draw=20)])
    candidates = [(0, 1), (0, 2), (1, 2)]
    found = gains(played, 0, candidates)
    assert (found > 0).all() and found.argmin() == 0


def test_a_block_between_equals_gains_more_than_a_one_sided_one() -> None:
    """A scale of three that is well known, and a newcomer beside the strongest: that one places it best, the weakest worst."""
    rng = np.random.default_rng(6)
    scale = simulated(np.array([0.0, 400.0, 800.0]), 400, rng)
    newcomer = simulated(np.array([0.0, 400.0, 800.0, 800.0]), 5, rng)
    played = CrossTable("abcd", newcomer.pairs, np.asarray(newcomer.counts) + np.pad(scale.table(), ((0, 3), (0, 0))))
    far, middle, near = gains(played, 0, [(0, 3), (1, 3), (2, 3)])
    assert near > middle > far > 0


def test_gains_do_not_depend_on_the_anchor() -> None:
    played = simulated(np.array([0.0, 200.0, 700.0]), 20, np.random.default_rng(8))
    found = [gains(played, anchor, [(0, 1), (0, 2), (1, 2)]) for anchor in range(3)]
    assert found[1] == pytest.approx(found[0], rel=0.1)  # not quite: before anything is known the anchor is
    assert found[2] == pytest.approx(found[0], rel=0.1)


def test_blocks_under_way_count_as_played() -> None:
    played = CrossTable("abc", [(0, 1)], [blocks(win_loss=5)])
    candidates = [(0, 1), (0, 2), (1, 2)]
    free, taken = gains(played, 0, candidates), gains(played, 0, candidates, [0, 30, 0])
    assert taken[1] < free[1] / 5


def test_the_expected_gain_is_what_more_games_bring() -> None:
    """The variance that the information promises is the square of the interval that the bootstrap finds."""
    truth = np.array([0.0, 150.0])
    played = simulated(truth, 400, np.random.default_rng(7), advantage=0, draws=0)
    doubled = CrossTable(played.players, played.pairs, np.asarray(played.counts) * 2)
    promised = gains(played, 0, [(0, 1)])[0] * 400  # one of 401 takes 1/401 of the variance
    widths = [rate(each, 0, replicates=2000).interval_of() / 1.96 for each in (played, doubled)]
    assert 2 * promised == pytest.approx(widths[0] ** 2, rel=0.3)  # about the mean of two either has a quarter of it
    assert widths[0] ** 2 - widths[1] ** 2 == pytest.approx(promised, rel=0.3)


def test_natural_units_are_elo() -> None:
    assert pytest.approx(173.717793) == UNIT
