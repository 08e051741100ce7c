"""Measures of a healthy run: each finds what was put into the games."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from games import load
from games.record import GameRecord, make_record
from monitor.health import health, same_start, target_exponent
from monitor.quality import correlation, explained
from monitor.values import Validation, of_validation
from train.window import check

GAME = load("connect_four")
RNG = np.random.default_rng(1)


def played(exponent: float = 1.0, start: tuple[int, ...] = (), sign: float = 1.0) -> GameRecord:
    """A random game; its searches expect the outcome, by and by, and its policies are visits^exponent."""
    state, moves, visits = GAME.initial(), [], []
    while not GAME.is_terminal(state):
        legal = GAME.legal_actions(state)
        move = start[len(moves)] if len(moves) < len(start) else int(RNG.choice(legal))
        visits.append({action: int(RNG.integers(1, 40)) for action in legal})
        moves.append(move)
        state = GAME.result(state, move)
    outcome = np.array(GAME.utility(state))
    known = np.linspace(0.05, 0.9, len(moves))[:, None]
    return make_record(
        GAME,
        moves,
        visits=visits,
        policies=[tempered(each, exponent) for each in visits],
        utilities=sign * known * outcome + RNG.normal(0, 0.02, (len(moves), 1)) * np.array([1, -1]),
    )


def tempered(visits: dict[int, int], exponent: float) -> dict[int, float]:
    weights = {action: float(count) ** exponent for action, count in visits.items()}
    return {action: weight / sum(weights.values()) for action, weight in weights.items()}


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.25, 5.0])
def test_exponent_of_targets_is_found(exponent: float) -> None:
    assert target_exponent([played(exponent) for _ in range(20)]) == pytest.approx(exponent, abs=0.01)


def test_forced_visits_taken_out_do_not_look_like_a_temperature() -> None:
    records = []
    for _ in range(20):
        record = played()
        kept = record.probabilities.copy()
        small = (record.visits < 8) & (RNG.uniform(size=len(kept)) < 0.7)
        kept[small] = 0
        starts = np.repeat(np.arange(len(record)), record.policy_counts)
        sums = np.bincount(starts, kept, len(record))
        kept = np.where(sums[starts] > 0, kept / np.maximum(sums[starts], 1e-9), record.probabilities)
        object.__setattr__(record, "probabilities", kept.astype(np.float32))
        records.append(record)
    assert target_exponent(records) == pytest.approx(1, abs=0.02)


def test_few_searches_say_nothing() -> None:
    assert np.isnan(target_exponent([played()])) and np.isnan(target_exponent([]))


def test_same_start_counts_the_commonest_line() -> None:
    assert same_start(GAME, [played(start=(3, 3)) for _ in range(20)]) == 1
    mixed = [played(start=(3, 3)) for _ in range(15)] + [played(start=(0, 1)) for _ in range(5)]
    assert same_start(GAME, mixed) == 0.75
    assert same_start(GAME, [played(start=(column, 6)) for column in range(7)]) == pytest.approx(1 / 7)


FORCED_FIRST = """
import numpy as np
from games import Rules

def game() -> Rules:
    def initial(state): pass
    def to_move(state): return state.ply % 2
    def legal_actions(state, actions):
        for action in range(3): actions[action] = action
        return 1 if state.ply == 0 else 3
    def result(state, action): state.ply += 1
    def is_terminal(state): return state.ply == 3
    def utility(state, player): return 0.0
    return Rules(np.dtype([("ply", np.int8)]), initial, to_move, legal_actions, result, is_terminal, utility,
                 players=2, actions=3, max_plies=3)
"""


def test_forced_moves_are_no_choice(tmp_path: Path) -> None:
    (tmp_path / "forced_first.py").write_text(FORCED_FIRST)
    game = load(str(tmp_path / "forced_first.py"))
    records = [make_record(game, [0, second, third]) for second in range(3) for third in range(3)]
    assert same_start(game, records, choices=1) == pytest.approx(1 / 3)
    assert same_start(game, records, choices=2) == pytest.approx(1 / 9)


def test_search_that_has_it_the_wrong_way_round_is_below_zero() -> None:
    right, wrong = (check(GAME, [played(sign=sign) for _ in range(10)]) for sign in (1.0, -1.0))
    assert health(GAME, right.records, right.movers)["selfplay/search correlation"] > 0.5
    assert health(GAME, wrong.records, wrong.movers)["selfplay/search correlation"] < -0.5


def test_correlation_is_the_usual_one_and_nan_where_there_is_none() -> None:
    x = RNG.normal(size=200)
    assert correlation(x, 3 * x + 1) == pytest.approx(1)
    assert correlation(x, -x) == pytest.approx(-1)
    assert np.isnan(correlation(x, np.ones(200))) and np.isnan(correlation(x[:5], x[:5]))


def targets_of(n: int) -> Any:
    return RNG.dirichlet(np.full(7, 0.3), n).astype(np.float32)


LEGAL = np.ones((200, 7), np.bool_)


def test_perfect_policy_explains_everything_and_a_uniform_one_nothing() -> None:
    targets = targets_of(200)
    assert explained(targets, targets, LEGAL) == pytest.approx(1, abs=1e-3)
    assert explained(np.full((200, 7), 1 / 7), targets, LEGAL) == pytest.approx(0, abs=1e-6)
    assert explained(np.roll(targets, 1, 1), targets, LEGAL) < -0.5


def test_validation_is_from_the_point_of_view_of_the_mover() -> None:
    targets, expected = targets_of(200), RNG.uniform(-1, 1, 200)
    outcomes, stages = np.sign(expected), np.zeros(200)
    found = of_validation(Validation(targets, expected, targets, LEGAL, outcomes, expected, stages, -expected))
    assert found["fresh/value correlation"] > 0.8 and found["fresh/value sign"] == 1
    assert found["fresh/policy explained"] == pytest.approx(1, abs=1e-3)
    assert found["fresh/eval sign"] == 0
