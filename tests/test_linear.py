"""Fitting the linear EVAL: known weights are recovered, with correct errors, and the result plays."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.players import make_player
from base.errors import UserError
from classical.eval import Eval, Rows, beside_hand, default_eval, eval_of, expected, fit_rows, game_arrays, positions
from games import Game, Rules, load
from games.record import GameRecord, make_record

Array = np.ndarray[Any, Any]


def rows_of(features: Array, outcomes: Array, games: Array | None = None) -> Rows:
    n = len(outcomes)
    every = np.ones(n, bool)
    games = np.arange(n) if games is None else games
    return Rows(features.astype(np.float32), outcomes.astype(np.float32), games, np.arange(n), every, every)


def drawn(theta: Array, games: int, positions: int, seed: int, drift: float = 0.0) -> Rows:
    """Games whose outcome is drawn by θ from features that are the game's own for the most part, as they are in real games; `drift`
    is what a position adds of its own."""
    rng = np.random.default_rng(seed)
    own = np.repeat(rng.normal(size=(games, len(theta))), positions, axis=0)
    features = own + drift * rng.normal(size=own.shape)
    won = rng.random(games) < (1 + np.tanh(own[::positions] @ theta)) / 2
    number = np.repeat(np.arange(games), positions)
    return rows_of(features, np.where(won, 1.0, -1.0)[number], number)


def random_games(game: Game, count: int, seed: int = 0) -> list[GameRecord]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        state, moves = game.initial(), []
        while legal := game.legal_actions(state):
            moves.append(int(rng.choice(legal)))
            state = game.result(state, moves[-1])
        found.append(make_record(game, moves))
    return found


# ── the fit ──


def test_known_weights_are_recovered_within_their_errors() -> None:
    theta = np.array([0.8, -0.4, 0.0, 1.5])
    fit = fit_rows(drawn(theta, 20_000, 1, 1))
    assert fit.errors.max() < 0.03
    assert np.all(np.abs(fit.theta - theta) < 3.5 * fit.errors)


def test_draws_are_half_a_win() -> None:
    """Every outcome replaced by what was expected: the same weights, for the likelihood is linear in the outcome."""
    theta = np.array([0.5, -0.3])
    features = np.random.default_rng(2).normal(size=(5000, 2))
    fit = fit_rows(rows_of(features, np.tanh(features @ theta)))
    assert fit.theta == pytest.approx(theta, abs=1e-3)
    assert np.abs(fit_rows(rows_of(features, np.zeros(5000))).theta).max() < 1e-12


def test_errors_clustered_by_game_cover_and_plain_ones_do_not() -> None:
    """Of 300 samples of 150 games of 12 positions: how often does θ ± 1.96 errors hold the true θ?"""
    theta = np.array([0.7, -0.3])
    covered, plainly = [], []
    for seed in range(300):
        rows = drawn(theta, 150, 12, seed)
        fit = fit_rows(rows)
        covered.append(np.abs(fit.theta - theta) < 1.96 * fit.errors)
        alone = fit_rows(rows_of(rows.features, rows.outcomes))
        plainly.append(np.abs(alone.theta - theta) < 1.96 * alone.errors)
    assert 0.91 < np.mean(covered) < 0.98
    assert np.mean(plainly) < 0.6


def test_seats_exchanged_give_the_same_weights() -> None:
    rows = drawn(np.array([0.7, -0.3, 0.2]), 300, 5, 3, drift=0.5)
    signs = np.where(np.random.default_rng(4).random(len(rows)) < 0.5, -1.0, 1.0)
    turned = rows_of(rows.features * signs[:, None], rows.outcomes * signs, rows.games)
    one, other = fit_rows(rows), fit_rows(turned)
    assert other.theta == pytest.approx(one.theta, abs=1e-9)
    assert other.errors == pytest.approx(one.errors, abs=1e-9)


def test_scale_of_a_feature_changes_nothing_but_its_weight() -> None:
    rows = drawn(np.array([0.7, -0.3]), 200, 4, 5, drift=0.5)
    scaled = rows_of(rows.features * np.array([64.0, 0.25]), rows.outcomes, rows.games)
    one, other = fit_rows(rows), fit_rows(scaled)
    assert other.theta * [64.0, 0.25] == pytest.approx(one.theta, rel=1e-6)
    assert other.errors * [64.0, 0.25] == pytest.approx(one.errors, rel=1e-6)


def test_long_game_counts_as_much_as_a_short_one() -> None:
    """One won game, one lost, the same single feature: 1,000 positions of the one do not outvote ten of the other."""
    games = np.repeat([0, 1], [1000, 10])
    fit = fit_rows(rows_of(np.ones((1010, 1)), np.where(games == 0, 1.0, -1.0), games))
    assert abs(fit.theta[0]) < 1e-9


def test_equal_games_are_one() -> None:
    game = load("tic_tac_toe")
    records = random_games(game, 30)
    once, twice = (fit_rows(positions(game, game_arrays(game, each)).quiet()) for each in (records, records * 2))
    assert (once.games, twice.games) == (30, 30)
    assert twice.theta == pytest.approx(once.theta, abs=1e-9)
    assert twice.errors == pytest.approx(once.errors, abs=1e-9)


@pytest.mark.parametrize("games", [1, 2, 50])
def test_perfect_separation_stays_finite(games: int) -> None:
    rng = np.random.default_rng(6)
    features = rng.normal(size=(games * 4, 3)) * [1.0, 100.0, 0.0]
    outcomes = np.sign(features[:, 1])
    fit = fit_rows(rows_of(features, outcomes, np.repeat(np.arange(games), 4)))
    assert np.all(np.isfinite(fit.theta)) and np.all(np.isfinite(fit.errors))
    assert fit.theta[1] > 0 and np.abs(fit.theta * [1, 100, 1]).max() < 10
    assert fit.seen.tolist() == [True, True, False] and fit.theta[2] == 0


def test_feature_that_never_occurred_is_named_also_in_a_table_of_stored_weights() -> None:
    game = load("nim")
    weights = eval_of(
        game, fit_rows(positions(game, game_arrays(game, random_games(game, 30))).quiet()), "random games"
    )
    rows = {line.split("   ")[0]: line for line in beside_hand(game, weights).splitlines()}
    assert rows["odd 32s"].endswith("never seen") and "±" in rows["odd 1s"]  # no heap is so large


def test_part_of_the_features_is_fitted_as_if_there_were_no_others() -> None:
    rows = drawn(np.array([0.7, -0.3, 0.2]), 200, 4, 7)
    part, alone = fit_rows(rows, [2, 0]), fit_rows(rows_of(rows.features[:, [2, 0]], rows.outcomes, rows.games))
    assert part.theta[[2, 0]] == pytest.approx(alone.theta) and part.theta[1] == 0
    assert part.errors[[2, 0]] == pytest.approx(alone.errors)


def test_nothing_to_fit_to_is_refused() -> None:
    with pytest.raises(
        UserError, match="EVAL: expected quiet positions of finished games to fit it to, there are none"
    ):
        fit_rows(rows_of(np.zeros((0, 2)), np.zeros(0)))


def test_bits_do_not_depend_on_the_threads_of_the_algebra() -> None:
    script = (
        "import sys; sys.path.insert(0, 'tests'); from test_linear import drawn, np; from classical.eval import fit_rows;"
        "print(fit_rows(drawn(np.linspace(-1, 1, 30), 3000, 10, 8)).theta.tobytes().hex())"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"OPENBLAS_NUM_THREADS": threads},
            cwd=Path(__file__).parent.parent,
            capture_output=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(said) == 1 and said != {b""}


# ── positions ──


def gain(rules: Rules) -> Any:
    return rules.gain


def in_check(rules: Rules) -> Any:
    return rules.in_check


@pytest.mark.parametrize("name", ["othello:size=6", "checkers", "chess", "backgammon", "dots_and_boxes:players=3"])
def test_rows_are_what_replaying_by_hand_gives(name: str) -> None:
    game = load(name)
    records = random_games(game, 2) if name != "chess" else random_games(game, 1)
    rows = positions(game, game_arrays(game, records))
    at, ply, median = 0, 0, np.median([len(record) for record in records])
    for number, record in enumerate(records):
        states = record.positions(game)
        for i, action in enumerate(record.moves):
            mover = game.to_move(states[i])
            for viewer in range(0 if mover == -1 else 1 if game.players == 2 else game.players):
                player = (mover + viewer) % game.players
                assert rows.features[at].tolist() == pytest.approx(list(game.features(states[i], player).values()))
                assert rows.outcomes[at] == record.outcome[player]
                assert (rows.games[at], rows.plies[at], rows.is_mover[at]) == (number, ply, viewer == 0)
                takes = game.rules.gain is not None and game.kernel(gain)(states[i], action) > 0
                checked = game.rules.in_check is not None and game.kernel(in_check)(states[i])
                assert rows.is_quiet[at] == (not takes and not checked and i < median)
                at += 1
            ply += 1
    assert at == len(rows) > len(rows.quiet()) > 0


def test_newest_games_are_taken_where_not_all_are_wanted() -> None:
    game = load("tic_tac_toe")
    games = game_arrays(game, random_games(game, 10))
    rows, last = positions(game, games), positions(game, games, int(games.starts[-1] - games.starts[7]))
    later = rows.where(rows.games >= 7)
    assert last.plies.tolist() == later.plies.tolist()
    assert np.array_equal(last.features, later.features)
    assert len(positions(game, games, 0)) == 0


# ── the weights ──


def test_unit_is_the_first_of_material() -> None:
    game = load("checkers")
    theta = default_eval(game).array(game).astype(float) * 3
    rng = np.random.default_rng(9)
    features = rng.integers(-3, 4, size=(4000, len(theta))).astype(float)
    fit = fit_rows(rows_of(features, np.tanh(features @ theta)))
    found = eval_of(game, fit, "nowhere")
    assert found.weights["men"] == 1 and found.errors is not None and found.errors["men"] == pytest.approx(0, abs=1e-9)
    assert found.weights["kings"] == pytest.approx(1.7, abs=0.02)
    assert found.unit == pytest.approx(3 * 0.35, rel=0.02)
    assert expected(found.array(game), rows_of(features, features[:, 0])) == pytest.approx(
        expected(fit.theta, rows_of(features, features[:, 0])), abs=1e-5
    )


def test_unit_stays_where_its_worth_is_not_clear() -> None:
    game = load("checkers")
    features = np.random.default_rng(10).integers(-3, 4, size=(40, 17)).astype(float)
    found = eval_of(game, fit_rows(rows_of(features, -np.sign(features[:, 0]))), "nowhere")  # who has more men loses
    assert found.unit == default_eval(game).unit and found.weights["men"] < 0


def test_feature_that_never_occurred_keeps_its_weight() -> None:
    game = load("tic_tac_toe")
    width = len(game.rules.feature_names)
    features = np.random.default_rng(11).normal(size=(100, width))
    features[:, 1] = 0
    found, hand = eval_of(game, fit_rows(rows_of(features, np.sign(features[:, 0]))), "nowhere"), default_eval(game)
    name = game.rules.feature_names[1]
    assert found.weights[name] * found.unit == pytest.approx(hand.weights[name] * hand.unit)


@pytest.mark.parametrize("name", ["connect_four", "dots_and_boxes:players=3"])
def test_file_comes_back_and_plays(name: str, tmp_path: Path) -> None:
    game = load(name)
    found = eval_of(game, fit_rows(positions(game, game_arrays(game, random_games(game, 40))).quiet()), "random games")
    path = tmp_path / "fitted.eval.json"
    found.save(path)
    assert Eval.load(path, game) == found
    assert found.games == 40 and found.errors is not None
    texts = [f"uct:sims=50,eval={path},rollout=0"]
    if game.players == 2:
        texts.append(f"alphabeta:depth=2,eval={path}")
    for text in texts:
        assert make_player(text, game).choose(game.initial()).action in game.legal_actions(game.initial())


def test_fitted_to_random_connect_four_its_values_have_the_right_sign() -> None:
    game = load("connect_four")
    records = random_games(game, 300, 12)
    found = eval_of(game, fit_rows(positions(game, game_arrays(game, records)).quiet()), "random games")
    state = game.play("4 1 4 1 4")  # three in the centre, to be parried at once
    assert found.value(game, state, 0) > 0.1 > -0.1 > found.value(game, state, 1)
