"""The replay window: what is in it, what it forgets, and that its batches are the positions they say they are."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from base.errors import UserError
from base.seeds import below, generator, uniform
from games import CHANCE, Game, load
from games.record import GameRecord, make_record
from train.window import Window, WindowSettings, check

GAMES = ["tic_tac_toe", "chess", "dots_and_boxes:rows=2,cols=2,players=3", "backgammon:start=hyper"]


def played(game: Game, seed: int, most: int = 10_000) -> GameRecord:
    """A random game: random policies at two plies of three, values at every decision."""
    rng = generator(seed, "window")
    state, moves, policies, utilities = game.initial(), [], [], []
    while not game.is_terminal(state) and len(moves) < most:
        legal = game.legal_actions(state)
        is_chance = game.to_move(state) == CHANCE
        weights = np.array([uniform(rng) for _ in legal])
        has_policy = not is_chance and uniform(rng) < 2 / 3
        policies.append(dict(zip(legal, weights / weights.sum(), strict=True)) if has_policy else None)
        utilities.append([np.nan if is_chance else 2 * uniform(rng) - 1 for _ in range(game.players)])
        moves.append(legal[below(rng, len(legal))])
        state = game.result(state, moves[-1])
    unfinished = not game.is_terminal(state)
    outcome = [2 * uniform(rng) - 1 for _ in range(game.players)] if unfinished else None
    return make_record(
        game, moves, policies=policies, utilities=utilities, outcome=outcome, ending="resigned" if unfinished else ""
    )


def expected(game: Game, record: GameRecord) -> list[Any]:
    """What is to be learned from a game, by the slow and obvious way."""
    found = []
    views = game.rules.action_view
    for state, ply in record.replay(game):
        if ply == len(record) or not record.searched[ply]:
            continue
        mover = game.to_move(state)
        assert mover is not None and record.outcome is not None
        view = np.arange(game.actions) if views is None else np.asarray(views[mover])
        actions, shares, _ = record.policy(ply)
        policy, legal = np.zeros(game.actions, np.float32), np.zeros(game.actions, bool)
        policy[view[actions]] = shares
        legal[view[game.legal_actions(state)]] = True
        order = [(mover + seat) % game.players for seat in range(game.players)]
        outcome = np.array(record.outcome, np.float32)[order]
        found.append((game.observe(state), policy, legal, outcome, record.utilities[ply][order]))
    return found


@pytest.mark.parametrize("name", GAMES)
def test_batch_is_what_replaying_the_record_gives(name: str) -> None:
    game = load(name)
    records = [played(game, seed, most=60) for seed in range(4)]
    window = Window(game, WindowSettings())
    window.extend(check(game, records[:2]))
    window.extend(check(game, records[2:]))
    wanted = [each for record in records for each in expected(game, record)]
    assert len(window) == window.made == len(wanted)
    found = window.positions(window._samples)
    for column, values in enumerate(zip(*wanted, strict=True)):
        np.testing.assert_array_equal(found[column], np.stack(values))


def test_drawn_positions_are_turned_as_the_game_turns() -> None:
    game = load("tic_tac_toe")
    window = Window(game, WindowSettings())
    window.extend(check(game, [played(game, seed) for seed in range(3)]))
    batch = window.batch(np.random.default_rng(1), 500)
    empty = batch.observations.reshape(500, -1, 9).sum(1) == 0
    np.testing.assert_array_equal(batch.legal, empty)
    assert (batch.policies[~batch.legal] == 0).all()
    np.testing.assert_allclose(batch.policies.sum(1), 1, atol=1e-5)
    plain = {each.tobytes() for each in window.positions(window._samples).observations}
    assert len({each.tobytes() for each in batch.observations} - plain) > len(plain)


def test_same_generator_same_batch() -> None:
    game = load("tic_tac_toe")
    window = Window(game, WindowSettings())
    window.extend(check(game, [played(game, 1)]))
    one, two = (window.batch(np.random.default_rng(5), 64) for _ in range(2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def test_fast_positions_train_the_value_alone() -> None:
    game = load("tic_tac_toe")
    record = played(game, 3)
    window = Window(game, WindowSettings(fast=True))
    window.extend(check(game, [record]))
    assert len(window) == len(record) > record.searched.sum()
    batch = window.positions(window._samples)
    np.testing.assert_array_equal(batch.policies.sum(1) > 0, record.searched == 1)


@pytest.mark.parametrize("name", GAMES)
def test_the_horizon_is_a_mean_over_the_searches_that_follow(name: str) -> None:
    game, horizon = load(name), 3.0
    record = played(game, 5)
    decay, known = horizon / (1 + horizon), ~np.isnan(record.utilities[:, 0])
    window = Window(game, WindowSettings(constant=10_000, fast=True, horizon=horizon))
    window.extend(check(game, [record]))
    found = window.positions(np.arange(len(record))[known]).searched
    movers = window.movers(np.flatnonzero(known))
    searches, outcome = record.utilities[known].astype(float), np.array(record.outcome)
    for i, mover in enumerate(movers):
        weights = (1 - decay) * decay ** np.arange(len(searches) - i)
        wanted = weights @ searches[i:] + decay ** (len(searches) - i) * outcome
        assert np.sum(weights) + decay ** (len(searches) - i) == pytest.approx(1)
        assert found[i] == pytest.approx(np.roll(wanted, -mover), abs=1e-5)
    plain = Window(game, WindowSettings(constant=10_000, fast=True))
    plain.extend(check(game, [record]))
    own = plain.positions(np.flatnonzero(known)).searched
    assert np.array_equal(
        own, [np.roll(each, -mover) for each, mover in zip(record.utilities[known], movers, strict=True)]
    )


def test_size_is_katagos_power_law() -> None:
    settings = WindowSettings(constant=250_000, alpha=0.75, beta=0.4, most=10**9)
    assert [settings.size(n) for n in (0, 1000, 250_000)] == [0, 1000, 250_000]
    n = 241_000_000  # samples of KataGo's run; its window ended at 22 million
    assert 20e6 < settings.size(n) < 24e6
    sizes = [settings.size(n) for n in range(250_000, 400_000, 1000)]
    assert all(0 <= b - a <= 1000 for a, b in pairwise(sizes))


def test_oldest_games_are_forgotten_whole_and_memory_is_bounded() -> None:
    game = load("tic_tac_toe")
    records = [played(game, seed) for seed in range(120)]
    settings = WindowSettings(constant=50, most=80)
    window = Window(game, settings)
    sizes = []
    for record in records:
        window.extend(check(game, [record]))
        wanted = settings.size(window.made)
        assert wanted <= len(window) < wanted + 9
        sizes.append(window.bytes())
    assert max(sizes[60:]) < 1.1 * max(sizes[40:60])
    newest = [each for record in records[-window.games :] for each in expected(game, record)]
    np.testing.assert_array_equal(window.positions(window._samples).policies, np.stack([each[1] for each in newest]))


def test_window_does_not_depend_on_how_its_games_came() -> None:
    game = load("tic_tac_toe")
    records = [played(game, seed) for seed in range(40)]
    settings = WindowSettings(constant=30, most=60)
    one, many = Window(game, settings), Window(game, settings)
    one.extend(check(game, records))
    for start in range(0, 40, 7):
        many.extend(check(game, records[start : start + 7]))
    for a, b in zip(one.batch(np.random.default_rng(1), 99), many.batch(np.random.default_rng(1), 99), strict=True):
        np.testing.assert_array_equal(a, b)


def test_no_positions_no_batch() -> None:
    with pytest.raises(UserError, match="expected positions to learn from"):
        Window(load("tic_tac_toe"), WindowSettings()).batch(np.random.default_rng(1), 2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"constant": 0}, "constant: expected at least 1, got 0"),
        ({"alpha": 0.0}, "alpha: expected more than 0 and at most 1"),
        ({"beta": 1.5}, "beta: expected 0 to 1"),
        ({"samples": 0.0}, "samples: expected more than 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        WindowSettings(**change)


def test_evenly_chosen_plies_are_all_or_as_many_at_equal_distances() -> None:
    game = load("tic_tac_toe")
    window = Window.of(game, check(game, [played(game, seed) for seed in range(20)]))
    np.testing.assert_array_equal(window.evenly(10_000), window._samples)
    few = window.evenly(10)
    assert len(few) == 10 and set(np.diff(np.searchsorted(window._samples, few))) <= {
        len(window) // 10,
        len(window) // 10 + 1,
    }
    assert len(Window.of(game, check(game, [])).evenly(10)) == 0


def test_checked_games_have_their_movers_and_records_of_other_rules_are_refused() -> None:
    game = load("backgammon")
    records = [played(game, seed) for seed in range(2)]
    found = check(game, records)
    for record, movers in zip(found.records, found.movers, strict=True):
        wanted = [game.to_move(state) for state, _ in record.replay(game)][: len(record)]
        assert movers.tolist() == wanted and -1 in wanted
    with pytest.raises(UserError, match="expected"):
        check(load("tic_tac_toe"), records)
